"""The charts of the whole process: found, fetched, checked, kept. The public face of this package.

A request names a repository, a chart and a version or range. `resolve` answers which archive that is now, from the
index or the registry; `fetch` gives the archive as a file for helm. An archive is downloaded once for all who ask at
the same time, inspected once, and known by its digest from then on, over restarts too.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from aiohttp.abc import AbstractResolver

from xapp_operator.charts.chart_cache import ChartCache, ChartFile
from xapp_operator.charts.chart_finder import MISSING_CHART_RECHECK_SECONDS, ArchiveLocation, ChartFinder
from xapp_operator.charts.chart_info import ArchiveLimits, ChartInfo
from xapp_operator.charts.chart_request import ChartRequest, Repository, parse_digest
from xapp_operator.charts.downloader import BodyTooLarge, Downloader, unexpected_status
from xapp_operator.charts.http_repository import HttpRepositories, repository_access
from xapp_operator.charts.inspection import archive_too_large, inspect_archive
from xapp_operator.charts.oci_registry import OciRegistries
from xapp_operator.charts.repository_index import ChartIndex, ChartVersion
from xapp_operator.common.single_flight import SingleFlight
from xapp_operator.common.text import quote_input
from xapp_operator.config import Settings
from xapp_operator.errors import ChartInvalid, ChartNotFound, DigestMismatch, XAppError
from xapp_operator.telemetry.metrics import METRICS

_LOCAL_SOURCE: Final = "in hand"
"""The source of archives whose bytes the caller had; never enough to get a chart by its digest alone."""

K = TypeVar("K")
V = TypeVar("V")

_MAX_CACHED_RESULTS: Final = 4096
_OK: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedChart:
    """What a request stands for now: `digest` is the sha256 of the archive (64 hex digits)."""

    request: ChartRequest
    version: str
    digest: str
    info: ChartInfo
    location: ArchiveLocation = field(repr=False)


class ChartSources:
    """Everything about charts that needs the network or the disk; one for a process, used with `async with`."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Callable[[], float] = time.monotonic,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._limits = ArchiveLimits.from_settings(settings)
        self._downloader = Downloader(
            timeout_seconds=settings.fetch_timeout_seconds,
            allow_loopback=settings.allow_loopback_repositories,
            resolver=resolver,
        )
        self._http = HttpRepositories(
            self._downloader,
            max_bytes=settings.index_max_bytes,
            ttl_seconds=settings.index_ttl_seconds,
            clock=clock,
        )
        self._oci = OciRegistries(
            self._downloader,
            ttl_seconds=settings.index_ttl_seconds,
            allow_loopback=settings.allow_loopback_repositories,
            clock=clock,
        )
        self._finder = ChartFinder(self._http, self._oci)
        self._cache = ChartCache(
            settings.cache_dir / "charts", limits=self._limits, max_bytes=settings.chart_cache_max_bytes
        )
        self._downloads: SingleFlight[tuple[Repository, ArchiveLocation], ChartFile] = SingleFlight()
        self._digests: OrderedDict[tuple[Repository, ArchiveLocation], str] = OrderedDict()
        self._invalid_archives: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._cache.prepare)
        await self._stack.enter_async_context(self._downloader)
        for part in (self._http, self._oci, self._downloads):
            self._stack.push_async_callback(part.close)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def resolve(self, request: ChartRequest, *, revalidate: bool = False) -> ResolvedChart:
        """Return which archive a request stands for now, and what is in it.

        Downloads the archive only when its digest or its content is not known yet. With `revalidate` the index is
        looked at again whatever its age. Raises FormInvalid for what is no version, ChartNotFound with what there is,
        ChartSourceError and its kinds, DigestMismatch, ChartInvalid.
        """
        location = await self._finder.find(request, revalidate=revalidate)
        try:
            return await self._resolve_location(request, location, use_cached_digest=not revalidate)
        except (DigestMismatch, ChartNotFound):
            # The index at hand may be older than the archive that it describes.
            latest_location = location if revalidate else await self._finder.find(request, revalidate=True)
            if latest_location == location:
                raise
        return await self._resolve_location(request, latest_location, use_cached_digest=False)

    async def fetch(self, chart: ResolvedChart) -> ChartFile:
        """Return the archive of a resolved chart as a file, downloaded when the cache does not have it.

        Raises ChartSourceError and its kinds, DigestMismatch, ChartInvalid.
        """
        file = await asyncio.to_thread(self._cache.open, chart.digest, source=chart.location.source)
        return file or await self._download_once(chart.request.repository, chart.location.with_digest(chart.digest))

    async def store_archive(
        self, data: bytes, *, expected_digest: str | None = None, source: str | None = None
    ) -> ChartFile:
        """Check an archive that the caller has, and keep it as a file.

        `expected_digest` is `sha256:<hex>` or the digits alone. `source` names where the bytes come from, when `stored`
        is to find them again. Raises ChartInvalid, DigestMismatch.
        """
        if len(data) > self._limits.packed_bytes:
            raise archive_too_large(self._limits)
        digest = await asyncio.to_thread(_sha256, data)
        if expected_digest is not None and digest != parse_digest(expected_digest):
            raise DigestMismatch(
                f"the chart archive has the digest sha256:{digest}, not {quote_input(expected_digest)}. "
                "Correct the digest, or provide the archive that it belongs to."
            )
        cache_source = source or _LOCAL_SOURCE
        file = await asyncio.to_thread(self._cache.open, digest, source=cache_source)
        METRICS.record_chart_fetch(source="archive", outcome="cached" if file else "downloaded")
        return file or await self._store(data, digest, source=cache_source)

    async def store_file(self, path: Path, *, expected_digest: str | None = None) -> ChartFile:
        """Check an archive that lies in a file, such as an upload, and keep a copy. Raises as `store_archive`."""
        return await self.store_archive(
            await asyncio.to_thread(_read_up_to, path, self._limits.packed_bytes + 1), expected_digest=expected_digest
        )

    async def open_stored(self, digest: str, *, source: str) -> ChartFile | None:
        """Return an archive that `store_archive` has kept from the same source, without its bytes; None when gone.

        The source keeps tenants apart: whoever merely knows the digest of another's chart does not get it.
        """
        return await asyncio.to_thread(self._cache.open, parse_digest(digest), source=source)

    async def list_charts(self, repository: Repository, *, revalidate: bool = False) -> ChartIndex | None:
        """Return all charts of a repository with all their versions; None for a registry, which cannot list its charts.

        A registry is asked whether it answers. Raises ChartSourceError and its kinds, also where `resolve` would go on
        with an older index.
        """
        if not repository.is_oci:
            return await self._http.get_index(repository, revalidate=revalidate, stale_ok=False)
        await self._oci.check_registry(repository)
        return None

    async def list_versions(
        self, repository: Repository, chart: str, *, revalidate: bool = False
    ) -> tuple[ChartVersion, ...]:
        """Return the versions of a chart, newest first; none when it was not there within the last RECHECK_SECONDS.

        Of a chart in a registry only the versions themselves are known. Raises as `list_charts`.
        """
        found = await self._versions(repository, chart, revalidate=revalidate)
        if found or revalidate:
            return found
        return await self._versions(repository, chart, max_age=MISSING_CHART_RECHECK_SECONDS)

    async def _versions(
        self, repository: Repository, chart: str, *, max_age: float | None = None, revalidate: bool = False
    ) -> tuple[ChartVersion, ...]:
        if not repository.is_oci:
            index = await self._http.get_index(repository, max_age=max_age, revalidate=revalidate, stale_ok=False)
            return index.versions(chart)
        versions = await self._oci.list_versions(repository, chart, max_age=max_age, revalidate=revalidate)
        return tuple(ChartVersion(version=version, url=repository.url) for version in versions)

    async def _resolve_location(
        self, request: ChartRequest, location: ArchiveLocation, *, use_cached_digest: bool
    ) -> ResolvedChart:
        key = (request.repository, location)
        digest = location.digest or (self._digests.get(key) if use_cached_digest else None)
        info = await asyncio.to_thread(self._cache.get_info, digest, source=location.source) if digest else None
        if info:
            METRICS.record_chart_fetch(source=location.source_type, outcome="cached")
        else:
            info = (await self._download_once(request.repository, location)).info
            _remember(self._digests, key, info.digest)
        return ResolvedChart(
            request=request, version=location.version, digest=info.digest, info=info, location=location
        )

    async def _download_once(self, repository: Repository, location: ArchiveLocation) -> ChartFile:
        return await self._downloads.run((repository, location), lambda: self._download_and_store(repository, location))

    async def _download_and_store(self, repository: Repository, location: ArchiveLocation) -> ChartFile:
        refusal = self._invalid_archives.get((location.digest or "", location.source))
        if refusal is not None:
            raise ChartInvalid(refusal)
        try:
            data = await self._download_bytes(repository, location)
            digest = await asyncio.to_thread(_sha256, data)
            if location.digest and digest != location.digest:
                raise DigestMismatch(
                    f"{location.display_url} has the digest sha256:{digest}, but sha256:{location.digest} is "
                    "what the repository "
                    "says. Write its index again, or push the chart again."
                )
        except XAppError:
            METRICS.record_chart_fetch(source=location.source_type, outcome="failed")
            raise
        METRICS.record_chart_fetch(source=location.source_type, outcome="downloaded")
        return await self._store(data, digest, source=location.source)

    async def _download_bytes(self, repository: Repository, location: ArchiveLocation) -> bytes:
        try:
            if location.layer:
                return await self._oci.download_layer(location.layer, max_bytes=self._limits.packed_bytes)
            answer = await self._downloader.get(
                location.url, access=repository_access(repository), max_bytes=self._limits.packed_bytes
            )
        except BodyTooLarge:
            raise archive_too_large(self._limits) from None
        if answer.status != _OK:
            raise unexpected_status(answer)
        return answer.body

    async def _store(self, data: bytes, digest: str, *, source: str) -> ChartFile:
        try:
            return await asyncio.to_thread(self._inspect_and_store, data, source)
        except ChartInvalid as error:
            _remember(self._invalid_archives, (digest, source), error.message)
            raise

    def _inspect_and_store(self, data: bytes, source: str) -> ChartFile:
        return self._cache.store(data, inspect_archive(data, limits=self._limits), source=source)


def _remember(memory: OrderedDict[K, V], key: K, value: V) -> None:
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > _MAX_CACHED_RESULTS:
        memory.popitem(last=False)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read_up_to(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        return file.read(size)
