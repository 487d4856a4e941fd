"""What the pods of an xApp say, and the events about its objects."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial
from typing import Any, Final

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from xapp_operator.gateway import paging
from xapp_operator.gateway.asked import asked_xapp
from xapp_operator.gateway.documented import (
    NOT_CHANGED,
    ONE_XAPP,
    PAGED,
    PLAIN_PAGE,
    UNAUTHENTICATED,
    answers,
    parameter,
)
from xapp_operator.gateway.eventreading import events_about
from xapp_operator.gateway.logstream import LOGS_MAX, LogEvents, LogText, going_on, opened_log, position_in
from xapp_operator.gateway.pages import asked_page, sliced_answer
from xapp_operator.gateway.podlogs import (
    LOG_MAX_BYTES,
    PARAMETERS,
    PODS_NAMED_MAX,
    TAIL_DEFAULT,
    TAIL_MAX,
    LogRequest,
    chosen_log,
)
from xapp_operator.gateway.routes.plain import PlainRoute
from xapp_operator.gateway.schemas.logs import EventShape
from xapp_operator.gateway.schemas.records import Page
from xapp_operator.gateway.xappevents import event_json
from xapp_operator.kube.resources import EVENTS, PODS

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=PlainRoute)

LIST_NAME: Final = "events"

_LOG_DOCS: Final = (
    parameter("pod", "One of its pods. Default: the newest that is ready, else the newest; X-Pod names it."),
    parameter("container", "One of the pod's containers. Default: its main one; X-Container names it."),
    parameter(
        "tail",
        "So many lines from the end.",
        schema={"type": "integer", "minimum": 0, "maximum": TAIL_MAX, "default": TAIL_DEFAULT},
    ),
    parameter("since", "Only lines since: a duration (`10m`), seconds, or a time (RFC 3339)."),
    parameter("previous", "Of the container before its last restart.", schema={"type": "boolean", "default": False}),
    parameter(
        "follow",
        "Server-Sent Events, one for each line, ids to go on with Last-Event-ID, `end` when the container ends.",
        schema={"type": "boolean", "default": False},
    ),
    parameter("Last-Event-ID", "Go on after this line; for `follow`.", where="header"),
)
_LOG_ANSWERS: Final[dict[int | str, dict[str, Any]]] = answers(
    (200, f"The log, at most {LOG_MAX_BYTES:,} bytes; or its lines as events (`follow`).", None),
    problems={
        **UNAUTHENTICATED,
        400: "A parameter that is unknown, repeated or out of its bounds.",
        404: "No such xApp, pod or container; or it has no log (yet), in the words of the API server.",
        502: "The pod's node does not answer, or the Kubernetes API failed.",
        503: f"Not ready, or {LOGS_MAX} logs are being read: see Retry-After.",
    },
    headers={
        200: {
            "X-Pod": "The pod.",
            "X-Container": "Its container.",
            "X-Pods": f"The pods there are, where none was named, {PODS_NAMED_MAX} at most.",
        },
    },
)
_LOG_ANSWERS[200]["content"] = {"text/event-stream": {"schema": {"type": "string"}}}


@router.get(
    "/{namespace}/{name}/events",
    summary="List the events about an xApp",
    openapi_extra={"parameters": [*ONE_XAPP, *PLAIN_PAGE]},
    responses=answers(
        (200, "One page, newest first. A bare array where pagination is turned off.", Page[EventShape]),
        NOT_CHANGED,
        problems={
            **UNAUTHENTICATED,
            400: "A parameter that is unknown, repeated or out of its bounds.",
            404: "No such xApp.",
            410: "The events changed too fast to be read as a whole: ask again.",
        },
        headers=PAGED,
    ),
    response_model=None,
)
async def events(request: Request) -> Response:
    """Answer with the events about the XApp, its objects, and the pods and other objects that these made."""
    asked = await asked_xapp(request, verb="list", resource=EVENTS, parameters=paging.PLAIN_PAGE_PARAMETERS)
    page = asked_page(asked.query, asked.gateway.settings, name=LIST_NAME)
    found = await events_about(asked)
    return sliced_answer(request, asked.query, page, found, packed=lambda each: orjson.dumps(event_json(each)))


@router.get(
    "/{namespace}/{name}/logs",
    summary="Read or follow a log",
    openapi_extra={"parameters": [*ONE_XAPP, *_LOG_DOCS]},
    responses=_LOG_ANSWERS,
    response_class=PlainTextResponse,
    response_model=None,
)
async def logs(request: Request) -> Response:
    """Answer with the log of a container, read with the caller's token."""
    asked = await asked_xapp(request, resource=PODS, subresource="log", parameters=PARAMETERS)
    wanted = LogRequest.of(asked.query)
    last = request.headers.get("last-event-id") if wanted.follow else None
    after = position_in(last) if last else None
    chosen = await chosen_log(asked, wanted)
    options = wanted.options(chosen.container)
    if after is not None:
        options = going_on(options, after)
    client, namespace = asked.caller.client, asked.entry.namespace
    async with AsyncExitStack() as stack:
        stack.enter_context(asked.gateway.logs.taken())
        log = await opened_log(client, chosen.pod, options, namespace=namespace, stack=stack)
        if not wanted.follow:
            return LogText(log, stack.pop_all(), headers=chosen.headers)
        return LogEvents(
            log,
            stack.pop_all(),
            headers=chosen.headers,
            after=after,
            goes_on=partial(asked.caller.may, "get", namespace=namespace, resource=PODS, subresource="log"),
            is_closing=lambda: asked.gateway.feed.closed,
        )
