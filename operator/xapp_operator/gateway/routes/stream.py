"""Changes of xApps as they happen (Server-Sent Events)."""

from __future__ import annotations

from fastapi import APIRouter

from xapp_operator.gateway.routes.plain import PlainRoute

router = APIRouter(prefix="/api", tags=["xApps"], route_class=PlainRoute)
