"""Lists that are served from a store in memory: one flow for all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.errors import AccessDenied
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.catalog.object_store import Filters, ObjectStore, StoreEntry, View
from xapp_operator.gateway.catalog.store_history import StoreSnapshot
from xapp_operator.gateway.http.lists.pagination import (
    PageRequest,
    compute_page_bounds,
    page_response,
    parse_list_request,
)
from xapp_operator.gateway.http.lists.snapshots import NEW_SNAPSHOT
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.state import Gateway, get_gateway
from xapp_operator.kube.resources import Resource

E = TypeVar("E", bound=StoreEntry)


@dataclass(frozen=True, slots=True)
class StoreList(Generic[E]):
    """One list: its name in `XAPP_UNPAGINATED_LISTS`, its query parameters, and the store behind it.

    `parameters` are those of its pages, `filters` those that may be repeated; one of them is `namespace`.
    `synced_store` returns the store or raises NotReady; `resource` is what the caller must be allowed to list.
    `build_records` returns the JSON of each entry of a page. `latest_event_id` returns the id of the newest change that
    the store contains, if there is a stream of its changes.
    """

    name: str
    resource: Resource
    parameters: Sequence[str]
    filters: Sequence[str]
    sorts: Sequence[str]
    read_filters: Callable[[StrictQuery], Filters[E]]
    synced_store: Callable[[Gateway], ObjectStore[E]]
    build_records: Callable[[Gateway, Caller, Sequence[E]], Awaitable[Sequence[bytes]]]
    latest_event_id: Callable[[Gateway], str] | None = None

    async def page(self, request: Request) -> Response:
        """Return the response with the page that a request asks for, of the objects that its caller may list.

        Raises:
            Unauthenticated: without a token that the cluster accepts.
            AccessDenied: when the query names a namespace that the caller may not list.
            MalformedRequest: for a parameter that is unknown, repeated or out of its bounds.
            SnapshotExpired: for a snapshot that is gone, or shows what the caller may no longer see.
            NotReady: before the store is complete.
        """
        gateway = get_gateway(request)
        query = StrictQuery(request.scope["query_string"])
        caller, namespaces = gateway.get_caller(request), query.texts("namespace")
        try:
            await caller.require_list_allowed(namespaces=namespaces, resource=self.resource)
        except AccessDenied:
            gateway.snapshots.end(query.text("snapshot") or "", caller=caller.user)
            raise
        query.allow_only(self.parameters, repeatable=self.filters)
        page_request = parse_list_request(query, gateway.settings, name=self.name, sorts=self.sorts)
        filters, store = self.read_filters(query), self.synced_store(gateway)
        token, view = await self._open(gateway, caller, page_request, filters, store)
        bounds = compute_page_bounds(page_request, total_count=len(view))
        entries, event_id = view[bounds.start : bounds.stop], None
        # The later pages of a walk are older than the newest change.
        if self.latest_event_id is not None and page_request.snapshot in (None, NEW_SNAPSHOT):
            event_id = self.latest_event_id(gateway)
        records = await self.build_records(gateway, caller, entries)
        return page_response(request, query, page_request, bounds, records, snapshot=token, event_id=event_id)

    async def _open(
        self, gateway: Gateway, caller: Caller, page_request: PageRequest, filters: Filters[E], store: ObjectStore[E]
    ) -> tuple[str | None, View[E] | StoreSnapshot[E]]:
        """Return the list as it is now, or a snapshot of it with its token."""
        token, key = page_request.snapshot, (self.name, filters, page_request.sort, page_request.descending)
        if token is not None and token != NEW_SNAPSHOT:
            found = gateway.snapshots.find(token, caller=caller.user, key=key)
            snapshot = cast("StoreSnapshot[E]", found)
            if not filters.namespace and not await self._may_see(caller, store, snapshot):
                raise gateway.snapshots.end(token, caller=caller.user)
            return token, snapshot
        within = None
        if not filters.namespace:
            within = await caller.allowed_namespaces("list", among=store.namespaces, resource=self.resource)
        if token is None:
            return None, store.select(
                filters, sort=page_request.sort, descending=page_request.descending, within=within
            )
        snapshot = store.snapshot(filters, sort=page_request.sort, descending=page_request.descending, within=within)
        return gateway.snapshots.begin(snapshot, caller=caller.user, key=key), snapshot

    async def _may_see(self, caller: Caller, store: ObjectStore[E], snapshot: StoreSnapshot[E]) -> bool:
        """Return whether the caller may still list all namespaces of a snapshot."""
        shown = snapshot.namespaces
        among = store.namespaces if shown is None or shown <= store.namespaces else store.namespaces | shown
        allowed = await caller.allowed_namespaces("list", among=among, resource=self.resource)
        return allowed is None or (shown is not None and shown <= allowed)
