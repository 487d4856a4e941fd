"""What the pods of an xApp say, and the events about its objects."""

from __future__ import annotations

from fastapi import APIRouter

from xapp_operator.gateway.routes.plain import PlainRoute

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=PlainRoute)
