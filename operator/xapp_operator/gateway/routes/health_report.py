"""The health of an xApp, of each of its objects, and of each of its pods."""

from __future__ import annotations

import orjson
from fastapi import APIRouter

from xapp_operator.gateway.http.routing import RequestRoute
from xapp_operator.gateway.routes.dependencies import xapp_resource
from xapp_operator.gateway.schemas.health import HealthReport
from xapp_operator.gateway.state import Gateway
from xapp_operator.gateway.xapps.context import XAppContext
from xapp_operator.gateway.xapps.health_report import get_health_report

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=RequestRoute)


@xapp_resource(
    router,
    "/health",
    "Show the health of an xApp",
    HealthReport,
    "The overall status, and the objects, pods and events that it follows from.",
    problems={410: "The events changed while they were read: try again."},
)
async def health(context: XAppContext, _gateway: Gateway) -> bytes:
    """Return the health of the xApp, of each object and pod, and the last events about them."""
    return orjson.dumps(await get_health_report(context))
