"""The xApps' own APIs: any method, streamed both ways, and WebSockets.

Only paths are chosen here; what passes and how is the business of `gateway.proxy`.
"""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.websockets import WebSocket
from websockets.exceptions import InvalidStatus

from xapp_operator.errors import XAppError
from xapp_operator.gateway.asked import asked_xapp
from xapp_operator.gateway.documented import ONE_XAPP, UNAUTHENTICATED, answers, parameter
from xapp_operator.gateway.entrance import ASKED_METHOD
from xapp_operator.gateway.problems import problem_of
from xapp_operator.gateway.proxy.lookup import api_of, port_of
from xapp_operator.gateway.proxy.paths import split_path
from xapp_operator.gateway.proxy.service import Errand
from xapp_operator.gateway.proxy.sockets import refusal_of
from xapp_operator.gateway.routes.plain import PlainRoute
from xapp_operator.gateway.runtime import gateway_of
from xapp_operator.kube.resources import SERVICES

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=PlainRoute)

VERBS: Final = {
    "GET": "get",
    "HEAD": "get",
    "OPTIONS": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
"""The right on services/proxy that each method needs, as the API server maps them."""

_TO_SERVICE: Final = "/{namespace}/{name}/proxy/{service}/{port}"
_TO_API: Final = "/{namespace}/{name}/api"
_BELOW: Final = "/{path:path}"
_METHODS: Final = [method for method in VERBS if method != "HEAD"]

_PROBLEMS: Final = {
    **UNAUTHENTICATED,
    400: "A path with `..`, a backslash, a control character or an encoded slash where the xApp's part begins.",
    403: "The right on services/proxy (or to get the xApp) is missing, or the Service leads out of the cluster.",
    404: "No such xApp, or no such Service or port of it; the problem names those that there are.",
    502: "The xApp does not answer at this port, or the Kubernetes API failed.",
    503: "Not ready, or too many requests are being passed on: see Retry-After.",
    504: "The xApp did not begin to answer within `XAPP_PROXY_TIMEOUT`.",
}
_ANSWERS: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "What the xApp answers."},
    **{
        status: {**answer, "content": {**answer["content"], "*/*": {}}}  # an xApp says such a thing in its own way
        for status, answer in answers(problems=_PROBLEMS).items()
    },
    "default": {"description": "What the xApp answers, whatever it is."},
}
_PATH: Final = parameter("path", "Path of the xApp's API, with slashes; the query passes as it is.", where="path")
_SERVICE: Final = (
    parameter("service", "A Service of the xApp.", where="path"),
    parameter("port", "Name or number of one of its TCP ports.", where="path"),
)


async def pass_to_service(request: Request) -> Response:
    """Pass a request on to a port of a Service."""
    return await _passed(request)


async def pass_to_api(request: Request) -> Response:
    """Pass a request on to the port named http, rest or api, or the only one."""
    return await _passed(request)


async def socket(websocket: WebSocket) -> None:
    """Join the caller's WebSocket and one to the xApp."""
    try:
        errand = await _errand(websocket, verb=VERBS["GET"])
        await gateway_of(websocket).proxy.bridge(websocket, errand)
    except InvalidStatus as error:
        await websocket.send_denial_response(refusal_of(error))
    except XAppError as error:
        await websocket.send_denial_response(problem_of(error, websocket))


async def _passed(request: Request) -> Response:
    method = request.scope.get(ASKED_METHOD, request.method)
    errand = await _errand(request, verb=VERBS[method])
    return await gateway_of(request).proxy.answer(request, errand, method=method)


async def _errand(connection: HTTPConnection, *, verb: str) -> Errand:
    asked = await asked_xapp(connection, verb=verb, resource=SERVICES, subresource="proxy", parameters=None)
    entry, named = asked.entry, connection.path_params
    if "service" in named:
        segments = ["proxy", named["service"], named["port"]]
        target = port_of(asked.gateway, entry, named["service"], named["port"])
    else:
        segments = ["api"]
        target = api_of(asked.gateway, entry)
    split = split_path(connection.scope["raw_path"], segments=["xapps", entry.namespace, entry.name, *segments])
    return Errand(caller=asked.caller, target=target, split=split)


def _serve() -> None:
    for base, parameters, handler, what in (
        (_TO_SERVICE, _SERVICE, pass_to_service, "a Service of an xApp"),
        (_TO_API, (), pass_to_api, "the API of an xApp"),
    ):
        for method in _METHODS:
            router.add_api_route(
                base + _BELOW,
                handler,
                methods=[method],
                name=f"{method.lower()}_{'service' if parameters else 'api'}_of_xapp",
                summary=f"{method} from {what}",
                openapi_extra={"parameters": [*ONE_XAPP, *parameters, _PATH]},
                responses=_ANSWERS,
                response_class=Response,
                response_model=None,
            )
        router.add_api_route(base, handler, methods=_METHODS, include_in_schema=False, response_model=None)
        for path in (base, base + _BELOW):
            router.add_api_websocket_route(path, socket)


_serve()
