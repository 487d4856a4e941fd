"""Services and ports in the monitored namespaces, of xApps or not."""

from __future__ import annotations

from fastapi import APIRouter

from xapp_operator.gateway.routes.plain import PlainRoute

router = APIRouter(prefix="/api/discovery", tags=["Discovery"], route_class=PlainRoute)
