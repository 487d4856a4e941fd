"""The API server's proxy to Services: what reaches the xApp, what comes back, and whose errors are whose."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import WSMsgType, web
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol

from tests.support.fakes.api_server import FakeApiServer
from tests.unit.kube.conftest import Connect
from tests.unit.kube.fake_cluster import FakeCluster, Transport, fake_credentials
from xapp_operator.errors import (
    AccessDenied,
    ApiOverloaded,
    ApiUnavailable,
    MalformedRequest,
    Unauthenticated,
    UpstreamUnreachable,
    XAppError,
)
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.proxy import service_proxy
from xapp_operator.kube.proxy.proxy_request import ProxyRequest, ProxyResponse
from xapp_operator.kube.proxy.service_proxy import remove_bytes, service_path
from xapp_operator.kube.proxy.websocket_client import WebSocketRequest
from xapp_operator.kube.transport import RequestIdentity

STATUS_MAX_BYTES = 16 * 1024

PATH = service_path("ns", "hello", "http", https=False)


@pytest.mark.parametrize(
    ("port", "https", "expected"),
    [
        ("http", False, "/api/v1/namespaces/ns/services/hello:http/proxy"),
        ("8080", True, "/api/v1/namespaces/ns/services/https:hello:8080/proxy"),
        ("a/b", False, "/api/v1/namespaces/ns/services/hello:a%2Fb/proxy"),
    ],
)
def test_the_path_names_service_port_and_scheme(port: str, https: bool, expected: str) -> None:
    assert service_path("ns", "hello", port, https=https) == expected


async def pieces(*chunks: bytes) -> AsyncIterator[bytes]:
    for each in chunks:
        yield each


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("text", [b"", b"abc", b"<a href=/p/q/x>/p/", b"/p/q/p/q", b"/p/p/q/q", b"x/p/", b"//p/q/"])
async def test_a_prefix_is_removed_however_the_body_is_split(text: bytes, size: int) -> None:
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    once = text.replace(b"/p/q", b"")
    found = [each async for each in remove_bytes(pieces(*chunks), b"/p/q")]
    assert all(found)
    if b"/p/q" not in once:
        assert b"".join(found) == once


async def test_only_what_may_be_the_prefix_is_held_back() -> None:
    stream = remove_bytes(pieces(b"abc/p", b"/q/", b"z", b"/p/"), b"/p/q")
    assert [each async for each in stream] == [b"abc", b"/z", b"/p/"]
    formed_by_the_removal = remove_bytes(pieces(b"a/p/p/q/q", b"x"), b"/p/q")
    assert [each async for each in formed_by_the_removal] == [b"a/p/q", b"x"]


async def send(
    client: KubeClient, target: str = "/x", *, method: str = "GET", headers: Any = (), **more: Any
) -> tuple[int, tuple[tuple[bytes, bytes], ...], bytes]:
    request = ProxyRequest(method, target, headers, **more)
    async with client.service_proxy().send(request, path=PATH) as response:
        return response.status, response.headers, b"".join([each async for each in response.chunks()])


async def test_a_request_is_forwarded_unchanged_and_with_our_credentials(connect: Connect) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        names = {"Authorization", "X-Mine", "Cookie", "User-Agent", "Accept", "Accept-Encoding", "Content-Type"}
        seen = {name: value for name, value in request.headers.items() if name in names}
        return web.json_response({"path": request.raw_path, "method": request.method, "headers": seen}, status=418)

    client = await connect(answer)
    headers = [("X-Mine", "1"), ("Authorization", "Basic theirs"), ("Cookie", "a=b"), ("Impersonate-User", "root")]
    for one, token in ((client, "ours"), (client.with_token("other"), "other")):
        status, _, body = await send(one, "/a%2Fb;c?d=%20", method="OPTIONS", headers=headers)
        assert status == 418
        assert body == (
            b'{"path": "' + PATH.encode() + b'/a%2Fb;c?d=%20", "method": "OPTIONS", '
            b'"headers": {"X-Mine": "1", "Authorization": "Bearer ' + token.encode() + b'"}}'
        )


async def test_the_headers_that_the_api_server_adds_are_removed_once(connect: Connect) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        response = web.Response(body=b"text")
        for name, value in (
            ("Audit-Id", "1"),
            ("Cache-Control", "no-cache, private"),
            ("X-Kubernetes-Pf-Flowschema-Uid", "2"),
            ("X-Kubernetes-Pf-Prioritylevel-Uid", "3"),
            ("Audit-Id", "of the xApp"),
            ("Cache-Control", "no-cache, private"),
            ("X-Own", "4"),
        ):
            response.headers.add(name, value)
        return response

    _, headers, body = await send(await connect(answer))
    kept = [(name.lower(), value) for name, value in headers]
    assert [each for each in kept if each[0] in {b"audit-id", b"cache-control", b"x-own"}] == [
        (b"audit-id", b"of the xApp"),
        (b"cache-control", b"no-cache, private"),
        (b"x-own", b"4"),
    ]
    assert not any(name.startswith(b"x-kubernetes") for name, _ in kept)
    assert (b"content-length", b"4") in kept
    assert body == b"text"


async def test_another_cache_rule_is_that_of_the_xapp(connect: Connect) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(headers={"Cache-Control": "max-age=1"})

    _, headers, _ = await send(await connect(answer))
    assert (b"Cache-Control", b"max-age=1") in headers


@pytest.mark.parametrize(("kind", "rewritten"), [("text/html; charset=utf-8", True), ("text/css", False)])
async def test_links_in_pages_are_as_the_xapp_wrote_them(connect: Connect, kind: str, rewritten: bool) -> None:
    page = f'<a href="{PATH}/next">'.encode()

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=page, headers={"Content-Type": kind})

    _, headers, body = await send(await connect(answer))
    assert body == (b'<a href="/next">' if rewritten else page)
    names = {name.lower() for name, _ in headers}
    assert (b"content-length" in names) is not rewritten
    assert b"content-type" in names


def status_of(code: int, message: str, **changes: object) -> dict[str, object]:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code, **changes}


@pytest.mark.parametrize(
    ("code", "message", "error", "says"),
    [
        (401, "no", Unauthenticated, ""),
        (403, "no", AccessDenied, ""),
        (429, "no", ApiOverloaded, ""),
        (400, "the dryRun is not supported", MalformedRequest, "does not forward the query parameter dryRun"),
        (404, "gone", UpstreamUnreachable, "has no endpoints or was deleted"),
        (503, "no endpoints available for service", UpstreamUnreachable, "no pod of the xApp is ready"),
        (502, "dial tcp: connection refused", UpstreamUnreachable, "the xApp refuses connections at this port"),
        (502, "malformed HTTP response", UpstreamUnreachable, "the xApp does not speak HTTP at this port"),
        (400, "other", UpstreamUnreachable, "does not speak HTTP"),
        (502, "malformed dryRun", UpstreamUnreachable, "does not speak HTTP"),
    ],
)
async def test_an_error_of_the_api_server_is_told_from_one_of_the_xapp(
    connect: Connect, code: int, message: str, error: type[XAppError], says: str
) -> None:
    yaml = f"kind: Status\napiVersion: v1\nmessage: '{message}'\n".encode()
    responses = iter(
        (("application/json", web.json_response(status_of(code, message)).body), ("application/yaml", yaml))
    )

    async def answer(_: web.Request) -> web.StreamResponse:
        media_type, body = next(responses)
        return web.Response(body=body, status=code, headers={"Content-Type": media_type})

    client = await connect(answer)
    for _ in range(2):
        with pytest.raises(error, match=says or r"."):
            await send(client)


@pytest.mark.parametrize(
    ("code", "body", "media_type"),
    [
        (200, status_of(403, "no"), "application/json"),
        (403, {"error": "of the xApp"}, "application/json"),
        (403, status_of(403, "no", kind="Other"), "application/json"),
        (403, status_of(403, "no", apiVersion="v2"), "application/json"),
        (403, ["Status"], "application/json"),
        (403, status_of(403, "no"), "application/problem+json"),
        (403, status_of(403, "x" * STATUS_MAX_BYTES), "application/json"),
    ],
)
async def test_a_response_of_the_xapp_is_passed_on(connect: Connect, code: int, body: Any, media_type: str) -> None:
    sent = web.json_response(body).body

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=sent, status=code, headers={"Content-Type": media_type})

    status, _, received = await send(await connect(answer))
    assert (status, received) == (code, sent)


@pytest.mark.parametrize(("status", "media_type"), [(200, "application/json"), (500, "text/plain")])
async def test_a_response_is_passed_on_as_it_arrives(connect: Connect, status: int, media_type: str) -> None:
    read = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=status, headers={"Content-Type": media_type, "Content-Length": "4"})
        await response.prepare(request)
        await response.write(b"ab")
        await read.wait()
        await response.write(b"cd")
        return response

    client = await connect(answer)
    received = b""
    async with (
        asyncio.timeout(20),
        client.service_proxy().send(ProxyRequest("GET", "/", ()), path=PATH) as response,
    ):
        async for chunk in response.chunks():
            received += chunk
            read.set()
    assert received == b"abcd"


class Forwarding(Transport):
    """Keeps the requests to forward; the answer to each is `error`."""

    def __init__(self, error: Exception) -> None:
        super().__init__(FakeApiServer(), fake_credentials("http://127.0.0.1:6443"))
        self.forwarded: list[ProxyRequest] = []
        self._error = error

    @asynccontextmanager
    async def proxy_request(self, request: ProxyRequest, *, identity: RequestIdentity) -> AsyncIterator[ProxyResponse]:
        self.forwarded.append(request)
        raise self._error
        yield  # type: ignore[unreachable]  # makes this a generator


@pytest.mark.parametrize(
    ("error", "expected", "says"),
    [
        (aiohttp.ServerDisconnectedError(), UpstreamUnreachable, "broke off: see the logs of its pods"),
        (
            aiohttp.ClientPayloadError(),
            ApiUnavailable,
            "the Kubernetes API does not respond: the connection was closed",
        ),
        (OSError(104, "reset by peer"), ApiUnavailable, "the Kubernetes API does not respond: reset by peer"),
        (TimeoutError(), ApiUnavailable, "the Kubernetes API did not respond in time"),
    ],
)
async def test_no_response_is_the_error_of_the_xapp_or_of_the_api_server(
    error: Exception, expected: type[XAppError], says: str
) -> None:
    with pytest.raises(expected, match=says):
        await send(KubeClient(Forwarding(error)))


async def test_the_buffer_is_larger_for_a_body_of_unknown_length() -> None:
    transport = Forwarding(TimeoutError())
    known = [("Content-Length", "1")]
    for headers, body in (((), None), (known, pieces(b"a")), ((), pieces(b"a"))):
        with pytest.raises(ApiUnavailable):
            await send(KubeClient(transport), headers=headers, body=body)
    kibibytes = [each.buffer_bytes / 1024 for each in transport.forwarded]
    assert kibibytes == [64, 64, 1024]


@pytest.mark.parametrize("body", [b"not json", b""])
async def test_a_damaged_error_of_the_xapp_is_passed_on(connect: Connect, body: bytes) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=body, status=500, headers={"Content-Type": "application/json"})

    assert (await send(await connect(answer)))[::2] == (500, body)


@pytest.mark.parametrize("media_type", ["application/json", "application/yaml"])
async def test_an_error_of_unknown_length_is_the_xapps(connect: Connect, media_type: str) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=403, headers={"Content-Type": media_type})
        await response.prepare(request)
        await response.write(b"x: [")
        return response

    assert (await send(await connect(answer)))[::2] == (403, b"x: [")


async def test_a_status_of_the_greatest_size_is_read(connect: Connect) -> None:
    def body(length: int) -> bytes:
        empty = web.json_response(status_of(403, "")).body
        assert isinstance(empty, bytes)
        found = web.json_response(status_of(403, "x" * (length - len(empty)))).body
        assert isinstance(found, bytes)
        return found

    sizes = iter((STATUS_MAX_BYTES, STATUS_MAX_BYTES + 1))

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=body(next(sizes)), status=403, headers={"Content-Type": "application/json"})

    client = await connect(answer)
    with pytest.raises(AccessDenied):
        await send(client)
    assert (await send(client))[0] == 403


async def test_only_a_body_of_unknown_length_ends_its_connection(connect: Connect) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(text=f"{request.headers.get('Connection', 'kept')} {len(await request.read())}")

    client = await connect(answer)
    assert (await send(client))[2] == b"kept 0"
    assert (await send(client, method="POST", body=pieces(b"ab", b"c")))[2] == b"close 3"
    known = [("content-length", "3")]
    assert (await send(client, method="POST", headers=known, body=pieces(b"abc")))[2] == b"kept 3"


async def test_a_connection_that_breaks_is_the_error_of_its_end(connect: Connect) -> None:
    breaks_at = iter(("before the head", "in the body"))

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        if next(breaks_at) == "in the body":
            response = web.StreamResponse(headers={"Content-Length": "100"})
            await response.prepare(request)
            await response.write(b"abc")
        request.transport.close()
        return web.Response()

    client = await connect(answer)
    for _ in range(2):
        with pytest.raises(UpstreamUnreachable, match="broke off: see the logs of its pods"):
            await send(client)
    await client.close()
    with pytest.raises(ApiUnavailable):
        await send(client)


async def test_a_response_that_nobody_reads_ends_its_connection(connect: Connect) -> None:
    ended = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b"x" * 65536)
        finally:
            ended.set()

    client = await connect(answer)
    async with asyncio.timeout(20):
        async with client.service_proxy().send(ProxyRequest("GET", "/", ()), path=PATH) as response:
            async for _ in response.chunks():
                break
        await ended.wait()


async def test_a_websocket_carries_messages_both_ways(connect: Connect) -> None:
    seen: dict[str, str] = {}

    async def answer(request: web.Request) -> web.StreamResponse:
        seen["host"] = request.headers["Host"]
        seen.update(path=request.raw_path, authorization=request.headers["Authorization"], own=request.headers["X-Own"])
        seen["agent"] = request.headers.get("User-Agent", "none")
        websocket = web.WebSocketResponse(protocols=("chat",))
        await websocket.prepare(request)
        async for message in websocket:
            if message.type is WSMsgType.TEXT:
                await websocket.send_str(message.data.upper())
        return websocket

    client = await connect(answer)
    request = WebSocketRequest(
        host="xapp",
        port=80,
        path="/a;b",
        query="c=d",
        headers=(("X-Own", "1"), ("Authorization", "Bearer theirs")),
        subprotocols=("other", "chat"),
    )
    websocket = await client.service_proxy().open_websocket(request, path=PATH, seconds=20)
    assert websocket.subprotocol == Subprotocol("chat")
    for text in ("hello", "again"):
        await websocket.send(text)
        assert await websocket.recv() == text.upper()
    await websocket.close()
    assert seen == {
        "host": "xapp",
        "path": f"{PATH}/a;b?c=d",
        "authorization": "Bearer ours",
        "own": "1",
        "agent": "none",
    }


@pytest.mark.parametrize(
    ("code", "body", "error"),
    [
        (403, status_of(403, "no"), AccessDenied),
        (503, status_of(503, "no endpoints available"), UpstreamUnreachable),
        (403, {"error": "of the xApp"}, InvalidStatus),
        (302, {}, InvalidStatus),
        (302, status_of(403, "no"), InvalidStatus),
    ],
)
async def test_a_refused_websocket_tells_who_refused_it(
    connect: Connect, code: int, body: dict[str, object], error: type[Exception]
) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        refusal = web.json_response(body, status=code)
        refusal.headers["Content-Type"] = "application/json"
        refusal.headers["Location"] = "/elsewhere"
        return refusal

    client = await connect(answer)
    with pytest.raises(error):
        await client.service_proxy().open_websocket(WebSocketRequest(host="x", port=1, path="/"), path=PATH, seconds=20)


async def test_a_websocket_that_cannot_be_opened_is_an_error(connect: Connect) -> None:
    hangs = iter((False, True))
    waiting = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        if next(hangs):
            await waiting.wait()
        request.transport.close()
        return web.Response()

    client = await connect(answer)
    for error, seconds in ((UpstreamUnreachable, 20.0), (TimeoutError, 0.05)):
        with pytest.raises(error):
            await client.service_proxy().open_websocket(
                WebSocketRequest(host="x", port=1, path="/"), path=PATH, seconds=seconds
            )
    waiting.set()


@pytest.mark.parametrize(
    ("server", "name", "address", "server_name"),
    [
        ("https://api.example.com", None, ("api.example.com", 443), "api.example.com"),
        ("https://api.example.com:6443/base", "other", ("api.example.com", 6443), "other"),
        ("http://api.example.com", None, ("api.example.com", 80), "api.example.com"),
    ],
)
async def test_a_websocket_goes_to_the_api_server(
    monkeypatch: pytest.MonkeyPatch, server: str, name: str | None, address: tuple[str, int], server_name: str
) -> None:
    opened: list[WebSocketRequest] = []

    async def open_websocket(request: WebSocketRequest, *, seconds: float) -> None:
        opened.append(request)

    monkeypatch.setattr(service_proxy, "open_websocket", open_websocket)
    cluster = FakeCluster(host=server)
    cluster.transport.credentials.tls_server_name = name
    request = WebSocketRequest(host="xapp", port=8080, path="/a")
    await cluster.kube.service_proxy().open_websocket(request, path=PATH, seconds=1)
    cluster.transport.credentials.proxy = "http://proxy:3128"
    await cluster.kube.service_proxy().open_websocket(request, path=PATH, seconds=1)

    direct, proxied = opened
    base = "/base" if "base" in server else ""
    assert (direct.host, direct.port, direct.address, direct.proxy) == ("xapp", 8080, address, None)
    assert (direct.path, direct.server_hostname) == (f"{base}{PATH}/a", server_name)
    assert ((proxied.host, proxied.port), proxied.address, proxied.proxy) == (address, None, "http://proxy:3128")


async def test_open_responses_leave_connections_to_other_requests(connect: Connect) -> None:
    ended = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path.startswith("/version"):
            return web.json_response({"gitVersion": "v1"})
        response = web.StreamResponse()
        await response.prepare(request)
        await ended.wait()
        return response

    client = await connect(answer)
    async with asyncio.timeout(60), AsyncExitStack() as stack:
        for _ in range(101):
            await stack.enter_async_context(client.service_proxy().send(ProxyRequest("GET", "/", ()), path=PATH))
        assert await client.server_version() == "v1"
        ended.set()
