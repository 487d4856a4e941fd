"""What the verbs work with: the tools of the process, and the one XApp in hand.

Lives in `reconcile`; made once by `runtime`. Small protocols are not needed here: every tool is real in tests too.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xapp_operator.api.json import JsonObject
from xapp_operator.api.models import XApp
from xapp_operator.config import Settings
from xapp_operator.domain.situation import Digests
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.events import EventRecorder
from xapp_operator.kube.status import StatusWriter
from xapp_operator.monitor.monitor import Monitor
from xapp_operator.reconcile.desired import Desired
from xapp_operator.reconcile.draft import Draft
from xapp_operator.reconcile.identity import Identities
from xapp_operator.reconcile.losses import Losses
from xapp_operator.reconcile.patience import Patience
from xapp_operator.reconcile.queue import Key, WorkQueue
from xapp_operator.reconcile.releases import Releases
from xapp_operator.reconcile.running import Running
from xapp_operator.reconcile.store import XAppStore
from xapp_operator.telemetry.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Tools:
    """Everything a verb may use."""

    settings: Settings
    kube: KubeClient
    identities: Identities
    helm: HelmEngine
    desired: Desired
    monitor: Monitor
    releases: Releases
    store: XAppStore
    status: StatusWriter
    events: EventRecorder
    queue: WorkQueue
    patience: Patience[Digests]
    metrics: Metrics
    losses: Losses
    running: Running = field(default_factory=Running)
    unlabelled: set[Key] = field(default_factory=set)
    """XApps whose release was made but could not be labelled whole; it is tried again at the next look."""


@dataclass(slots=True)
class Work:
    """One XApp while it is being worked on."""

    raw: JsonObject
    xapp: XApp
    draft: Draft

    @property
    def key(self) -> Key:
        """Return (namespace, name)."""
        return self.xapp.key

    @property
    def namespace(self) -> str:
        """Return the namespace of XApp and release."""
        return self.xapp.metadata.namespace
