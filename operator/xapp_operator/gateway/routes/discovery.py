"""Services and ports in the monitored namespaces, of xApps or not. The list comes from memory."""

from __future__ import annotations

import re
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.gateway import paging
from xapp_operator.gateway.auth import Caller
from xapp_operator.gateway.documented import NOT_CHANGED, PAGED, PLAIN_PAGE, UNAUTHENTICATED, answers, parameter
from xapp_operator.gateway.pages import asked_page, page_answer
from xapp_operator.gateway.query import Query, refused, shown
from xapp_operator.gateway.routes.plain import PlainRoute
from xapp_operator.gateway.runtime import Gateway, gateway_of
from xapp_operator.gateway.schemas.discovery import DiscoveredService
from xapp_operator.gateway.schemas.records import Page
from xapp_operator.gateway.selector import SELECTOR_MAX, read_selector
from xapp_operator.gateway.services import Filters, KnownService
from xapp_operator.kube.resources import SERVICES

router = APIRouter(prefix="/api/discovery", tags=["Discovery"], route_class=PlainRoute)

LIST_NAME: Final = "services"
PARAMETERS: Final = (*paging.PLAIN_PAGE_PARAMETERS, "namespace", "label", "port", "search")

# What Kubernetes lets a port of a Service be called; a number is of that form too.
_PORT: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


@router.get(
    "/services",
    summary="List Services",
    openapi_extra={
        "parameters": [
            *PLAIN_PAGE,
            parameter("namespace", "Only Services of this namespace."),
            parameter(
                "label",
                "Only Services that a label selector of Kubernetes picks, by equality or by sets: "
                "`app=ric,tier!=test,zone in (a,b),stage notin (dev),managed,!legacy`.",
                schema={"type": "string", "maxLength": SELECTOR_MAX},
            ),
            parameter("port", "Only Services with a port of this name or number.", schema={"type": "string"}),
            parameter("search", "Only Services with this text in their name; case is ignored."),
        ]
    },
    responses=answers(
        (200, "One page, by namespace and name. A bare array where pagination is off.", Page[DiscoveredService]),
        NOT_CHANGED,
        problems={**UNAUTHENTICATED, 400: "A parameter that is unknown, repeated or out of its bounds; no selector."},
        headers=PAGED,
    ),
    response_model=None,
)
async def list_services(request: Request) -> Response:
    """Answer with one page of the Services that the caller may list."""
    gateway = gateway_of(request)
    query = Query(request.scope["query_string"])
    caller, named = gateway.caller(request), query.text("namespace")
    await caller.require_list(namespace=named, resource=SERVICES)
    query.only(PARAMETERS)
    asked = asked_page(query, gateway.settings, name=LIST_NAME)
    filters = _filters(query)
    gateway.services.require_synced()
    gateway.require_synced()
    store = gateway.services.store
    if named is None:
        within = await caller.namespaces("list", among=store.namespaces, resource=SERVICES)
        filters = filters._replace(within=within)
    found = store.found(filters)
    at = paging.bounds(asked, total_count=len(found))
    return page_answer(request, query, asked, at, await _records(gateway, caller, store.page(found, at)))


async def _records(gateway: Gateway, caller: Caller, services: list[KnownService]) -> list[bytes]:
    """Return the JSON of each; an xApp is named to those only who may list xApps where it is."""
    xapps = [gateway.services.xapp_of(service) for service in services]
    if any(xapps):
        seen = await caller.namespaces("list", among=gateway.store.namespaces)
        if seen is not None:
            xapps = [xapp if xapp is not None and xapp.namespace in seen else None for xapp in xapps]
    return [service.with_xapp(xapp) for service, xapp in zip(services, xapps, strict=True)]


def _filters(query: Query) -> Filters:
    port, label = query.text("port"), query.text("label")
    if port is not None and _PORT.fullmatch(port) is None:
        rule = "must be the name of a port (1 to 63 lower-case letters, digits and '-') or its number"
        raise refused("port", f"{rule}, not {shown(port)}")
    return Filters(
        namespace=query.text("namespace"),
        label=None if label is None else read_selector("label", label),
        port=port,
        search=query.text("search"),
    )
