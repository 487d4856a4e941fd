"""Services and ports in the monitored namespaces, of xApps or not. The list comes from memory."""

from __future__ import annotations

import re
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.common.text import quote_input
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.catalog.label_selector import LABEL_SELECTOR_MAX, parse_label_selector
from xapp_operator.gateway.catalog.service_store import ServiceEntry, ServiceFilters
from xapp_operator.gateway.http import pagination
from xapp_operator.gateway.http.list_responses import page_response, parse_list_request
from xapp_operator.gateway.http.openapi import (
    NOT_MODIFIED,
    PAGE_HEADERS,
    PAGE_PARAMETER_DOCS,
    UNAUTHENTICATED_PROBLEM,
    document_parameter,
    document_responses,
)
from xapp_operator.gateway.http.query import StrictQuery, parameter_error
from xapp_operator.gateway.http.routing import RequestRoute
from xapp_operator.gateway.schemas.discovery import DiscoveredService
from xapp_operator.gateway.schemas.records import Page
from xapp_operator.gateway.state import Gateway, get_gateway
from xapp_operator.kube.resources import SERVICES

router = APIRouter(prefix="/api/discovery", tags=["Discovery"], route_class=RequestRoute)

SERVICES_LIST_NAME: Final = "services"
SERVICE_LIST_PARAMETERS: Final = (*pagination.LIST_PARAMETERS, "namespace", "label", "port", "search")

# What Kubernetes lets a port of a Service be called; a number is of that form too.
_PORT_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


@router.get(
    "/services",
    summary="List Services",
    openapi_extra={
        "parameters": [
            *PAGE_PARAMETER_DOCS,
            document_parameter("namespace", "Only Services of this namespace."),
            document_parameter(
                "label",
                "Only Services that a label selector of Kubernetes picks, by equality or by sets: "
                "`app=ric,tier!=test,zone in (a,b),stage notin (dev),managed,!legacy`.",
                schema={"type": "string", "maxLength": LABEL_SELECTOR_MAX},
            ),
            document_parameter("port", "Only Services with a port of this name or number.", schema={"type": "string"}),
            document_parameter("search", "Only Services with this text in their name; case is ignored."),
        ]
    },
    responses=document_responses(
        (200, "One page, by namespace and name. A bare array where pagination is off.", Page[DiscoveredService]),
        NOT_MODIFIED,
        problems={
            **UNAUTHENTICATED_PROBLEM,
            400: "A parameter that is unknown, repeated or out of its bounds; no selector.",
        },
        headers=PAGE_HEADERS,
    ),
    response_model=None,
)
async def list_services(request: Request) -> Response:
    """Answer with one page of the Services that the caller may list."""
    gateway = get_gateway(request)
    query = StrictQuery(request.scope["query_string"])
    caller, namespace = gateway.get_caller(request), query.text("namespace")
    await caller.require_list_allowed(namespace=namespace, resource=SERVICES)
    query.allow_only(SERVICE_LIST_PARAMETERS)
    page_request = parse_list_request(query, gateway.settings, name=SERVICES_LIST_NAME)
    filters = _read_filters(query)
    gateway.services.require_synced()
    gateway.require_synced()
    store = gateway.services.store
    if namespace is None:
        namespaces = await caller.allowed_namespaces("list", among=store.namespaces, resource=SERVICES)
        filters = filters._replace(within=namespaces)
    found = store.select(filters)
    page_bounds = pagination.compute_page_bounds(page_request, total_count=len(found))
    return page_response(
        request, query, page_request, page_bounds, await _records(gateway, caller, store.page(found, page_bounds))
    )


async def _records(gateway: Gateway, caller: Caller, services: list[ServiceEntry]) -> list[bytes]:
    """Return the JSON of each; an xApp is named to those only who may list xApps where it is."""
    xapps = [gateway.services.find_xapp(service) for service in services]
    if any(xapps):
        visible = await caller.allowed_namespaces("list", among=gateway.store.namespaces)
        if visible is not None:
            xapps = [xapp if xapp is not None and xapp.namespace in visible else None for xapp in xapps]
    return [service.record_json_with_xapp(xapp) for service, xapp in zip(services, xapps, strict=True)]


def _read_filters(query: StrictQuery) -> ServiceFilters:
    port, label = query.text("port"), query.text("label")
    if port is not None and _PORT_NAME.fullmatch(port) is None:
        rule = "must be the name of a port (1 to 63 lower-case letters, digits and '-') or its number"
        raise parameter_error("port", f"{rule}, not {quote_input(port)}")
    return ServiceFilters(
        namespace=query.text("namespace"),
        label=None if label is None else parse_label_selector("label", label),
        port=port,
        search=query.text("search"),
    )
