"""What is deployed: the paginated list of xApps, and one of them. Both come from memory."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.models import HealthStatus, Phase
from xapp_operator.gateway.catalog.object_store import ObjectStore
from xapp_operator.gateway.catalog.records import FACETS, SOURCES, XAPP_SORTS, XAppEntry
from xapp_operator.gateway.catalog.xapp_store import XAppFilters
from xapp_operator.gateway.http.openapi import (
    ETAG_HEADERS,
    NOT_MODIFIED,
    PAGE_HEADERS,
    PRETTY_PARAMETER,
    UNAUTHENTICATED_PROBLEM,
    XAPP_PATH_PARAMETERS,
    document_parameter,
    document_responses,
    sorted_page_parameter_docs,
)
from xapp_operator.gateway.http.pagination import SORTED_LIST_PARAMETERS
from xapp_operator.gateway.http.query import StrictQuery
from xapp_operator.gateway.http.responses import etag_response
from xapp_operator.gateway.http.routing import RequestRoute
from xapp_operator.gateway.routes.dependencies import get_xapp_context
from xapp_operator.gateway.routes.lists import StoreList
from xapp_operator.gateway.schemas.records import Page, XAppDetails, XAppRecord
from xapp_operator.gateway.state import Gateway
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
    document_parameter("search", "Only xApps with this text in name, xAppName, organization or team; case is ignored."),
)


def _read_filters(query: StrictQuery) -> XAppFilters:
    values = {
        facet: query.choice(facet, _CHOICES[facet]) if facet in _CHOICES else query.text(facet) for facet in FACETS
    }
    return XAppFilters(**values, search=query.text("search"))


def _synced_store(gateway: Gateway) -> ObjectStore[XAppEntry]:
    gateway.require_synced()
    return gateway.store


_LIST: Final = StoreList(
    name="xapps",
    resource=XAPPS,
    parameters=(*SORTED_LIST_PARAMETERS, *FACETS, "search"),
    sorts=XAPP_SORTS,
    read_filters=_read_filters,
    synced_store=_synced_store,
)


@router.get(
    "",
    summary="List xApps",
    openapi_extra={"parameters": [*sorted_page_parameter_docs(XAPP_SORTS), *_FILTER_DOCS]},
    responses=document_responses(
        (200, "One page. A bare array of records where pagination is turned off.", Page[XAppRecord]),
        NOT_MODIFIED,
        problems={**UNAUTHENTICATED_PROBLEM, 400: "A parameter that is unknown, repeated or out of its bounds."},
        headers=PAGE_HEADERS,
    ),
    response_model=None,
)
async def list_xapps(request: Request) -> Response:
    """Answer with one page of the xApps that the caller may list."""
    page = await _LIST.select_page(request)
    return page.response([entry.record_json for entry in page.entries])


@router.get(
    "/{namespace}/{name}",
    summary="Show one xApp",
    openapi_extra={"parameters": [*XAPP_PATH_PARAMETERS, PRETTY_PARAMETER]},
    responses=document_responses(
        (200, "The xApp with its conditions, history and resources.", XAppDetails),
        NOT_MODIFIED,
        problems={**UNAUTHENTICATED_PROBLEM, 400: "An unknown or repeated parameter.", 404: "No such xApp."},
        headers={200: ETAG_HEADERS},
    ),
    response_model=None,
)
async def show_xapp(request: Request) -> Response:
    """Answer with one xApp."""
    context = await get_xapp_context(request, parameters=("pretty",))
    return etag_response(request, context.entry.detailed_record_json(), pretty=context.query.boolean("pretty"))
