"""The paginated list of xApps, the values that it can be filtered by, one xApp, and its health."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.common.text import quote_input
from xapp_operator.errors import MalformedRequest
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.catalog.records import XAPP_SORTS, XAppEntry
from xapp_operator.gateway.catalog.xapp_filters import FACETS
from xapp_operator.gateway.catalog.xapp_store import FACET_VALUES_MAX, XAppRecordStore
from xapp_operator.gateway.http.lists.pagination import EVENT_ID_HEADER, SORTED_LIST_PARAMETERS
from xapp_operator.gateway.http.openapi import (
    ETAG_HEADERS,
    NOT_MODIFIED,
    PRETTY_PARAMETER,
    QUERY_PROBLEMS,
    RequestRoute,
    document_list,
    document_parameter,
    document_responses,
    sorted_page_parameter_docs,
)
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.http.responses.json_responses import etag_response
from xapp_operator.gateway.routes.lists import StoreList
from xapp_operator.gateway.routes.xapps.dependencies import xapp_resource
from xapp_operator.gateway.routes.xapps.xapp_filters import XAPP_FILTER_DOCS, XAPP_FILTERS, read_xapp_filters
from xapp_operator.gateway.schemas.records import FacetCounts, Page, XAppDetails, XAppRecord
from xapp_operator.gateway.schemas.xapps import HealthReport
from xapp_operator.gateway.state import Gateway, get_gateway
from xapp_operator.gateway.xapps.context import XAppContext
from xapp_operator.gateway.xapps.health.health_report import get_health_report
from xapp_operator.kube.resources import XAPPS

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=RequestRoute)


def _synced_store(gateway: Gateway) -> XAppRecordStore:
    gateway.require_synced()
    return gateway.store


async def _build_records(_gateway: Gateway, _caller: Caller, entries: Sequence[XAppEntry]) -> list[bytes]:
    return [entry.record_json for entry in entries]


_LIST: Final = StoreList(
    name="xapps",
    resource=XAPPS,
    parameters=SORTED_LIST_PARAMETERS,
    filters=XAPP_FILTERS,
    sorts=XAPP_SORTS,
    read_filters=read_xapp_filters,
    synced_store=_synced_store,
    build_records=_build_records,
    latest_event_id=lambda gateway: gateway.feed.latest_id,
)


@router.get(
    "",
    **document_list(
        "List xApps",
        Page[XAppRecord],
        "One page.",
        paging=sorted_page_parameter_docs(XAPP_SORTS),
        parameters=XAPP_FILTER_DOCS,
        headers={
            EVENT_ID_HEADER: "The newest change that the page contains: the stream of changes goes on from it. "
            "Not on later pages of a walk."
        },
    ),
)
async def list_xapps(request: Request) -> Response:
    """Return one page of the xApps that the caller may list."""
    return await _LIST.page(request)


@router.get(
    "/facets",
    summary="Count xApps by the values of facets",
    openapi_extra={
        "parameters": [
            document_parameter(
                "facet",
                f"What to count by, separated by commas; by default all: {', '.join(FACETS)}.",
                schema={"type": "string", "default": ",".join(FACETS)},
            ),
            document_parameter("prefix", "Only values that begin so; case-insensitive."),
            *XAPP_FILTER_DOCS,
            PRETTY_PARAMETER,
        ]
    },
    responses=document_responses(
        (200, f"The {FACET_VALUES_MAX} most frequent values of each facet, and how many xApps have them.", FacetCounts),
        NOT_MODIFIED,
        problems=QUERY_PROBLEMS,
        headers={200: ETAG_HEADERS},
    ),
)
async def count_facets(request: Request) -> Response:
    """Return the values in use with their counts, of the xApps that the caller may list and that pass the filters.

    Every filter counts, also that of the facet itself: to offer other values of a filter, leave it out.
    """
    gateway = get_gateway(request)
    query = StrictQuery(request.scope["query_string"])
    caller, namespaces = gateway.get_caller(request), query.texts("namespace")
    await caller.require_list_allowed(namespaces=namespaces)
    query.allow_only(("facet", "prefix", "pretty"), repeatable=XAPP_FILTERS)
    facets, filters, pretty = _read_facets(query), read_xapp_filters(query), query.boolean("pretty")
    store, within = _synced_store(gateway), None
    if not namespaces:
        within = await caller.allowed_namespaces("list", among=store.namespaces)
    prefix = query.text("prefix") or ""
    found = {facet: store.facet_values(facet, filters, prefix=prefix, within=within) for facet in facets}
    body = {facet: [asdict(each) for each in values] for facet, values in found.items()}
    return etag_response(request, orjson.dumps(body), pretty=pretty)


def _read_facets(query: StrictQuery) -> tuple[str, ...]:
    given = query.text("facet")
    if given is None:
        return FACETS
    facets = tuple(each.strip() for each in given.split(","))
    if len(set(facets)) < len(facets) or not set(facets) <= set(FACETS):
        rule = f"must name each facet once, separated by commas: {', '.join(FACETS)}"
        raise MalformedRequest.for_field("facet", f"{rule}; not {quote_input(given)}")
    return facets


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
