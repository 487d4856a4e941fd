"""What the gateway is: version and authentication for everybody, the rest for callers who are signed in."""

from __future__ import annotations

from collections.abc import Awaitable
from importlib.metadata import version
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.errors import KubeError
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.http.openapi import (
    NO_AUTHENTICATION,
    PRETTY_PARAMETER,
    RequestRoute,
    document_responses,
)
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.http.responses.json_responses import json_response
from xapp_operator.gateway.http.transport_security import insecure_text
from xapp_operator.gateway.schemas.session import About, AboutAnyone
from xapp_operator.gateway.state import Gateway, get_gateway

router = APIRouter(prefix="/api/about", tags=["Gateway"], route_class=RequestRoute)

_HEADERS: Final = {"Cache-Control": "no-store", "Vary": "Authorization, Cookie, X-Session-Proof"}


@router.get(
    "",
    summary="What is this gateway?",
    openapi_extra={**NO_AUTHENTICATION, "parameters": [PRETTY_PARAMETER]},
    responses=document_responses(
        (200, "The gateway; more of it for a caller who is signed in.", About | AboutAnyone),  # type: ignore[arg-type]
        problems={
            400: "A parameter is unknown or repeated.",
            401: "The request has an Authorization header whose token the cluster does not accept.",
        },
    ),
)
async def about(request: Request) -> Response:
    """Return version and authentication; limits, cluster and address only to callers who are signed in."""
    gateway = get_gateway(request)
    caller = await _get_caller(request, gateway)
    query = StrictQuery(request.scope["query_string"]).allow_only(("pretty",))
    settings, insecure = gateway.settings, insecure_text(request, gateway.settings)
    body: JsonObject = {"version": version("xapp-operator"), "auth": settings.auth}
    if caller is not None:
        body |= {
            "commit": settings.commit or None,
            "kubernetes": await _or_none(caller.client.server_version()),
            "address": await _or_none(gateway.advertise.get()),
            "limits": {
                "chartBytes": settings.chart_max_bytes,
                "valuesBytes": settings.values_max_bytes,
                "waitSeconds": settings.wait_max_seconds,
                "fetchSeconds": settings.fetch_timeout_seconds,
                "perPage": settings.max_items_per_page,
            },
            "unpaginated": list[Json](settings.unpaginated_lists),
        }
    if caller is not None or insecure is not None:
        body["insecure"] = insecure
    return json_response(body, pretty=query.boolean("pretty"), headers=_HEADERS)


async def _get_caller(request: Request, gateway: Gateway) -> Caller | None:
    """Return the caller, or None for one who is not signed in. Only a token in the header can be refused."""
    has_session = gateway.authenticator.get_session(request) is not None
    if gateway.settings.auth != "none" and not has_session and "authorization" not in request.headers:
        return None
    caller = gateway.get_caller(request)
    await caller.authenticate()
    return caller


async def _or_none(pending: Awaitable[str | None]) -> str | None:
    try:
        return await pending
    except KubeError:
        return None
