"""From a request to the place of an archive: the choice of the version, and what is said when there is none."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from yarl import URL

from xapp_operator.charts.chart_request import OCI, ChartRequest, Repository
from xapp_operator.charts.http_repository import HttpRepositories, archive_url
from xapp_operator.charts.oci_registry import ChartLayer, OciRegistries
from xapp_operator.charts.repository_index import ChartIndex, ChartVersion, archive_digest
from xapp_operator.charts.versions import parse_range
from xapp_operator.common.text import display_url, format_list, quote_input
from xapp_operator.errors import ChartNotFound, DigestMismatch, VersionNotFound

MISSING_CHART_RECHECK_SECONDS: Final = 10.0
"""Before a chart is said not to be there, an index older than this is looked at again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLocation:
    """Where an archive lies; `digest` (64 hex digits) when that is known beforehand, `state` that of the index."""

    version: str
    url: URL
    digest: str | None
    source: str
    index_digest: str = ""
    layer: ChartLayer | None = field(default=None, repr=False)

    @property
    def source_type(self) -> str:
        """Return `http` or `oci`, for metrics."""
        return OCI if self.layer else "http"

    @property
    def display_url(self) -> str:
        """Return the address as it may stand in an error."""
        return display_url(self.url)

    def with_digest(self, digest: str) -> ArchiveLocation:
        """Return the place when only these bytes will do."""
        return replace(self, digest=digest)


class ChartFinder:
    """Looks for the version in the index or the registry."""

    def __init__(self, http: HttpRepositories, oci: OciRegistries) -> None:
        self._http = http
        self._oci = oci

    async def find(self, request: ChartRequest, *, revalidate: bool) -> ArchiveLocation:
        """Return the place of the newest version that the request allows.

        Raises FormInvalid, ChartNotFound with what there is instead, ChartSourceError and its kinds.
        """
        parse_range(request.version)
        if request.repository.is_oci:
            return await self._find_in_registry(request, revalidate=revalidate)
        index = await self._http.get_index(request.repository, revalidate=revalidate)
        entry = _select_version(index, request)
        if entry is None and not revalidate:
            index = await self._http.get_index(
                request.repository, max_age=MISSING_CHART_RECHECK_SECONDS, stale_ok=False
            )
            entry = _select_version(index, request)
        if entry is None:
            raise _chart_not_in_index(index, request)
        return await self._location_of_entry(request.repository, entry, index)

    async def _find_in_registry(self, request: ChartRequest, *, revalidate: bool) -> ArchiveLocation:
        repository, chart, version = request.repository, request.chart, request.version
        layer = await self._oci.find_layer(repository, chart, version, revalidate=revalidate)
        if layer is None and not revalidate:
            layer = await self._oci.find_layer(
                repository, chart, version, max_age=MISSING_CHART_RECHECK_SECONDS, stale_ok=False
            )
        if layer is None:
            versions = await self._oci.list_versions(repository, chart, max_age=MISSING_CHART_RECHECK_SECONDS)
            raise _version_not_found(request, versions)
        return _location_of_layer(layer, digest=layer.digest)

    async def _location_of_entry(
        self, repository: Repository, entry: ChartVersion, index: ChartIndex
    ) -> ArchiveLocation:
        url, digest = archive_url(repository.location, entry), archive_digest(entry)
        if url.scheme != OCI:
            source = f"{repository.url} {url}{_credentials_suffix(repository)}"
            return ArchiveLocation(
                version=entry.version, url=url, digest=digest, source=source, index_digest=index.digest
            )
        registry = Repository(url=str(url), ca_bundle=repository.ca_bundle)
        layer = await self._oci.resolve_index_url(registry, entry.version)
        if layer is None:
            raise ChartNotFound(
                f"{display_url(url)}, where the index of the repository says that version "
                f"{quote_input(entry.version)} lies, "
                "does not exist. Write the index again."
            )
        if digest and digest != layer.digest:
            raise DigestMismatch(
                f"{display_url(url)} has the digest sha256:{layer.digest}, but sha256:{digest} is what the "
                "index of the "
                "repository says. Write the index again."
            )
        return _location_of_layer(replace(layer, version=entry.version), digest=layer.digest)


def _credentials_suffix(repository: Repository) -> str:
    """Return what keeps archives apart that a server gave for credentials: an index may be for more eyes than they."""
    header = repository.credentials.authorization if repository.credentials else ""
    return f" {hashlib.sha256(header.encode()).hexdigest()}" if header else ""


def _location_of_layer(layer: ChartLayer, *, digest: str) -> ArchiveLocation:
    url = layer.reference.url("blobs", f"sha256:{layer.digest}")
    return ArchiveLocation(
        version=layer.version,
        url=url,
        digest=digest,
        source=f"{layer.reference.base} {layer.reference.name}",
        layer=layer,
    )


def _select_version(index: ChartIndex, request: ChartRequest) -> ChartVersion | None:
    entries = index.versions(request.chart)
    chosen = parse_range(request.version).select([entry.version for entry in entries])
    return next((entry for entry in entries if entry.version == chosen), None)


def _chart_not_in_index(index: ChartIndex, request: ChartRequest) -> ChartNotFound:
    versions = [entry.version for entry in index.versions(request.chart)]
    if versions:
        return _version_not_found(request, versions)
    names = sorted(name for name, entries in index.charts.items() if entries)
    available = f"It has {format_list(names, total=len(names))}." if names else "It has no charts."
    return ChartNotFound(
        f"the repository {display_url(request.repository.location)} has no chart {quote_input(request.chart)}. "
        f"{available} "
        "Correct chartName or url."
    )


def _version_not_found(request: ChartRequest, versions: Sequence[str]) -> ChartNotFound:
    where = display_url(request.repository.location)
    if not versions:
        return ChartNotFound(
            f"{where} has no chart {quote_input(request.chart)}. Correct chartName or url, or push the chart."
        )
    return VersionNotFound(
        f"{where} has no version {quote_input(request.version)} of the chart {quote_input(request.chart)}. "
        f"Versions that exist: {format_list(versions, total=len(versions))}. Correct version or chartVersion."
    )
