"""The charts and versions of a saved repository as the API shows them, from the index that is kept in memory.

Nothing is parsed for a request: a page is a slice of what is sorted in the index already. What an index says comes from
strangers, so every text is cut, and what is no time, digest or web address is left out. The repository is asked with
the credentials that the caller may read, so that nobody sees charts by rights that only others have.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import orjson

from xapp_operator.api.json import JsonObject
from xapp_operator.charts.chart_request import Repository, sha256_digits
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.charts.repository_loader import load_repository
from xapp_operator.charts.sources.repository_index import ChartIndex, ChartVersion
from xapp_operator.common.text import quote_input, shorten
from xapp_operator.errors import (
    AddressRefused,
    ChartNotFound,
    ChartSourceError,
    GatewayNotFound,
    SourceUnavailable,
)
from xapp_operator.gateway.catalog.repository_store import RepositoryEntry
from xapp_operator.kube.client import KubeClient

INLINE_SEARCH_MAX: Final = 1000
"""More charts than these are searched in a thread: it would keep other requests waiting."""

INDEX_TEXT_MAX: Final = 1024
ICON_URL_MAX: Final = 2048

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")
_ICON_URL: Final = re.compile(r"https?://[!-~]+")


async def load_index(client: KubeClient, charts: ChartSources, saved: RepositoryEntry) -> ChartIndex:
    """Return the index of a saved repository, with the credentials that `client` may read.

    Raises:
        NotFoundHere: for a registry, which has none.
        AccessDenied: when `client` may not read the credentials.
        ChartSourceError: when these are incomplete, or the address is refused.
        SourceUnavailable: when the repository cannot be had, or what is there is no index.
    """
    if saved.is_oci:
        raise GatewayNotFound(
            f"the repository {saved.name} is an OCI registry, which has no list of its charts: ask for the versions of "
            f"one chart, at /api/repositories/{saved.namespace}/{saved.name}/charts/<chart>/versions"
        )
    repository = await load_repository(client, saved.spec, namespace=saved.namespace)
    try:
        index = await charts.list_charts(repository)
    except ChartSourceError as error:
        raise _as_repository_error(error) from None
    if index is None:
        raise TypeError("only registries have no index")
    return index


async def list_chart_versions(
    client: KubeClient, charts: ChartSources, saved: RepositoryEntry, chart: str
) -> tuple[ChartVersion, ...]:
    """Return the versions of a chart, newest first; of a chart in a registry, its tags that are versions.

    Raises:
        NotFoundHere: when the repository has no such chart.
        AccessDenied, ChartSourceError, SourceUnavailable: as `index_of`.
    """
    repository = await load_repository(client, saved.spec, namespace=saved.namespace)
    found = await _list_versions(charts, repository, chart)
    if not found:
        raise GatewayNotFound(
            f"the repository {saved.name} has no chart {quote_input(chart)} with a version: GET "
            f"/api/repositories/{saved.namespace}/{saved.name}/charts lists what there is"
        )
    return found


async def _list_versions(charts: ChartSources, repository: Repository, chart: str) -> tuple[ChartVersion, ...]:
    try:
        return await charts.list_versions(repository, chart)
    except ChartNotFound as error:
        if repository.is_oci:
            return ()
        raise _as_repository_error(error) from None
    except ChartSourceError as error:
        raise _as_repository_error(error) from None


def _as_repository_error(error: ChartSourceError) -> ChartSourceError:
    """Return `error` as one of the repository: what it answers is no fault of the request, unless it is its address."""
    if isinstance(error, AddressRefused | SourceUnavailable):
        return error
    return SourceUnavailable(error.message, permanent=True)


async def search_charts(index: ChartIndex, search: str | None) -> Sequence[str]:
    """Return the names of the charts that a search finds, sorted."""
    if search is None:
        return index.names
    if len(index.names) <= INLINE_SEARCH_MAX:
        return index.search(search)
    return await asyncio.to_thread(index.search, search)


def chart_json(index: ChartIndex, name: str) -> bytes:
    """Return the record of a chart."""
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
    """Return the record of a version."""
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
    # A page shows it: data: and javascript: have no place there.
    return text if len(text) <= ICON_URL_MAX and _ICON_URL.fullmatch(text) else None


def _valid_time(text: str) -> str | None:
    if _TIME.fullmatch(text) is None:
        return None
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return None
    return text
