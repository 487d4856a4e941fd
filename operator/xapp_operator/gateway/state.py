"""The running gateway: everything that request handlers use, started once by `server`."""

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

from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.charts.signatures.signature_checker import SignatureChecker
from xapp_operator.charts.sources.index_reader import PROCESSES_MEMORY_BYTES
from xapp_operator.common.memory_limit import container_memory_limit
from xapp_operator.config.settings import Settings
from xapp_operator.errors import NotReady
from xapp_operator.gateway.auth.callers import Authenticator, Caller
from xapp_operator.gateway.auth.permission_report import PermissionReporter
from xapp_operator.gateway.catalog.archive_store import WatchedArchives, watch_archives
from xapp_operator.gateway.catalog.change_feed import ChangeFeed
from xapp_operator.gateway.catalog.records import XAppEntry, build_xapp_entry
from xapp_operator.gateway.catalog.repository_store import WatchedRepositories, watch_repositories
from xapp_operator.gateway.catalog.service_store import WatchedServices
from xapp_operator.gateway.catalog.xapp_sources import XAppSources
from xapp_operator.gateway.catalog.xapp_store import XAppRecordStore
from xapp_operator.gateway.charts.descriptions import ChartDescriber
from xapp_operator.gateway.charts.rendering import ChartRenderer
from xapp_operator.gateway.charts.repository_index import RepositoryIndexes
from xapp_operator.gateway.charts.uploads import ArchiveStorage
from xapp_operator.gateway.charts.value_sources import ValueSources
from xapp_operator.gateway.deploy.chart_loading import ChartLoader
from xapp_operator.gateway.deploy.deployer import Deployer
from xapp_operator.gateway.deploy.namespace_list import NamespaceList
from xapp_operator.gateway.deploy.namespaces import XAppNamespaces
from xapp_operator.gateway.http.limits import RequestLimits, per_caller
from xapp_operator.gateway.http.lists.snapshots import SNAPSHOTS_MAX, Snapshots
from xapp_operator.gateway.http.responses.dashboard_files import DashboardFiles
from xapp_operator.gateway.proxy.upstream import Upstream
from xapp_operator.gateway.proxy.xapp_proxy import XAppProxy
from xapp_operator.gateway.xapps.config.own_api import OwnApis
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.processes.limits import HelmLimits
from xapp_operator.kube.advertise_address import AdvertiseAddress
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.cluster_networks import ClusterNetworks
from xapp_operator.kube.resources import XAPPS
from xapp_operator.kube.watch.watch_cache import WatchCache
from xapp_operator.monitor.registry import XAppRegistry
from xapp_operator.telemetry.audit import AuditLog

UPLOADS_PREFIX: Final = "uploads-"
STALE_UPLOAD_SECONDS: Final = 24 * 3600.0
ARCHIVE_CHECKS_MAX: Final = 2
"""Maximum number of uploads that are unpacked at a time: such threads hold the interpreter lock."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """Everything that handlers use. `upload_folder` belongs to this process; `archive_threads` check its files."""

    settings: Settings
    kube: KubeClient
    store: XAppRecordStore
    feed: ChangeFeed
    cache: WatchCache[XAppEntry]
    registry: XAppRegistry
    authenticator: Authenticator
    permissions: PermissionReporter
    renderer: ChartRenderer
    archives: WatchedArchives
    archive_storage: ArchiveStorage
    signatures: SignatureChecker
    chart_loader: ChartLoader
    value_sources: ValueSources
    describer: ChartDescriber
    indexes: RepositoryIndexes
    deployer: Deployer
    repositories: WatchedRepositories
    services: WatchedServices
    chart_sources: ChartSources
    proxy: XAppProxy
    namespaces: NamespaceList
    upload_folder: Path
    archive_threads: ThreadPoolExecutor
    limits: RequestLimits
    snapshots: Snapshots
    audit: AuditLog
    advertise: AdvertiseAddress
    dashboard: DashboardFiles | None
    own_apis: OwnApis

    @classmethod
    @asynccontextmanager
    async def start(cls, settings: Settings) -> AsyncIterator[Gateway]:
        """Connect to the cluster and watch it until the block ends."""
        store = XAppRecordStore()
        async with await KubeClient.connect(settings) as kube:
            cache = WatchCache(kube, XAPPS, transform=build_xapp_entry, namespaces=settings.namespaces)
            xapp_sources = XAppSources(kube, settings, store=store)
            cache.subscribe(xapp_sources.on_xapp_change)
            limits = HelmLimits.for_gateway(settings).fit(container_memory_limit(), others_bytes=PROCESSES_MEMORY_BYTES)
            with (
                private_upload_folder(settings) as uploads,
                AuditLog(settings.audit_log) as audit,
                closing(HelmEngine(settings, limits=limits)) as helm,
                ThreadPoolExecutor(ARCHIVE_CHECKS_MAX, thread_name_prefix="checks") as threads,
            ):
                await helm.reap_orphans()  # a gateway that was killed leaves a folder with the token of a caller
                async with (
                    xapp_sources,
                    cache,
                    watch_repositories(kube, settings) as repositories,
                    watch_archives(kube, settings) as archives,
                    WatchedServices(kube, settings, find_xapp=xapp_sources.find_xapp) as services,
                    ClusterNetworks(kube, settings) as networks,
                    ChartSources(settings, denied_networks=networks.denied) as charts,
                    Upstream(
                        settings,
                        in_pod=kube.credentials.kubeconfig_path is None,
                        denied_networks=networks.denied,
                    ) as upstream,
                ):
                    advertise = AdvertiseAddress(kube, settings)
                    proxy = XAppProxy(settings, upstream)
                    sources = ValueSources(settings, advertise_address=advertise)
                    renderer = ChartRenderer(kube=kube, engine=helm, sources=sources)
                    namespaces, permissions = XAppNamespaces(kube, settings), PermissionReporter()
                    archive_storage = ArchiveStorage(kube)
                    signatures = SignatureChecker(settings, charts=charts, verifier=helm)
                    chart_loader = ChartLoader(charts=charts, signatures=signatures, archives=archive_storage)
                    yield cls(
                        settings=settings,
                        kube=kube,
                        store=store,
                        feed=ChangeFeed(store, is_synced=lambda: _is_synced(cache, xapp_sources.registry)),
                        cache=cache,
                        registry=xapp_sources.registry,
                        authenticator=Authenticator(settings, kube),
                        permissions=permissions,
                        namespaces=NamespaceList(settings, namespaces=namespaces, permissions=permissions),
                        renderer=renderer,
                        archives=archives,
                        archive_storage=archive_storage,
                        signatures=signatures,
                        chart_loader=chart_loader,
                        value_sources=sources,
                        describer=ChartDescriber(settings, renderer=renderer, threads=threads),
                        indexes=RepositoryIndexes(),
                        deployer=Deployer(
                            kube=kube,
                            store=store,
                            namespaces=namespaces,
                            renderer=renderer,
                            charts=chart_loader,
                            archives=archive_storage,
                        ),
                        repositories=repositories,
                        services=services,
                        chart_sources=charts,
                        proxy=proxy,
                        own_apis=OwnApis(proxy),
                        upload_folder=uploads,
                        archive_threads=threads,
                        limits=RequestLimits.from_settings(settings),
                        snapshots=Snapshots(
                            per_caller=per_caller(settings, settings.snapshots_per_caller, of=SNAPSHOTS_MAX)
                        ),
                        audit=audit,
                        advertise=advertise,
                        dashboard=DashboardFiles.load(),
                    )

    def get_caller(self, connection: HTTPConnection, *, basic: bool = False) -> Caller:
        """Return the caller of a request; raises as `Authenticator.get_caller` does."""
        return self.authenticator.get_caller(connection, basic=basic)

    def require_synced(self) -> None:
        """Refuse to answer before all xApps are known.

        Raises:
            NotReady: until the first lists of the cluster are complete.
        """
        if not _is_synced(self.cache, self.registry):
            raise NotReady("the xApps of the cluster have not been read yet: try again in a second")


def _is_synced(cache: WatchCache[XAppEntry], registry: XAppRegistry) -> bool:
    return cache.synced.is_set() and registry.synced.is_set()


def get_gateway(connection: HTTPConnection) -> Gateway:
    """Return the gateway that serves this request or WebSocket."""
    gateway: Gateway = connection.app.state.gateway
    return gateway


@contextmanager
def private_upload_folder(settings: Settings) -> Iterator[Path]:
    """Create a folder that only this user can read; remove folders that killed processes left long ago."""
    settings.cache_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    oldest = time.time() - STALE_UPLOAD_SECONDS
    for old in settings.cache_dir.glob(f"{UPLOADS_PREFIX}*"):
        if old.is_dir() and old.stat().st_mtime < oldest:
            shutil.rmtree(old, ignore_errors=True)
    with tempfile.TemporaryDirectory(
        prefix=UPLOADS_PREFIX, dir=settings.cache_dir, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)
