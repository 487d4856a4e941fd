"""The paginated list of xApps, one xApp, and its health."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.models import HealthStatus, Phase
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.catalog.object_store import ObjectStore
from xapp_operator.gateway.catalog.records import FACETS, SOURCES, XAPP_SORTS, XAppEntry, XAppFilters
from xapp_operator.gateway.http.openapi import (
    RequestRoute,
    document_list,
    document_parameter,
    sorted_page_parameter_docs,
)
from xapp_operator.gateway.http.pagination import SORTED_LIST_PARAMETERS
from xapp_operator.gateway.http.query import StrictQuery
from xapp_operator.gateway.routes.dependencies import xapp_resource
from xapp_operator.gateway.routes.lists import StoreList
from xapp_operator.gateway.schemas.records import Page, XAppDetails, XAppRecord
from xapp_operator.gateway.schemas.xapps import HealthReport
from xapp_operator.gateway.state import Gateway
from xapp_operator.gateway.xapps.context import XAppContext
from xapp_operator.gateway.xapps.health_report import get_health_report
from xapp_operator.kube.resources import XAPPS

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=RequestRoute)

_CHOICES: Final = {
    "phase": tuple(phase.value for phase in Phase),
    "health": tuple(health.value for health in HealthStatus),
    "source": SOURCES,
}
_FILTER_DOCS: Final = (
    *(
        document_parameter(
            facet,
            f"Only xApps of this {facet}.",
            schema={"type": "string"} | ({"enum": list(_CHOICES[facet])} if facet in _CHOICES else {}),
        )
        for facet in FACETS
    ),
    document_parameter(
        "search", "Only xApps with this text in name, xAppName, organization or team; case-insensitive."
    ),
)


def _read_filters(query: StrictQuery) -> XAppFilters:
    values = {
        facet: query.choice(facet, _CHOICES[facet]) if facet in _CHOICES else query.text(facet) for facet in FACETS
    }
    return XAppFilters(**values, search=query.text("search"))


def _synced_store(gateway: Gateway) -> ObjectStore[XAppEntry]:
    gateway.require_synced()
    return gateway.store


async def _build_records(_gateway: Gateway, _caller: Caller, entries: Sequence[XAppEntry]) -> list[bytes]:
    return [entry.record_json for entry in entries]


_LIST: Final = StoreList(
    name="xapps",
    resource=XAPPS,
    parameters=(*SORTED_LIST_PARAMETERS, *FACETS, "search"),
    sorts=XAPP_SORTS,
    read_filters=_read_filters,
    synced_store=_synced_store,
    build_records=_build_records,
)


@router.get(
    "",
    **document_list(
        "List xApps",
        Page[XAppRecord],
        "One page.",
        paging=sorted_page_parameter_docs(XAPP_SORTS),
        parameters=_FILTER_DOCS,
    ),
)
async def list_xapps(request: Request) -> Response:
    """Return one page of the xApps that the caller may list."""
    return await _LIST.page(request)


@xapp_resource(router, "", "Show one xApp", XAppDetails, "The xApp with its conditions, history and resources.")
async def show_xapp(context: XAppContext, _gateway: Gateway) -> bytes:
    """Return one xApp."""
    return context.entry.detailed_record_json()


@xapp_resource(
    router,
    "/health",
    "Show the health of an xApp",
    HealthReport,
    "The overall status, and the objects, pods and events that it follows from.",
    problems={410: "The events changed while they were read: try again."},
)
async def health(context: XAppContext, _gateway: Gateway) -> bytes:
    """Return the health of the xApp, of each object and pod, and the last events about them."""
    return orjson.dumps(await get_health_report(context))
