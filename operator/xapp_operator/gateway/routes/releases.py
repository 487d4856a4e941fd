"""The Helm release behind an xApp: history, rollback, manifest, notes."""

from __future__ import annotations

from fastapi import APIRouter

from xapp_operator.gateway.routes.plain import PlainRoute

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=PlainRoute)
