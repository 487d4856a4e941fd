"""Responses with one page of a list in its envelope, or with a bare array if pagination is turned off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.config import Settings
from xapp_operator.gateway.http import pagination
from xapp_operator.gateway.http.problems import request_path
from xapp_operator.gateway.http.query import StrictQuery
from xapp_operator.gateway.http.responses import etag_response

T = TypeVar("T")


def parse_list_request(
    query: StrictQuery, settings: Settings, *, name: str, sorts: Sequence[str] = pagination.SINGLE_SORT
) -> pagination.PageRequest:
    """Parse the page parameters of the list that `XAPP_UNPAGINATED_LISTS` calls `name`.

    Raises:
        MalformedRequest: for a parameter out of its bounds; the message names them.
    """
    return pagination.parse_page_request(
        query, limits=pagination.PageLimits.from_settings(settings, name=name), sorts=sorts
    )


def page_response(
    request: Request,
    query: StrictQuery,
    page_request: pagination.PageRequest,
    bounds: pagination.PageBounds,
    content: Sequence[bytes],
) -> Response:
    """Return the response with one page; `content` is the JSON of its items."""
    if page_request.per_page is None:
        return etag_response(request, pagination.bare_array(content), pretty=page_request.pretty)
    link = pagination.link_header(bounds, path=request_path(request), query=query)
    return etag_response(
        request, pagination.page_envelope(bounds, content), pretty=page_request.pretty, headers={"Link": link}
    )


def list_response(
    request: Request,
    query: StrictQuery,
    page_request: pagination.PageRequest,
    items: Sequence[T],
    *,
    to_json: Callable[[T], bytes],
) -> Response:
    """Return the response with one page of `items`, which are in order; `to_json` is called for that page only.

    Raises:
        MalformedRequest: for a page after the last one.
    """
    bounds = pagination.compute_page_bounds(page_request, total_count=len(items))
    return page_response(
        request, query, page_request, bounds, [to_json(item) for item in items[bounds.start : bounds.stop]]
    )
