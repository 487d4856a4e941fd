"""The logs of an xApp's containers, and the Events about its objects."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any, Final

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from xapp_operator.gateway.auth.actions import Action
from xapp_operator.gateway.http.limits import OPEN_LOGS_MAX
from xapp_operator.gateway.http.lists import pagination
from xapp_operator.gateway.http.lists.pagination import list_response, parse_list_request
from xapp_operator.gateway.http.openapi import (
    PAGE_PARAMETER_DOCS,
    QUERY_PROBLEMS,
    XAPP_PATH_PARAMETERS,
    RequestRoute,
    document_list,
    document_parameter,
    document_responses,
)
from xapp_operator.gateway.routes.xapps.dependencies import get_xapp_context
from xapp_operator.gateway.schemas.records import Page
from xapp_operator.gateway.schemas.xapps import EventModel
from xapp_operator.gateway.state import get_gateway
from xapp_operator.gateway.xapps.health.events import event_json, read_xapp_events
from xapp_operator.gateway.xapps.logs.log_responses import (
    LOG_EVENTS_MAX_BYTES,
    LOG_LINE_MAX_BYTES,
    LOG_TEXT_MAX_BYTES,
    EventLogResponse,
    TextLogResponse,
    open_log,
    parse_event_id,
    resume_options,
)
from xapp_operator.gateway.xapps.logs.log_target import (
    LOG_PARAMETERS,
    PODS_HEADER_MAX,
    TAIL_DEFAULT,
    TAIL_MAX,
    LogRequest,
    find_log_target,
)

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=RequestRoute)

_FLAG: Final = {"type": "boolean", "default": False}
_LOG_PARAMETER_DOCS: Final = (
    document_parameter("pod", "A pod of the xApp. Default: the newest ready one, else the newest. X-Pod names it."),
    document_parameter("container", "A container of the pod. Default: the main one. X-Container names it."),
    document_parameter(
        "tail",
        "The number of lines from the end.",
        schema={"type": "integer", "minimum": 0, "maximum": TAIL_MAX, "default": TAIL_DEFAULT},
    ),
    document_parameter("since", "Only newer lines: a duration (`10m`), a number of seconds, or an RFC 3339 time."),
    document_parameter("previous", "The log before the container's last restart.", schema=_FLAG),
    document_parameter(
        "follow",
        "Server-Sent Events: one for each line, with an id for Last-Event-ID, and `end` when the container ends. "
        f"A line is cut at {LOG_LINE_MAX_BYTES:,} bytes. After {LOG_EVENTS_MAX_BYTES:,} bytes, the event `limit` ends "
        "the response; its id is for Last-Event-ID.",
        schema=_FLAG,
    ),
    document_parameter("Last-Event-ID", "With `follow`: resume after this line.", location="header"),
)
_LOG_RESPONSES: Final[dict[int | str, dict[str, Any]]] = document_responses(
    (
        200,
        f"The log, at most {LOG_TEXT_MAX_BYTES:,} bytes; the last line says if it is cut. With `follow`, events.",
        None,
    ),
    problems={
        **QUERY_PROBLEMS,
        404: "No such xApp, pod or container, or no log (yet); the message includes the message of the API server.",
        502: "The pod's node does not answer, or the Kubernetes API failed.",
        429: f"{OPEN_LOGS_MAX} logs are open already, or `XAPP_LOGS_PER_CALLER` of this caller: see Retry-After.",
        503: "Not ready: see Retry-After.",
    },
    headers={
        200: {
            "X-Pod": "The pod.",
            "X-Container": "The container.",
            "X-Pods": f"The xApp's pods, at most {PODS_HEADER_MAX}, when the request named none.",
        },
    },
)
_LOG_RESPONSES[200]["content"] = {"text/event-stream": {"schema": {"type": "string"}}}


@router.get(
    "/{namespace}/{name}/events",
    **document_list(
        "List the Events about an xApp",
        Page[EventModel],
        "One page, newest first.",
        paging=PAGE_PARAMETER_DOCS,
        parameters=XAPP_PATH_PARAMETERS,
        problems={404: "No such xApp.", 410: "The Events changed while they were read: try again."},
    ),
)
async def events(request: Request) -> Response:
    """Return the Events about the XApp, its objects, and the objects that these created."""
    context = await get_xapp_context(request, action=Action.EVENTS, parameters=pagination.PAGE_PARAMETERS)
    page_request = parse_list_request(context.query, get_gateway(request).settings, name="events")
    xapp_events = await read_xapp_events(context)
    return list_response(
        request, context.query, page_request, xapp_events, to_json=lambda each: orjson.dumps(event_json(each))
    )


@router.get(
    "/{namespace}/{name}/logs",
    summary="Read or follow a log",
    openapi_extra={"parameters": [*XAPP_PATH_PARAMETERS, *_LOG_PARAMETER_DOCS]},
    responses=_LOG_RESPONSES,
    response_class=PlainTextResponse,
)
async def logs(request: Request) -> Response:
    """Return the log of a container, read with the caller's token."""
    context = await get_xapp_context(request, action=Action.LOGS, parameters=LOG_PARAMETERS)
    log_request = LogRequest.from_query(context.query)
    last_event_id = request.headers.get("last-event-id") if log_request.follow else None
    last_position = parse_event_id(last_event_id) if last_event_id else None
    target = await find_log_target(context, log_request)
    options = log_request.log_options(target.container)
    if last_position is not None:
        options = resume_options(options, last_position)
    caller, namespace, gateway = context.caller, context.namespace, get_gateway(request)
    async with AsyncExitStack() as stack:
        stack.enter_context(gateway.limits.logs.hold(caller.user))
        log = await open_log(caller.client, target.pod, options, namespace=namespace, stack=stack)
        if not log_request.follow:
            return TextLogResponse(log, stack.pop_all(), headers=target.headers, recheck=context.recheck)
        return EventLogResponse(
            log,
            stack.pop_all(),
            headers=target.headers,
            recheck=context.recheck,
            after=last_position,
            is_closing=lambda: gateway.feed.closed,
        )
