"""How an xApp fares: each of its objects, each of its pods."""

from __future__ import annotations

from fastapi import APIRouter

from xapp_operator.gateway.routes.plain import PlainRoute

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=PlainRoute)
