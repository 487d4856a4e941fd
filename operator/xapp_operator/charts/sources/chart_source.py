"""The interface of a kind of chart source, and what its implementations share.

To add a kind of source, write a module with a class that implements ChartSource, and register it under its URL scheme
in `charts/chart_sources.py`. Add the scheme to REPOSITORY_SCHEMES and RepositoryType in `api/spec_parts.py`, and run
`make crds`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

import orjson
from yarl import URL

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.charts.chart_request import ChartRequest, Repository
from xapp_operator.charts.downloader import DownloadResponse, OriginAccess
from xapp_operator.charts.signatures.cosign import CosignSignature
from xapp_operator.charts.sources.repository_index import ChartIndex, ChartVersion
from xapp_operator.common.off_loop import run_sized
from xapp_operator.common.text import display_url, format_list, quote_input
from xapp_operator.errors import ChartNotFound, SourceUnavailable, VersionNotFound

T = TypeVar("T")

MISSING_CHART_RECHECK_SECONDS: Final = 10.0
"""Before a source reports that a chart does not exist, it reloads what is older than this."""


@dataclass(frozen=True, slots=True)
class RegistrySignatures:
    """The digest of a manifest (`sha256:<hex>`), and the signatures of it in its registry."""

    manifest_digest: str
    signatures: tuple[CosignSignature, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLocation:
    """Where the archive of one chart version is.

    `digest` (64 hex digits) is set when the source states it. `cache_source` identifies who delivers the archive; the
    cache gives an archive only to the same source. `index_digest` identifies the index that names this location.
    """

    source_type: str
    """The kind of repository, for metrics."""
    version: str
    url: URL
    digest: str | None
    cache_source: str
    index_digest: str = ""
    download: Callable[[int], Awaitable[bytes]] = field(repr=False, compare=False)
    """Returns the archive; takes the maximum size in bytes and raises BodyTooLarge beyond it."""
    get_provenance: Callable[[int], Awaitable[bytes | None]] = field(repr=False, compare=False)
    """Returns the provenance file of the archive, or None if there is none; takes the maximum size like `download`."""
    get_signatures: Callable[[], Awaitable[RegistrySignatures]] | None = field(default=None, repr=False, compare=False)
    """Returns what cosign has stored about the archive; None where there is no registry."""


class ChartSource(Protocol):
    """A kind of repository. All methods raise ChartSourceError and its subclasses."""

    async def find(self, request: ChartRequest, *, revalidate: bool) -> ArchiveLocation:
        """Return the location of the newest version that the request allows.

        With `revalidate`, nothing cached is used. Raises ChartNotFound, which lists what exists instead.
        """

    async def list_charts(self, repository: Repository, *, revalidate: bool) -> ChartIndex | None:
        """Return all charts with all their versions, or None when the source is available but cannot list charts.

        Stale data is never returned.
        """

    async def list_versions(
        self, repository: Repository, chart: str, *, max_age: float | None, revalidate: bool
    ) -> tuple[ChartVersion, ...]:
        """Return the versions of a chart, newest first, at most `max_age` seconds old; none for an unknown chart."""

    async def check_access(self, repository: Repository) -> int | None:
        """Ask the repository now, with its credentials; return the number of its charts, or None if it lists none.

        Raises SourceAccessDenied when it needs credentials, or refuses these.
        """

    def forget_failures(self, repository: Repository) -> None:
        """Ask the repository at the next use, even if it failed slowly a moment ago."""

    async def close(self) -> None:
        """Cancel running requests."""


def effective_max_age(repository: Repository, max_age: float | None, *, default: float) -> float:
    """Return how old, in seconds, cached data of a repository may be: `max_age`, but at most its interval."""
    interval = default if repository.interval_seconds is None else repository.interval_seconds
    return interval if max_age is None else min(max_age, interval)


def cache_source(repository: Repository, place: str) -> str:
    """Return the source of the archives at `place`, which only requests with the same credentials share."""
    if repository.credentials is None:
        return place
    return f"{place} {hashlib.sha256(repository.credentials.authorization.encode()).hexdigest()}"


def origin_access(repository: Repository, url: URL, *, authorization: str | None = None) -> OriginAccess:
    """Return the TLS settings of a repository for the origin of `url`, with the given Authorization header."""
    return OriginAccess(
        origin_url=url,
        authorization=authorization,
        ca_bundle=repository.ca_bundle,
        insecure=repository.insecure_skip_tls_verify,
        allow_plain_http=repository.allow_plain_http,
    )


async def decode_response(response: DownloadResponse, read: Callable[[JsonObject], T]) -> T:
    """Return what `read` makes of the JSON object of a response; a large one never gets to the event loop.

    Raises:
        SourceUnavailable: for anything but a JSON object.
    """

    def decode() -> T:
        try:
            value: Json = orjson.loads(response.body)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise SourceUnavailable(f"{display_url(response.url)} did not return a JSON object. This may be temporary.")
        return read(value)

    return await run_sized(len(response.body), decode)


def version_not_found(request: ChartRequest, versions: Sequence[str]) -> ChartNotFound:
    """Return the error for a chart of which a repository has only `versions`, newest first."""
    where = display_url(request.repository.location)
    if not versions:
        return ChartNotFound(
            f"{where} has no chart {quote_input(request.chart)}. Correct chartName or url, or push the chart."
        )
    return VersionNotFound(
        f"{where} has no version {quote_input(request.version)} of the chart {quote_input(request.chart)}. "
        f"Existing versions: {format_list(versions, total=len(versions))}. Correct version or chartVersion."
    )
