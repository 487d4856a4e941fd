"""What is deployed: the paginated list of xApps, and one of them. Both come from memory."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.models import HealthStatus, Phase
from xapp_operator.gateway import paging
from xapp_operator.gateway.asked import asked_xapp
from xapp_operator.gateway.documented import ONE_XAPP, PRETTY, UNAUTHENTICATED, answers, parameter
from xapp_operator.gateway.problems import instance_of
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
_PAGE_DOCS: Final = (
    parameter("page", "Number of the page, from 1.", schema={"type": "integer", "minimum": 1, "default": 1}),
    parameter("per_page", "Items on a page; bounds and default are configurable.", schema={"type": "integer"}),
    parameter("sort", "What to sort by; ends in the uid.", schema={"enum": list(SORTS), "default": SORTS[0]}),
    parameter("order", "Which way.", schema={"enum": list(paging.ORDERS), "default": paging.ORDERS[0]}),
    PRETTY,
)
_CACHE_HEADERS: Final = {"ETag": "Changes with the answer; send it as If-None-Match."}


@router.get(
    "",
    summary="List xApps",
    openapi_extra={"parameters": [*_PAGE_DOCS, *_FILTER_DOCS]},
    responses=answers(
        (200, "One page. A bare array of records where pagination is turned off.", Page[Record]),
        (304, "Not changed since the ETag that was sent.", None),
        problems={**UNAUTHENTICATED, 400: "A parameter that is unknown, repeated or out of its bounds."},
        headers={200: {**_CACHE_HEADERS, "Link": "first, prev, next and last page (RFC 8288)."}},
    ),
    response_model=None,
)
async def list_xapps(request: Request) -> Response:
    """Answer with one page of the xApps that the caller may list."""
    gateway = gateway_of(request)
    query = Query(request.scope["query_string"])
    caller, named = gateway.caller(request), query.text("namespace")
    await (caller.sign_in() if named is None else caller.require("list", namespace=named))
    query.only(PARAMETERS)
    rules = paging.PageRules.of(gateway.settings, name=LIST_NAME)
    asked = paging.read_page_request(query, rules=rules, sorts=SORTS)
    filters = _filters(query)
    gateway.require_synced()
    within = None if named is not None else await caller.namespaces("list", among=gateway.store.namespaces)
    view = gateway.store.view(filters, sort=asked.sort, descending=asked.descending, within=within)
    at = paging.bounds(asked, total_count=len(view))
    content = [entry.record for entry in view[at.start : at.stop]]
    if not rules.paginated:
        return cacheable(request, paging.bare_array(content), pretty=asked.pretty)
    link = paging.link_header(at, path=instance_of(request), query=query)
    return cacheable(request, paging.envelope(at, content), pretty=asked.pretty, headers={"Link": link})


@router.get(
    "/{namespace}/{name}",
    summary="Show one xApp",
    openapi_extra={"parameters": [*ONE_XAPP, PRETTY]},
    responses=answers(
        (200, "The xApp with its conditions, history and resources.", OneRecord),
        (304, "Not changed since the ETag that was sent.", None),
        problems={**UNAUTHENTICATED, 400: "An unknown or repeated parameter.", 404: "No such xApp."},
        headers={200: _CACHE_HEADERS},
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
