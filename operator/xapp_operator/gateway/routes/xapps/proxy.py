"""The xApps' own APIs: any HTTP method, streamed in both directions, and WebSockets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.websockets import WebSocket
from websockets.exceptions import InvalidStatus

from xapp_operator.errors import GatewayNotFound, NextRequest, UpstreamUnreachable, XAppError
from xapp_operator.gateway.auth.actions import Action
from xapp_operator.gateway.http.middleware import ORIGINAL_METHOD
from xapp_operator.gateway.http.openapi import (
    UNAUTHENTICATED_PROBLEM,
    XAPP_PATH_PARAMETERS,
    RequestRoute,
    document_parameter,
    document_responses,
)
from xapp_operator.gateway.http.responses.problems import problem_response
from xapp_operator.gateway.proxy.paths import parse_proxy_path
from xapp_operator.gateway.proxy.targets import select_api_target, select_target
from xapp_operator.gateway.proxy.websocket_bridge import denial_response
from xapp_operator.gateway.proxy.xapp_proxy import ProxyCall
from xapp_operator.gateway.routes.xapps.dependencies import get_xapp_context
from xapp_operator.gateway.state import get_gateway
from xapp_operator.gateway.xapps.context import xapp_path

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=RequestRoute)

ACTIONS: Final = {
    "GET": Action.PROXY,
    "HEAD": Action.PROXY,
    "OPTIONS": Action.PROXY,
    "POST": Action.PROXY_CREATE,
    "PUT": Action.PROXY_UPDATE,
    "PATCH": Action.PROXY_PATCH,
    "DELETE": Action.PROXY_DELETE,
}
"""HTTP method → the action; its verb on services/proxy is the same as at the API server."""

_SERVICE_PATH: Final = "/{namespace}/{name}/proxy/{service}/{port}"
_API_PATH: Final = "/{namespace}/{name}/api"
_PATH_SUFFIX: Final = "/{path:path}"
_METHODS: Final = [method for method in ACTIONS if method != "HEAD"]

_PROBLEMS: Final = {
    **UNAUTHENTICATED_PROBLEM,
    400: "The path changes its meaning when it is decoded, or has an encoded slash before the xApp's part.",
    403: "The caller may not get the xApp or use services/proxy, or the Service leads out of the cluster.",
    404: "No such xApp, Service or port; the problem lists the existing ones.",
    502: "The xApp does not answer at this port, or the Kubernetes API failed.",
    429: "The caller, or all callers together, have too many requests to xApps in progress: see Retry-After.",
    503: "Not ready: see Retry-After.",
    504: "The xApp did not start to respond within `XAPP_PROXY_TIMEOUT`.",
}
_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "The response of the xApp."},
    **{
        status: {**response, "content": {**response["content"], "*/*": {}}}  # xApps have their own error formats
        for status, response in document_responses(problems=_PROBLEMS).items()
    },
    "default": {"description": "Any other response of the xApp."},
}
_PATH_PARAMETER: Final = document_parameter(
    "path", "Path in the xApp's API, slashes included; the query is forwarded unchanged.", location="path"
)
_SERVICE_PARAMETERS: Final = (
    document_parameter("service", "A Service of the xApp.", location="path"),
    document_parameter("port", "Name or number of one of its TCP ports.", location="path"),
)


async def forward_websocket(websocket: WebSocket) -> None:
    """Connect the caller's WebSocket to the xApp."""
    try:
        with _naming_next_requests(websocket):
            call = await _get_proxy_call(websocket, action=ACTIONS["GET"])
            await get_gateway(websocket).proxy.forward_websocket(websocket, call)
    except InvalidStatus as error:
        await websocket.send_denial_response(denial_response(error, lists=get_gateway(websocket).proxy.header_lists))
    except XAppError as error:
        await websocket.send_denial_response(problem_response(error, websocket))


async def forward(request: Request) -> Response:
    """Forward a request to the xApp."""
    method = request.scope.get(ORIGINAL_METHOD, request.method)
    with _naming_next_requests(request):
        call = await _get_proxy_call(request, action=ACTIONS[method])
        return await get_gateway(request).proxy.forward_request(request, call, method=method)


@contextmanager
def _naming_next_requests(connection: HTTPConnection) -> Iterator[None]:
    """Add to an error of the block which requests help: only the route knows of which xApp the Service is."""
    namespace, name = connection.path_params["namespace"], connection.path_params["name"]
    try:
        yield
    except UpstreamUnreachable as error:
        error.with_next(*(NextRequest("GET", xapp_path(namespace, name, part)) for part in ("health", "logs")))
        raise


async def _get_proxy_call(connection: HTTPConnection, *, action: Action) -> ProxyCall:
    context = await get_xapp_context(connection, action=action, parameters=None)
    entry, path_params = context.entry, connection.path_params
    try:
        if "service" in path_params:
            service, port = path_params["service"], path_params["port"]
            segments = ["proxy", service, port]
            target = select_target(context.live_objects, service, port, namespace=entry.namespace)
        else:
            segments, names = ["api"], (entry.name, entry.release)
            target = select_api_target(context.live_objects, namespace=entry.namespace, names=names)
    except GatewayNotFound as error:
        raise error.with_next(NextRequest("GET", xapp_path(entry.namespace, entry.name, "config"))) from None
    path = parse_proxy_path(connection.scope["raw_path"], segments=["xapps", entry.namespace, entry.name, *segments])
    return ProxyCall(caller=context.caller, target=target, path=path, recheck=context.recheck)


def _add_routes() -> None:
    for base, parameters, what, description in (
        (_SERVICE_PATH, _SERVICE_PARAMETERS, "a Service", "Forward a request to a port of a Service."),
        (_API_PATH, (), "the API", "Forward a request to the port named http, rest or api, or to the only port."),
    ):
        for method in _METHODS:
            router.add_api_route(
                base + _PATH_SUFFIX,
                forward,
                methods=[method],
                name=f"{method.lower()}_{'service' if parameters else 'api'}_of_xapp",
                summary=f"{method} from {what} of an xApp",
                description=description,
                openapi_extra={"parameters": [*XAPP_PATH_PARAMETERS, *parameters, _PATH_PARAMETER]},
                responses=_RESPONSES,
                response_class=Response,
            )
        router.add_api_route(base, forward, methods=_METHODS, include_in_schema=False)
        for path in (base, base + _PATH_SUFFIX):
            router.add_api_websocket_route(path, forward_websocket)


_add_routes()
