"""Pages of a list: the requested page, its place in the list, and the response with it.

If pagination of a list is turned off, the response is a bare array.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar, cast
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.common.text import quote_input
from xapp_operator.config.settings import Settings
from xapp_operator.errors import MalformedRequest
from xapp_operator.gateway.http.lists.snapshots import NEW_SNAPSHOT, Snapshots
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.http.responses.json_responses import etag_response
from xapp_operator.gateway.http.responses.problems import request_path

SORT_ORDERS: Final = ("asc", "desc")
PAGE_PARAMETERS: Final = ("page", "per_page", "pretty")
"""Parameters of a list that is read for each page."""
LIST_PARAMETERS: Final = (*PAGE_PARAMETERS, "snapshot")
"""Parameters of a list from memory that has only one order."""
SORTED_LIST_PARAMETERS: Final = (*LIST_PARAMETERS, "sort", "order")
EVENT_ID_HEADER: Final = "Last-Event-ID"
"""In the response of a list: the newest change that it contains; in a request of a stream: where to resume."""
SINGLE_SORT: Final = ("",)
"""The sorts of such a list."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The part of a list that a query asks for; `per_page` None asks for the whole list.

    `snapshot` is a token, or NEW_SNAPSHOT to begin a walk, or None for the list as it is now.
    """

    page: int
    per_page: int | None
    sort: str
    descending: bool
    pretty: bool
    snapshot: str | None = None


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


def link_header(bounds: PageBounds, *, path: str, query: StrictQuery, snapshot: str | None = None) -> str:
    """Return the Link header (RFC 8288) of a page: first, prev, next and last, with all other parameters.

    The references are relative to the origin, so that they also work behind a proxy. `snapshot` is the token of a walk.
    """
    pairs = [(name, value) for name, value in query.pairs if name not in {"page", "snapshot"}]
    others = urlencode([*pairs, ("snapshot", snapshot)] if snapshot else pairs)
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
        for parameter in ("page", "per_page", "snapshot"):
            if parameter in query.values:
                raise MalformedRequest.for_field(
                    parameter, "is not a parameter here: pagination of this list is turned off; leave it out"
                )
    low, high = settings.min_items_per_page, settings.max_items_per_page
    page = query.integer("page", default=1, low=1, high=None, bound="at least 1 (the first page)")
    per_page = query.integer(
        "per_page", default=settings.default_items_per_page, low=low, high=high, bound=f"between {low} and {high}"
    )
    snapshot = query.text("snapshot")
    if snapshot == NEW_SNAPSHOT and page != 1:
        raise MalformedRequest.for_field("snapshot", f"{NEW_SNAPSHOT} begins a walk: ask for page 1")
    return PageRequest(
        page=page,
        per_page=per_page if paginated else None,
        sort=query.choice("sort", sorts) or sorts[0],
        descending=query.choice("order", SORT_ORDERS) == "desc",
        pretty=query.boolean("pretty"),
        snapshot=snapshot,
    )


def page_response(
    request: Request,
    query: StrictQuery,
    page_request: PageRequest,
    bounds: PageBounds,
    content: Sequence[bytes],
    *,
    snapshot: str | None = None,
    event_id: str | None = None,
) -> Response:
    """Return the response with one page.

    `content` is the JSON of its items, `snapshot` the token of a walk, `event_id` the newest change that it contains.
    """
    headers = {} if event_id is None else {EVENT_ID_HEADER: event_id}
    if page_request.per_page is None:
        return etag_response(request, b"[%b]" % b",".join(content), pretty=page_request.pretty, headers=headers)
    headers["Link"] = link_header(bounds, path=request_path(request), query=query, snapshot=snapshot)
    if snapshot is not None:
        headers["Snapshot"] = snapshot
    return etag_response(request, page_envelope(bounds, content), pretty=page_request.pretty, headers=headers)


class SequenceSnapshot(Generic[T]):
    """The items of a list that are in a sequence which does not change, and what makes their JSON."""

    def __init__(self, items: Sequence[T], to_json: Callable[[T], bytes], *, memory_bytes: int = 0) -> None:
        self.items = items
        self.to_json = to_json
        self.memory_bytes = memory_bytes
        self.closed = False

    def close(self) -> None:
        """Mark it as gone; whoever reads a page of it still can."""
        self.closed = True


@dataclass(frozen=True, slots=True)
class Walks:
    """What a list needs for walks: `key` identifies it with its filters, `memory_bytes` is what its items take."""

    snapshots: Snapshots
    caller: str
    key: Hashable
    memory_bytes: int

    def open(self, page_request: PageRequest, current: SequenceSnapshot[T]) -> tuple[str | None, SequenceSnapshot[T]]:
        """Return what a page is of, with the token of its walk: the `current` items, or those of a snapshot.

        Raises:
            MalformedRequest: for a snapshot of another list.
            SnapshotExpired: for a snapshot that is gone.
        """
        token = page_request.snapshot
        if token is None:
            return None, current
        if token == NEW_SNAPSHOT:
            current.memory_bytes = self.memory_bytes
            return self.snapshots.begin(current, caller=self.caller, key=self.key), current
        found = self.snapshots.find(token, caller=self.caller, key=self.key)
        return token, cast("SequenceSnapshot[T]", found)


def list_response(
    request: Request,
    query: StrictQuery,
    page_request: PageRequest,
    items: Sequence[T],
    *,
    to_json: Callable[[T], bytes],
    walks: Walks | None = None,
) -> Response:
    """Return the response with one page of `items`, which are in order; `to_json` is called for that page only.

    With `walks`, a caller can ask for pages of one instant; `items` must not change then.

    Raises:
        MalformedRequest: for a page after the last one, or a snapshot of another list.
        SnapshotExpired: for a snapshot that is gone.
    """
    current = SequenceSnapshot(items, to_json)
    token, found = (None, current) if walks is None else walks.open(page_request, current)
    bounds = compute_page_bounds(page_request, total_count=len(found.items))
    content = [found.to_json(item) for item in found.items[bounds.start : bounds.stop]]
    return page_response(request, query, page_request, bounds, content, snapshot=token)
