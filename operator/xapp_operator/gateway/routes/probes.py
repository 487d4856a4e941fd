"""Probes of the gateway."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.gateway.http.openapi import NO_AUTHENTICATION, RequestRoute, document_responses
from xapp_operator.gateway.http.responses.json_responses import json_response, wants_pretty
from xapp_operator.gateway.schemas.records import ProbeStatus
from xapp_operator.gateway.state import get_gateway

router = APIRouter(tags=["Gateway"], route_class=RequestRoute)


@router.get(
    "/healthz",
    summary="Is the process alive?",
    openapi_extra=NO_AUTHENTICATION,
    responses=document_responses((200, "It is alive.", ProbeStatus), problems={}),
)
async def healthz(request: Request) -> Response:
    """Answer 200 while requests are served."""
    return json_response({"status": "ok"}, pretty=wants_pretty(request))


@router.get(
    "/readyz",
    summary="Are the caches filled?",
    openapi_extra=NO_AUTHENTICATION,
    responses=document_responses((200, "They are filled.", ProbeStatus), problems={}),
)
async def readyz(request: Request) -> Response:
    """Answer 503 until the caches are in sync."""
    get_gateway(request).require_synced()
    return json_response({"status": "ok"}, pretty=wants_pretty(request))
