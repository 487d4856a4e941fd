"""What the verbs work with: the tools of the process, and the one XApp in hand.

Lives in `reconcile`; made once by `runtime`. Small protocols are not needed here: every tool is real in tests too.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xapp_operator.api.json import JsonObject
from xapp_operator.api.models import XApp
from xapp_operator.config import Settings
from xapp_operator.domain.plan_input import Digests
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.event_recorder import EventRecorder
from xapp_operator.kube.status_writer import StatusWriter
from xapp_operator.monitor.xapp_monitor import XAppMonitor
from xapp_operator.reconcile.impersonation import Impersonation
from xapp_operator.reconcile.losses import LabelBackoff
from xapp_operator.reconcile.patience import DeferredResolver
from xapp_operator.reconcile.release_inputs import ReleaseInputsResolver
from xapp_operator.reconcile.release_watch import ReleaseWatch
from xapp_operator.reconcile.running import RunningSteps
from xapp_operator.reconcile.status_draft import StatusDraft
from xapp_operator.reconcile.work_queue import NamespacedName, WorkQueue
from xapp_operator.reconcile.xapp_cache import XAppCache
from xapp_operator.telemetry.metrics import Metrics


@dataclass(frozen=True, slots=True)
class ReconcilerContext:
    """Everything a verb may use."""

    settings: Settings
    kube: KubeClient
    impersonation: Impersonation
    helm: HelmEngine
    inputs: ReleaseInputsResolver
    monitor: XAppMonitor
    release_watch: ReleaseWatch
    xapps: XAppCache
    status_writer: StatusWriter
    events: EventRecorder
    queue: WorkQueue
    resolver: DeferredResolver[Digests]
    metrics: Metrics
    label_backoff: LabelBackoff
    running_steps: RunningSteps = field(default_factory=RunningSteps)
    unlabelled: set[NamespacedName] = field(default_factory=set)
    """XApps whose release was made but could not be labelled whole; it is tried again at the next look."""


@dataclass(slots=True)
class ReconcileRequest:
    """One XApp while it is being worked on."""

    raw: JsonObject
    xapp: XApp
    draft: StatusDraft

    @property
    def key(self) -> NamespacedName:
        """Return (namespace, name)."""
        return self.xapp.key

    @property
    def namespace(self) -> str:
        """Return the namespace of XApp and release."""
        return self.xapp.metadata.namespace
