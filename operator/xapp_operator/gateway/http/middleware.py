"""The outermost ASGI middleware: checks of path, Host and Origin, one path for both API prefixes, unexpected errors.

It wraps the whole framework, so that no route can bypass it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from xapp_operator.common.fair_slots import FairSlots, NoFreeSlot
from xapp_operator.config.settings import Settings
from xapp_operator.domain.address_rule import is_loopback
from xapp_operator.errors import MalformedRequest, MisdirectedRequest, RequestRefused, XAppError
from xapp_operator.gateway.http.audit import RequestRecord, begin_notes
from xapp_operator.gateway.http.requests.client_addresses import ClientAddresses
from xapp_operator.gateway.http.requests.origins import SAFE_METHODS, host_without_port, is_same_origin
from xapp_operator.gateway.http.requests.paths import PATH_MAX_BYTES, can_be_page, check_path
from xapp_operator.gateway.http.responses.problems import internal_error_response, problem_response, redact_path
from xapp_operator.telemetry.audit import AuditLog
from xapp_operator.telemetry.logs import get_logger

API_PREFIX: Final = "/api/"
VERSIONED_API_PREFIX: Final = "/api/v1/"
HELM_REPOSITORY_PREFIX: Final = "/helmrepo/"
"""The repository index and the charts of `/api/charts/{namespace}/` once more, at an address for `helm repo add`."""
_HELM_REPOSITORY_FILES: Final = (".yaml", ".tgz", ".tgz.prov")
PROBE_PATHS: Final = frozenset({"/healthz", "/readyz"})
EVENT_STREAM: Final = "text/event-stream"
ORIGINAL_METHOD: Final = "xapp_operator.original_method"
"""Key of a request's scope: the method of the request, if it is handled as another method."""
DATA_POLICY: Final = "default-src 'none'; frame-ancestors 'none'"
"""The Content-Security-Policy of responses that are no pages: a browser that shows one runs and loads nothing."""
_DOCS_PREFIX: Final = "/api/docs/"
_EXECUTED_DESTINATIONS: Final = frozenset(
    {"audioworklet", "paintworklet", "script", "serviceworker", "sharedworker", "style", "worker", "xslt"}
)
"""Values of Sec-Fetch-Dest (Fetch Metadata) for which a browser runs or applies a response."""
DRAIN_BYTES_MAX: Final = 64 * 1024 * 1024
DRAIN_SECONDS_MAX: Final = 10.0
DRAINS_MAX: Final = 64
"""Requests whose unread rest is received at a time; the connections of further ones are closed at once."""

_log = get_logger(__name__)


class GatewayMiddleware:
    """The ASGI application that the server runs; it wraps the application of the framework."""

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        *,
        load_session: Callable[[HTTPConnection], Awaitable[None]],
        audit: AuditLog,
    ) -> None:
        self._app = app
        self._load_session = load_session
        self._audit = audit
        self._client_addresses = ClientAddresses.from_settings(settings)
        self._drains = FairSlots(DRAINS_MAX, per_key=DRAINS_MAX)
        self._only_loopback = settings.auth == "none"
        self._allowed_hosts = frozenset(host.lower() for host in settings.allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._serve_websocket(scope, receive, send)
            return
        inner, record = self._begin(scope, method=scope["method"])
        exchange = _HttpExchange(scope, receive, send, drains=self._drains, record=record)
        if _opens_page_of_refused_path(scope):
            scope, inner = {**scope, **_START_PAGE}, {**inner, **_START_PAGE}
        request = Request(scope, exchange.receive)
        try:
            self._check_target_and_origin(request, is_safe=request.method in SAFE_METHODS)
            _check_destination(request, path=inner["path"])
            if inner["path"].startswith(API_PREFIX):
                await self._load_session(HTTPConnection(inner))
            await self._app(inner, exchange.receive, exchange.send)
        except XAppError as error:
            await problem_response(error, request)(scope, exchange.receive, exchange.send)
        except Exception as error:
            if not exchange.started:
                await internal_error_response(error, request)(scope, exchange.receive, exchange.send)
            elif not exchange.failed:
                _log.exception("response aborted", path=redact_path(scope["path"]))
        finally:
            record.complete(exchange.status)

    async def _serve_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        websocket = WebSocket(scope, receive, send)
        inner, record = self._begin(scope, method="WEBSOCKET")
        status = HTTPStatus.SWITCHING_PROTOCOLS.value

        async def send_and_record(message: Message) -> None:
            nonlocal status
            if message["type"] == "websocket.accept":
                record.started(status)
            elif message["type"] == "websocket.close" and not record.has_started:
                status = HTTPStatus.FORBIDDEN
            else:
                status = message.get("status", status)
            await send(message)

        try:
            # A browser opens WebSockets for any page; only the Origin header names the page (RFC 6455, 10.2).
            self._check_target_and_origin(websocket, is_safe=False)
            await self._load_session(HTTPConnection(inner))
            await self._app(inner, receive, send_and_record)
        except XAppError as error:
            status = error.status
            await websocket.send_denial_response(problem_response(error, websocket))
        finally:
            record.complete(status)

    def _begin(self, scope: Scope, *, method: str) -> tuple[Scope, RequestRecord]:
        """Return the scope for the routes, and the record of the request."""
        notes = begin_notes(scope)
        inner = _inner_scope(scope)
        is_audited = self._audit.is_on and scope["path"] not in PROBE_PATHS
        address = self._client_addresses.of(HTTPConnection(scope)) if is_audited else ""
        return inner, RequestRecord(self._audit if is_audited else None, notes, inner, address=address, method=method)

    def _check_target_and_origin(self, request: HTTPConnection, *, is_safe: bool) -> None:
        check_path(request.scope["raw_path"])
        hosts = request.headers.getlist("host")
        host = hosts[0].lower() if len(hosts) == 1 else ""
        if self._only_loopback:
            if not is_loopback(host_without_port(host)):
                raise MisdirectedRequest(
                    "with XAPP_AUTH=none this gateway serves only loopback names: use localhost or 127.0.0.1"
                )
        elif self._allowed_hosts and request.scope["path"] not in PROBE_PATHS and not self._is_allowed_host(host):
            raise MisdirectedRequest("this gateway does not serve that Host: use one of XAPP_ALLOWED_HOSTS")
        if is_safe:
            return
        for origin in request.headers.getlist("origin"):
            if not is_same_origin(origin, host):
                raise RequestRefused(
                    "pages of another origin may not change anything here: send the request from a page of this "
                    "gateway, or without an Origin header"
                )

    def _is_allowed_host(self, host: str) -> bool:
        return host in self._allowed_hosts or host_without_port(host) in self._allowed_hosts


_START_PAGE: Final = {"path": "/", "raw_path": b"/"}


def _opens_page_of_refused_path(scope: Scope) -> bool:
    """Return whether a person opens an address whose path is refused: the dashboard says that it has no such page."""
    if scope["method"] not in SAFE_METHODS or "text/html" not in Headers(scope=scope).get("accept", ""):
        return False
    try:
        check_path(scope["raw_path"])
    except MalformedRequest:
        return len(scope["raw_path"]) <= PATH_MAX_BYTES and can_be_page(scope["path"])
    return False


class _HttpExchange:
    """One request and its response, as the middleware sees them pass."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, *, drains: FairSlots, record: RequestRecord) -> None:
        self._drains = drains
        self._record = record
        self.started = False
        self.failed = False
        self._body_sent = False
        self._method: str = scope["method"]
        self._receive = receive
        self._send = send
        self._body_unread = self._method not in SAFE_METHODS and _has_body(scope)
        self._is_private = scope["path"].startswith((API_PREFIX, HELM_REPOSITORY_PREFIX))
        self.status = 0

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self._body_unread = False
        return message

    async def send(self, message: Message) -> None:
        if self._body_sent:
            return
        if message["type"] == "http.response.start":
            self.started = True
            self.status = message["status"]
            self.failed = self.status >= 500  # noqa: PLR2004 - problems.py has logged it
            message.setdefault("headers", [])
            headers = MutableHeaders(scope=message)
            headers["x-content-type-options"] = "nosniff"
            headers.setdefault("content-security-policy", DATA_POLICY)
            if self._is_private:
                headers.setdefault("cache-control", "private, no-cache")
                headers.setdefault("vary", "Authorization, Cookie")
            if headers.get("content-type", "").startswith(EVENT_STREAM):
                self._record.started(self.status)
            if self._body_unread:
                headers["connection"] = "close"
            await self._send(message)
            if self._method == "HEAD":
                # The body is not sent and may never end, so the response ends here.
                self._body_sent = True
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        elif self._body_unread and message["type"] == "http.response.body" and not message.get("more_body", False):
            # Closing at once would reset the connection before the client has read the response.
            await self._send({**message, "more_body": True})
            with suppress(NoFreeSlot), self._drains.slot_now(""):
                await self._drain_request()
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            await self._send(message)

    async def _drain_request(self) -> None:
        bytes_left = DRAIN_BYTES_MAX
        try:
            async with asyncio.timeout(DRAIN_SECONDS_MAX):
                while self._body_unread and bytes_left > 0:
                    bytes_left -= len((await self.receive()).get("body", b""))
        except TimeoutError:
            return


def _check_destination(request: HTTPConnection, *, path: str) -> None:
    """Refuse to be the source of a script for a page of the gateway: responses of the API may come from an xApp.

    `'self'` in the policy of the dashboard allows them. A page of an xApp has another origin, because it is sandboxed.

    Raises:
        RequestRefused: when a page of this origin loads a path of the API as a script or style sheet.
    """
    if not path.startswith(API_PREFIX) or path.startswith(_DOCS_PREFIX):
        return
    headers = request.headers
    if headers.get("sec-fetch-site") == "same-origin" and headers.get("sec-fetch-dest") in _EXECUTED_DESTINATIONS:
        raise RequestRefused("responses of the API are data: no page of this gateway may load them as script or style")


def _has_body(scope: Scope) -> bool:
    # Either of the two headers announces a body (RFC 9112, 6.3).
    headers = dict(scope["headers"])
    return b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"


def _inner_scope(scope: Scope) -> Scope:
    path: str = scope["path"]
    inner = dict(scope)
    if path.startswith(VERSIONED_API_PREFIX):
        inner["path"] = API_PREFIX + path[len(VERSIONED_API_PREFIX) :]
    elif path.startswith(HELM_REPOSITORY_PREFIX) and path.endswith(_HELM_REPOSITORY_FILES):
        inner["path"] = f"{API_PREFIX}charts/{path[len(HELM_REPOSITORY_PREFIX) :]}"
    if scope.get("method") == "HEAD":
        # The response has the headers of GET and no body (RFC 9110, 9.3.2).
        inner["method"] = "GET"
        inner[ORIGINAL_METHOD] = "HEAD"
    return inner
