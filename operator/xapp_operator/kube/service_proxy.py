"""The API server's proxy to Services, in the name of one identity: HTTP and WebSocket.

Lives in `kube`, the only package that speaks to the API server. It is how a gateway outside the cluster reaches the
pods of an xApp, with the caller's own rights. Two things are told apart here: what the xApp answers, and what the API
server says when it cannot reach it, which comes as an answer too (a `Status` object). What the API server changes in
answers (apimachinery, pkg/util/proxy/transport.go) is known here as well: links of HTML and `Location`.
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
from xapp_operator.domain.yaml_values import load_values
from xapp_operator.errors import MalformedRequest, UpstreamUnreachable, ValuesInvalid, XAppError
from xapp_operator.kube.api_errors import FIRST_ERROR_STATUS, connection_error, error_from_response
from xapp_operator.kube.proxy_request import ProxyRequest, ProxyResponse
from xapp_operator.kube.resources import SERVICES
from xapp_operator.kube.transport import ApiTransport, RequestIdentity
from xapp_operator.kube.websocket_client import WebSocketRequest, open_websocket

STATUS_MAX_BYTES: Final = 16 * 1024
CLOSING_BUFFER_BYTES: Final = 1024 * 1024

_HTML: Final = "text/html"
_YAML: Final = "application/yaml"
_STATUS_MEDIA_TYPES: Final = ("application/json", _YAML)
"""The API server says its errors in the first of these that the caller accepts."""
_API_SERVER_STATUSES: Final = {
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.TOO_MANY_REQUESTS,
}
_ADDED_HEADERS: Final = (b"audit-id", b"x-kubernetes-pf-flowschema-uid", b"x-kubernetes-pf-prioritylevel-uid")
_ADDED_CACHE_CONTROL: Final = (b"cache-control", b"no-cache, private")


def service_path(namespace: str, service: str, port: str, *, https: bool) -> str:
    """Return the path under which the API server proxies to a port (name or number) of a Service."""
    scheme = "https:" if https else ""
    base = SERVICES.path(namespace=namespace, name=service)
    head, _, name = base.rpartition("/")
    return f"{head}/{scheme}{name}:{quote(port, safe='')}/proxy"


class ServiceProxy:
    """Requests through the API server, with one identity."""

    def __init__(self, transport: ApiTransport, identity: RequestIdentity) -> None:
        self._transport = transport
        self._identity = identity

    @asynccontextmanager
    async def send(self, request: ProxyRequest, *, path: str) -> AsyncIterator[ServiceProxyResponse]:
        """Pass a request on to the Service behind `path` (`service_path`), and give its answer to be read.

        Raises:
            UpstreamUnreachable: when the API server cannot reach the xApp.
            KubeError: when the API server does not let the request through, or does not answer.
            MalformedRequest: for what the API server does not pass on.
        """
        proxied_request = replace(request, target=path + request.target)
        if request.body is not None and not request.header("content-length"):
            # On a connection that is to live on, the API server (net/http of Go) throws away up to 256 KiB of the body
            # when the xApp begins to answer before it has all of it; only with a length would anybody notice.
            # The buffer, because uvloop drops what is held back when a TLS connection ends.
            headers = (*request.headers, ("Connection", "close"))
            proxied_request = replace(proxied_request, headers=headers, buffer_bytes=CLOSING_BUFFER_BYTES)
        async with AsyncExitStack() as stack:
            try:
                response = await stack.enter_async_context(
                    self._transport.proxy_request(proxied_request, identity=self._identity)
                )
            except aiohttp.ServerDisconnectedError as error:
                # Its way to pass on that the xApp broke off before anything of the answer was sent.
                raise UpstreamUnreachable("the xApp broke its answer off: see the logs of its pods") from error
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise connection_error(error) from error
            if (error_response := await _api_server_error(response, path=path)) is not None:
                raise error_response
            yield ServiceProxyResponse(response, path=path)

    async def open_websocket(self, request: WebSocketRequest, *, path: str, seconds: float) -> ClientConnection:
        """Open a WebSocket to the Service behind `path`.

        Raises:
            InvalidStatus: when the xApp answers with anything but 101.
            UpstreamUnreachable, KubeError: as for `passed`.
        """
        server = urlsplit(self._transport.credentials.server)
        host, port = server.hostname or "", server.port or (443 if server.scheme == "https" else 80)
        base_path = server.path + path
        # Behind a forward proxy the name of the server is what is asked for, so the Service's cannot be told.
        destination = {"host": host, "port": port} if self._transport.credentials.proxy else {"address": (host, port)}
        proxied_request = replace(request, path=base_path + request.path, **destination)
        try:
            proxied_request = await self._transport.authorize_websocket(proxied_request, identity=self._identity)
            return await open_websocket(proxied_request, seconds=seconds)
        except InvalidStatus as error:
            body = bytes(error.response.body or b"")
            media_type = error.response.headers.get("Content-Type", "")
            status_object = (
                _parse_status(body, media_type) if error.response.status_code >= FIRST_ERROR_STATUS else None
            )
            if status_object is not None:
                raise _error_from_status(error.response.status_code, status_object, body, path=path) from None
            raise
        except TimeoutError:
            raise
        except (WebSocketException, OSError) as error:
            raise UpstreamUnreachable(
                "the connection to the xApp could not be opened: see the logs of its pods"
            ) from error


class ServiceProxyResponse:
    """An answer that came through the API server, with what that added taken away again."""

    def __init__(self, response: ProxyResponse, *, path: str) -> None:
        self._response = response
        self._path = path.encode()
        self._has_rewritten_links = response.header("content-type").partition(";")[0].strip() == _HTML
        self.status = response.status
        self.headers = _remove_added_headers(response.headers, keep_length=not self._has_rewritten_links)

    def chunks(self) -> AsyncGenerator[bytes]:
        """Yield the body as it arrives; links of HTML are as the xApp wrote them.

        Raises:
            UpstreamUnreachable: when the connection breaks before its end.
        """
        return (
            remove_bytes(self._response.chunks(), self._path) if self._has_rewritten_links else self._response.chunks()
        )


async def remove_bytes(chunks: AsyncIterable[bytes], removed: bytes) -> AsyncGenerator[bytes]:
    """Yield a stream of bytes without `removed`, wherever in it that stands; less than one of it is held back."""
    held = b""
    async for chunk in chunks:
        held = (held + chunk).replace(removed, b"")
        held_size = next(
            (size for size in range(min(len(removed) - 1, len(held)), 0, -1) if _ends_with_prefix(held, removed, size)),
            0,
        )
        ready, held = held[: len(held) - held_size], held[len(held) - held_size :]
        if ready:
            yield ready
    if held:
        yield held


def _ends_with_prefix(held: bytes, removed: bytes, size: int) -> bool:
    return held.endswith(removed[:size])


def _remove_added_headers(
    headers: tuple[tuple[bytes, bytes], ...], *, keep_length: bool
) -> tuple[tuple[bytes, bytes], ...]:
    # What the API server adds stands before what the xApp says, so only the first of a kind is taken away.
    remaining = [*_ADDED_HEADERS, _ADDED_CACHE_CONTROL[0]]
    kept: list[tuple[bytes, bytes]] = []
    for name, value in headers:
        lower = name.lower()
        if lower in remaining and (lower in _ADDED_HEADERS or value == _ADDED_CACHE_CONTROL[1]):
            remaining.remove(lower)
        elif keep_length or lower != b"content-length":
            kept.append((name, value))
    return tuple(kept)


async def _api_server_error(response: ProxyResponse, *, path: str) -> XAppError | None:
    """Return the error that the API server says itself, or None for an answer of the xApp."""
    if response.status < FIRST_ERROR_STATUS or response.header("content-type") not in _STATUS_MEDIA_TYPES:
        return None
    body = await response.read_if_at_most(STATUS_MAX_BYTES)
    status_object = _parse_status(body or b"", response.header("content-type"))
    return None if status_object is None else _error_from_status(response.status, status_object, body or b"", path=path)


def _parse_status(body: bytes, media_type: str) -> JsonObject | None:
    if media_type not in _STATUS_MEDIA_TYPES:
        return None
    try:
        # Perhaps the xApp says it, so it is read as what anybody may have written: a loader of YAML that merges what
        # aliases repeat would not come to an end.
        yaml = media_type == _YAML
        found: Json = load_values(body, source="answer", max_bytes=STATUS_MAX_BYTES) if yaml else orjson.loads(body)
    except (ValueError, ValuesInvalid):
        return None
    if not isinstance(found, dict) or (found.get("kind"), found.get("apiVersion")) != ("Status", "v1"):
        return None
    return found


def _error_from_status(status: int, status_object: JsonObject, body: bytes, *, path: str) -> XAppError:
    message = text(status_object, "message")
    if status in _API_SERVER_STATUSES:
        return error_from_response(status, orjson.dumps(status_object), path=path)
    if status == HTTPStatus.BAD_REQUEST and "dryRun" in message:
        return MalformedRequest(
            "the query parameter dryRun cannot be passed on through the Kubernetes API: leave it out"
        )
    if status == HTTPStatus.NOT_FOUND:
        return UpstreamUnreachable(
            "the Service has no endpoints, or is gone from the cluster: GET …/config tells what there is; ask again"
        )
    if "no endpoints available" in message:
        return UpstreamUnreachable("no pod of the xApp is ready to answer: GET …/health tells why")
    reason = "refuses connections" if "connection refused" in message else "does not answer as HTTP"
    return UpstreamUnreachable(f"the xApp {reason} at this port: see GET …/health and the logs of its pods")
