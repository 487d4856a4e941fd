"""Pages of a list: the requested page, its place in the list, the envelope and the Link header. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from xapp_operator.common.text import quote_input
from xapp_operator.gateway.http.query import StrictQuery, parameter_error

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
        """Tell whether no page follows."""
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
        raise parameter_error(
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
