"""All routes of the gateway as they are mounted, so that tests over all of them miss none that is added."""

from __future__ import annotations

from typing import Final, NamedTuple

from starlette.routing import Route, WebSocketRoute

from xapp_operator.gateway.routes import ROUTERS

WEBSOCKET: Final = "WEBSOCKET"


class RouteKey(NamedTuple):
    """Method (or WEBSOCKET) and path of a route, the path as it is written in the code."""

    method: str
    path: str


UNAUTHENTICATED_ROUTES: Final = frozenset(
    {
        RouteKey("GET", "/"),
        RouteKey("GET", "/healthz"),
        RouteKey("GET", "/readyz"),
        RouteKey("GET", "/metrics"),
        RouteKey("GET", "/api/docs"),
        RouteKey("GET", "/api/docs/{asset}"),
        RouteKey("GET", "/api/openapi.json"),
        RouteKey("POST", "/api/session"),
    }
)
"""Those that answer without credentials."""


def all_routes() -> list[RouteKey]:
    """Return every route that the gateway has; HEAD is GET everywhere."""
    found: set[RouteKey] = set()
    for route in (each for router in ROUTERS for each in router.routes):
        if isinstance(route, WebSocketRoute):
            found.add(RouteKey(WEBSOCKET, route.path))
        else:
            assert isinstance(route, Route), f"{route} is neither a route nor a WebSocket: teach this module its kind"
            assert route.methods, f"{route.path} takes any method: name them"
            found |= {RouteKey(method, route.path) for method in route.methods if method != "HEAD"}
    return sorted(found)
