"""The ASGI application: the routes, what becomes of errors, the API's own description, all behind the entrance.

To add a route, write a module in `routes/` and name its router in `routes/__init__.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from importlib.metadata import version
from typing import Final, cast

import orjson
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp

from xapp_operator.errors import FieldError, MalformedRequest, XAppError
from xapp_operator.gateway.documented import openapi_of
from xapp_operator.gateway.entrance import Entrance
from xapp_operator.gateway.forms import form_schema
from xapp_operator.gateway.problems import framework_problem, problem_of, unexpected_problem
from xapp_operator.gateway.proxy.paths import logged
from xapp_operator.gateway.routes import ROUTERS, TAGS
from xapp_operator.gateway.runtime import Gateway
from xapp_operator.telemetry.logs import get_logger

TITLE: Final = "xapp-operator"
DESCRIPTION: Final = (
    "Deploys, lists, upgrades and removes xApps. Every path is served under `/api` and under `/api/v1`. "
    "Errors are problems of RFC 9457 (`application/problem+json`). Lists are paginated; `pretty=true` indents any "
    "answer."
)

_METHODS: Final = ("DELETE", "GET", "OPTIONS", "PATCH", "POST", "PUT")

_log = get_logger(__name__)


def create_app(gateway: Gateway) -> ASGIApp:
    """Return the application that serves `gateway`."""
    app = FastAPI(
        title=TITLE,
        version=version("xapp-operator"),
        description=DESCRIPTION,
        openapi_tags=list(TAGS),
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.gateway = gateway
    for router in ROUTERS:
        app.include_router(router)
    app.state.openapi = orjson.dumps(
        openapi_of(
            app,
            authenticated=gateway.settings.auth == "kubernetes",
            schemas={"DeploymentForm": form_schema()},
        )
    )
    handlers: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
        XAppError: _ours,
        HTTPException: _framework,
        RequestValidationError: _invalid,
        ClientDisconnect: _left,
        Exception: _unexpected,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
    return Entrance(app, gateway.settings, open_session=gateway.authenticator.open_session)


async def _ours(request: Request, error: Exception) -> Response:
    return problem_of(cast("XAppError", error), request)


async def _framework(request: Request, error: Exception) -> Response:
    refused = cast("HTTPException", error)
    if refused.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        # The framework names the methods of the first route at that path only; there is one for each method.
        refused = HTTPException(refused.status_code, headers={"Allow": ", ".join(_methods(request))})
    return framework_problem(refused, request)


def _methods(request: Request) -> list[str]:
    routes = cast("FastAPI", request.app).router.routes
    scopes = [dict(request.scope, method=method) for method in _METHODS]
    taken = [scope["method"] for scope in scopes if any(each.matches(scope)[0] is Match.FULL for each in routes)]
    return sorted([*taken, "HEAD"] if "GET" in taken else taken)


async def _invalid(request: Request, error: Exception) -> Response:
    refused = tuple(
        FieldError(".".join(map(str, each["loc"])), str(each["msg"]))
        for each in cast("RequestValidationError", error).errors()
    )
    return problem_of(MalformedRequest("the request is not of the form that this path takes", errors=refused), request)


async def _left(request: Request, _error: Exception) -> Response:
    _log.info("client left before the end of its request", path=logged(request.scope["path"]))
    return Response(status_code=HTTPStatus.BAD_REQUEST)


async def _unexpected(request: Request, error: Exception) -> Response:
    return unexpected_problem(error, request)
