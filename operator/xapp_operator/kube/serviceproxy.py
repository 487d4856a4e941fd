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
from xapp_operator.domain.yamlvalues import load_values
from xapp_operator.errors import MalformedRequest, UpstreamUnreachable, ValuesInvalid, XAppError
from xapp_operator.kube.failures import FIRST_ERROR_STATUS, from_answer, unreachable
from xapp_operator.kube.passage import Passage, Passed
from xapp_operator.kube.resources import SERVICES
from xapp_operator.kube.sockets import Opening, open_socket
from xapp_operator.kube.transport import Identity, Transport

STATUS_MAX_BYTES: Final = 16 * 1024
CLOSING_BUFFER_BYTES: Final = 1024 * 1024

_HTML: Final = "text/html"
_YAML: Final = "application/yaml"
_SAID_IN: Final = ("application/json", _YAML)
"""The API server says its errors in the first of these that the caller accepts."""
_ITS_OWN: Final = {
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.TOO_MANY_REQUESTS,
}
_ADDED: Final = (b"audit-id", b"x-kubernetes-pf-flowschema-uid", b"x-kubernetes-pf-prioritylevel-uid")
_ITS_CACHE_CONTROL: Final = (b"cache-control", b"no-cache, private")


def service_path(namespace: str, service: str, port: str, *, https: bool) -> str:
    """Return the path under which the API server proxies to a port (name or number) of a Service."""
    scheme = "https:" if https else ""
    base = SERVICES.path(namespace=namespace, name=service)
    head, _, name = base.rpartition("/")
    return f"{head}/{scheme}{name}:{quote(port, safe='')}/proxy"


class ServiceProxy:
    """Requests through the API server, with one identity."""

    def __init__(self, transport: Transport, identity: Identity) -> None:
        self._transport = transport
        self._identity = identity

    @asynccontextmanager
    async def passed(self, passage: Passage, *, path: str) -> AsyncIterator[Proxied]:
        """Pass a request on to the Service behind `path` (`service_path`), and give its answer to be read.

        Raises:
            UpstreamUnreachable: when the API server cannot reach the xApp.
            KubeError: when the API server does not let the request through, or does not answer.
            MalformedRequest: for what the API server does not pass on.
        """
        whole = replace(passage, target=path + passage.target)
        if passage.body is not None and not passage.header("content-length"):
            # On a connection that is to live on, the API server (net/http of Go) throws away up to 256 KiB of the body
            # when the xApp begins to answer before it has all of it; only with a length would anybody notice.
            # The buffer, because uvloop drops what is held back when a TLS connection ends.
            headers = (*passage.headers, ("Connection", "close"))
            whole = replace(whole, headers=headers, buffer_bytes=CLOSING_BUFFER_BYTES)
        async with AsyncExitStack() as stack:
            try:
                answer = await stack.enter_async_context(self._transport.passed(whole, identity=self._identity))
            except aiohttp.ServerDisconnectedError as error:
                # Its way to pass on that the xApp broke off before anything of the answer was sent.
                raise UpstreamUnreachable("the xApp broke its answer off: see the logs of its pods") from error
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise unreachable(error) from error
            if (refusal := await _refusal(answer, path=path)) is not None:
                raise refusal
            yield Proxied(answer, path=path)

    async def socket(self, opening: Opening, *, path: str, seconds: float) -> ClientConnection:
        """Open a WebSocket to the Service behind `path`.

        Raises:
            InvalidStatus: when the xApp answers with anything but 101.
            UpstreamUnreachable, KubeError: as for `passed`.
        """
        server = urlsplit(self._transport.credentials.server)
        host, port = server.hostname or "", server.port or (443 if server.scheme == "https" else 80)
        base = server.path + path
        # Behind a forward proxy the name of the server is what is asked for, so the Service's cannot be told.
        named = {"host": host, "port": port} if self._transport.credentials.proxy else {"address": (host, port)}
        whole = replace(opening, path=base + opening.path, **named)
        try:
            whole = await self._transport.dressed(whole, identity=self._identity)
            return await open_socket(whole, seconds=seconds)
        except InvalidStatus as error:
            body = bytes(error.response.body or b"")
            media = error.response.headers.get("Content-Type", "")
            said = _status_of(body, media) if error.response.status_code >= FIRST_ERROR_STATUS else None
            if said is not None:
                raise _told(error.response.status_code, said, body, path=path) from None
            raise
        except TimeoutError:
            raise
        except (WebSocketException, OSError) as error:
            raise UpstreamUnreachable(
                "the connection to the xApp could not be opened: see the logs of its pods"
            ) from error


class Proxied:
    """An answer that came through the API server, with what that added taken away again."""

    def __init__(self, answer: Passed, *, path: str) -> None:
        self._answer = answer
        self._path = path.encode()
        self._rewritten = answer.header("content-type").partition(";")[0].strip() == _HTML
        self.status = answer.status
        self.headers = _without_added(answer.headers, keep_length=not self._rewritten)

    def chunks(self) -> AsyncGenerator[bytes]:
        """Yield the body as it arrives; links of HTML are as the xApp wrote them.

        Raises:
            UpstreamUnreachable: when the connection breaks before its end.
        """
        return without(self._answer.chunks(), self._path) if self._rewritten else self._answer.chunks()


async def without(chunks: AsyncIterable[bytes], removed: bytes) -> AsyncGenerator[bytes]:
    """Yield a stream of bytes without `removed`, wherever in it that stands; less than one of it is held back."""
    held = b""
    async for chunk in chunks:
        held = (held + chunk).replace(removed, b"")
        keep = next((size for size in range(min(len(removed) - 1, len(held)), 0, -1) if _ends(held, removed, size)), 0)
        ready, held = held[: len(held) - keep], held[len(held) - keep :]
        if ready:
            yield ready
    if held:
        yield held


def _ends(held: bytes, removed: bytes, size: int) -> bool:
    return held.endswith(removed[:size])


def _without_added(headers: tuple[tuple[bytes, bytes], ...], *, keep_length: bool) -> tuple[tuple[bytes, bytes], ...]:
    # What the API server adds stands before what the xApp says, so only the first of a kind is taken away.
    left = [*_ADDED, _ITS_CACHE_CONTROL[0]]
    kept: list[tuple[bytes, bytes]] = []
    for name, value in headers:
        lower = name.lower()
        if lower in left and (lower in _ADDED or value == _ITS_CACHE_CONTROL[1]):
            left.remove(lower)
        elif keep_length or lower != b"content-length":
            kept.append((name, value))
    return tuple(kept)


async def _refusal(answer: Passed, *, path: str) -> XAppError | None:
    """Return the error that the API server says itself, or None for an answer of the xApp."""
    if answer.status < FIRST_ERROR_STATUS or answer.header("content-type") not in _SAID_IN:
        return None
    body = await answer.peek(STATUS_MAX_BYTES)
    said = _status_of(body or b"", answer.header("content-type"))
    return None if said is None else _told(answer.status, said, body or b"", path=path)


def _status_of(body: bytes, media: str) -> JsonObject | None:
    if media not in _SAID_IN:
        return None
    try:
        # Perhaps the xApp says it, so it is read as what anybody may have written: a loader of YAML that merges what
        # aliases repeat would not come to an end.
        yaml = media == _YAML
        found: Json = load_values(body, what="answer", max_bytes=STATUS_MAX_BYTES) if yaml else orjson.loads(body)
    except (ValueError, ValuesInvalid):
        return None
    if not isinstance(found, dict) or (found.get("kind"), found.get("apiVersion")) != ("Status", "v1"):
        return None
    return found


def _told(status: int, said: JsonObject, body: bytes, *, path: str) -> XAppError:
    message = text(said, "message")
    if status in _ITS_OWN:
        return from_answer(status, orjson.dumps(said), path=path)
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
