"""What every request passes first: Host and Origin checks, one path for both API prefixes, metrics, the last resort.

Lives outside the framework, as plain ASGI, so that nothing gets around it and a list costs next to nothing here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from xapp_operator.config import Settings
from xapp_operator.errors import RequestRefused, WrongHost, XAppError
from xapp_operator.gateway.auth import is_loopback
from xapp_operator.gateway.origins import READING, host_name, same_origin
from xapp_operator.gateway.problems import problem_of, unexpected_problem
from xapp_operator.gateway.proxy.paths import logged
from xapp_operator.telemetry.logs import get_logger
from xapp_operator.telemetry.metrics import METRICS

PREFIX: Final = "/api/"
VERSIONED_PREFIX: Final = "/api/v1/"
PROBES: Final = frozenset({"/healthz", "/readyz", "/metrics"})
ASKED_METHOD: Final = "xapp_operator.asked_method"
"""Where the scope tells the method of a request that is handled as another."""
LINGER_BYTES: Final = 64 * 1024 * 1024
LINGER_SECONDS: Final = 10.0

_UNMATCHED: Final = "unmatched"
_log = get_logger(__name__)


class Entrance:
    """The ASGI application that the server runs, around the framework's."""

    def __init__(
        self, app: ASGIApp, settings: Settings, *, open_session: Callable[[HTTPConnection], Awaitable[None]]
    ) -> None:
        self._app = app
        self._open_session = open_session
        self._only_loopback = settings.auth == "none"
        self._allowed_hosts = frozenset(host.lower() for host in settings.allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send)
        request = Request(scope, exchange.receive)
        inner = _inner_scope(scope)
        try:
            self._check(request, reading=request.method in READING)
            if inner["path"].startswith(PREFIX):
                await self._open_session(HTTPConnection(inner))
            await self._app(inner, exchange.receive, exchange.send)
        except XAppError as error:
            await problem_of(error, request)(scope, exchange.receive, exchange.send)
        except Exception as error:
            if not exchange.started:
                await unexpected_problem(error, request)(scope, exchange.receive, exchange.send)
            elif not exchange.failed:
                _log.exception("answer broken off", path=logged(scope["path"]))
        exchange.account(inner)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        websocket = WebSocket(scope, receive, send)
        inner = _inner_scope(scope)
        begun = time.perf_counter()
        status = HTTPStatus.SWITCHING_PROTOCOLS.value

        async def sending(message: Message) -> None:
            nonlocal status
            status = message.get("status", HTTPStatus.FORBIDDEN if message["type"] == "websocket.close" else status)
            await send(message)

        try:
            # A browser opens WebSockets for any page, and tells nobody but by Origin whose it is (RFC 6455, 10.2).
            self._check(websocket, reading=False)
            await self._open_session(HTTPConnection(inner))
            await self._app(inner, receive, sending)
        except XAppError as error:
            status = error.status
            await websocket.send_denial_response(problem_of(error, websocket))
        route = getattr(inner.get("route"), "path", _UNMATCHED)
        seconds = time.perf_counter() - begun
        METRICS.request_served(method="WEBSOCKET", route=route, status=status, seconds=seconds)

    def _check(self, request: HTTPConnection, *, reading: bool) -> None:
        hosts = request.headers.getlist("host")
        host = hosts[0].lower() if len(hosts) == 1 else ""
        if self._only_loopback:
            if not is_loopback(host_name(host)):
                raise WrongHost(
                    "this gateway serves loopback names only (XAPP_AUTH=none): ask for localhost or 127.0.0.1"
                )
        elif self._allowed_hosts and request.scope["path"] not in PROBES and not self._allows(host):
            raise WrongHost("this gateway does not serve that Host: ask for one of XAPP_ALLOWED_HOSTS")
        if reading:
            return
        for origin in request.headers.getlist("origin"):
            if not same_origin(origin, host):
                raise RequestRefused(
                    "a page of another origin may not change anything here: send the request from this gateway's own "
                    "pages, or without an Origin header"
                )

    def _allows(self, host: str) -> bool:
        return host in self._allowed_hosts or host_name(host) in self._allowed_hosts


class _Exchange:
    """One request and its answer, as they pass."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.started = False
        self.failed = False
        self._whole = False
        self._method: str = scope["method"]
        self._receive = receive
        self._send = send
        self._unread = self._method not in READING and _has_body(scope)
        self._status = 0
        self._begun = time.perf_counter()

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self._unread = False
        return message

    async def send(self, message: Message) -> None:
        if self._whole:
            return
        if message["type"] == "http.response.start":
            self.started = True
            self._status = message["status"]
            self.failed = self._status >= 500  # noqa: PLR2004 - logged where it was answered
            message.setdefault("headers", []).append((b"x-content-type-options", b"nosniff"))
            if self._unread:
                MutableHeaders(scope=message)["connection"] = "close"
            await self._send(message)
            if self._method == "HEAD":
                # Nothing is waited for that is not sent: the body may be a stream without end.
                self._whole = True
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        elif self._unread and message["type"] == "http.response.body" and not message.get("more_body", False):
            # Closing at once would reset the connection, and the client might never read why it was refused.
            await self._send({**message, "more_body": True})
            await self._linger()
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            await self._send(message)

    async def _linger(self) -> None:
        left = LINGER_BYTES
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                while self._unread and left > 0:
                    left -= len((await self.receive()).get("body", b""))
        except TimeoutError:
            return

    def account(self, scope: Scope) -> None:
        """Count the request, and log what may have changed something."""
        route = getattr(scope.get("route"), "path", _UNMATCHED)
        seconds = time.perf_counter() - self._begun
        METRICS.request_served(method=self._method, route=route, status=self._status, seconds=seconds)
        if self._method not in READING:
            _log.info(
                "request served",
                method=self._method,
                path=logged(scope["path"]),
                status=self._status,
                seconds=round(seconds, 3),
            )


def _has_body(scope: Scope) -> bool:
    # RFC 9112, 6.3: either of the two headers announces one.
    headers = dict(scope["headers"])
    return b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"


def _inner_scope(scope: Scope) -> Scope:
    path: str = scope["path"]
    inner = dict(scope)
    if path.startswith(VERSIONED_PREFIX):
        inner["path"] = PREFIX + path[len(VERSIONED_PREFIX) :]
    if scope.get("method") == "HEAD":
        # The server leaves out the body of the answer (RFC 9110, 9.3.2).
        inner["method"] = "GET"
        inner[ASKED_METHOD] = "HEAD"
    return inner
