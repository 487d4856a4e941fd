"""Changes of xApps as they happen (Server-Sent Events)."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.gateway.http.openapi import UNAUTHENTICATED_PROBLEM, document_parameter, document_responses
from xapp_operator.gateway.http.query import StrictQuery
from xapp_operator.gateway.http.routing import RequestRoute
from xapp_operator.gateway.state import get_gateway
from xapp_operator.gateway.xapps.change_stream import ChangeStreamResponse

router = APIRouter(prefix="/api", tags=["xApps"], route_class=RequestRoute)

_STREAM_PARAMETERS: Final = [
    document_parameter("namespace", "Only xApps of this namespace."),
    document_parameter("Last-Event-ID", "Go on after the event with this id.", location="header"),
]


class ServerSentEvents(Response):
    """For the description only: the media type."""

    media_type = "text/event-stream"


@router.get(
    "/stream",
    summary="Hear of changes",
    description=(
        "Server-Sent Events: `added`, `modified` and `deleted` with the record, `reset` when changes were missed or "
        "what the caller may see has changed (list again), and a comment every 15 seconds. Listen first, then list."
    ),
    openapi_extra={"parameters": _STREAM_PARAMETERS},
    responses=document_responses(
        (200, "Events, until the client leaves.", None),
        problems={**UNAUTHENTICATED_PROBLEM, 400: "An unknown or repeated parameter."},
    ),
    response_class=ServerSentEvents,
    response_model=None,
)
async def stream(request: Request) -> Response:
    """Answer with the changes of the xApps that the caller may list."""
    gateway = get_gateway(request)
    query = StrictQuery(request.scope["query_string"])
    caller, namespace = gateway.get_caller(request), query.text("namespace")
    await caller.require_list_allowed(namespace=namespace)
    query.allow_only(("namespace",))
    gateway.require_synced()
    return ChangeStreamResponse(
        gateway.feed, caller, namespace=namespace, last_event_id=request.headers.get("last-event-id") or None
    )
