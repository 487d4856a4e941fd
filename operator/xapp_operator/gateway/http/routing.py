"""Routes whose handlers take a request and return a response.

Handlers parse their requests themselves, strictly. Parameters in signatures, which FastAPI would then resolve, cost
half of the time of a page of a list.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response


class RequestRoute(APIRoute):
    """A documented route that calls its handler with the request."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        """Return the handler itself."""
        return cast("Callable[[Request], Awaitable[Response]]", self.endpoint)
