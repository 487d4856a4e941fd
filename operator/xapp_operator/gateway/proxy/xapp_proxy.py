"""The proxy to xApps: it limits concurrency, builds the upstream request, and connects request and response."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import orjson
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.websockets import WebSocket

from xapp_operator.api.json import JsonObject
from xapp_operator.config.settings import Settings
from xapp_operator.errors import XAppError
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.http.limits import CallerSlots, per_caller
from xapp_operator.gateway.http.requests.client_addresses import ClientAddresses
from xapp_operator.gateway.http.requests.origins import is_https
from xapp_operator.gateway.http.responses.streaming import Recheck
from xapp_operator.gateway.proxy.headers import HeaderLists, forwarded_request_headers, request_body_length
from xapp_operator.gateway.proxy.http_exchange import RequestBody, StreamingProxyResponse, wait_for_response
from xapp_operator.gateway.proxy.location_rewriter import LocationRewriter
from xapp_operator.gateway.proxy.paths import ProxyPath, percent_encode
from xapp_operator.gateway.proxy.targets import ProxyTarget
from xapp_operator.gateway.proxy.upstream import Upstream
from xapp_operator.gateway.proxy.websocket_bridge import bridge_websockets, forwarded_subprotocols
from xapp_operator.kube.proxy.proxy_request import ProxyRequest
from xapp_operator.kube.proxy.websocket_client import WebSocketRequest

_ABSENT_STATUSES: Final = frozenset(
    {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.GONE, HTTPStatus.NOT_IMPLEMENTED}
)


@dataclass(frozen=True, slots=True)
class ProxyCall:
    """One proxied request: its caller, the selected port, and the split path."""

    caller: Caller
    target: ProxyTarget
    path: ProxyPath
    recheck: Recheck


class XAppProxy:
    """Forwards requests to xApps, at most XAPP_PROXY_CONCURRENCY at a time."""

    def __init__(self, settings: Settings, upstream: Upstream) -> None:
        self._timeout_seconds = settings.proxy_timeout
        self._trusts_forwarded_proto = settings.trust_forwarded_proto
        self._client_addresses = ClientAddresses.from_settings(settings)
        limit = settings.proxy_concurrency
        self._slots = CallerSlots(
            limit,
            per_caller=per_caller(settings, settings.proxy_per_caller, of=limit),
            what="requests to xApps in progress",
            hint="end some, or try again in a second (XAPP_PROXY_PER_CALLER, XAPP_PROXY_CONCURRENCY)",
        )
        self.header_lists = HeaderLists.from_settings(settings)
        self.upstream = upstream

    async def forward_request(self, request: Request, call: ProxyCall, *, method: str) -> Response:
        """Forward a request and return the response once it has started; sending it streams the body.

        Raises:
            UpstreamUnreachable, UpstreamTimeout: when the xApp does not answer.
            KubeError, MalformedRequest: when the API server refuses the request or would change it.
            TooManyConcurrentRequests: when the limit is reached.
        """
        async with AsyncExitStack() as stack:
            stack.enter_context(self._slots.hold(call.caller.user))
            length = request_body_length(request.scope["headers"])
            request_body = RequestBody(request.receive, has_body=length != 0)
            stack.push_async_callback(request_body.stop)
            request_body.start()
            route = self.upstream.route(call.target)
            query = percent_encode(request.scope["query_string"])
            proxy_request = ProxyRequest(
                method=method,
                target=f"{call.path.path}?{query}" if query else call.path.path,
                headers=self._request_headers(request, call, length=length),
                body=request_body.chunks() if length != 0 else None,
            )
            pending_response = self.upstream.send(proxy_request, route=route, client=call.caller.client)
            response = await wait_for_response(
                stack.enter_async_context(pending_response),
                request_body,
                seconds=self._timeout_seconds,
                recheck=call.recheck,
            )
            rewriter = LocationRewriter(
                call.target,
                prefix=call.path.prefix,
                path=call.path.path,
                gateway_hosts=(request.headers.get("host", "").lower(),),
                api_server_path=route.api_server_path,
            )
            is_head = method == "HEAD"
            return StreamingProxyResponse(
                response,
                header_lists=self.header_lists,
                rewriter=rewriter,
                request_body=request_body,
                stack=stack.pop_all(),
                is_head=is_head,
                recheck=call.recheck,
            )

    async def forward_websocket(self, websocket: WebSocket, call: ProxyCall) -> None:
        """Open a WebSocket to the xApp, accept the caller's, and forward messages until either closes.

        Raises:
            InvalidStatus: when the xApp refuses the handshake.
            UpstreamUnreachable, KubeError, MalformedRequest, TooManyConcurrentRequests: as `forward_request`.
        """
        with self._slots.hold(call.caller.user):
            headers = self._request_headers(websocket, call, length=None)
            websocket_request = WebSocketRequest(
                host=call.target.host,
                port=call.target.port_number,
                path=call.path.path,
                query=percent_encode(websocket.scope["query_string"]),
                headers=[each for each in headers if each[0] != "Host"],
                subprotocols=forwarded_subprotocols(websocket.scope["subprotocols"]),
            )
            route, client = self.upstream.route(call.target), call.caller.client
            upstream = await self.upstream.open_websocket(websocket_request, route=route, client=client)
            await bridge_websockets(websocket, upstream, recheck=call.recheck)

    async def fetch_json(
        self, caller: Caller, target: ProxyTarget, path: str, *, seconds: float, max_bytes: int
    ) -> JsonObject | None:
        """Return the JSON object at `path` (encoded, with its query) of an xApp.

        Return None for an error, for a response that is not a JSON object or has more than `max_bytes`, and after
        `seconds`.
        """
        headers = [("Host", target.authority), ("Accept", "application/json"), ("Accept-Encoding", "identity")]
        proxy_request = ProxyRequest(method="GET", target=path, headers=headers)
        body = b""
        try:
            with self._slots.hold(caller.user):
                route = self.upstream.route(target)
                async with (
                    asyncio.timeout(seconds),
                    self.upstream.send(proxy_request, route=route, client=caller.client) as response,
                ):
                    if response.status != HTTPStatus.OK:
                        return None
                    async for chunk in response.chunks():
                        body += chunk
                        if len(body) > max_bytes:
                            return None
            decoded = orjson.loads(body)
        except (XAppError, TimeoutError, ValueError):
            return None
        return decoded if isinstance(decoded, dict) else None

    async def serves_json(self, caller: Caller, target: ProxyTarget, path: str, *, seconds: float) -> bool | None:
        """Return whether a GET of `path` is answered with JSON; None if that cannot be told now.

        The body is not read.
        """
        headers = [("Host", target.authority), ("Accept", "application/json"), ("Accept-Encoding", "identity")]
        proxy_request = ProxyRequest(method="GET", target=path, headers=headers)
        try:
            with self._slots.hold(caller.user):
                route = self.upstream.route(target)
                async with (
                    asyncio.timeout(seconds),
                    self.upstream.send(proxy_request, route=route, client=caller.client) as response,
                ):
                    status, content_types = (
                        response.status,
                        [value for name, value in response.headers if name.lower() == b"content-type"],
                    )
        except (XAppError, TimeoutError):
            return None
        if status in _ABSENT_STATUSES:
            return False
        if status != HTTPStatus.OK:
            return None
        return any(map(_is_json, content_types))

    def _request_headers(
        self, connection: HTTPConnection, call: ProxyCall, *, length: int | None
    ) -> list[tuple[str, str]]:
        uses_https = is_https(connection, trust_forwarded_proto=self._trusts_forwarded_proto)
        headers = forwarded_request_headers(
            connection.scope["headers"],
            lists=self.header_lists,
            host=call.target.authority,
            client=self._client_addresses.of(connection) or "unknown",
            scheme="https" if uses_https else "http",
            public_host=connection.headers.get("host", ""),
            prefix=call.path.prefix,
        )
        return [*headers, ("Content-Length", str(length))] if length else headers


def _is_json(content_type: bytes) -> bool:
    media_type = content_type.partition(b";")[0].strip().lower()
    return media_type == b"application/json" or (
        media_type.startswith(b"application/") and media_type.endswith(b"+json")
    )
