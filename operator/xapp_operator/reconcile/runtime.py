"""The operator as one object: it creates everything that lives as long as the process, starts it and stops it.

`handlers` gives it the events of XApps and ChartRepositories.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final, Self

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.models import HealthStatus
from xapp_operator.api.names import REPOSITORY_PLURAL, XAPP_PLURAL
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.charts.signatures.signature_checker import SignatureChecker
from xapp_operator.charts.sources.index_reader import PROCESSES_MEMORY_BYTES
from xapp_operator.common.bounded_process import ProcessStarter, run_process
from xapp_operator.common.clock import SYSTEM_CLOCK, Clock, JumpAwareClock
from xapp_operator.common.memory_limit import container_memory_limit
from xapp_operator.config.settings import Settings
from xapp_operator.domain.planning.backoff import Backoff
from xapp_operator.errors import HelmError, KubeError
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.processes.limits import HelmLimits
from xapp_operator.kube.advertise_address import AdvertiseAddress
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.cluster_networks import ClusterNetworks
from xapp_operator.kube.event_recorder import EventRecorder
from xapp_operator.kube.resources import CHART_ARCHIVES, XAPPS
from xapp_operator.kube.status_writer import StatusWriter
from xapp_operator.kube.watch.watch_cache import ChangeType, ObjectKey
from xapp_operator.monitor.xapp_monitor import XAppMonitor
from xapp_operator.reconcile.chart_test_runs import TestRuns
from xapp_operator.reconcile.drift import DriftDetector
from xapp_operator.reconcile.inputs.chart_archives import ChartArchiveOwners, ChartArchives
from xapp_operator.reconcile.inputs.impersonation import Impersonation
from xapp_operator.reconcile.inputs.release_inputs import ReleaseInputsResolver
from xapp_operator.reconcile.labels import absent_objects
from xapp_operator.reconcile.reconcile_context import ReconcilerContext
from xapp_operator.reconcile.reconciler import Reconciler
from xapp_operator.reconcile.repository_reconciler import RepositoryReconciler
from xapp_operator.reconcile.watching.deletion_times import DeletionTimes
from xapp_operator.reconcile.watching.referenced_objects import ReferencedObjects
from xapp_operator.reconcile.watching.release_watch import ReleaseWatch
from xapp_operator.reconcile.watching.secret_watch import OtherSecret, SecretEntry, SecretWatch
from xapp_operator.reconcile.watching.xapp_cache import XAppCache
from xapp_operator.reconcile.work.held_releases import HeldReleases
from xapp_operator.reconcile.work.repeat_backoff import RepeatBackoff
from xapp_operator.reconcile.work.work_queue import NamespacedName, Workers, WorkQueue
from xapp_operator.reconcile.work.xapp_tasks import DeferredResolver
from xapp_operator.telemetry.logs import get_logger
from xapp_operator.telemetry.metrics import Metrics

UNOWNED_CHECK_SECONDS: Final = 600.0
"""How often ChartArchives without an owner are looked for."""
LISTING_SECONDS: Final = 60.0
"""How long deletions wait for XApps that existed at the start; some may be gone before the watch begins."""
RESOLVE_WAIT_SECONDS: Final = 0.5
"""How long a worker waits for a chart's source before it turns to other XApps, and the status says what is awaited."""
ADOPTION_CHECKS_MAX: Final = 8
"""Releases that are compared with charts at the same time; each holds its record and values, also before helm runs."""

_log = get_logger(__name__)


class OperatorRuntime:
    """All parts of the operator; `async with` starts and stops them."""

    def __init__(
        self,
        kube: KubeClient,
        settings: Settings,
        metrics: Metrics,
        *,
        clock: Clock = SYSTEM_CLOCK,
        start_helm: ProcessStarter = run_process,
    ) -> None:
        """Create all parts; nothing runs yet.

        Args:
            kube: the client, with the operator's own identity.
            settings: the settings of the operator.
            metrics: where reconciles are counted.
            clock: tells the time.
            start_helm: runs one helm process.
        """
        self.kube = kube
        self._settings = settings
        self._stack = AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []
        self._clock = clock = JumpAwareClock(clock)
        self._queue = WorkQueue(clock=clock)
        self._workers = Workers(self._queue, count=settings.workers)
        self._xapps = XAppCache(on_namespace=self._update_secret_watch, on_related=self._queue.add)
        self._secrets = SecretWatch(kube, settings, on_status=self._on_secret_watch_status, clock=clock)
        self._releases = ReleaseWatch(kube, self._secrets, on_change=self._on_release_change, clock=clock)
        self._references = ReferencedObjects(kube, settings, secrets=self._secrets, on_change=self._on_reference_change)
        self._archives = ChartArchives(kube, settings, on_change=self._on_reference_change, clock=clock)
        self._monitor = XAppMonitor(
            kube, settings, on_change=self._on_object_change, is_secret_watched=self._secrets.is_watched
        )
        self._secrets.subscribe(self._on_secret)
        self._networks = ClusterNetworks(kube, settings)
        self._charts = ChartSources(settings, clock=clock.monotonic, denied_networks=self._networks.denied)
        self._archive_owners = ChartArchiveOwners(
            kube, self._archives, is_used=self._is_archive_used, is_staying=self._is_staying, clock=clock
        )
        impersonation = Impersonation(kube, settings)
        backoff = Backoff(settings.backoff_first_seconds, settings.backoff_max_seconds)
        self.repositories = RepositoryReconciler(
            kube,
            charts=self._charts,
            impersonation=impersonation,
            secrets=self._secrets,
            on_change=self._on_repository_change,
            clock=clock,
            backoff=backoff,
        )
        helm = HelmEngine(
            settings,
            limits=HelmLimits.for_operator(settings).fit(container_memory_limit(), others_bytes=PROCESSES_MEMORY_BYTES),
            kubeconfig=kube.credentials.kubeconfig_path,
            server=kube.credentials.server,
            start=start_helm,
        )
        self._context = ReconcilerContext(
            clock=clock,
            settings=settings,
            kube=kube,
            impersonation=impersonation,
            helm=helm,
            inputs=ReleaseInputsResolver(
                settings,
                charts=self._charts,
                signatures=SignatureChecker(settings, charts=self._charts, verifier=helm),
                repositories=self.repositories,
                references=self._references,
                archives=self._archives,
                impersonation=impersonation,
                advertise_address=AdvertiseAddress(kube, settings),
            ),
            resolver=DeferredResolver(seconds=RESOLVE_WAIT_SECONDS, on_done=self._queue.add),
            adoption_checks=DeferredResolver(
                seconds=RESOLVE_WAIT_SECONDS, on_done=self._queue.add, places=ADOPTION_CHECKS_MAX
            ),
            repositories=self.repositories,
            archive_owners=self._archive_owners,
            monitor=self._monitor,
            release_watch=self._releases,
            xapps=self._xapps,
            status_writer=StatusWriter(kube),
            events=EventRecorder(kube, clock=clock),
            queue=self._queue,
            workers=self._workers,
            metrics=metrics,
            deletion_times=DeletionTimes(clock),
            held_releases=HeldReleases(on_free=self._on_release_free),
            test_runs=TestRuns(helm_waiting=settings.helm_waiting, on_done=self._queue.add),
            label_backoff=RepeatBackoff(backoff),
            drift=DriftDetector(
                kube,
                impersonation,
                self._monitor,
                backoff=backoff,
                clock=clock,
                resync_seconds=settings.resync_seconds,
            ),
            absent_objects=absent_objects(clock),
            correction_backoff=RepeatBackoff(backoff),
            archive_backoff=RepeatBackoff(backoff),
            leftover_backoff=RepeatBackoff(backoff),
        )
        self._reconciler = Reconciler(self._context)

    @property
    def helm_folder(self) -> Path:
        """The folder in which every helm process works."""
        return self._context.helm.folder

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()  # a signal may end the operator while it starts
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def update_xapp(self, body: JsonObject) -> None:
        """Store an XApp and queue it; a newer generation or a deletion ends its helm step."""
        key, _ = _key_and_uid(body)
        before = self._xapps.get(key)
        cached = self._xapps.put(body)
        if before is not None and before.uid != cached.uid:
            self._reconciler.forget(key, before.uid)  # deleted and created again while the watch was away
        # Not compared with `before`: a write of the status during the step may have brought the change into the cache.
        self._context.running_steps.interrupt_outdated(key, version=cached.step_version)
        if not cached.own_write:
            self._queue.add(key, version=cached.resource_version)

    def update_repository(self, body: JsonObject, *, deleted: bool) -> None:
        """Store a ChartRepository as the watch has returned it."""
        self.repositories.update(body, deleted=deleted)
        self._update_secret_watch(text(obj(body, "metadata"), "namespace"))

    def delete_xapp(self, body: JsonObject) -> None:
        self._forget_xapp(*_key_and_uid(body))

    def keep_listed(self, plural: str, namespace: str | None, uids: Collection[str], *, version: int) -> None:
        """Forget what was deleted while the watch was away: what a list of all objects does not have.

        Args:
            plural: the kind of the objects.
            namespace: the namespace that was listed; None: all.
            uids: of the objects that exist.
            version: of the list; what is known of a later one stays.
        """
        if plural == XAPP_PLURAL:
            for key in self._xapps.in_namespace(namespace):
                known = self._xapps.get(key)
                if known is not None and known.uid not in uids and known.resource_version <= version:
                    self._forget_xapp(key, known.uid)
        elif plural == REPOSITORY_PLURAL:
            for changed in self.repositories.keep_listed(namespace, uids, version=version):
                self._update_secret_watch(changed)

    def _forget_xapp(self, key: NamespacedName, uid: str) -> None:
        if self._xapps.remove(key, uid):
            self._reconciler.forget(key, uid)
        else:
            self._reconciler.finalizers.removals.forget(uid)

    async def wait_removed(self, body: JsonObject, *, seconds: float) -> bool:
        """Return whether nothing is left of the XApp's release, waiting at most `seconds` for it."""
        key, uid = _key_and_uid(body)
        self._xapps.put(body)
        removals = self._reconciler.finalizers.removals
        if not removals.is_done(uid):
            self._queue.add(key)
        return await removals.wait(uid, seconds=seconds)

    def update_metrics(self) -> None:
        """Set the metrics that are read, not recorded."""
        metrics, slots, now = self._context.metrics, self._context.helm.slot_counts(), self._clock.now()
        metrics.set_queue(depth=len(self._queue), oldest_seconds=self._queue.oldest_seconds)
        metrics.set_helm_slots(total=slots.total, used=slots.used, awaited=slots.awaited)
        ready, not_ready = self.repositories.count_ready()
        metrics.set_chart_repositories(ready=ready, not_ready=not_ready)
        metrics.set_xapps_not_ready(now - since for since in self._xapps.not_ready_since())
        metrics.set_xapps_by_reason(self._xapps.count_by_reason())
        metrics.set_drifted_xapps(count=self._context.drift.drifted_xapps)

    @property
    def last_contact(self) -> float:
        """Return when the quietest watch last received something from the API server (monotonic seconds)."""
        return min(part.last_contact for part in (self._monitor, self._secrets, self._references, self._archives))

    async def _find_helm(self) -> None:
        """Stop the start if helm cannot be used; not if it did not answer, or the Lease was lost meanwhile."""
        try:
            _log.info("helm found", version=await self._context.helm.version())
        except HelmError as error:
            if error.permanent:
                raise
            _log.warning("helm does not tell its version", error=error.message)

    async def _start(self) -> None:
        context = self._context
        self._stack.callback(context.helm.close)
        await self._find_helm()
        await context.helm.reap_orphans()
        await self._stack.enter_async_context(self._networks)
        await self._stack.enter_async_context(self._charts)
        self._stack.push_async_callback(context.resolver.stop)
        self._stack.push_async_callback(context.adoption_checks.stop)
        await self._stack.enter_async_context(context.events)
        self._stack.push_async_callback(context.test_runs.stop)
        watches = (self._references, self._archives, self._monitor)
        for part in (self._secrets, *watches):
            self._stack.push_async_callback(part.stop)
        await asyncio.gather(*(part.start() for part in watches), self._expect_xapps())
        self._stack.push_async_callback(self._stop_tasks)
        self._tasks = [
            asyncio.create_task(self._workers.run(self._reconciler.run_job)),
            asyncio.create_task(self.repositories.run()),
            asyncio.create_task(self._delete_unowned_archives()),
        ]

    def _update_secret_watch(self, namespace: str) -> None:
        needed = bool(self._xapps.in_namespace(namespace)) or self.repositories.reads_secrets(namespace)
        self._secrets.set_needed(namespace, needed=needed)

    def _on_secret_watch_status(self, namespace: str | None) -> None:
        for key in self._xapps.in_namespace(namespace):
            self._queue.add(key)

    def _on_object_change(self, key: NamespacedName) -> None:
        """Queue an XApp, unless its objects are still becoming healthy and its status can wait."""
        found = self._xapps.get(key)
        is_postponed = found is not None and self._reconciler.reports.is_postponed(found.uid)
        if is_postponed and self._monitor.report(key).status is HealthStatus.PROGRESSING:
            return  # the end of the wait brings the key back
        self._queue.add(key)

    def _on_release_change(self, release: NamespacedName) -> None:
        for key in self._xapps.installers(*release):
            self._queue.add(key)

    def _on_release_free(self, release: NamespacedName, uid: str) -> None:
        for key in self._xapps.installers(*release):
            if (found := self._xapps.get(key)) is not None and found.uid != uid:
                self._queue.add(key)

    def _on_secret(self, change: ChangeType, key: ObjectKey, found: SecretEntry) -> None:
        if isinstance(found, OtherSecret):
            version = None if change == "DELETED" else int(found.resource_version)
            self._monitor.update_secret(key, version, found.live)

    def _on_reference_change(self, kind: str, namespace: str, name: str) -> None:
        for key in self._xapps.referrers(namespace, kind, name):
            self._queue.add(key)
        if kind == "Secret":
            self.repositories.invalidate_secret(namespace, name)

    def _is_archive_used(self, namespace: str, name: str) -> bool:
        referrers = self._xapps.referrers(namespace, CHART_ARCHIVES.kind, name)
        return any((found := self._xapps.get(key)) is not None and not found.deleting for key in referrers)

    def _is_staying(self, namespace: str, name: str, uid: str) -> bool:
        found = self._xapps.get((namespace, name))
        return found is not None and found.uid == uid and not found.deleting

    def _on_repository_change(self, namespace: str, name: str) -> None:
        for key in self._xapps.referrers(namespace, "ChartRepository", name):
            self._queue.add(key)

    async def _expect_xapps(self) -> None:
        """Find out which XApps the watch will report first."""
        keys: list[NamespacedName] = []
        try:
            for namespace in self._settings.namespaces or (None,):
                async for page in self.kube.list_pages(XAPPS, namespace=namespace, metadata_only=True):
                    keys += (_key_and_uid(item)[0] for item in page.items)
        except KubeError as error:
            _log.warning("deletions and adoptions do not wait for all XApps to be known", error=error.message)
            return
        self._xapps.expect(keys)
        timer = asyncio.get_running_loop().call_later(LISTING_SECONDS, self._xapps.expect, ())
        self._stack.callback(timer.cancel)

    async def _delete_unowned_archives(self) -> None:
        while True:
            await asyncio.sleep(UNOWNED_CHECK_SECONDS)
            try:
                await self._archive_owners.delete_unowned()
            except Exception:
                _log.exception("deleting unowned ChartArchives failed")

    async def _stop_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _key_and_uid(body: JsonObject) -> tuple[NamespacedName, str]:
    metadata = obj(body, "metadata")
    return (text(metadata, "namespace"), text(metadata, "name")), text(metadata, "uid")
