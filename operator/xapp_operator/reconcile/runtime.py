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
from xapp_operator.charts.source import ChartSources
from xapp_operator.config import Settings
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.events import EventRecorder
from xapp_operator.kube.status import StatusWriter
from xapp_operator.monitor.monitor import Monitor
from xapp_operator.reconcile.advertise import AdvertiseAddress
from xapp_operator.reconcile.archives import sweep
from xapp_operator.reconcile.desired import Desired
from xapp_operator.reconcile.identity import Identities
from xapp_operator.reconcile.losses import Losses
from xapp_operator.reconcile.patience import Patience
from xapp_operator.reconcile.queue import Key, WorkQueue
from xapp_operator.reconcile.reconciler import Reconciler
from xapp_operator.reconcile.references import References
from xapp_operator.reconcile.releases import Releases
from xapp_operator.reconcile.repositories import Repositories
from xapp_operator.reconcile.store import XAppStore
from xapp_operator.reconcile.tools import Tools
from xapp_operator.telemetry.logs import get_logger
from xapp_operator.telemetry.metrics import Metrics

SWEEP_SECONDS: Final = 600.0
PATIENCE_SECONDS: Final = 2.0
"""How long a worker waits for a chart's source before it turns to other XApps."""
REPOSITORY_WORKERS: Final = 4
"""Repositories that are asked at the same time; one that hangs holds up one worker."""

_log = get_logger(__name__)


class Runtime:
    """Everything the operator consists of; `async with` starts and ends it."""

    def __init__(self, kube: KubeClient, settings: Settings, metrics: Metrics) -> None:
        self.kube = kube
        self._settings = settings
        self._stack = AsyncExitStack()
        self._queue = WorkQueue()
        self._store = XAppStore()
        self._releases = Releases(kube, settings, on_change=self._release_changed)
        self._references = References(kube, settings, on_change=self._reference_changed)
        self._monitor = Monitor(kube, settings, on_change=self._queue.add)
        self._charts = ChartSources(settings)
        identities = Identities(kube, settings)
        self.repositories = Repositories(
            kube, charts=self._charts, identities=identities, on_change=self._repository_changed
        )
        self._tools = Tools(
            settings=settings,
            kube=kube,
            identities=identities,
            helm=HelmEngine(settings, kubeconfig=kube.kubeconfig_path, server=kube.server),
            desired=Desired(
                settings,
                charts=self._charts,
                repositories=self.repositories,
                references=self._references,
                identities=identities,
                advertise=AdvertiseAddress(kube, settings),
            ),
            monitor=self._monitor,
            releases=self._releases,
            store=self._store,
            status=StatusWriter(kube),
            events=EventRecorder(kube),
            queue=self._queue,
            patience=Patience(seconds=PATIENCE_SECONDS, on_answer=self._queue.add),
            metrics=metrics,
            losses=Losses(first=settings.backoff_first_seconds, longest=settings.backoff_max_seconds),
        )
        self._reconciler = Reconciler(self._tools)

    async def __aenter__(self) -> Self:
        self._stack.callback(self._tools.helm.close)
        _log.info("helm found", version=await self._tools.helm.version())
        await self._tools.helm.reap_orphans()
        await self._stack.enter_async_context(self._charts)
        self._stack.push_async_callback(self._tools.patience.stop)
        await self._stack.enter_async_context(self._tools.events)
        for part in (self._releases, self._references, self._monitor):
            self._stack.push_async_callback(part.stop)
        await asyncio.gather(self._releases.start(), self._references.start(), self._monitor.start())
        group = await self._stack.enter_async_context(_Tasks())
        for number in range(self._settings.workers):
            group.start(self._reconciler.work(), name=f"worker {number}")
        group.start(self._sweep(), name="sweep")
        for number in range(REPOSITORY_WORKERS):
            group.start(self.repositories.work(), name=f"repositories {number}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def xapp_seen(self, body: JsonObject) -> None:
        """Note an XApp as the watch shows it, and queue it; a newer generation or a deletion ends its helm step."""
        key, _ = _identity(body)
        before = self._store.get(key)
        entry = self._store.put(body)
        if before is not None and before.uid != entry.uid:
            self._reconciler.forget(key, before.uid)  # made again while the watch was away
        if before is not None and (before.uid, before.generation, before.deleting) != (
            entry.uid,
            entry.generation,
            entry.deleting,
        ):
            self._tools.running.interrupt(key)
        self._queue.add(key)

    def xapp_gone(self, body: JsonObject) -> None:
        """Forget an XApp that no longer exists."""
        key, uid = _identity(body)
        if self._store.remove(key, uid):
            self._reconciler.forget(key, uid)
        else:
            self._reconciler.forget_removal(uid)

    async def removed(self, body: JsonObject, *, seconds: float) -> bool:
        """Return whether nothing is left of the XApp's release, waiting at most `seconds` for it."""
        key, uid = _identity(body)
        self._store.put(body)
        if not self._reconciler.gone(uid):
            self._queue.add(key)
        return await self._reconciler.wait_gone(uid, seconds=seconds)

    def healthy(self, *, now: float, patience: float) -> bool:
        """Return whether every watch heard from the API server within `patience` seconds before `now` (monotonic)."""
        oldest = min(self._monitor.oldest_contact, self._releases.last_contact, self._references.last_contact)
        return now - oldest <= patience

    def _release_changed(self, owner: Key) -> None:
        if self._store.get(owner) is not None:
            self._queue.add(owner)

    def _reference_changed(self, kind: str, namespace: str, name: str) -> None:
        for key in self._store.referring(namespace, kind, name):
            self._queue.add(key)
        if kind == "Secret":
            self.repositories.secret_changed(namespace, name)

    def _repository_changed(self, namespace: str, name: str) -> None:
        for key in self._store.referring(namespace, "ChartRepository", name):
            self._queue.add(key)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                await sweep(self.kube, self._references.chart_secrets())
            except Exception:
                _log.exception("sweep of chart Secrets failed")


class _Tasks:
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


def _identity(body: JsonObject) -> tuple[Key, str]:
    metadata = obj(body, "metadata")
    return (text(metadata, "namespace"), text(metadata, "name")), text(metadata, "uid")
