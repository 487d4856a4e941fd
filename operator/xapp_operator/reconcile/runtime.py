"""The operator as one object: it creates everything that lives as long as the process, starts it and stops it.

`handlers` gives it the events of XApps and ChartRepositories.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Final, Self

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.charts.signatures.signature_checker import SignatureChecker
from xapp_operator.charts.sources.index_reader import PROCESSES_MEMORY_BYTES
from xapp_operator.common.memory_limit import container_memory_limit
from xapp_operator.config import Settings
from xapp_operator.domain.backoff import Backoff
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.limits import HelmLimits
from xapp_operator.kube.advertise_address import AdvertiseAddress
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.cluster_networks import ClusterNetworks
from xapp_operator.kube.event_recorder import EventRecorder
from xapp_operator.kube.resources import CHART_ARCHIVES
from xapp_operator.kube.status_writer import StatusWriter
from xapp_operator.monitor.xapp_monitor import XAppMonitor
from xapp_operator.reconcile.chart_archives import ChartArchiveOwners, ChartArchives
from xapp_operator.reconcile.impersonation import Impersonation
from xapp_operator.reconcile.labels import LabelBackoff
from xapp_operator.reconcile.reconcile_context import ReconcilerContext
from xapp_operator.reconcile.reconciler import Reconciler
from xapp_operator.reconcile.referenced_objects import ReferencedObjects
from xapp_operator.reconcile.release_inputs import ReleaseInputsResolver
from xapp_operator.reconcile.release_watch import ReleaseWatch
from xapp_operator.reconcile.repository_reconciler import RepositoryReconciler
from xapp_operator.reconcile.secret_watch import SecretWatch
from xapp_operator.reconcile.work_queue import NamespacedName, Workers, WorkQueue
from xapp_operator.reconcile.xapp_cache import XAppCache
from xapp_operator.reconcile.xapp_tasks import DeferredResolver
from xapp_operator.telemetry.logs import get_logger
from xapp_operator.telemetry.metrics import Metrics

UNOWNED_CHECK_SECONDS: Final = 600.0
"""How often ChartArchives without an owner are looked for."""
RESOLVE_WAIT_SECONDS: Final = 0.5
"""How long a worker waits for a chart's source before it turns to other XApps, and the status says what is awaited."""

_log = get_logger(__name__)


class OperatorRuntime:
    """All parts of the operator; `async with` starts and stops them."""

    def __init__(self, kube: KubeClient, settings: Settings, metrics: Metrics) -> None:
        self.kube = kube
        self._settings = settings
        self._stack = AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []
        self._queue = WorkQueue()
        self._workers = Workers(self._queue, count=settings.workers)
        self._xapps = XAppCache(on_namespace=self._update_secret_watch)
        self._secrets = SecretWatch(kube, settings, on_status=self._on_secret_watch_status)
        self._releases = ReleaseWatch(kube, self._secrets, on_change=self._on_release_change)
        self._references = ReferencedObjects(kube, settings, secrets=self._secrets, on_change=self._on_reference_change)
        self._archives = ChartArchives(kube, settings, on_change=self._on_reference_change)
        self._monitor = XAppMonitor(kube, settings, on_change=self._queue.add)
        self._networks = ClusterNetworks(kube, settings)
        self._charts = ChartSources(settings, denied_networks=self._networks.denied)
        self._archive_owners = ChartArchiveOwners(kube, self._archives, is_used=self._is_archive_used)
        impersonation = Impersonation(kube, settings)
        self.repositories = RepositoryReconciler(
            kube,
            charts=self._charts,
            impersonation=impersonation,
            secrets=self._secrets,
            on_change=self._on_repository_change,
        )
        helm = HelmEngine(
            settings,
            limits=HelmLimits.for_operator(settings).fit(container_memory_limit(), others_bytes=PROCESSES_MEMORY_BYTES),
            kubeconfig=kube.credentials.kubeconfig_path,
            server=kube.credentials.server,
        )
        self._context = ReconcilerContext(
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
            repositories=self.repositories,
            archive_owners=self._archive_owners,
            monitor=self._monitor,
            release_watch=self._releases,
            xapps=self._xapps,
            status_writer=StatusWriter(kube),
            events=EventRecorder(kube),
            queue=self._queue,
            workers=self._workers,
            metrics=metrics,
            label_backoff=LabelBackoff(Backoff(settings.backoff_first_seconds, settings.backoff_max_seconds)),
        )
        self._reconciler = Reconciler(self._context)

    async def __aenter__(self) -> Self:
        context = self._context
        self._stack.callback(context.helm.close)
        _log.info("helm found", version=await context.helm.version())
        await context.helm.reap_orphans()
        await self._stack.enter_async_context(self._networks)
        await self._stack.enter_async_context(self._charts)
        self._stack.push_async_callback(context.resolver.stop)
        await self._stack.enter_async_context(context.events)
        watches = (self._references, self._archives, self._monitor)
        for part in (self._secrets, *watches):
            self._stack.push_async_callback(part.stop)
        await asyncio.gather(*(part.start() for part in watches))
        self._stack.push_async_callback(self._stop_tasks)
        self._tasks = [
            asyncio.create_task(self._workers.run(self._reconciler.run_job)),
            asyncio.create_task(self.repositories.run()),
            asyncio.create_task(self._delete_unowned_archives()),
        ]
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
        if before is not None and (before.uid, before.generation, before.deleting) != (
            cached.uid,
            cached.generation,
            cached.deleting,
        ):
            self._context.running_steps.interrupt(key)
        self._queue.add(key)

    def update_repository(self, body: JsonObject, *, deleted: bool) -> None:
        """Store a ChartRepository as the watch has returned it."""
        self.repositories.update(body, deleted=deleted)
        self._update_secret_watch(text(obj(body, "metadata"), "namespace"))

    def delete_xapp(self, body: JsonObject) -> None:
        key, uid = _key_and_uid(body)
        if self._xapps.remove(key, uid):
            self._reconciler.forget(key, uid)
        else:
            self._reconciler.forget_removed(uid)

    async def wait_removed(self, body: JsonObject, *, seconds: float) -> bool:
        """Return whether nothing is left of the XApp's release, waiting at most `seconds` for it."""
        key, uid = _key_and_uid(body)
        self._xapps.put(body)
        if not self._reconciler.is_removed(uid):
            self._queue.add(key)
        return await self._reconciler.wait_removed(uid, seconds=seconds)

    @property
    def last_contact(self) -> float:
        """Return when the quietest watch last received something from the API server (monotonic seconds)."""
        return min(part.last_contact for part in (self._monitor, self._secrets, self._references, self._archives))

    def _update_secret_watch(self, namespace: str) -> None:
        needed = bool(self._xapps.in_namespace(namespace)) or self.repositories.reads_secrets(namespace)
        self._secrets.set_needed(namespace, needed=needed)

    def _on_secret_watch_status(self, namespace: str | None) -> None:
        for key in self._xapps.in_namespace(namespace):
            self._queue.add(key)

    def _on_release_change(self, owner: NamespacedName) -> None:
        if self._xapps.get(owner) is not None:
            self._queue.add(owner)

    def _on_reference_change(self, kind: str, namespace: str, name: str) -> None:
        for key in self._xapps.referrers(namespace, kind, name):
            self._queue.add(key)
        if kind == "Secret":
            self.repositories.invalidate_secret(namespace, name)

    def _is_archive_used(self, namespace: str, name: str) -> bool:
        return bool(self._xapps.referrers(namespace, CHART_ARCHIVES.kind, name))

    def _on_repository_change(self, namespace: str, name: str) -> None:
        for key in self._xapps.referrers(namespace, "ChartRepository", name):
            self._queue.add(key)

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
