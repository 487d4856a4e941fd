"""All routes of the gateway as they are mounted, so that tests of all routes include new ones."""

from __future__ import annotations

from typing import Final, NamedTuple

from starlette.routing import Route, WebSocketRoute

from xapp_operator.gateway.routes import ROUTERS
from xapp_operator.gateway.routes.charts import helm_repository

WEBSOCKET: Final = "WEBSOCKET"


class RouteKey(NamedTuple):
    """Method (or WEBSOCKET) and path template of a route."""

    method: str
    path: str


UNAUTHENTICATED_ROUTES: Final = frozenset(
    {
        RouteKey("GET", "/assets/{asset:path}"),
        RouteKey("GET", "/{page:page}"),
        RouteKey("GET", "/healthz"),
        RouteKey("GET", "/readyz"),
        RouteKey("GET", "/api/about"),
        RouteKey("GET", "/api/docs"),
        RouteKey("GET", "/api/docs/{asset}"),
        RouteKey("GET", "/api/openapi.json"),
        RouteKey("POST", "/api/session"),
    }
)
"""The routes that answer without credentials."""


def all_routes() -> list[RouteKey]:
    """Return every route of the gateway. HEAD is left out: it equals GET everywhere."""
    found: set[RouteKey] = set()
    for route in (each for router in ROUTERS for each in router.routes):
        if isinstance(route, WebSocketRoute):
            found.add(RouteKey(WEBSOCKET, route.path))
        else:
            assert isinstance(route, Route), f"{route} is neither a route nor a WebSocket: teach this module its kind"
            assert route.methods, f"{route.path} takes any method: name them"
            found |= {RouteKey(method, route.path) for method in route.methods if method != "HEAD"}
    return sorted(found)


def helm_repository_routes() -> list[RouteKey]:
    """Return the routes that are also below /helmrepo/, with that prefix."""
    prefix = helm_repository.router.prefix
    return [
        RouteKey(route.method, f"/helmrepo{route.path.removeprefix(prefix)}")
        for route in all_routes()
        if route.path in {getattr(each, "path", None) for each in helm_repository.router.routes}
        and route.method == "GET"
    ]
