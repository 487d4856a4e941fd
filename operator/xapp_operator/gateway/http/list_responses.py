"""Lists over HTTP: the requested page, and the response with it, or with a bare array if pagination is turned off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.config import Settings
from xapp_operator.gateway.http.pagination import (
    SINGLE_SORT,
    SORT_ORDERS,
    PageBounds,
    PageRequest,
    compute_page_bounds,
    link_header,
    page_envelope,
)
from xapp_operator.gateway.http.problems import request_path
from xapp_operator.gateway.http.query import StrictQuery, parameter_error
from xapp_operator.gateway.http.responses import etag_response

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
                raise parameter_error(
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
