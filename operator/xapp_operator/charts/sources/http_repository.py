"""Chart repositories over HTTP: an index.yaml, and archives anywhere."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

from yarl import URL

from xapp_operator.charts.chart_request import (
    OCI,
    ChartRequest,
    Repository,
    format_origin,
    origin,
    parse_repository_url,
)
from xapp_operator.charts.download_slots import DownloadSlots
from xapp_operator.charts.downloader import (
    NOT_FOUND_STATUSES,
    BodyTooLarge,
    Downloader,
    DownloadResponse,
    OriginAccess,
    unexpected_status,
)
from xapp_operator.charts.sources.chart_source import (
    MISSING_CHART_RECHECK_SECONDS,
    ArchiveLocation,
    cache_source,
    effective_max_age,
    origin_access,
    version_not_found,
)
from xapp_operator.charts.sources.index_reader import IndexReader
from xapp_operator.charts.sources.oci_registry import OciRegistries
from xapp_operator.charts.sources.refreshing_cache import Freshness, RefreshingCache
from xapp_operator.charts.sources.repository_index import (
    ChartIndex,
    ChartVersion,
    archive_digest,
    index_has_too_many_bytes,
)
from xapp_operator.charts.versions import parse_range
from xapp_operator.common.off_loop import run_sized
from xapp_operator.common.text import display_url, format_list, quote_input
from xapp_operator.errors import ChartNotFound, ChartSourceError, DigestMismatch, SourceAccessDenied

_IN_MEMORY_BYTES: Final = 64 * 1024  # a larger index goes to a temporary file while it arrives
_VERSION_CHARACTERS: Final = 32  # about as many as one version has
_INDEXES_IN_MEMORY: Final = 2
"""Indexes of the maximum size that fit into the cache."""


@dataclass(frozen=True, slots=True)
class _FetchedIndex:
    """An index with the validators for a conditional request."""

    index: ChartIndex
    etag: str | None
    last_modified: str | None


class HttpRepositories:
    """All HTTP repositories in use, with one cache of their indexes. Implements ChartSource."""

    def __init__(
        self,
        downloader: Downloader,
        downloads: DownloadSlots,
        *,
        registries: OciRegistries,
        max_bytes: int,
        ttl_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare; `registries` delivers archives that an index places in a registry."""
        self._downloader = downloader
        self._registries = registries
        self._max_bytes = max_bytes
        self._ttl_seconds = ttl_seconds
        self._indexes: RefreshingCache[Repository, _FetchedIndex] = RefreshingCache(
            downloads, capacity=max_bytes, weight_of=lambda fetched: fetched.index.weight, clock=clock
        )
        self._reader = IndexReader(max_bytes=max_bytes, max_weight=max_bytes // _INDEXES_IN_MEMORY)

    async def find(self, request: ChartRequest, *, revalidate: bool) -> ArchiveLocation:
        index = await self.get_index(request.repository, revalidate=revalidate)
        entry = await _select_version(index, request)
        if entry is None and not revalidate:
            index = await self.get_index(request.repository, max_age=MISSING_CHART_RECHECK_SECONDS, stale_ok=False)
            entry = await _select_version(index, request)
        if entry is None:
            raise _chart_not_in_index(index, request)
        return await self._locate(request.repository, entry, index, revalidate=revalidate)

    async def list_charts(self, repository: Repository, *, revalidate: bool) -> ChartIndex:
        """Return the index, never a stale one."""
        return await self.get_index(repository, revalidate=revalidate, stale_ok=False)

    async def check_access(self, repository: Repository) -> int:
        return len((await self.get_index(repository, revalidate=True, stale_ok=False)).names)

    async def list_versions(
        self, repository: Repository, chart: str, *, max_age: float | None, revalidate: bool
    ) -> tuple[ChartVersion, ...]:
        index = await self.get_index(repository, max_age=max_age, revalidate=revalidate, stale_ok=False)
        return index.versions(chart)

    async def get_index(
        self, repository: Repository, *, max_age: float | None = None, revalidate: bool = False, stale_ok: bool = True
    ) -> ChartIndex:
        """Return the index, at most `max_age` seconds old (default: the interval of the repository).

        Raises ChartSourceError and its subclasses.
        """
        max_age = effective_max_age(repository, max_age, default=self._ttl_seconds)
        fetched = await self._indexes.get(
            repository,
            lambda cached: self._fetch_index(repository, cached),
            Freshness(max_age, revalidate=revalidate, stale_ok=stale_ok),
            namespace=repository.namespace,
        )
        return fetched.index

    async def _fetch_index(self, repository: Repository, cached: _FetchedIndex | None) -> _FetchedIndex:
        url = index_url(repository.location)
        headers = {"Accept-Encoding": "gzip"}
        if cached and cached.etag:
            headers["If-None-Match"] = cached.etag
        if cached and cached.last_modified:
            headers["If-Modified-Since"] = cached.last_modified
        with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES) as file:
            try:
                response = await self._downloader.get(
                    url, access=_access(repository), max_bytes=self._max_bytes, headers=headers, output=file
                )
            except BodyTooLarge:
                raise index_has_too_many_bytes(self._max_bytes) from None
            if response.status == HTTPStatus.NOT_MODIFIED and cached:
                return replace(cached, index=replace(cached.index, fetched_at=datetime.now(UTC)))
            _check_status(response)
            index = await self._reader.read(file, namespace=repository.namespace)
        return _FetchedIndex(index, response.headers.get("ETag"), response.headers.get("Last-Modified"))

    async def _locate(
        self, repository: Repository, entry: ChartVersion, index: ChartIndex, *, revalidate: bool
    ) -> ArchiveLocation:
        url, digest = archive_url(repository.location, entry), archive_digest(entry)
        if url.scheme == OCI:
            return await self._locate_in_registry(repository, entry, url, digest, revalidate=revalidate)

        async def download(max_bytes: int) -> bytes:
            response = await self._downloader.get(url, access=_access(repository), max_bytes=max_bytes)
            if response.status != HTTPStatus.OK:
                raise _archive_refused(response, repository)
            return response.body

        async def get_provenance(max_bytes: int) -> bytes | None:
            address = url.with_path(f"{url.raw_path}.prov", encoded=True, keep_query=True)
            response = await self._downloader.get(address, access=_access(repository), max_bytes=max_bytes)
            if response.status in NOT_FOUND_STATUSES:
                return None
            if response.status != HTTPStatus.OK:
                raise _archive_refused(response, repository)
            return response.body

        return ArchiveLocation(
            source_type="http",
            version=entry.version,
            url=url,
            digest=digest,
            cache_source=cache_source(repository, f"{repository.url} {url}"),
            index_digest=index.digest,
            download=download,
            get_provenance=get_provenance,
        )

    async def _locate_in_registry(
        self, repository: Repository, entry: ChartVersion, url: URL, digest: str | None, *, revalidate: bool
    ) -> ArchiveLocation:
        registry = Repository(
            url=str(url),
            ca_bundle=repository.ca_bundle,
            interval_seconds=repository.interval_seconds,
            namespace=repository.namespace,
        )
        layer = await self._registries.resolve_index_url(registry, entry.version, revalidate=revalidate)
        if layer is None:
            raise ChartNotFound(
                f"{display_url(url)} does not exist, but the index of the repository lists version "
                f"{quote_input(entry.version)} there. Regenerate the index."
            )
        if digest and digest != layer.digest:
            raise DigestMismatch(
                f"{display_url(url)} has the digest sha256:{layer.digest}, but the index of the repository lists "
                f"sha256:{digest}. Regenerate the index."
            )
        return replace(self._registries.locate(layer), version=entry.version)

    def forget_failures(self, repository: Repository) -> None:
        self._indexes.forget_failures(lambda key: key == repository)

    async def close(self) -> None:
        await self._indexes.close()


def _access(repository: Repository) -> OriginAccess:
    authorization = repository.credentials.authorization if repository.credentials else None
    return origin_access(repository, repository.location, authorization=authorization)


def index_url(location: URL) -> URL:
    """Return the URL of the index of a repository; a query, which may hold a key, stays."""
    return location.with_path(f"{location.raw_path.rstrip('/')}/index.yaml", encoded=True, keep_query=True)


def archive_url(location: URL, entry: ChartVersion) -> URL:
    """Return the URL of the archive of an index entry, which may be on another host or in a registry (`oci://`).

    As in Helm, a relative URL starts at the repository and gets its query. Raises AddressRefused.
    """
    reference = URL(entry.url)
    if reference.scheme:
        return parse_repository_url(entry.url)
    base = location.with_path(f"{location.raw_path.rstrip('/')}/", encoded=True)
    url = parse_repository_url(str(base.join(reference)))
    return url.with_query(location.query) if location.query and origin(url) == origin(location) else url


def _archive_refused(response: DownloadResponse, repository: Repository) -> ChartSourceError:
    error, home = unexpected_status(response), repository.location
    is_home = origin(response.url) == origin(home)
    if not isinstance(error, SourceAccessDenied) or repository.credentials is None or is_home:
        return error
    return ChartSourceError(
        f"{display_url(response.url)} returned status {response.status}: access is denied. The credentials of the "
        f"repository are sent to {format_origin(home)} only. Move the archive there, or let everybody read it.",
        permanent=True,
    )


def _check_status(response: DownloadResponse) -> None:
    if response.status in NOT_FOUND_STATUSES:
        raise ChartNotFound(
            f"{display_url(response.url)} does not exist, so this is not the URL of a chart repository. "
            "Set url to the folder that contains index.yaml."
        )
    if response.status != HTTPStatus.OK:
        raise unexpected_status(response)


async def _select_version(index: ChartIndex, request: ChartRequest) -> ChartVersion | None:
    allowed, entries = parse_range(request.version), index.versions(request.chart)

    def select() -> ChartVersion | None:
        selected = allowed.select([entry.version for entry in entries])
        return next((entry for entry in entries if entry.version == selected), None)

    return await run_sized(len(entries) * _VERSION_CHARACTERS, select)


def _chart_not_in_index(index: ChartIndex, request: ChartRequest) -> ChartNotFound:
    versions = [entry.version for entry in index.versions(request.chart)]
    if versions:
        return version_not_found(request, versions)
    available = f"It has {format_list(index.names, total=len(index.names))}." if index.names else "It has no charts."
    return ChartNotFound(
        f"the repository {display_url(request.repository.location)} has no chart {quote_input(request.chart)}. "
        f"{available} Correct chartName or url."
    )
