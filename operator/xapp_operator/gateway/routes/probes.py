"""Probes and metrics of the gateway itself."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from xapp_operator.gateway.documented import NOBODY_SIGNS_IN, answers
from xapp_operator.gateway.responses import json_response, wants_pretty
from xapp_operator.gateway.routes.plain import PlainRoute
from xapp_operator.gateway.runtime import gateway_of
from xapp_operator.gateway.schemas.records import Alive
from xapp_operator.telemetry.metrics import CONTENT_TYPE, METRICS

router = APIRouter(tags=["Gateway"], route_class=PlainRoute)


@router.get(
    "/healthz",
    summary="Is the process alive?",
    openapi_extra=NOBODY_SIGNS_IN,
    responses=answers((200, "It is.", Alive), problems={}),
    response_model=None,
)
async def healthz(request: Request) -> Response:
    """Answer as long as requests are served at all."""
    return json_response({"status": "ok"}, pretty=wants_pretty(request))


@router.get(
    "/readyz",
    summary="Are the caches filled?",
    openapi_extra=NOBODY_SIGNS_IN,
    responses=answers((200, "They are.", Alive), problems={}),
    response_model=None,
)
async def readyz(request: Request) -> Response:
    """Answer 503 until every xApp of the cluster is known."""
    gateway_of(request).require_synced()
    return json_response({"status": "ok"}, pretty=wants_pretty(request))


@router.get(
    "/metrics",
    summary="Metrics in Prometheus' text format",
    openapi_extra=NOBODY_SIGNS_IN,
    responses=answers((200, "The metrics.", None), problems={}),
    response_class=PlainTextResponse,
    response_model=None,
)
async def metrics(request: Request) -> Response:
    """Answer with the metrics of this process."""
    store = gateway_of(request).store
    METRICS.xapps(store.counted("phase"))
    return Response(METRICS.render(), media_type=CONTENT_TYPE)
