"""Changes of xApps as they happen (Server-Sent Events)."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.gateway.documented import UNAUTHENTICATED, answers, parameter
from xapp_operator.gateway.query import Query
from xapp_operator.gateway.routes.plain import PlainRoute
from xapp_operator.gateway.runtime import gateway_of
from xapp_operator.gateway.stream import EventStream

router = APIRouter(prefix="/api", tags=["xApps"], route_class=PlainRoute)

_PARAMETERS: Final = [
    parameter("namespace", "Only xApps of this namespace."),
    parameter("Last-Event-ID", "Go on after the event with this id.", where="header"),
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
    openapi_extra={"parameters": _PARAMETERS},
    responses=answers(
        (200, "Events, until the client leaves.", None),
        problems={**UNAUTHENTICATED, 400: "An unknown or repeated parameter."},
    ),
    response_class=ServerSentEvents,
    response_model=None,
)
async def stream(request: Request) -> Response:
    """Answer with the changes of the xApps that the caller may list."""
    gateway = gateway_of(request)
    query = Query(request.scope["query_string"])
    caller, named = gateway.caller(request), query.text("namespace")
    await caller.require_list(namespace=named)
    query.only(("namespace",))
    gateway.require_synced()
    return EventStream(
        gateway.feed, caller, namespace=named, last_event_id=request.headers.get("last-event-id") or None
    )
