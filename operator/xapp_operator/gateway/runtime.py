"""What a running gateway is made of: the cluster's client, the cache, helm for rendering, chart sources.

Made once by `server`, handed to every handler; the handlers own nothing themselves.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.requests import HTTPConnection

from xapp_operator.charts.source import ChartSources
from xapp_operator.config import Settings
from xapp_operator.errors import NotReady
from xapp_operator.gateway.auth import Authenticator, Caller
from xapp_operator.gateway.deployment import Deployer
from xapp_operator.gateway.feed import Feed
from xapp_operator.gateway.logstream import log_slots
from xapp_operator.gateway.proxy.service import XAppProxy
from xapp_operator.gateway.proxy.upstream import Upstream
from xapp_operator.gateway.records import Entry, entry_of
from xapp_operator.gateway.registered import Registered
from xapp_operator.gateway.rendering import Renderer
from xapp_operator.gateway.repository_store import SavedRepositories
from xapp_operator.gateway.services import Services
from xapp_operator.gateway.slots import Slots
from xapp_operator.gateway.store import RecordStore
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.kube.cache import WatchCache
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import XAPPS
from xapp_operator.monitor.registry import Registry
from xapp_operator.reconcile.advertise import AdvertiseAddress

UPLOADS_PREFIX: Final = "uploads-"
LEFTOVER_SECONDS: Final = 24 * 3600.0
RENDERINGS_MAX: Final = 4
"""So many helm processes at most, so that uploads cannot take all processor time and memory from lists."""

CHECKS_MAX: Final = 2
"""So many uploads are unpacked at a time: each thread that computes keeps lists waiting for the interpreter."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """Everything that handlers use; `uploads` is a folder of this process alone, `threads` check what lies there."""

    settings: Settings
    kube: KubeClient
    store: RecordStore
    feed: Feed
    cache: WatchCache[Entry]
    registry: Registry
    authenticator: Authenticator
    deployer: Deployer
    repositories: SavedRepositories
    services: Services
    charts: ChartSources
    proxy: XAppProxy
    uploads: Path
    threads: ThreadPoolExecutor
    logs: Slots
    advertise: AdvertiseAddress

    @classmethod
    @asynccontextmanager
    async def opened(cls, settings: Settings) -> AsyncIterator[Gateway]:
        """Connect to the cluster, begin to watch, and end all of it with the block."""
        store = RecordStore()
        async with await KubeClient.connect(settings) as kube:
            cache = WatchCache(kube, XAPPS, keep=entry_of, namespaces=settings.namespaces)
            registered = Registered(kube, settings, store=store)
            cache.on_event(registered.xapp_changed)
            with (
                private_folder(settings) as uploads,
                closing(_rendering_engine(settings)) as helm,
                ThreadPoolExecutor(CHECKS_MAX, thread_name_prefix="checks") as threads,
            ):
                async with (
                    registered,
                    cache,
                    SavedRepositories(kube, settings) as repositories,
                    Services(kube, settings, xapp_of=registered.xapp_of) as services,
                    ChartSources(settings) as charts,
                    Upstream(settings, in_pod=kube.kubeconfig_path is None) as upstream,
                ):
                    advertise = AdvertiseAddress(kube, settings)
                    renderer = Renderer(settings, kube=kube, engine=helm, advertise=advertise)
                    yield cls(
                        settings=settings,
                        kube=kube,
                        store=store,
                        feed=Feed(store, is_synced=lambda: _synced(cache, registered.registry)),
                        cache=cache,
                        registry=registered.registry,
                        authenticator=Authenticator(settings, kube),
                        deployer=Deployer(kube, renderer=renderer, charts=charts),
                        repositories=repositories,
                        services=services,
                        charts=charts,
                        proxy=XAppProxy(settings, upstream),
                        uploads=uploads,
                        threads=threads,
                        logs=log_slots(),
                        advertise=advertise,
                    )

    def caller(self, connection: HTTPConnection) -> Caller:
        """Return who asks. Raises Unauthenticated, and RequestRefused where a cookie alone may change nothing."""
        return self.authenticator.caller(connection)

    def require_synced(self) -> None:
        """Refuse to speak of xApps before all of them are known.

        Raises:
            NotReady: until the first lists of the cluster are there.
        """
        if not _synced(self.cache, self.registry):
            raise NotReady("the xApps of the cluster have not been read yet: ask again in a second")


def _synced(cache: WatchCache[Entry], registry: Registry) -> bool:
    return cache.synced.is_set() and registry.synced.is_set()


def _rendering_engine(settings: Settings) -> HelmEngine:
    at_once = min(settings.helm_concurrency, RENDERINGS_MAX)
    return HelmEngine(settings.model_copy(update={"helm_concurrency": at_once}))


def gateway_of(connection: HTTPConnection) -> Gateway:
    """Return the gateway that serves this request or WebSocket."""
    gateway: Gateway = connection.app.state.gateway
    return gateway


@contextmanager
def private_folder(settings: Settings) -> Iterator[Path]:
    """Hold a folder that only this user can read; what a killed process left behind long ago is removed."""
    settings.cache_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    oldest = time.time() - LEFTOVER_SECONDS
    for old in settings.cache_dir.glob(f"{UPLOADS_PREFIX}*"):
        if old.is_dir() and old.stat().st_mtime < oldest:
            shutil.rmtree(old, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=UPLOADS_PREFIX, dir=settings.cache_dir))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
