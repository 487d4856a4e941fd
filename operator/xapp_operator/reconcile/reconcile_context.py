"""What a reconcile works with: the dependencies of the process, and the one XApp that is being reconciled."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from xapp_operator.api.json import JsonObject, obj
from xapp_operator.api.models import XApp
from xapp_operator.common.clock import JumpAwareClock
from xapp_operator.config.settings import Settings
from xapp_operator.domain.planning.plan_input import Digests
from xapp_operator.errors import KubeError
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.manifest import ObjectRef
from xapp_operator.helm.releases.release_index import CleanPoint
from xapp_operator.helm.requests import RenderResult, TemplateRequest
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.event_recorder import EventRecorder
from xapp_operator.kube.reader import KubeReader
from xapp_operator.kube.status_writer import StatusWriter
from xapp_operator.monitor.xapp_monitor import XAppMonitor
from xapp_operator.reconcile.chart_test_runs import TestRuns
from xapp_operator.reconcile.drift import DriftDetector
from xapp_operator.reconcile.inputs.chart_archives import ChartArchiveOwners
from xapp_operator.reconcile.inputs.impersonation import Impersonation, ReaderImpersonation
from xapp_operator.reconcile.inputs.release_inputs import ReleaseInputsResolver
from xapp_operator.reconcile.labels import AbsentObjects
from xapp_operator.reconcile.repository_reconciler import RepositoryReconciler
from xapp_operator.reconcile.status.revision_history import HealthMarks
from xapp_operator.reconcile.status.status_draft import StatusDraft
from xapp_operator.reconcile.watching.deletion_times import DeletionTimes
from xapp_operator.reconcile.watching.release_watch import ReleaseWatch
from xapp_operator.reconcile.watching.xapp_cache import CachedXApp, XAppCache
from xapp_operator.reconcile.work.held_releases import HeldReleases
from xapp_operator.reconcile.work.repeat_backoff import RepeatBackoff
from xapp_operator.reconcile.work.work_queue import NamespacedName, Workers, WorkQueue
from xapp_operator.reconcile.work.xapp_tasks import DeferredResolver, RunningSteps
from xapp_operator.telemetry.metrics import Metrics


class TemplateRenderer(Protocol):
    """Renders a chart offline; `HelmEngine` does."""

    async def template(self, request: TemplateRequest) -> RenderResult:
        """Return the rendered manifest."""


Lifetime: TypeAlias = tuple[float, float]
"""The first and the last second of a time, since the epoch."""


@dataclass(slots=True)
class NamedObjects:
    """Objects that manifests name, by kind, name and namespace; and kind and name of the hooks beside them.

    With each object come the lifetimes of the revisions that name it.
    """

    objects: dict[tuple[str, str, str], tuple[ObjectRef, tuple[Lifetime, ...]]] = field(default_factory=dict)
    hooks: set[tuple[str, str]] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Leftover:
    """An object that older revisions name and the one in force does not.

    `namespaced_only` means that the revision in force has such an object in another namespace: of a cluster-scoped
    kind, that is the same one.
    """

    ref: ObjectRef
    lifetimes: Sequence[Lifetime]
    namespaced_only: bool

    def was_made_by_helm(self, created: float) -> bool:
        """Return whether an object of this age can be what helm made, and not one that it has taken over."""
        return any(first <= created <= last for first, last in self.lifetimes)


@dataclass(frozen=True, slots=True)
class LeftObjects:
    """What helm may have left, and of which revisions that is not known, each with the reason."""

    objects: Sequence[Leftover] = ()
    unknown: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class FirstTry:
    """What was found before the first try of an uninstall; `newest` is the uid of the newest record."""

    newest: str
    left: LeftObjects


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserverContext:
    """What the observer may use: by these types, nothing changes the cluster or records an event."""

    clock: JumpAwareClock
    kube: KubeReader
    impersonation: ReaderImpersonation
    helm: TemplateRenderer
    inputs: ReleaseInputsResolver
    resolver: DeferredResolver[Digests]
    adoption_checks: DeferredResolver[bool]
    monitor: XAppMonitor
    release_watch: ReleaseWatch
    xapps: XAppCache
    label_backoff: RepeatBackoff
    drift: DriftDetector
    correction_backoff: RepeatBackoff
    archive_backoff: RepeatBackoff  # of owners of ChartArchives that could not be written
    leftover_backoff: RepeatBackoff  # of objects of failed revisions that could not be deleted
    held_releases: HeldReleases
    test_runs: TestRuns
    absent_objects: AbsentObjects
    health_marks: HealthMarks = field(default_factory=HealthMarks)
    incompletely_labelled: dict[NamespacedName, KubeError | None] = field(default_factory=dict)
    """XApps whose release was deployed, but not all of its objects labelled, and why, if that does not pass."""
    unreadable_manifests: dict[NamespacedName, str] = field(default_factory=dict)
    """XApps of whose deployed revision it is not known which objects it consists of, and why."""
    adoption_matches: dict[NamespacedName, tuple[Hashable, bool]] = field(default_factory=dict)
    """Whether the release of a person came from the desired chart and values, with what that was found out from."""
    clean_points: dict[NamespacedName, CleanPoint] = field(default_factory=dict)
    """From when on helm has left no object, where that was looked at."""
    noted_objects: dict[NamespacedName, NamedObjects] = field(default_factory=dict)
    """Objects of revisions that are deleted, if helm may have left them."""
    begun_uninstalls: dict[NamespacedName, FirstTry] = field(default_factory=dict)
    """Uninstalls that this process has begun: helm deletes the records one by one, so a later try finds less."""
    correct_labels: dict[NamespacedName, str] = field(default_factory=dict)
    """The `resourceVersion` of the newest record of an XApp whose status label was found to be right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcilerContext(ObserverContext):
    """What actions may use in addition."""

    kube: KubeClient
    impersonation: Impersonation
    helm: HelmEngine
    settings: Settings
    repositories: RepositoryReconciler
    archive_owners: ChartArchiveOwners
    status_writer: StatusWriter
    events: EventRecorder
    running_steps: RunningSteps = field(default_factory=RunningSteps)
    queue: WorkQueue
    workers: Workers
    metrics: Metrics
    deletion_times: DeletionTimes

    def forget(self, key: NamespacedName) -> None:
        """Forget what is kept about an XApp that is gone."""
        self.deletion_times.forget(key)
        self.incompletely_labelled.pop(key, None)
        self.unreadable_manifests.pop(key, None)
        self.adoption_matches.pop(key, None)
        self.clean_points.pop(key, None)
        self.noted_objects.pop(key, None)
        self.begun_uninstalls.pop(key, None)
        self.correct_labels.pop(key, None)
        for backoff in (self.label_backoff, self.correction_backoff, self.archive_backoff, self.leftover_backoff):
            backoff.forget(key)
        self.drift.forget(key)
        self.health_marks.forget(key)
        self.test_runs.forget(key)
        self.monitor.forget_inventory(key)
        self.inputs.forget(key)
        self.resolver.forget(key)
        self.adoption_checks.forget(key)
        self.queue.cancel_delayed(key)


@dataclass(slots=True)
class ReconcileRequest:
    """One XApp while it is being reconciled."""

    raw: JsonObject
    xapp: XApp
    draft: StatusDraft
    status_refused: bool = False
    """The cluster has refused a status of this reconcile."""
    inputs_refused: bool = False
    """A helm step of this reconcile had no chart or values that can be used."""

    def drop_values(self) -> None:
        """Drop the values from memory, which are not needed while helm waits or runs."""
        self.raw = {**self.raw, "spec": {key: value for key, value in obj(self.raw, "spec").items() if key != "values"}}
        self.xapp = without_values(self.xapp)

    def restore(self, cached: CachedXApp | None) -> bool:
        """Take over the cached XApp and return True, unless it is another one or has another generation now."""
        metadata = self.xapp.metadata
        if cached is not None and (cached.uid, cached.generation) == (metadata.uid, metadata.generation):
            self.raw, self.xapp = cached.parse()
            return True
        return False

    @property
    def key(self) -> NamespacedName:
        return self.xapp.key

    @property
    def namespace(self) -> str:
        return self.xapp.metadata.namespace

    @property
    def is_waited_for(self) -> bool:
        """Return whether the status does not tell yet of this spec, or of the deletion, which raises the generation."""
        return self.xapp.status.observed_generation != self.xapp.metadata.generation

    @property
    def step_version(self) -> tuple[str, int]:
        """Return what a helm step is for, as `CachedXApp.step_version` does."""
        return self.xapp.metadata.uid, self.xapp.metadata.generation


def without_values(xapp: XApp) -> XApp:
    """Return the XApp without its values, which may be large."""
    return xapp.model_copy(update={"spec": xapp.spec.model_copy(update={"values": None})})
