"""From a request to the place of an archive: the choice of the version, and what is said when there is none."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from yarl import URL

from xapp_operator.charts.index import ChartIndex, ChartVersion, sha256_of
from xapp_operator.charts.model import OCI, ChartRequest, Repository
from xapp_operator.charts.oci import Layer, OciRegistries
from xapp_operator.charts.repository import HttpRepositories, archive_url
from xapp_operator.charts.versions import parse_range
from xapp_operator.charts.wording import address, quoted, some_of
from xapp_operator.errors import ChartNotFound, DigestMismatch, VersionNotFound

RECHECK_SECONDS: Final = 10.0
"""Before a chart is said not to be there, an index older than this is looked at again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an archive lies; `digest` (64 hex digits) when that is known beforehand, `state` that of the index."""

    version: str
    url: URL
    digest: str | None
    source: str
    state: str = ""
    layer: Layer | None = field(default=None, repr=False)

    @property
    def kind(self) -> str:
        """Return `http` or `oci`, for metrics."""
        return OCI if self.layer else "http"

    @property
    def shown(self) -> str:
        """Return the address as it may stand in an error."""
        return address(self.url)

    def with_digest(self, digest: str) -> Place:
        """Return the place when only these bytes will do."""
        return replace(self, digest=digest)


class ChartFinder:
    """Looks for the version in the index or the registry."""

    def __init__(self, http: HttpRepositories, oci: OciRegistries) -> None:
        self._http = http
        self._oci = oci

    async def find(self, request: ChartRequest, *, revalidate: bool) -> Place:
        """Return the place of the newest version that the request allows.

        Raises FormInvalid, ChartNotFound with what there is instead, ChartSourceError and its kinds.
        """
        parse_range(request.version)
        if request.repository.is_oci:
            return await self._in_registry(request, revalidate=revalidate)
        index = await self._http.index(request.repository, revalidate=revalidate)
        entry = _chosen(index, request)
        if entry is None and not revalidate:
            index = await self._http.index(request.repository, max_age=RECHECK_SECONDS, stale_ok=False)
            entry = _chosen(index, request)
        if entry is None:
            raise _not_in_index(index, request)
        return await self._place(request.repository, entry, index)

    async def _in_registry(self, request: ChartRequest, *, revalidate: bool) -> Place:
        repository, chart, version = request.repository, request.chart, request.version
        layer = await self._oci.find(repository, chart, version, revalidate=revalidate)
        if layer is None and not revalidate:
            layer = await self._oci.find(repository, chart, version, max_age=RECHECK_SECONDS, stale_ok=False)
        if layer is None:
            versions = await self._oci.versions(repository, chart, max_age=RECHECK_SECONDS)
            raise _no_version(request, versions)
        return _place_of(layer, digest=layer.digest)

    async def _place(self, repository: Repository, entry: ChartVersion, index: ChartIndex) -> Place:
        url, digest = archive_url(repository.location, entry), sha256_of(entry)
        if url.scheme != OCI:
            source = f"{repository.url} {url}{_entitled(repository)}"
            return Place(version=entry.version, url=url, digest=digest, source=source, state=index.digest)
        registry = Repository(url=str(url), ca_bundle=repository.ca_bundle)
        layer = await self._oci.tagged(registry, entry.version)
        if layer is None:
            raise ChartNotFound(
                f"{address(url)}, where the index of the repository says that version {quoted(entry.version)} lies, "
                "does not exist. Write the index again."
            )
        if digest and digest != layer.digest:
            raise DigestMismatch(
                f"{address(url)} has the digest sha256:{layer.digest}, but sha256:{digest} is what the index of the "
                "repository says. Write the index again."
            )
        return _place_of(replace(layer, version=entry.version), digest=layer.digest)


def _entitled(repository: Repository) -> str:
    """Return what keeps archives apart that a server gave for credentials: an index may be for more eyes than they."""
    header = repository.credentials.header if repository.credentials else ""
    return f" {hashlib.sha256(header.encode()).hexdigest()}" if header else ""


def _place_of(layer: Layer, *, digest: str) -> Place:
    url = layer.reference.url("blobs", f"sha256:{layer.digest}")
    return Place(
        version=layer.version,
        url=url,
        digest=digest,
        source=f"{layer.reference.base} {layer.reference.name}",
        layer=layer,
    )


def _chosen(index: ChartIndex, request: ChartRequest) -> ChartVersion | None:
    entries = index.versions(request.chart)
    chosen = parse_range(request.version).choose([entry.version for entry in entries])
    return next((entry for entry in entries if entry.version == chosen), None)


def _not_in_index(index: ChartIndex, request: ChartRequest) -> ChartNotFound:
    versions = [entry.version for entry in index.versions(request.chart)]
    if versions:
        return _no_version(request, versions)
    names = sorted(name for name, entries in index.charts.items() if entries)
    there = f"It has {some_of(names, total=len(names))}." if names else "It has no charts."
    return ChartNotFound(
        f"the repository {address(request.repository.location)} has no chart {quoted(request.chart)}. {there} "
        "Correct chartName or url."
    )


def _no_version(request: ChartRequest, versions: Sequence[str]) -> ChartNotFound:
    where = address(request.repository.location)
    if not versions:
        return ChartNotFound(
            f"{where} has no chart {quoted(request.chart)}. Correct chartName or url, or push the chart."
        )
    return VersionNotFound(
        f"{where} has no version {quoted(request.version)} of the chart {quoted(request.chart)}. "
        f"Versions that exist: {some_of(versions, total=len(versions))}. Correct version or chartVersion."
    )
