"""What is deployed: the paginated list of xApps, and one of them. Both come from memory."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.models import HealthStatus, Phase
from xapp_operator.gateway import paging
from xapp_operator.gateway.asked import asked_xapp
from xapp_operator.gateway.documented import (
    CACHED,
    NOT_CHANGED,
    ONE_XAPP,
    PAGED,
    PRETTY,
    UNAUTHENTICATED,
    answers,
    parameter,
    sorted_page,
)
from xapp_operator.gateway.pages import asked_page, page_answer
from xapp_operator.gateway.query import Query
from xapp_operator.gateway.records import FACETS, SORTS, SOURCES
from xapp_operator.gateway.responses import cacheable
from xapp_operator.gateway.routes.plain import PlainRoute
from xapp_operator.gateway.runtime import gateway_of
from xapp_operator.gateway.schemas.records import OneRecord, Page, Record
from xapp_operator.gateway.store import Filters

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=PlainRoute)

LIST_NAME: Final = "xapps"
PARAMETERS: Final = (*paging.PAGE_PARAMETERS, *FACETS, "search")

_CHOICES: Final = {
    "phase": tuple(phase.value for phase in Phase),
    "health": tuple(health.value for health in HealthStatus),
    "source": SOURCES,
}
_FILTER_DOCS: Final = (
    *(
        parameter(
            facet,
            f"Only xApps of this {facet}.",
            schema={"type": "string"} | ({"enum": list(_CHOICES[facet])} if facet in _CHOICES else {}),
        )
        for facet in FACETS
    ),
    parameter("search", "Only xApps with this text in name, xAppName, organization or team; case is ignored."),
)


@router.get(
    "",
    summary="List xApps",
    openapi_extra={"parameters": [*sorted_page(SORTS), *_FILTER_DOCS]},
    responses=answers(
        (200, "One page. A bare array of records where pagination is turned off.", Page[Record]),
        NOT_CHANGED,
        problems={**UNAUTHENTICATED, 400: "A parameter that is unknown, repeated or out of its bounds."},
        headers=PAGED,
    ),
    response_model=None,
)
async def list_xapps(request: Request) -> Response:
    """Answer with one page of the xApps that the caller may list."""
    gateway = gateway_of(request)
    query = Query(request.scope["query_string"])
    caller, named = gateway.caller(request), query.text("namespace")
    await caller.require_list(namespace=named)
    query.only(PARAMETERS)
    asked = asked_page(query, gateway.settings, name=LIST_NAME, sorts=SORTS)
    filters = _filters(query)
    gateway.require_synced()
    within = None if named is not None else await caller.namespaces("list", among=gateway.store.namespaces)
    view = gateway.store.view(filters, sort=asked.sort, descending=asked.descending, within=within)
    at = paging.bounds(asked, total_count=len(view))
    return page_answer(request, query, asked, at, [entry.record for entry in view[at.start : at.stop]])


@router.get(
    "/{namespace}/{name}",
    summary="Show one xApp",
    openapi_extra={"parameters": [*ONE_XAPP, PRETTY]},
    responses=answers(
        (200, "The xApp with its conditions, history and resources.", OneRecord),
        NOT_CHANGED,
        problems={**UNAUTHENTICATED, 400: "An unknown or repeated parameter.", 404: "No such xApp."},
        headers={200: CACHED},
    ),
    response_model=None,
)
async def show_xapp(request: Request) -> Response:
    """Answer with one xApp."""
    asked = await asked_xapp(request, parameters=("pretty",))
    return cacheable(request, asked.entry.one(), pretty=asked.query.boolean("pretty"))


def _filters(query: Query) -> Filters:
    values = {
        facet: query.choice(facet, _CHOICES[facet]) if facet in _CHOICES else query.text(facet) for facet in FACETS
    }
    return Filters(**values, search=query.text("search"))
