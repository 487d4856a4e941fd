"""The operator's process in one object: its tools, its caches, its workers, and what the handlers tell it.

Lives at the top of `reconcile`; `handlers` feed it and `cli` runs it. Everything that lasts as long as the process is
made and ended here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Final, Self

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.config import Settings
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.kube.advertise_address import AdvertiseAddress
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.event_recorder import EventRecorder
from xapp_operator.kube.status_writer import StatusWriter
from xapp_operator.monitor.xapp_monitor import XAppMonitor
from xapp_operator.reconcile.chart_secrets import delete_unowned
from xapp_operator.reconcile.impersonation import Impersonation
from xapp_operator.reconcile.losses import LabelBackoff
from xapp_operator.reconcile.patience import DeferredResolver
from xapp_operator.reconcile.reconcile_context import ReconcilerContext
from xapp_operator.reconcile.reconciler import Reconciler
from xapp_operator.reconcile.referenced_objects import ReferencedObjects
from xapp_operator.reconcile.release_inputs import ReleaseInputsResolver
from xapp_operator.reconcile.release_watch import ReleaseWatch
from xapp_operator.reconcile.repository_reconciler import RepositoryReconciler
from xapp_operator.reconcile.work_queue import NamespacedName, WorkQueue
from xapp_operator.reconcile.xapp_cache import XAppCache
from xapp_operator.telemetry.logs import get_logger
from xapp_operator.telemetry.metrics import Metrics

SWEEP_INTERVAL_SECONDS: Final = 600.0
RESOLVE_WAIT_SECONDS: Final = 2.0
"""How long a worker waits for a chart's source before it turns to other XApps."""
REPOSITORY_WORKERS: Final = 4
"""Repositories that are asked at the same time; one that hangs holds up one worker."""

_log = get_logger(__name__)


class OperatorRuntime:
    """Everything the operator consists of; `async with` starts and ends it."""

    def __init__(self, kube: KubeClient, settings: Settings, metrics: Metrics) -> None:
        self.kube = kube
        self._settings = settings
        self._stack = AsyncExitStack()
        self._queue = WorkQueue()
        self._store = XAppCache()
        self._releases = ReleaseWatch(kube, settings, on_change=self._on_release_change)
        self._references = ReferencedObjects(kube, settings, on_change=self._on_reference_change)
        self._monitor = XAppMonitor(kube, settings, on_change=self._queue.add)
        self._charts = ChartSources(settings)
        identities = Impersonation(kube, settings)
        self.repositories = RepositoryReconciler(
            kube, charts=self._charts, identities=identities, on_change=self._on_repository_change
        )
        self._tools = ReconcilerContext(
            settings=settings,
            kube=kube,
            impersonation=identities,
            helm=HelmEngine(settings, kubeconfig=kube.credentials.kubeconfig_path, server=kube.credentials.server),
            inputs=ReleaseInputsResolver(
                settings,
                charts=self._charts,
                repositories=self.repositories,
                references=self._references,
                identities=identities,
                advertise=AdvertiseAddress(kube, settings),
            ),
            monitor=self._monitor,
            release_watch=self._releases,
            xapps=self._store,
            status_writer=StatusWriter(kube),
            events=EventRecorder(kube),
            queue=self._queue,
            resolver=DeferredResolver(seconds=RESOLVE_WAIT_SECONDS, on_answer=self._queue.add),
            metrics=metrics,
            label_backoff=LabelBackoff(first=settings.backoff_first_seconds, longest=settings.backoff_max_seconds),
        )
        self._reconciler = Reconciler(self._tools)

    async def __aenter__(self) -> Self:
        self._stack.callback(self._tools.helm.close)
        _log.info("helm found", version=await self._tools.helm.version())
        await self._tools.helm.reap_orphans()
        await self._stack.enter_async_context(self._charts)
        self._stack.push_async_callback(self._tools.resolver.stop)
        await self._stack.enter_async_context(self._tools.events)
        for part in (self._releases, self._references, self._monitor):
            self._stack.push_async_callback(part.stop)
        await asyncio.gather(self._releases.start(), self._references.start(), self._monitor.start())
        group = await self._stack.enter_async_context(_BackgroundTasks())
        for number in range(self._settings.workers):
            group.start(self._reconciler.run_worker(), name=f"worker {number}")
        group.start(self._delete_unowned_chart_secrets(), name="sweep")
        for number in range(REPOSITORY_WORKERS):
            group.start(self.repositories.run_worker(), name=f"repositories {number}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def update_xapp(self, body: JsonObject) -> None:
        """Note an XApp as the watch shows it, and queue it; a newer generation or a deletion ends its helm step."""
        key, _ = _key_and_uid(body)
        before = self._store.get(key)
        entry = self._store.put(body)
        if before is not None and before.uid != entry.uid:
            self._reconciler.forget(key, before.uid)  # made again while the watch was away
        if before is not None and (before.uid, before.generation, before.deleting) != (
            entry.uid,
            entry.generation,
            entry.deleting,
        ):
            self._tools.running_steps.interrupt(key)
        self._queue.add(key)

    def delete_xapp(self, body: JsonObject) -> None:
        """Forget an XApp that no longer exists."""
        key, uid = _key_and_uid(body)
        if self._store.remove(key, uid):
            self._reconciler.forget(key, uid)
        else:
            self._reconciler.forget_removed(uid)

    async def wait_removed(self, body: JsonObject, *, seconds: float) -> bool:
        """Return whether nothing is left of the XApp's release, waiting at most `seconds` for it."""
        key, uid = _key_and_uid(body)
        self._store.put(body)
        if not self._reconciler.is_removed(uid):
            self._queue.add(key)
        return await self._reconciler.wait_removed(uid, seconds=seconds)

    def has_recent_contact(self, *, now: float, max_silence_seconds: float) -> bool:
        """Return whether every watch heard from the API server within `patience` seconds before `now` (monotonic)."""
        oldest = min(self._monitor.last_contact, self._releases.last_contact, self._references.last_contact)
        return now - oldest <= max_silence_seconds

    def _on_release_change(self, owner: NamespacedName) -> None:
        if self._store.get(owner) is not None:
            self._queue.add(owner)

    def _on_reference_change(self, kind: str, namespace: str, name: str) -> None:
        for key in self._store.referrers(namespace, kind, name):
            self._queue.add(key)
        if kind == "Secret":
            self.repositories.invalidate_secret(namespace, name)

    def _on_repository_change(self, namespace: str, name: str) -> None:
        for key in self._store.referrers(namespace, "ChartRepository", name):
            self._queue.add(key)

    async def _delete_unowned_chart_secrets(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_INTERVAL_SECONDS)
            try:
                await delete_unowned(self.kube, self._references.chart_secrets())
            except Exception:
                _log.exception("deleting unowned chart Secrets failed")


class _BackgroundTasks:
    """Tasks that end with the process, not before."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, work: Coroutine[object, object, None], *, name: str) -> None:
        self._tasks.append(asyncio.create_task(work, name=name))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _key_and_uid(body: JsonObject) -> tuple[NamespacedName, str]:
    metadata = obj(body, "metadata")
    return (text(metadata, "namespace"), text(metadata, "name")), text(metadata, "uid")
