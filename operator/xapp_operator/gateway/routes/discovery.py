"""Services and their ports in the monitored namespaces, of xApps or not. The list comes from memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.common.text import quote_input
from xapp_operator.errors import MalformedRequest
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.catalog.label_selector import LABEL_SELECTOR_MAX, parse_label_selector
from xapp_operator.gateway.catalog.object_store import ObjectStore
from xapp_operator.gateway.catalog.service_store import ServiceEntry, ServiceFilters
from xapp_operator.gateway.http.lists.pagination import LIST_PARAMETERS, SINGLE_SORT
from xapp_operator.gateway.http.openapi import RequestRoute, document_filter, document_list
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.routes.lists import StoreList
from xapp_operator.gateway.schemas.records import DiscoveredService, Page
from xapp_operator.gateway.state import Gateway
from xapp_operator.kube.resources import SERVICES

router = APIRouter(prefix="/api/discovery", tags=["Discovery"], route_class=RequestRoute)

# The names that Kubernetes allows for a port of a Service; a number has this form too.
_PORT_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


def _read_filters(query: StrictQuery) -> ServiceFilters:
    ports = query.texts("port")
    for port in ports:
        if _PORT_NAME.fullmatch(port) is None:
            rule = "must be the name (1 to 63 lower-case letters, digits and '-') or the number of a port"
            raise MalformedRequest.for_field("port", f"{rule}, not {quote_input(port)}")
    return ServiceFilters(
        namespace=query.texts("namespace"),
        label=tuple(parse_label_selector("label", label) for label in query.texts("label")),
        port=ports,
        search=query.texts("search"),
    )


def _synced_store(gateway: Gateway) -> ObjectStore[ServiceEntry]:
    gateway.require_synced()
    return gateway.services.synced_store()


async def _build_records(gateway: Gateway, caller: Caller, services: Sequence[ServiceEntry]) -> list[bytes]:
    """Return the JSON of each Service; its xApp is named only to callers who may list xApps in that namespace."""
    xapps = [gateway.services.find_xapp(service) for service in services]
    if any(xapps):
        visible = await caller.allowed_namespaces("list", among=gateway.store.namespaces)
        if visible is not None:
            xapps = [xapp if xapp is not None and xapp.namespace in visible else None for xapp in xapps]
    return [service.record_json_with_xapp(xapp) for service, xapp in zip(services, xapps, strict=True)]


_LIST: Final = StoreList(
    name="services",
    resource=SERVICES,
    parameters=LIST_PARAMETERS,
    filters=("namespace", "label", "port", "search"),
    sorts=SINGLE_SORT,
    read_filters=_read_filters,
    synced_store=_synced_store,
    build_records=_build_records,
)


@router.get(
    "/services",
    **document_list(
        "List Services",
        Page[DiscoveredService],
        "One page, by namespace and name.",
        parameters=[
            document_filter("namespace", "Only Services of this namespace."),
            document_filter(
                "label",
                "Only Services that a Kubernetes label selector (equality-based or set-based) selects: "
                "`app=ric,tier!=test,zone in (a,b),stage notin (dev),managed,!legacy`.",
                schema={"type": "string", "maxLength": LABEL_SELECTOR_MAX},
            ),
            document_filter("port", "Only Services with a port of this name or number."),
            document_filter("search", "Only Services with this text in their name; case-insensitive."),
        ],
    ),
)
async def list_services(request: Request) -> Response:
    """Return one page of the Services that the caller may list."""
    return await _LIST.page(request)
