"""Sign in, who am I, sign out."""

from __future__ import annotations

from fastapi import APIRouter

from xapp_operator.gateway.routes.plain import PlainRoute

router = APIRouter(prefix="/api/session", tags=["Session"], route_class=PlainRoute)
