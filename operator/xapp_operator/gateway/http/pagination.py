"""Pages of a list: the requested page, its place in the list, and the response with it.

If pagination of a list is turned off, the response is a bare array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.common.text import quote_input
from xapp_operator.config import Settings
from xapp_operator.errors import MalformedRequest
from xapp_operator.gateway.http.problems import request_path
from xapp_operator.gateway.http.query import StrictQuery
from xapp_operator.gateway.http.responses import etag_response

SORT_ORDERS: Final = ("asc", "desc")
SORTED_LIST_PARAMETERS: Final = ("page", "per_page", "pretty", "sort", "order")
LIST_PARAMETERS: Final = ("page", "per_page", "pretty")
"""Parameters of a list that has only one order."""
SINGLE_SORT: Final = ("",)
"""The sorts of such a list."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The part of a list that a query asks for; `per_page` None asks for the whole list."""

    page: int
    per_page: int | None
    sort: str
    descending: bool
    pretty: bool


@dataclass(frozen=True, slots=True)
class PageBounds:
    """The place of a page in a list: items `start` to `stop`, without `stop`."""

    page: int
    total_count: int
    last_page: int
    start: int
    stop: int

    @property
    def is_last_page(self) -> bool:
        return self.page == self.last_page


def compute_page_bounds(request: PageRequest, *, total_count: int) -> PageBounds:
    """Return the place of the page in a list of `total_count` items; an empty list is one empty page.

    Raises:
        MalformedRequest: for a page after the last one.
    """
    if request.per_page is None:
        return PageBounds(page=1, total_count=total_count, last_page=1, start=0, stop=total_count)
    last_page = max(1, -(-total_count // request.per_page))
    if request.page > last_page:
        raise MalformedRequest.for_field(
            "page", f"must be between 1 and {last_page} (the last page), not {quote_input(str(request.page))}"
        )
    start = (request.page - 1) * request.per_page
    return PageBounds(
        page=request.page,
        total_count=total_count,
        last_page=last_page,
        start=start,
        stop=min(start + request.per_page, total_count),
    )


def page_envelope(bounds: PageBounds, content: Sequence[bytes]) -> bytes:
    """Return the JSON of a page whose items are JSON already."""
    return b'{"page":%d,"total_count":%d,"last_page":%d,"is_last_page":%b,"content":[%b]}' % (
        bounds.page,
        bounds.total_count,
        bounds.last_page,
        b"true" if bounds.is_last_page else b"false",
        b",".join(content),
    )


def link_header(bounds: PageBounds, *, path: str, query: StrictQuery) -> str:
    """Return the Link header (RFC 8288) of a page: first, prev, next and last, with all other parameters.

    The references are relative to the origin, so that they also work behind a proxy.
    """
    others = urlencode([(name, value) for name, value in query.pairs if name != "page"])
    base = f"{path}?{others}&page=" if others else f"{path}?page="
    targets = {"first": 1, "prev": bounds.page - 1, "next": bounds.page + 1, "last": bounds.last_page}
    links = (f'<{base}{page}>; rel="{rel}"' for rel, page in targets.items() if 1 <= page <= bounds.last_page)
    return ", ".join(links)


T = TypeVar("T")


def parse_list_request(
    query: StrictQuery, settings: Settings, *, name: str, sorts: Sequence[str] = SINGLE_SORT
) -> PageRequest:
    """Parse the page parameters of the list that `XAPP_UNPAGINATED_LISTS` calls `name`.

    The first of `sorts` is the default.

    Raises:
        MalformedRequest: for a parameter out of its bounds; the message names them.
    """
    paginated = name not in settings.unpaginated_lists
    if not paginated:
        for parameter in ("page", "per_page"):
            if parameter in query.values:
                raise MalformedRequest.for_field(
                    parameter, "is not a parameter here: pagination of this list is turned off; leave it out"
                )
    low, high = settings.min_items_per_page, settings.max_items_per_page
    page = query.integer("page", default=1, low=1, high=None, bound="at least 1 (the first page)")
    per_page = query.integer(
        "per_page", default=settings.default_items_per_page, low=low, high=high, bound=f"between {low} and {high}"
    )
    return PageRequest(
        page=page,
        per_page=per_page if paginated else None,
        sort=query.choice("sort", sorts) or sorts[0],
        descending=query.choice("order", SORT_ORDERS) == "desc",
        pretty=query.boolean("pretty"),
    )


def page_response(
    request: Request, query: StrictQuery, page_request: PageRequest, bounds: PageBounds, content: Sequence[bytes]
) -> Response:
    """Return the response with one page; `content` is the JSON of its items."""
    if page_request.per_page is None:
        return etag_response(request, b"[%b]" % b",".join(content), pretty=page_request.pretty)
    link = link_header(bounds, path=request_path(request), query=query)
    return etag_response(request, page_envelope(bounds, content), pretty=page_request.pretty, headers={"Link": link})


def list_response(
    request: Request,
    query: StrictQuery,
    page_request: PageRequest,
    items: Sequence[T],
    *,
    to_json: Callable[[T], bytes],
) -> Response:
    """Return the response with one page of `items`, which are in order; `to_json` is called for that page only.

    Raises:
        MalformedRequest: for a page after the last one.
    """
    bounds = compute_page_bounds(page_request, total_count=len(items))
    return page_response(
        request, query, page_request, bounds, [to_json(item) for item in items[bounds.start : bounds.stop]]
    )
