"""Chart repositories over HTTP: their index, kept and looked at again, and where an archive lies."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from yarl import URL

from xapp_operator.charts.chart_request import Repository, parse_repository_url
from xapp_operator.charts.downloader import (
    BodyTooLarge,
    Downloader,
    DownloadResponse,
    OriginAccess,
    origin,
    unexpected_status,
)
from xapp_operator.charts.refreshing_cache import RefreshingCache
from xapp_operator.charts.repository_index import ChartIndex, ChartVersion, index_too_large, read_index
from xapp_operator.common.text import display_url
from xapp_operator.errors import ChartNotFound

_IN_MEMORY_BYTES: Final = 1024 * 1024  # bytes of an index while it arrives; a larger one goes to a temporary file
_OK: Final = 200
_NOT_MODIFIED: Final = 304
_NOT_FOUND_STATUSES: Final = (404, 410)


@dataclass(frozen=True, slots=True)
class _FetchedIndex:
    """An index with what a conditional request needs; `size` in bytes as it was transferred."""

    index: ChartIndex
    etag: str | None
    last_modified: str | None
    size: int


class HttpRepositories:
    """The indexes of all repositories that are in use."""

    def __init__(
        self,
        downloader: Downloader,
        *,
        max_bytes: int,
        ttl_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._downloader = downloader
        self._max_bytes = max_bytes
        self._ttl_seconds = ttl_seconds
        self._indexes: RefreshingCache[Repository, _FetchedIndex] = RefreshingCache(
            capacity=max_bytes, weight_of=lambda fetched: fetched.size, clock=clock
        )
        self._parse_slot = asyncio.Semaphore(1)  # one at a time: it takes a core, and more would only share it

    async def get_index(
        self, repository: Repository, *, max_age: float | None = None, revalidate: bool = False, stale_ok: bool = True
    ) -> ChartIndex:
        """Return the index, at most `max_age` seconds old (default: the interval of the repository).

        Raises ChartSourceError and its kinds.
        """
        interval = self._ttl_seconds if repository.interval_seconds is None else repository.interval_seconds
        fetched = await self._indexes.get(
            repository,
            lambda known: self._fetch_index(repository, known),
            max_age=interval if max_age is None else min(max_age, interval),
            revalidate=revalidate,
            stale_ok=stale_ok,
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
                answer = await self._downloader.get(
                    url, access=repository_access(repository), max_bytes=self._max_bytes, headers=headers, output=file
                )
            except BodyTooLarge:
                raise index_too_large(self._max_bytes) from None
            if answer.status == _NOT_MODIFIED and cached:
                return replace(cached, index=replace(cached.index, fetched_at=datetime.now(UTC)))
            _check_status(answer)
            size = file.tell()
            cached_index = cached.index if cached else None
            async with self._parse_slot:
                index = await asyncio.to_thread(read_index, file, max_bytes=self._max_bytes, cached=cached_index)
        return _FetchedIndex(index, answer.headers.get("ETag"), answer.headers.get("Last-Modified"), size)

    async def close(self) -> None:
        """End what is under way."""
        await self._indexes.close()


def repository_access(repository: Repository) -> OriginAccess:
    """Return how requests to the repository's own origin are let in."""
    return OriginAccess(
        origin_url=repository.location,
        authorization=repository.credentials.authorization if repository.credentials else None,
        ca_bundle=repository.ca_bundle,
        insecure=repository.insecure_skip_tls_verify,
    )


def index_url(location: URL) -> URL:
    """Return the URL of the index of a repository; a query, where some put a key, stays."""
    return location.with_path(f"{location.raw_path.rstrip('/')}/index.yaml", encoded=True, keep_query=True)


def archive_url(location: URL, entry: ChartVersion) -> URL:
    """Return where the archive of an index entry lies, which may be another host, or a registry (`oci://`).

    A relative address starts at the repository's own, whose query it gets, as with Helm. Raises AddressRefused.
    """
    reference = URL(entry.url)
    if reference.scheme:
        return parse_repository_url(entry.url)
    base = location.with_path(f"{location.raw_path.rstrip('/')}/", encoded=True)
    url = parse_repository_url(str(base.join(reference)))
    return url.with_query(location.query) if location.query and origin(url) == origin(location) else url


def _check_status(response: DownloadResponse) -> None:
    if response.status in _NOT_FOUND_STATUSES:
        raise ChartNotFound(
            f"{display_url(response.url)} does not exist: the address is that of no chart repository. "
            "Give the address below which its index.yaml lies."
        )
    if response.status != _OK:
        raise unexpected_status(response)
