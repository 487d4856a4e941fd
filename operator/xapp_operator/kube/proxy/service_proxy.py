"""The API server's proxy to Services, for HTTP and WebSockets.

It is the route to the pods for a gateway outside the cluster, with the caller's own rights. Errors of the API server
arrive as responses too (`Status` objects) and are distinguished from those of the xApp. What the API server changes in
responses (apimachinery, pkg/util/proxy/transport.go: HTML links and `Location`) is restored.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from http import HTTPStatus
from typing import Final
from urllib.parse import quote, urlsplit

import aiohttp
import orjson
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import InvalidStatus, WebSocketException

from xapp_operator.api.json import Json, JsonObject, text
from xapp_operator.domain.chart_values.yaml_values import load_values
from xapp_operator.errors import MalformedRequest, UpstreamUnreachable, ValuesInvalid, XAppError
from xapp_operator.kube.api_errors import FIRST_ERROR_STATUS, connection_error, error_from_response
from xapp_operator.kube.proxy.proxy_request import ProxyRequest, ProxyResponse
from xapp_operator.kube.proxy.websocket_client import WebSocketRequest, open_websocket
from xapp_operator.kube.resources import SERVICES
from xapp_operator.kube.transport import ApiTransport, RequestIdentity

STATUS_MAX_BYTES: Final = 16 * 1024
CLOSING_BUFFER_BYTES: Final = 1024 * 1024

_HTML: Final = "text/html"
_YAML: Final = "application/yaml"
_STATUS_MEDIA_TYPES: Final = ("application/json", _YAML)
"""The API server sends its errors in the first of these media types that the client accepts."""
_API_SERVER_STATUSES: Final = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS}
_ADDED_HEADERS: Final = (b"audit-id", b"x-kubernetes-pf-flowschema-uid", b"x-kubernetes-pf-prioritylevel-uid")
_ADDED_CACHE_CONTROL: Final = (b"cache-control", b"no-cache, private")


def service_path(namespace: str, service: str, port: str, *, https: bool) -> str:
    """Return the API server's proxy path of a port (name or number) of a Service."""
    scheme = "https:" if https else ""
    base = SERVICES.path(namespace=namespace, name=service)
    head, _, name = base.rpartition("/")
    return f"{head}/{scheme}{name}:{quote(port, safe='')}/proxy"


class ServiceProxy:
    """Sends requests to Services through the API server, with one identity."""

    def __init__(self, transport: ApiTransport, identity: RequestIdentity) -> None:
        self._transport = transport
        self._identity = identity

    @asynccontextmanager
    async def send(self, request: ProxyRequest, *, path: str) -> AsyncIterator[ServiceProxyResponse]:
        """Send a request to the Service behind `path` (`service_path`) and yield the response.

        Raises:
            UpstreamUnreachable: when the API server cannot reach the xApp.
            KubeError: when the API server refuses the request or does not answer.
            MalformedRequest: for a request that the API server does not forward.
        """
        proxied_request = replace(request, target=path + request.target)
        if request.body is not None and not request.header("content-length"):
            # On a keep-alive connection the API server (Go's net/http) discards up to 256 KiB of the request body when
            # the xApp responds before it has read all of it, unnoticed without a Content-Length. The larger buffer is
            # needed because uvloop drops unread data when a TLS connection closes.
            headers = (*request.headers, ("Connection", "close"))
            proxied_request = replace(proxied_request, headers=headers, buffer_bytes=CLOSING_BUFFER_BYTES)
        async with AsyncExitStack() as stack:
            try:
                response = await stack.enter_async_context(
                    self._transport.proxy_request(proxied_request, identity=self._identity)
                )
            except aiohttp.ServerDisconnectedError as error:
                # The API server closes the connection when the xApp closed its own before the response started.
                raise UpstreamUnreachable("the xApp's response broke off: see the logs of its pods") from error
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise connection_error(error) from error
            media_type = response.header("content-type")
            if response.status >= FIRST_ERROR_STATUS and media_type in _STATUS_MEDIA_TYPES:
                body = await response.read_if_at_most(STATUS_MAX_BYTES) or b""
                if (api_error := _api_server_error(response.status, media_type, body, path=path)) is not None:
                    raise api_error
            yield ServiceProxyResponse(response, path=path)

    async def open_websocket(self, request: WebSocketRequest, *, path: str, seconds: float) -> ClientConnection:
        """Open a WebSocket to the Service behind `path`.

        Raises:
            InvalidStatus: when the xApp refuses the handshake.
            UpstreamUnreachable, KubeError: as `send`.
        """
        server = urlsplit(self._transport.credentials.server)
        host, port = server.hostname or "", server.port or (443 if server.scheme == "https" else 80)
        base_path = server.path + path
        # A forward proxy connects to the host in the request, so the name of the Service cannot be sent.
        destination = {"host": host, "port": port} if self._transport.credentials.proxy else {"address": (host, port)}
        proxied_request = replace(request, path=base_path + request.path, **destination)
        try:
            proxied_request = await self._transport.authorize_websocket(proxied_request, identity=self._identity)
            return await open_websocket(proxied_request, seconds=seconds)
        except InvalidStatus as error:
            response = error.response
            media_type, body = response.headers.get("Content-Type", ""), bytes(response.body)
            if (api_error := _api_server_error(response.status_code, media_type, body, path=path)) is not None:
                raise api_error from None
            raise
        except TimeoutError:
            raise
        except (WebSocketException, OSError) as error:
            raise UpstreamUnreachable(
                "the WebSocket to the xApp could not be opened: see the logs of its pods"
            ) from error


class ServiceProxyResponse:
    """A response that came through the API server, without the headers and path prefixes that it adds."""

    def __init__(self, response: ProxyResponse, *, path: str) -> None:
        self._response = response
        self._path = path.encode()
        self._has_rewritten_links = response.header("content-type").partition(";")[0].strip() == _HTML
        self.status = response.status
        self.headers = _remove_added_headers(response.headers, keep_length=not self._has_rewritten_links)

    def chunks(self) -> AsyncGenerator[bytes]:
        """Yield the body as it arrives, with the links of HTML as the xApp wrote them.

        Raises:
            UpstreamUnreachable: when the connection breaks before its end.
        """
        chunks = self._response.chunks()
        return remove_bytes(chunks, self._path) if self._has_rewritten_links else chunks


async def remove_bytes(chunks: AsyncIterable[bytes], removed: bytes) -> AsyncGenerator[bytes]:
    """Yield a byte stream without any occurrence of `removed`; less than its length is held back."""
    held = b""
    async for chunk in chunks:
        held = (held + chunk).replace(removed, b"")
        held_size = next(
            (size for size in range(min(len(removed) - 1, len(held)), 0, -1) if held.endswith(removed[:size])),
            0,
        )
        ready, held = held[: len(held) - held_size], held[len(held) - held_size :]
        if ready:
            yield ready
    if held:
        yield held


def _remove_added_headers(
    headers: tuple[tuple[bytes, bytes], ...], *, keep_length: bool
) -> tuple[tuple[bytes, bytes], ...]:
    # The API server's headers come before the xApp's, so only the first of each name is removed.
    remaining = [*_ADDED_HEADERS, _ADDED_CACHE_CONTROL[0]]
    kept: list[tuple[bytes, bytes]] = []
    for name, value in headers:
        lower = name.lower()
        if lower in remaining and (lower in _ADDED_HEADERS or value == _ADDED_CACHE_CONTROL[1]):
            remaining.remove(lower)
        elif keep_length or lower != b"content-length":
            kept.append((name, value))
    return tuple(kept)


def _api_server_error(status: int, media_type: str, body: bytes, *, path: str) -> XAppError | None:
    """Return the error that the API server itself reports, or None for a response of the xApp."""
    if status < FIRST_ERROR_STATUS or (status_object := _parse_status(body, media_type)) is None:
        return None
    message = text(status_object, "message")
    if status in _API_SERVER_STATUSES:
        return error_from_response(status, orjson.dumps(status_object), path=path)
    if status == HTTPStatus.BAD_REQUEST and "dryRun" in message:
        return MalformedRequest("the Kubernetes API does not forward the query parameter dryRun: remove it")
    if status == HTTPStatus.NOT_FOUND:
        return UpstreamUnreachable(
            "the Service has no endpoints or was deleted: look at the addresses of the xApp and try again"
        )
    if "no endpoints available" in message:
        return UpstreamUnreachable("no pod of the xApp is ready: look at its health")
    reason = "refuses connections" if "connection refused" in message else "does not speak HTTP"
    return UpstreamUnreachable(f"the xApp {reason} at this port: look at its health and the logs of its pods")


def _parse_status(body: bytes, media_type: str) -> JsonObject | None:
    """Return the Status object in a body, which may come from the xApp and is untrusted."""
    if media_type not in _STATUS_MEDIA_TYPES:
        return None
    try:
        # Not a plain YAML loader, which might never finish expanding aliases.
        yaml = media_type == _YAML
        found: Json = load_values(body, source="response", max_bytes=STATUS_MAX_BYTES) if yaml else orjson.loads(body)
    except (ValueError, ValuesInvalid):
        return None
    if not isinstance(found, dict) or (found.get("kind"), found.get("apiVersion")) != ("Status", "v1"):
        return None
    return found
