"""What is deployed: the paginated list of xApps, and one of them. Both come from memory."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.models import HealthStatus, Phase
from xapp_operator.errors import NotFoundHere
from xapp_operator.gateway import paging
from xapp_operator.gateway.documented import ONE_XAPP, PRETTY, UNAUTHENTICATED, answers, parameter
from xapp_operator.gateway.problems import instance_of
from xapp_operator.gateway.query import Query, shown
from xapp_operator.gateway.records import FACETS, SORTS, SOURCES
from xapp_operator.gateway.responses import indented, json_response
from xapp_operator.gateway.routes.plain import PlainRoute
from xapp_operator.gateway.runtime import gateway_of
from xapp_operator.gateway.schemas import OneRecord, Page, Record
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
    await gateway.caller(request).require("list", namespace=query.text("namespace"))
    query.only(PARAMETERS)
    rules = paging.PageRules.of(gateway.settings, name=LIST_NAME)
    asked = paging.read_page_request(query, rules=rules, sorts=SORTS)
    filters = _filters(query)
    gateway.require_synced()
    view = gateway.store.view(filters, sort=asked.sort, descending=asked.descending)
    at = paging.bounds(asked, total_count=len(view))
    content = [entry.record for entry in view[at.start : at.stop]]
    if not rules.paginated:
        return _cacheable(request, paging.bare_array(content), pretty=asked.pretty)
    link = paging.link_header(at, path=instance_of(request), query=query)
    return _cacheable(request, paging.envelope(at, content), pretty=asked.pretty, headers={"Link": link})


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
    gateway = gateway_of(request)
    namespace, name = request.path_params["namespace"], request.path_params["name"]
    await gateway.caller(request).require("get", namespace=namespace)
    query = Query(request.scope["query_string"]).only(("pretty",))
    pretty = query.boolean("pretty")
    gateway.require_synced()
    entry = gateway.store.get(namespace, name)
    if entry is None:
        raise NotFoundHere(
            f"there is no xApp {shown(name)} in the namespace {shown(namespace)}: GET /api/xapps lists what there is"
        )
    return _cacheable(request, entry.one(), pretty=pretty)


def _filters(query: Query) -> Filters:
    values = {
        facet: query.choice(facet, _CHOICES[facet]) if facet in _CHOICES else query.text(facet) for facet in FACETS
    }
    return Filters(**values, search=query.text("search"))


def _cacheable(request: Request, body: bytes, *, pretty: bool, headers: dict[str, str] | None = None) -> Response:
    if pretty:
        body = indented(body)
    tag = f'"{blake2b(body, digest_size=12).hexdigest()}"'
    all_headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Authorization"} | (headers or {})
    wanted = request.headers.get("if-none-match")
    if wanted is not None and _matches(wanted, tag):
        return Response(status_code=304, headers=all_headers)
    return json_response(body, headers=all_headers)


def _matches(wanted: str, tag: str) -> bool:
    # The weak comparison of RFC 9110, 8.8.3.2: If-None-Match asks for no more.
    tags = (each.strip().removeprefix("W/") for each in wanted.split(","))
    return any(each in (tag, "*") for each in tags)
