"""How an xApp fares: each of its objects, each of its pods."""

from __future__ import annotations

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.gateway.asked import asked_xapp
from xapp_operator.gateway.documented import CACHED, NOT_CHANGED, ONE_XAPP, PRETTY, UNAUTHENTICATED, answers
from xapp_operator.gateway.health import health_of
from xapp_operator.gateway.responses import cacheable
from xapp_operator.gateway.routes.plain import PlainRoute
from xapp_operator.gateway.schemas.health import HealthReport

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=PlainRoute)


@router.get(
    "/{namespace}/{name}/health",
    summary="Show how an xApp fares",
    openapi_extra={"parameters": [*ONE_XAPP, PRETTY]},
    responses=answers(
        (200, "The verdict, and what it rests on.", HealthReport),
        NOT_CHANGED,
        problems={
            **UNAUTHENTICATED,
            400: "An unknown or repeated parameter.",
            404: "No such xApp.",
            410: "The events changed too fast to be read as a whole: ask again.",
        },
        headers={200: CACHED},
    ),
    response_model=None,
)
async def health(request: Request) -> Response:
    """Answer with the verdict on the xApp, on each object and pod, and the last events about them."""
    asked = await asked_xapp(request, parameters=("pretty",))
    return cacheable(request, orjson.dumps(await health_of(asked)), pretty=asked.query.boolean("pretty"))
