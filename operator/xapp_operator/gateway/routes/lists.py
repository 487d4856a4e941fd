"""Lists that are served from a store in memory: one flow for all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.catalog.object_store import Filters, ObjectStore, StoreEntry
from xapp_operator.gateway.http.pagination import compute_page_bounds, page_response, parse_list_request
from xapp_operator.gateway.http.query import StrictQuery
from xapp_operator.gateway.state import Gateway, get_gateway
from xapp_operator.kube.resources import Resource

E = TypeVar("E", bound=StoreEntry)


@dataclass(frozen=True, slots=True)
class StoreList(Generic[E]):
    """One list: its name in `XAPP_UNPAGINATED_LISTS`, its query parameters, and the store behind it.

    `parameters` are those of its pages, `filters` those that may be repeated; one of them is `namespace`.
    `synced_store` returns the store or raises NotReady; `resource` is what the caller must be allowed to list.
    `build_records` returns the JSON of each entry of a page.
    """

    name: str
    resource: Resource
    parameters: Sequence[str]
    filters: Sequence[str]
    sorts: Sequence[str]
    read_filters: Callable[[StrictQuery], Filters[E]]
    synced_store: Callable[[Gateway], ObjectStore[E]]
    build_records: Callable[[Gateway, Caller, Sequence[E]], Awaitable[Sequence[bytes]]]

    async def page(self, request: Request) -> Response:
        """Return the response with the page that a request asks for, of the objects that its caller may list.

        Raises:
            Unauthenticated: without a token that the cluster accepts.
            AccessDenied: when the query names a namespace that the caller may not list.
            MalformedRequest: for a parameter that is unknown, repeated or out of its bounds.
            NotReady: before the store is complete.
        """
        gateway = get_gateway(request)
        query = StrictQuery(request.scope["query_string"])
        caller, namespaces = gateway.get_caller(request), query.texts("namespace")
        await caller.require_list_allowed(namespaces=namespaces, resource=self.resource)
        query.allow_only(self.parameters, repeatable=self.filters)
        page_request = parse_list_request(query, gateway.settings, name=self.name, sorts=self.sorts)
        filters, store, within = self.read_filters(query), self.synced_store(gateway), None
        if not namespaces:
            within = await caller.allowed_namespaces("list", among=store.namespaces, resource=self.resource)
        view = store.select(filters, sort=page_request.sort, descending=page_request.descending, within=within)
        bounds = compute_page_bounds(page_request, total_count=len(view))
        records = await self.build_records(gateway, caller, view[bounds.start : bounds.stop])
        return page_response(request, query, page_request, bounds, records)
