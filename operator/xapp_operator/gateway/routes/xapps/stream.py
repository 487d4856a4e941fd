"""The stream of xApp changes (Server-Sent Events)."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.gateway.catalog.change_feed import ListenerFilter
from xapp_operator.gateway.http.lists.pagination import EVENT_ID_HEADER
from xapp_operator.gateway.http.openapi import (
    QUERY_PROBLEMS,
    RequestRoute,
    document_filter,
    document_parameter,
    document_responses,
)
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.routes.xapps.xapp_filters import XAPP_FILTER_DOCS, XAPP_FILTERS, read_xapp_filters
from xapp_operator.gateway.state import get_gateway
from xapp_operator.gateway.xapps.change_stream import ChangeStreamResponse

router = APIRouter(prefix="/api", tags=["xApps"], route_class=RequestRoute)

_FIELDS: Final = ("summary",)
_STREAM_PARAMETERS: Final = [
    *XAPP_FILTER_DOCS,
    document_filter("name", "Only xApps of this name."),
    document_parameter("fields", "summary: the record without `chart` and `services`.", schema={"enum": list(_FIELDS)}),
    document_parameter(
        EVENT_ID_HEADER,
        "Resume after the event with this id: the last one received, or the one in the response of the list.",
        location="header",
    ),
]


class ServerSentEvents(Response):
    """Documents the media type."""

    media_type = "text/event-stream"


@router.get(
    "/stream",
    summary="Stream changes of xApps",
    description=(
        "Server-Sent Events: `added`, `modified` and `deleted` with the record, `reset` when changes were missed or "
        "permissions changed (list again), and a comment every 15 seconds. List first, then send the Last-Event-ID of "
        "that response: the stream begins with the first change that the list does not contain. With filters, an xApp "
        "that begins to match is `added`, and one that no longer matches is `deleted`."
    ),
    openapi_extra={"parameters": _STREAM_PARAMETERS},
    responses=document_responses(
        (200, "Events until the client disconnects.", None),
        problems=QUERY_PROBLEMS,
    ),
    response_class=ServerSentEvents,
)
async def stream(request: Request) -> Response:
    """Stream the changes of the xApps that the caller may list."""
    gateway = get_gateway(request)
    query = StrictQuery(request.scope["query_string"])
    caller, namespaces = gateway.get_caller(request), query.texts("namespace")
    await caller.require_list_allowed(namespaces=namespaces)
    query.allow_only(("fields",), repeatable=(*XAPP_FILTERS, "name"))
    shown = ListenerFilter(
        read_xapp_filters(query), names=query.texts("name"), summary=query.choice("fields", _FIELDS) is not None
    )
    gateway.require_synced()
    return ChangeStreamResponse(
        gateway.feed,
        caller,
        slots=gateway.limits.streams,
        namespaces=namespaces,
        shown=shown,
        last_event_id=request.headers.get(EVENT_ID_HEADER) or None,
    )
