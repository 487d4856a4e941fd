"""All chart sources of a process, and the archives that come from them: the public interface of this package.

A request names a repository, a chart, and a version or range. `resolve` finds the archive that matches now;
`fetch` returns that archive as a file for Helm. Concurrent callers share one download. An archive is inspected once,
and then known by its digest, even after a restart.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, Self

from aiohttp.abc import AbstractResolver
from cachetools import LRUCache

from xapp_operator.charts.archives.archive_reader import ArchiveLimits
from xapp_operator.charts.archives.chart_cache import ChartCache, ChartFile
from xapp_operator.charts.archives.chart_info import ChartInfo
from xapp_operator.charts.archives.inspection import archive_too_large, inspect_archive
from xapp_operator.charts.chart_request import OCI, ChartRequest, Repository, parse_digest
from xapp_operator.charts.download_slots import DownloadSlots, SharedDownloads
from xapp_operator.charts.downloader import BodyTooLarge, Downloader
from xapp_operator.charts.sources.chart_source import MISSING_CHART_RECHECK_SECONDS, ArchiveLocation, ChartSource
from xapp_operator.charts.sources.http_repository import HttpRepositories
from xapp_operator.charts.sources.oci_registry import OciRegistries
from xapp_operator.charts.sources.repository_index import ChartIndex, ChartVersion
from xapp_operator.charts.versions import parse_range
from xapp_operator.common.text import display_url, explain_disk_error, quote_input
from xapp_operator.config.settings import Settings
from xapp_operator.domain.address_rule import AddressRule, DeniedNetwork
from xapp_operator.errors import ChartInvalid, ChartNotFound, DigestMismatch, SourceUnavailable, XAppError
from xapp_operator.telemetry.metrics import METRICS

_LOCAL_SOURCE: Final = "in hand"
"""The source of archives that a caller provided; it never allows anyone to get a chart by its digest alone."""
_MAX_CACHED_RESULTS: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedChart:
    """The archive that matches a request now; `digest` is its sha256 (64 hex digits)."""

    request: ChartRequest
    version: str
    digest: str
    info: ChartInfo
    location: ArchiveLocation = field(repr=False)


class ChartSources:
    """Charts by download or from the disk cache; one per process, used with `async with`."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Callable[[], float] = time.monotonic,
        resolver: AbstractResolver | None = None,
        denied_networks: Callable[[], tuple[DeniedNetwork, ...]] = tuple,
    ) -> None:
        """Prepare; `denied_networks` is asked for each connection, which must not go there."""

        def address_rule() -> AddressRule:
            return AddressRule(allow_loopback=settings.allow_loopback_repositories, denied=denied_networks())

        self._limits = ArchiveLimits.from_settings(settings)
        self._downloader = Downloader(
            timeout_seconds=settings.fetch_timeout_seconds,
            address_rule=address_rule,
            resolver=resolver,
        )
        slots = DownloadSlots(settings.download_concurrency, timeout_seconds=settings.fetch_timeout_seconds)
        registries = OciRegistries(
            self._downloader,
            slots,
            ttl_seconds=settings.index_ttl_seconds,
            allow_loopback=settings.allow_loopback_repositories,
            clock=clock,
        )
        repositories = HttpRepositories(
            self._downloader,
            slots,
            registries=registries,
            max_bytes=settings.index_max_bytes,
            ttl_seconds=settings.index_ttl_seconds,
            clock=clock,
        )
        self._sources: Mapping[str, ChartSource] = {"http": repositories, "https": repositories, OCI: registries}
        self._cache = ChartCache(
            settings.cache_dir / "charts", limits=self._limits, max_bytes=settings.chart_cache_max_bytes
        )
        self._downloads: SharedDownloads[tuple[Repository, ArchiveLocation], ChartFile] = SharedDownloads(slots)
        self._digests: LRUCache[tuple[Repository, ArchiveLocation], str] = LRUCache(_MAX_CACHED_RESULTS)
        self._invalid_archives: LRUCache[tuple[str, str], str] = LRUCache(_MAX_CACHED_RESULTS)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._cache.prepare)
        await self._stack.enter_async_context(self._downloader)
        for source in self._sources.values():
            self._stack.push_async_callback(source.close)
        self._stack.push_async_callback(self._downloads.close)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def resolve(self, request: ChartRequest, *, revalidate: bool = False) -> ResolvedChart:
        """Return the archive that matches a request now, and what is in it.

        Downloads the archive only when its digest or its content is not known yet. With `revalidate`, the index is
        loaded again whatever its age. Raises FormInvalid for an invalid version, ChartNotFound with what exists
        instead, ChartSourceError and its subclasses, DigestMismatch, ChartInvalid.
        """
        parse_range(request.version)
        source = self._source_of(request.repository)
        try:
            location = await source.find(request, revalidate=revalidate)
        except DigestMismatch:  # of the index and a registry, which may be cached since different times
            if revalidate:
                raise
            revalidate = True
            location = await source.find(request, revalidate=True)
        try:
            return await self._resolve_location(request, location, use_cached_digest=not revalidate)
        except (DigestMismatch, ChartNotFound):
            # The cached index may be older than the archive that it describes.
            latest_location = location if revalidate else await source.find(request, revalidate=True)
            if latest_location == location:
                raise
        return await self._resolve_location(request, latest_location, use_cached_digest=False)

    async def fetch(self, chart: ResolvedChart) -> ChartFile:
        """Return the archive of a resolved chart as a file, downloaded unless it is cached.

        Raises ChartSourceError and its subclasses, DigestMismatch, ChartInvalid.
        """
        file = await self._open(chart.digest, source=chart.location.cache_source)
        return file or await self._download_once(chart.request.repository, replace(chart.location, digest=chart.digest))

    async def store_archive(
        self, data: bytes, *, expected_digest: str | None = None, source: str | None = None
    ) -> ChartFile:
        """Check an archive that the caller has, and store it as a file.

        `expected_digest` is `sha256:<hex>` or the digits alone. With `source`, the origin of the bytes, `open_stored`
        finds the archive again. Raises ChartInvalid, DigestMismatch.
        """
        if len(data) > self._limits.packed_bytes:
            raise archive_too_large(self._limits)
        digest = await asyncio.to_thread(_sha256, data)
        if expected_digest is not None and digest != parse_digest(expected_digest):
            raise DigestMismatch(
                f"the chart archive has the digest sha256:{digest}, not {quote_input(expected_digest)}. "
                "Correct the digest, or provide the matching archive."
            )
        cache_source = source or _LOCAL_SOURCE
        file = await self._open(digest, source=cache_source)
        METRICS.record_chart_fetch(source="archive", outcome="cached" if file else "downloaded")
        return file or await self._store(data, digest, source=cache_source)

    async def open_stored(self, digest: str, *, source: str) -> ChartFile | None:
        """Return an archive that `store_archive` stored from the same source, or None when it was evicted.

        The source separates tenants: it is not enough to know the digest of another tenant's chart.
        """
        return await self._open(parse_digest(digest), source=source)

    async def list_charts(self, repository: Repository, *, revalidate: bool = False) -> ChartIndex | None:
        """Return all charts with all their versions, or None for a registry that answers: it cannot list its charts.

        Raises ChartSourceError and its subclasses, even where `resolve` would use an older index.
        """
        return await self._source_of(repository).list_charts(repository, revalidate=revalidate)

    async def check_access(self, repository: Repository) -> int | None:
        """Ask the repository now, with its credentials; return the number of its charts, None for a registry.

        Raises SourceAccessDenied when it needs credentials, or refuses these; otherwise like `list_charts`.
        """
        return await self._source_of(repository).check_access(repository)

    async def list_versions(
        self, repository: Repository, chart: str, *, revalidate: bool = False
    ) -> tuple[ChartVersion, ...]:
        """Return the versions of a chart, newest first; none when the chart does not exist.

        For a chart in a registry, only the version numbers are known. Raises like `list_charts`.
        """
        source = self._source_of(repository)
        versions = await source.list_versions(repository, chart, max_age=None, revalidate=revalidate)
        if versions or revalidate:
            return versions
        return await source.list_versions(repository, chart, max_age=MISSING_CHART_RECHECK_SECONDS, revalidate=False)

    def forget_failures(self, repository: Repository) -> None:
        """Ask the repository at the next use, even if it failed slowly a moment ago."""
        self._source_of(repository).forget_failures(repository)

    def _source_of(self, repository: Repository) -> ChartSource:
        return self._sources[repository.location.scheme]

    async def _resolve_location(
        self, request: ChartRequest, location: ArchiveLocation, *, use_cached_digest: bool
    ) -> ResolvedChart:
        key = (request.repository, location)
        digest = location.digest or (self._digests.get(key) if use_cached_digest else None)
        info = await self._cached_info(digest, source=location.cache_source) if digest else None
        if info:
            METRICS.record_chart_fetch(source=location.source_type, outcome="cached")
        else:
            info = (await self._download_once(request.repository, location)).info
            self._digests[key] = info.digest
        return ResolvedChart(
            request=request, version=location.version, digest=info.digest, info=info, location=location
        )

    async def _cached_info(self, digest: str, *, source: str) -> ChartInfo | None:
        with _disk_errors():
            known = self._cache.known_info(digest, source=source)
            return known or await asyncio.to_thread(self._cache.get_info, digest, source=source)

    async def _open(self, digest: str, *, source: str) -> ChartFile | None:
        with _disk_errors():
            return await asyncio.to_thread(self._cache.open, digest, source=source)

    async def _download_once(self, repository: Repository, location: ArchiveLocation) -> ChartFile:
        return await self._downloads.run(
            (repository, location), lambda: self._download_and_store(location), namespace=repository.namespace
        )

    async def _download_and_store(self, location: ArchiveLocation) -> ChartFile:
        refusal = self._invalid_archives.get((location.digest or "", location.cache_source))
        if refusal is not None:
            raise ChartInvalid(refusal)
        if location.digest and (known := await self._open(location.digest, source=location.cache_source)):
            return known
        try:
            data = await self._download_bytes(location)
            digest = await asyncio.to_thread(_sha256, data)
            if location.digest and digest != location.digest:
                raise DigestMismatch(
                    f"{display_url(location.url)} has the digest sha256:{digest}, but the repository lists "
                    f"sha256:{location.digest}. Regenerate its index, or push the chart again."
                )
        except XAppError:
            METRICS.record_chart_fetch(source=location.source_type, outcome="failed")
            raise
        METRICS.record_chart_fetch(source=location.source_type, outcome="downloaded")
        return await self._store(data, digest, source=location.cache_source)

    async def _download_bytes(self, location: ArchiveLocation) -> bytes:
        try:
            return await location.download(self._limits.packed_bytes)
        except BodyTooLarge:
            raise archive_too_large(self._limits) from None

    async def _store(self, data: bytes, digest: str, *, source: str) -> ChartFile:
        try:
            return await asyncio.to_thread(self._inspect_and_store, data, source)
        except ChartInvalid as error:
            self._invalid_archives[(digest, source)] = error.message
            raise

    def _inspect_and_store(self, data: bytes, source: str) -> ChartFile:
        info = inspect_archive(data, limits=self._limits)
        with _disk_errors():
            return self._cache.store(data, info, source=source)


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Translate errors of the disk cache, which may pass: without a chart, a broken upgrade can still be undone."""
    try:
        yield
    except OSError as error:
        place = "XAPP_CACHE_DIR of the process"
        raise SourceUnavailable(explain_disk_error("the cache of charts cannot be used", error, place=place)) from error


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
