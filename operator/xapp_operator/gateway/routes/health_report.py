"""How an xApp fares: each of its objects, each of its pods."""

from __future__ import annotations

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.gateway.http.openapi import (
    ETAG_HEADERS,
    NOT_MODIFIED,
    PRETTY_PARAMETER,
    UNAUTHENTICATED_PROBLEM,
    XAPP_PATH_PARAMETERS,
    document_responses,
)
from xapp_operator.gateway.http.responses import etag_response
from xapp_operator.gateway.http.routing import RequestRoute
from xapp_operator.gateway.routes.dependencies import get_xapp_context
from xapp_operator.gateway.schemas.health import HealthReport
from xapp_operator.gateway.xapps.health_report import get_health_report

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=RequestRoute)


@router.get(
    "/{namespace}/{name}/health",
    summary="Show how an xApp fares",
    openapi_extra={"parameters": [*XAPP_PATH_PARAMETERS, PRETTY_PARAMETER]},
    responses=document_responses(
        (200, "The verdict, and what it rests on.", HealthReport),
        NOT_MODIFIED,
        problems={
            **UNAUTHENTICATED_PROBLEM,
            400: "An unknown or repeated parameter.",
            404: "No such xApp.",
            410: "The events changed too fast to be read as a whole: ask again.",
        },
        headers={200: ETAG_HEADERS},
    ),
    response_model=None,
)
async def health(request: Request) -> Response:
    """Answer with the verdict on the xApp, on each object and pod, and the last events about them."""
    asked = await get_xapp_context(request, parameters=("pretty",))
    return etag_response(request, orjson.dumps(await get_health_report(asked)), pretty=asked.query.boolean("pretty"))
