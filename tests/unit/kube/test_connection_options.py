"""The limits of connections to xApps: of messages, of queues, of buffers, and in time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from websockets.exceptions import ConnectionClosedError

from tests.support.eventually import eventually
from xapp_operator.kube.proxy.proxy_request import AbortingResponse, ProxyRequest, send_proxy_request
from xapp_operator.kube.proxy.websocket_client import WebSocketRequest, open_websocket

KIBIBYTE = 1024
MESSAGE_MAX_BYTES = 4 * KIBIBYTE * KIBIBYTE


@asynccontextmanager
async def websocket_server() -> AsyncIterator[TestServer]:
    async def serve(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=("a", "b"))
        await socket.prepare(request)
        async for message in socket:
            await socket.send_bytes(b"x" * int(message.data))
        return socket

    app = web.Application()
    app.router.add_get("/{path:.*}", serve)
    server = TestServer(app, host="127.0.0.1")
    async with server:
        yield server


async def test_a_websocket_to_an_xapp_is_bounded() -> None:
    async with websocket_server() as server:
        assert server.port is not None
        request = WebSocketRequest(host="127.0.0.1", port=server.port, path="/x", subprotocols=("b",))
        async with await open_websocket(request, seconds=60) as socket:
            assert (socket.ping_interval, socket.ping_timeout, socket.close_timeout) == (30, 300, 5)
            assert (socket.recv_messages.high, socket.subprotocol) == (4, "b")
            await socket.send(str(MESSAGE_MAX_BYTES))
            assert len(await socket.recv()) == MESSAGE_MAX_BYTES
            await socket.send(str(MESSAGE_MAX_BYTES + 1))
            with pytest.raises(ConnectionClosedError, match="1009"):
                await socket.recv()


class Session:
    """Takes the place of aiohttp, and notes what it is asked for."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}

    async def request(self, method: str, url: object, **options: Any) -> Any:
        self.options = {"method": method, "url": str(url), **options}
        return self

    status = 200
    raw_headers = ()
    closed = False

    def close(self) -> None:
        self.closed = True


async def test_a_forwarded_request_is_bounded_and_unchanged() -> None:
    session = Session()
    request = ProxyRequest("PUT", "/a%2Fb?c", (("X-A", "1"), ("X-A", "2")))
    async with send_proxy_request(
        cast("aiohttp.ClientSession", session), request, origin="http://a:1", proxy="http://p", server_hostname="b"
    ):
        closed = [session.closed]
    assert [*closed, session.closed] == [False, True]
    timeout = session.options.pop("timeout")
    assert (timeout.total, timeout.sock_connect, timeout.sock_read) == (None, 5, None)
    assert list(session.options.pop("headers").items()) == [("X-A", "1"), ("X-A", "2")]
    assert session.options == {
        "method": "PUT",
        "url": "http://a:1/a%2Fb?c",
        "data": None,
        "skip_auto_headers": ("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        "allow_redirects": False,
        "max_line_size": 32 * KIBIBYTE,
        "max_field_size": 32 * KIBIBYTE,
        "read_bufsize": 64 * KIBIBYTE,
        "auto_decompress": False,
        "proxy": "http://p",
        "ssl": True,
        "server_hostname": "b",
    }


def test_the_first_header_of_a_name_counts() -> None:
    request = ProxyRequest("GET", "/", (("X-A", "1"), ("x-a", "2")))
    assert (request.header("x-a"), request.header("x-b")) == ("1", "")


async def test_a_response_that_is_left_drops_what_was_not_sent() -> None:
    left = asyncio.Event()

    async def answer_unread(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await left.wait()
        return response

    async def body() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 64 * KIBIBYTE

    app = web.Application(client_max_size=KIBIBYTE)
    app.router.add_put("/{path:.*}", answer_unread)
    async with (
        TestServer(app, host="127.0.0.1") as server,
        aiohttp.ClientSession(response_class=AbortingResponse) as session,
    ):
        request = ProxyRequest("PUT", "/x", (), body())
        async with send_proxy_request(session, request, origin=str(server.make_url("")).rstrip("/")) as found:
            connection = found._response.connection
            assert connection is not None
            transport = connection.transport
            assert transport is not None
            await eventually(lambda: transport.get_write_buffer_size() > 0, what="the server to take no more")
        assert transport.get_write_buffer_size() == 0
        left.set()


async def test_a_response_that_was_read_keeps_its_connection() -> None:
    peers: list[object] = []

    async def short(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        peers.append(request.transport.get_extra_info("peername"))
        return web.Response(body=b"abc")

    app = web.Application()
    app.router.add_get("/{path:.*}", short)
    async with (
        TestServer(app, host="127.0.0.1") as server,
        aiohttp.ClientSession(response_class=AbortingResponse) as session,
    ):
        for maximum, body in ((3, b"abc"), (2, None)):
            async with send_proxy_request(
                session, ProxyRequest("GET", "/x", ()), origin=str(server.make_url("")).rstrip("/")
            ) as found:
                assert await found.read_if_at_most(maximum) == body
                assert [chunk async for chunk in found.chunks()] == [b"abc"]
    assert len(set(peers)) == 1
