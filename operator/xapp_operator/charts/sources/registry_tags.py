"""The versions of a chart in a registry: its tags, page by page.

An incomplete list would give an older version than a range means, so it is an error.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

from yarl import URL

from xapp_operator.api.json import JsonObject
from xapp_operator.charts.downloader import DownloadResponse, unexpected_status
from xapp_operator.charts.sources.chart_source import decode_response
from xapp_operator.charts.sources.index_parser import MAX_ENTRIES
from xapp_operator.charts.versions import parse_version
from xapp_operator.common.off_loop import run_sized
from xapp_operator.errors import ChartSourceError, SourceTimeout

_MAX_PAGES: Final = 2000
_LIST_SECONDS: Final = 120.0
_TAGS_PER_PAGE: Final = 1000
_TAG_MAX: Final = 128
"""Characters of a tag (OCI distribution specification). A longer one is none, and would only take memory."""
_STRICT_VERSION_PATTERN: Final = re.compile(r"v?[0-9]+\.[0-9]+\.[0-9]+(?:[-+].*)?")
_NEXT_LINK: Final = re.compile(r'<([^<>]++)>\s*+;\s*+rel="?next"?')


async def fetch_versions(url: URL, get: Callable[[URL], Awaitable[DownloadResponse]], *, name: str) -> tuple[str, ...]:
    """Return all versions, newest first; none if there is no such chart.

    Args:
        url: where the registry lists the tags of the chart.
        get: sends a request to the registry.
        name: of the chart, for errors.

    Raises:
        ChartSourceError: when the list cannot be read, or has no end.
    """
    try:
        async with asyncio.timeout(_LIST_SECONDS):
            tags = await _fetch_tags(url, get, name=name)
    except TimeoutError:
        raise SourceTimeout(f"{name} did not list all of its tags within {_LIST_SECONDS:.0f} s.") from None
    return await run_sized(sum(map(len, tags)), _sort_newest_first, tags)


async def _fetch_tags(first: URL, get: Callable[[URL], Awaitable[DownloadResponse]], *, name: str) -> list[str]:
    tags: list[str] = []
    url = first.with_query(n=str(_TAGS_PER_PAGE))
    read: set[URL] = set()
    while url not in read:
        response = await get(url)
        if response.status == HTTPStatus.NOT_FOUND and not read:
            break
        if response.status != HTTPStatus.OK:
            raise unexpected_status(response)
        read.add(url)
        tags.extend(await decode_response(response, _listed_tags))
        if len(tags) > MAX_ENTRIES or len(read) > _MAX_PAGES:
            raise ChartSourceError(
                f"{name} has more than {MAX_ENTRIES:,} tags, or more than {_MAX_PAGES:,} pages of them. Use a "
                "repository with fewer tags.",
                permanent=True,
            )
        following = _NEXT_LINK.search(response.headers.get("Link", ""))
        if not following:
            break
        # Behind a proxy, a registry may call itself by another scheme, host or path. Credentials stay at its own.
        url = first.with_query(_query(following.group(1)))
    return tags


def _listed_tags(page: JsonObject) -> list[str]:
    tags = page.get("tags")
    listed = tags if isinstance(tags, list) else []
    return [tag for tag in listed if isinstance(tag, str) and len(tag) <= _TAG_MAX]


def _query(link: str) -> str:
    try:
        return URL(link).query_string
    except ValueError:
        return ""


def _sort_newest_first(tags: list[str]) -> tuple[str, ...]:
    versions = [tag.replace("_", "+") for tag in tags]
    parsed = [(parse_version(text), text) for text in versions if _STRICT_VERSION_PATTERN.fullmatch(text)]
    known = sorted(((version, text) for version, text in parsed if version), key=lambda pair: pair[0], reverse=True)
    return tuple(text for _, text in known)
