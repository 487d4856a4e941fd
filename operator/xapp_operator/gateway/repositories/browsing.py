"""The charts and versions of a saved repository, from the index in memory.

Nothing is parsed for a request: a page is a slice of the sorted index. The content of an index is untrusted: texts are
shortened, and invalid times, digests and URLs are dropped. The repository is read with the credentials that the caller
may read, so nobody sees charts through the rights of others.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final
from urllib.parse import quote

import orjson

from xapp_operator.api.json import JsonObject
from xapp_operator.charts.archives.chart_cache import ChartFile
from xapp_operator.charts.chart_repositories import load_repository
from xapp_operator.charts.chart_request import ChartRequest, Repository, sha256_digits
from xapp_operator.charts.chart_sources import ChartSources, ResolvedChart
from xapp_operator.charts.sources.repository_index import ChartIndex, ChartVersion
from xapp_operator.common.text import quote_input, shorten
from xapp_operator.errors import (
    AccessDenied,
    AddressRefused,
    ChartNotFound,
    ChartSourceError,
    GatewayNotFound,
    NextRequest,
    SourceUnavailable,
)
from xapp_operator.gateway.catalog.repository_store import RepositoryEntry
from xapp_operator.kube.client import KubeClient

INLINE_SEARCH_MAX: Final = 1000
"""More charts of an index, or versions of a chart, are searched in a thread, so that other requests do not wait."""

INDEX_TEXT_MAX: Final = 1024
ICON_URL_MAX: Final = 2048

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")
_ICON_URL: Final = re.compile(r"https?://[!-~]+")


async def load_index(
    client: KubeClient, charts: ChartSources, saved: RepositoryEntry, *, retry: bool = False
) -> ChartIndex:
    """Return the index of a saved repository, with the credentials that `client` may read.

    With `retry`, the repository is asked again even if it failed slowly a moment ago.

    Raises:
        GatewayNotFound: for an OCI registry, which has no index.
        AccessDenied: when `client` may not read the credentials.
        ChartSourceError: when the credentials are incomplete, or the address is not allowed.
        SourceUnavailable: when the repository does not answer or has no valid index.
    """
    if saved.is_oci:
        raise GatewayNotFound(
            f"the repository {saved.name} is an OCI registry, which cannot list its charts: name a chart to see its "
            "versions"
        ).with_next(_versions_request(saved, "{chart}"))
    repository = await _load_repository(client, charts, saved, retry=retry)
    try:
        index = await charts.list_charts(repository)
    except ChartSourceError as error:
        raise _as_repository_error(error) from None
    if index is None:
        raise TypeError("an HTTP repository must have an index")
    return index


async def reload_index(client: KubeClient, charts: ChartSources, saved: RepositoryEntry) -> None:
    """Load the index of a saved repository again, so that the next page shows it; a registry only has to answer.

    Callers who may not read its credentials reload nothing: they do not see its charts either.

    Raises:
        ChartSourceError, SourceUnavailable: as `load_index`.
    """
    try:
        repository = await load_repository(client, saved.spec, namespace=saved.namespace)
    except AccessDenied:
        return
    try:
        await charts.list_charts(repository, revalidate=True)
    except ChartSourceError as error:
        raise _as_repository_error(error) from None


async def list_chart_versions(
    client: KubeClient, charts: ChartSources, saved: RepositoryEntry, chart: str, *, retry: bool = False
) -> tuple[ChartVersion, ...]:
    """Return the versions of a chart, newest first; in an OCI registry, its tags that are versions.

    `retry` is as for `load_index`.

    Raises:
        GatewayNotFound: when the repository has no such chart.
        AccessDenied, ChartSourceError, SourceUnavailable: as `load_index`.
    """
    repository = await _load_repository(client, charts, saved, retry=retry)
    return await _list_versions(charts, saved, repository, chart)


async def fetch_chart(
    client: KubeClient, charts: ChartSources, saved: RepositoryEntry, chart: str, version: str, *, retry: bool = False
) -> tuple[ResolvedChart, ChartFile]:
    """Return one version of a chart, downloaded unless it is cached. `retry` is as for `load_index`.

    Raises:
        GatewayNotFound: when the repository has no such chart or version.
        ChartInvalid: when it is not a valid chart.
        AccessDenied, ChartSourceError, SourceUnavailable: as `load_index`.
    """
    repository = await _load_repository(client, charts, saved, retry=retry)
    versions = await _list_versions(charts, saved, repository, chart)
    if not any(each.version == version for each in versions):  # a range is no version
        raise GatewayNotFound(
            f"the repository {saved.name} has no version {quote_input(version)} of the chart {quote_input(chart)}: "
            "choose one from the list of its versions"
        ).with_next(_versions_request(saved, quote(chart, safe="")))
    try:
        resolved = await charts.resolve(ChartRequest(repository=repository, chart=chart, version=version))
        return resolved, await charts.fetch(resolved)
    except ChartSourceError as error:
        raise _as_repository_error(error) from None


async def _load_repository(
    client: KubeClient, charts: ChartSources, saved: RepositoryEntry, *, retry: bool
) -> Repository:
    repository = await load_repository(client, saved.spec, namespace=saved.namespace)
    if retry:
        charts.forget_failures(repository)
    return repository


async def _list_versions(
    charts: ChartSources, saved: RepositoryEntry, repository: Repository, chart: str
) -> tuple[ChartVersion, ...]:
    try:
        found = await charts.list_versions(repository, chart)
    except ChartSourceError as error:
        if not (repository.is_oci and isinstance(error, ChartNotFound)):
            raise _as_repository_error(error) from None
        found = ()
    if not found:
        raise GatewayNotFound(
            f"the repository {saved.name} has no chart {quote_input(chart)} with a version: "
            + ("check its name" if repository.is_oci else "choose one from the list of its charts")
        ).with_next(*(() if repository.is_oci else (NextRequest("GET", _charts_path(saved)),)))
    return found


def _charts_path(saved: RepositoryEntry) -> str:
    return f"/api/repositories/{saved.namespace}/{saved.name}/charts"


def _versions_request(saved: RepositoryEntry, chart: str) -> NextRequest:
    return NextRequest("GET", f"{_charts_path(saved)}/{chart}/versions")


def _as_repository_error(error: ChartSourceError) -> ChartSourceError:
    """Return a 502 for an error of the repository; only a refused address is a fault of the request."""
    if isinstance(error, AddressRefused | SourceUnavailable):
        return error
    return SourceUnavailable(error.message, permanent=True)


async def search_charts(index: ChartIndex, searches: Sequence[str]) -> Sequence[str]:
    """Return the sorted names of the charts that match any of the searches; of all charts without one."""
    if not searches:
        return index.names
    if len(index.names) <= INLINE_SEARCH_MAX:
        return _search_any(index, searches)
    return await asyncio.to_thread(_search_any, index, searches)


async def search_versions(versions: Sequence[ChartVersion], searches: Sequence[str]) -> Sequence[ChartVersion]:
    """Return those of `versions` with any of the texts in version or appVersion, in their order; all without a text."""
    if not searches:
        return versions
    if len(versions) <= INLINE_SEARCH_MAX:
        return _filter_versions(versions, searches)
    return await asyncio.to_thread(_filter_versions, versions, searches)


def _filter_versions(versions: Sequence[ChartVersion], searches: Sequence[str]) -> Sequence[ChartVersion]:
    needles = [search.casefold() for search in searches]
    texts = ((each, each.version.casefold(), each.app_version.casefold()) for each in versions)
    return [each for each, *fields in texts if any(needle in field for needle in needles for field in fields)]


def _search_any(index: ChartIndex, searches: Sequence[str]) -> Sequence[str]:
    found = [index.search(each) for each in searches]
    return found[0] if len(found) == 1 else sorted(set().union(*found))


def chart_json(index: ChartIndex, name: str) -> bytes:
    latest = index.latest(name)
    record: JsonObject = {
        "name": name,
        "description": shorten(latest.description, INDEX_TEXT_MAX) or None,
        "versions": len(index.versions(name)),
        "latest": latest.version,
        "appVersion": shorten(latest.app_version, INDEX_TEXT_MAX) or None,
        "icon": _icon_url(latest.icon),
    }
    return orjson.dumps(record)


def version_json(version: ChartVersion) -> bytes:
    digest = sha256_digits(version.digest)
    record: JsonObject = {
        "version": version.version,
        "appVersion": shorten(version.app_version, INDEX_TEXT_MAX) or None,
        "created": _valid_time(version.created),
        "digest": f"sha256:{digest}" if digest else None,
        "description": shorten(version.description, INDEX_TEXT_MAX) or None,
    }
    return orjson.dumps(record)


def _icon_url(text: str) -> str | None:
    # Pages show it, so data: and javascript: URLs are dropped.
    return text if len(text) <= ICON_URL_MAX and _ICON_URL.fullmatch(text) else None


def _valid_time(text: str) -> str | None:
    if _TIME.fullmatch(text) is None:
        return None
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return None
    return text
