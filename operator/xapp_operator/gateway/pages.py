"""What every list answers: the page that is asked for in its envelope, or a bare array where pagination is off.

Lives in the gateway, above the rules of pages (`paging`, which knows no requests), below the routes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.config import Settings
from xapp_operator.gateway import paging
from xapp_operator.gateway.problems import instance_of
from xapp_operator.gateway.query import Query
from xapp_operator.gateway.responses import cacheable

T = TypeVar("T")


def asked_page(
    query: Query, settings: Settings, *, name: str, sorts: Sequence[str] = paging.ONE_ORDER
) -> paging.PageRequest:
    """Return which page of the list `name` is asked for, as `XAPP_UNPAGINATED_LISTS` spells it.

    Raises:
        MalformedRequest: for a parameter out of its bounds, naming them.
    """
    return paging.read_page_request(query, rules=paging.PageRules.of(settings, name=name), sorts=sorts)


def page_answer(
    request: Request, query: Query, asked: paging.PageRequest, at: paging.PageBounds, content: Sequence[bytes]
) -> Response:
    """Return the answer with one page; `content` is the JSON of its items."""
    if asked.per_page is None:
        return cacheable(request, paging.bare_array(content), pretty=asked.pretty)
    link = paging.link_header(at, path=instance_of(request), query=query)
    return cacheable(request, paging.envelope(at, content), pretty=asked.pretty, headers={"Link": link})


def sliced_answer(
    request: Request, query: Query, asked: paging.PageRequest, items: Sequence[T], *, packed: Callable[[T], bytes]
) -> Response:
    """Return the answer with one page of `items`, which are in order; `packed` makes the JSON of those it shows.

    Raises:
        MalformedRequest: for a page after the last one.
    """
    at = paging.bounds(asked, total_count=len(items))
    return page_answer(request, query, asked, at, [packed(item) for item in items[at.start : at.stop]])
