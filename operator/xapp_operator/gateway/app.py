"""The ASGI application: routes, exception handlers and the OpenAPI document, inside the middleware.

To add a route, write a module in `routes/` and add its router to `routes/__init__.py`.
"""

from __future__ import annotations

from functools import cache
from http import HTTPStatus
from importlib.metadata import version
from typing import Final, cast

import orjson
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp

from xapp_operator.config.settings import Settings
from xapp_operator.errors import XAppError
from xapp_operator.gateway.auth.session_cookies import COOKIE_NAME, HOST_COOKIE_NAME
from xapp_operator.gateway.deploy.forms import form_schema
from xapp_operator.gateway.http.middleware import GatewayMiddleware
from xapp_operator.gateway.http.openapi import build_openapi
from xapp_operator.gateway.http.responses.problems import (
    http_exception_response,
    internal_error_response,
    problem_response,
    redact_path,
)
from xapp_operator.gateway.routes import ROUTERS, TAGS
from xapp_operator.gateway.state import Gateway
from xapp_operator.telemetry.logs import get_logger

TITLE: Final = "xapp-operator"
DESCRIPTION: Final = (
    "Deploys, lists, upgrades and removes xApps. Every path is served under `/api` and under `/api/v1`. "
    "Errors are problem details of RFC 9457 (`application/problem+json`). Lists are paginated; `pretty=true` indents "
    "any response."
)

_HTTP_METHODS: Final = ("DELETE", "GET", "OPTIONS", "PATCH", "POST", "PUT")

_log = get_logger(__name__)


def create_app(gateway: Gateway) -> ASGIApp:
    app = _create_routes()
    app.state.gateway = gateway
    app.state.openapi = describe_api(gateway.settings)
    return GatewayMiddleware(
        app, gateway.settings, load_session=gateway.authenticator.load_session, audit=gateway.audit
    )


def describe_api(settings: Settings) -> bytes:
    """Return the OpenAPI document of a gateway with these settings, without starting one."""
    return _openapi_document(_session_cookie(settings) if settings.auth == "kubernetes" else None)


def _create_routes() -> FastAPI:
    app = FastAPI(
        exception_handlers={
            XAppError: _handle_xapp_error,
            HTTPException: _handle_http_exception,
            ClientDisconnect: _handle_client_disconnect,
            Exception: _handle_unexpected_error,
        },
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
    for router in ROUTERS:
        app.include_router(router)
    return app


@cache  # half a second, for each gateway of this process
def _openapi_document(session_cookie: str | None) -> bytes:
    document = build_openapi(_create_routes(), session_cookie=session_cookie, schemas={"DeploymentForm": form_schema()})
    return orjson.dumps(document)


def _session_cookie(settings: Settings) -> str:
    has_tls = settings.tls_cert is not None or settings.trust_forwarded_proto
    return HOST_COOKIE_NAME if has_tls else COOKIE_NAME


async def _handle_xapp_error(request: Request, error: XAppError) -> Response:
    return problem_response(error, request)


async def _handle_http_exception(request: Request, exception: HTTPException) -> Response:
    if exception.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        # The framework names only the methods of the first route at that path; each method has its own route.
        exception = HTTPException(exception.status_code, headers={"Allow": ", ".join(_allowed_methods(request))})
    return http_exception_response(exception, request)


def _allowed_methods(request: Request) -> list[str]:
    routes = cast("FastAPI", request.app).router.routes
    scopes = [dict(request.scope, method=method) for method in _HTTP_METHODS]
    allowed = [scope["method"] for scope in scopes if any(each.matches(scope)[0] is Match.FULL for each in routes)]
    return sorted([*allowed, "HEAD"] if "GET" in allowed else allowed)


async def _handle_client_disconnect(request: Request, _error: ClientDisconnect) -> Response:
    _log.debug("client disconnected", path=redact_path(request.scope["path"]))
    return Response(status_code=HTTPStatus.BAD_REQUEST)


async def _handle_unexpected_error(request: Request, error: Exception) -> Response:
    return internal_error_response(error, request)
