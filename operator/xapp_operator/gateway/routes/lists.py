"""Lists that are served from a store in memory: one flow for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.catalog.object_store import Filters, ObjectStore, StoreEntry
from xapp_operator.gateway.http.pagination import (
    PageBounds,
    PageRequest,
    compute_page_bounds,
    page_response,
    parse_list_request,
)
from xapp_operator.gateway.http.query import StrictQuery
from xapp_operator.gateway.state import Gateway, get_gateway
from xapp_operator.kube.resources import Resource

E = TypeVar("E", bound=StoreEntry)


@dataclass(frozen=True, slots=True)
class StoreList(Generic[E]):
    """One list: its name in `XAPP_UNPAGINATED_LISTS`, its query parameters, and the store behind it.

    `synced_store` returns the store or raises NotReady; `resource` is what the caller must be allowed to list.
    """

    name: str
    resource: Resource
    parameters: Sequence[str]
    sorts: Sequence[str]
    read_filters: Callable[[StrictQuery], Filters[E]]
    synced_store: Callable[[Gateway], ObjectStore[E]]

    async def select_page(self, request: Request) -> StorePage[E]:
        """Return the page that a request asks for, of the objects that its caller may list.

        Raises:
            Unauthenticated: without a token that the cluster accepts.
            AccessDenied: when the query names a namespace that the caller may not list.
            MalformedRequest: for a parameter that is unknown, repeated or out of its bounds.
            NotReady: before the store is complete.
        """
        gateway = get_gateway(request)
        query = StrictQuery(request.scope["query_string"])
        caller, namespace = gateway.get_caller(request), query.text("namespace")
        await caller.require_list_allowed(namespace=namespace, resource=self.resource)
        query.allow_only(self.parameters)
        page_request = parse_list_request(query, gateway.settings, name=self.name, sorts=self.sorts)
        filters, store, within = self.read_filters(query), self.synced_store(gateway), None
        if namespace is None:
            within = await caller.allowed_namespaces("list", among=store.namespaces, resource=self.resource)
        view = store.select(filters, sort=page_request.sort, descending=page_request.descending, within=within)
        bounds = compute_page_bounds(page_request, total_count=len(view))
        return StorePage(
            request=request,
            query=query,
            page_request=page_request,
            bounds=bounds,
            gateway=gateway,
            caller=caller,
            entries=view[bounds.start : bounds.stop],
        )


@dataclass(frozen=True, slots=True)
class StorePage(Generic[E]):
    """One page of a list, and its request."""

    request: Request
    query: StrictQuery
    page_request: PageRequest
    bounds: PageBounds
    gateway: Gateway
    caller: Caller
    entries: list[E]

    def response(self, records: Sequence[bytes]) -> Response:
        """Return the response; `records` is the JSON of each entry."""
        return page_response(self.request, self.query, self.page_request, self.bounds, records)
