"""Services and their addresses, values, defaults and schema of an xApp; and changes of its values."""

from __future__ import annotations

from fastapi import APIRouter

from xapp_operator.gateway.routes.plain import PlainRoute

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=PlainRoute)
