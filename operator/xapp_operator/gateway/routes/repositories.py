"""Saved chart repositories, their charts and versions."""

from __future__ import annotations

from fastapi import APIRouter

from xapp_operator.gateway.routes.plain import PlainRoute

router = APIRouter(prefix="/api/repositories", tags=["Repositories"], route_class=PlainRoute)
