"""All routes of the gateway as they are mounted, so that tests over all of them miss none that is added."""

from __future__ import annotations

from typing import Final, NamedTuple

from starlette.routing import Route, WebSocketRoute

from xapp_operator.gateway.routes import ROUTERS

WEBSOCKET: Final = "WEBSOCKET"


class RouteName(NamedTuple):
    """Method (or WEBSOCKET) and path of a route, the path as it is written in the code."""

    method: str
    path: str


OPEN: Final = frozenset(
    {
        RouteName("GET", "/"),
        RouteName("GET", "/healthz"),
        RouteName("GET", "/readyz"),
        RouteName("GET", "/metrics"),
        RouteName("GET", "/api/docs"),
        RouteName("GET", "/api/docs/{asset}"),
        RouteName("GET", "/api/openapi.json"),
        RouteName("POST", "/api/session"),
    }
)
"""Those that answer without credentials."""


def all_routes() -> list[RouteName]:
    """Return every route that the gateway has; HEAD is GET everywhere."""
    found: set[RouteName] = set()
    for route in (each for router in ROUTERS for each in router.routes):
        if isinstance(route, WebSocketRoute):
            found.add(RouteName(WEBSOCKET, route.path))
        else:
            assert isinstance(route, Route), f"{route} is neither a route nor a WebSocket: teach this module its kind"
            assert route.methods, f"{route.path} takes any method: name them"
            found |= {RouteName(method, route.path) for method in route.methods if method != "HEAD"}
    return sorted(found)
