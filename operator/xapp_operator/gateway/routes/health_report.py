"""The health of an xApp, of each of its objects, and of each of its pods."""

from __future__ import annotations

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.gateway.http.openapi import XAPP_PATH_PARAMETERS
from xapp_operator.gateway.http.responses import etag_response
from xapp_operator.gateway.http.route_docs import document_resource
from xapp_operator.gateway.http.routing import RequestRoute
from xapp_operator.gateway.routes.dependencies import get_xapp_context
from xapp_operator.gateway.schemas.health import HealthReport
from xapp_operator.gateway.xapps.health_report import get_health_report

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=RequestRoute)


@router.get(
    "/{namespace}/{name}/health",
    **document_resource(
        "Show the health of an xApp",
        HealthReport,
        "The overall status, and the objects, pods and events that it follows from.",
        parameters=XAPP_PATH_PARAMETERS,
        problems={404: "No such xApp.", 410: "The events changed while they were read: try again."},
    ),
)
async def health(request: Request) -> Response:
    """Return the health of the xApp, of each object and pod, and the last events about them."""
    context = await get_xapp_context(request, parameters=("pretty",))
    report = await get_health_report(context)
    return etag_response(request, orjson.dumps(report), pretty=context.query.boolean("pretty"))
