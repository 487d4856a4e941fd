"""Pagination: the page that a query asks for, its place in a list, the envelope and the Link header. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from xapp_operator.common.text import quote_input
from xapp_operator.config import Settings
from xapp_operator.gateway.http.query import StrictQuery, parameter_error

SORT_ORDERS: Final = ("asc", "desc")
SORTED_LIST_PARAMETERS: Final = ("page", "per_page", "pretty", "sort", "order")
LIST_PARAMETERS: Final = ("page", "per_page", "pretty")
"""Parameters of a list that has only one order."""
SINGLE_SORT: Final = ("",)
"""The sorts of such a list."""


@dataclass(frozen=True, slots=True)
class PageLimits:
    """The configured limits of one list; without pagination it is a bare array."""

    default_per_page: int = 10
    min_per_page: int = 1
    max_per_page: int = 100
    paginated: bool = True

    @classmethod
    def from_settings(cls, settings: Settings, *, name: str) -> PageLimits:
        """Return the limits of the list that `XAPP_UNPAGINATED_LISTS` calls `name`."""
        return cls(
            default_per_page=settings.default_items_per_page,
            min_per_page=settings.min_items_per_page,
            max_per_page=settings.max_items_per_page,
            paginated=name not in settings.unpaginated_lists,
        )


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


def parse_page_request(query: StrictQuery, *, limits: PageLimits, sorts: Sequence[str]) -> PageRequest:
    """Parse the page parameters of `query`; the first of `sorts` is the default.

    Raises:
        MalformedRequest: for a parameter out of its bounds; the message names them.
    """
    if not limits.paginated:
        for name in ("page", "per_page"):
            if name in query.values:
                raise parameter_error(
                    name, "is not a parameter here: pagination of this list is turned off; leave it out"
                )
    page = query.integer("page", default=1, low=1, high=None, bound="at least 1 (the first page)")
    per_page = query.integer(
        "per_page",
        default=limits.default_per_page,
        low=limits.min_per_page,
        high=limits.max_per_page,
        bound=f"between {limits.min_per_page} and {limits.max_per_page}",
    )
    return PageRequest(
        page=page,
        per_page=per_page if limits.paginated else None,
        sort=query.choice("sort", sorts) or sorts[0],
        descending=query.choice("order", SORT_ORDERS) == "desc",
        pretty=query.boolean("pretty"),
    )


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


def bare_array(content: Sequence[bytes]) -> bytes:
    """Return the JSON of a list that is not paginated."""
    return b"[%b]" % b",".join(content)


def link_header(bounds: PageBounds, *, path: str, query: StrictQuery) -> str:
    """Return the Link header (RFC 8288) of a page: first, prev, next and last, with all other parameters.

    The references are relative to the origin, so that they also work behind a proxy.
    """
    others = urlencode([(name, value) for name, value in query.pairs if name != "page"])
    base = f"{path}?{others}&page=" if others else f"{path}?page="
    targets = {"first": 1, "prev": bounds.page - 1, "next": bounds.page + 1, "last": bounds.last_page}
    links = (f'<{base}{page}>; rel="{rel}"' for rel, page in targets.items() if 1 <= page <= bounds.last_page)
    return ", ".join(links)
