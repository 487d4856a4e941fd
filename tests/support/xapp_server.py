"""The API of an xApp for proxy tests: an HTTP and WebSocket server in a thread, with a route for each behaviour.

It records its requests, so that a test sees what the proxy sent. It does not use the package.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import Final

from aiohttp import WSMsgType, web

START_SECONDS: Final = 60.0
CHUNK: Final = bytes(range(256)) * 256


@dataclass(slots=True)
class ReceivedRequest:
    """One request as the xApp received it: the raw target, and the headers in order."""

    method: str
    target: str
    headers: list[tuple[str, str]]

    def header(self, name: str) -> str | None:
        """Return the first header with this name."""
        return next((value for each, value in self.headers if each.lower() == name.lower()), None)


@dataclass(slots=True)
class XAppServer:
    """The server, its `requests`, and the paths of requests whose caller left before the end (`disconnects`)."""

    host: str
    port: int = 0
    requests: list[ReceivedRequest] = field(default_factory=list)
    disconnects: list[str] = field(default_factory=list)
    answers: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Status and content type of the answer to a GET of a path that has no route of its own."""
    bodies: dict[str, str] = field(default_factory=dict)
    """Bodies of these answers, also to a PUT; `{}` otherwise."""
    bytes_read: int = 0
    """Bytes read of the upload to /stall, or written by /flood."""

    def application(self) -> web.Application:
        """Return the routes."""
        app = web.Application(middlewares=[self._record_request], client_max_size=0)
        app.add_routes(
            [
                web.get("/ws", _echo_websocket),
                web.get("/ws;v=1", _echo_websocket),
                web.get("/ws-refused", _refuse_websocket),
                web.get("/ws-away", _redirect_websocket),
                web.get("/ws-broken", _abort_websocket),
                web.get("/events", self._events),
                web.get("/bytes/{count}", _bytes),
                web.post("/digest", _digest),
                web.post("/duplex", _duplex),
                web.post("/refuse", _reject_body),
                web.post("/stall", self._stall),
                web.get("/slow", self._slow),
                web.get("/drop", _abort_connection),
                web.get("/cut", _truncate_body),
                web.get("/flood", self._flood),
                web.get("/location", _location),
                web.get("/headers", _headers),
                web.get("/html", _html),
                web.get("/yaml", _yaml),
                web.get("/json", _json),
                web.get("/status/{code}", _status),
                web.route("*", "/{rest:.*}", self._answer_or_echo),
            ]
        )
        return app

    @web.middleware
    async def _record_request(self, request: web.Request, handler: object) -> web.StreamResponse:
        headers = [(name.decode(), value.decode("latin-1")) for name, value in request.raw_headers]
        self.requests.append(ReceivedRequest(request.method, request.raw_path, headers))
        answer: web.StreamResponse = await handler(request)  # type: ignore[operator]
        return answer

    async def _answer_or_echo(self, request: web.Request) -> web.StreamResponse:
        replaces = request.method == "PUT" and request.path in self.bodies
        if not replaces and (request.method != "GET" or request.path not in self.answers):
            return await _echo(request)
        status, content_type = self.answers[request.path]
        return web.Response(status=status, content_type=content_type, text=self.bodies.get(request.path, "{}"))

    async def _events(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        try:
            for number in range(10_000):
                await answer.write(f"id: {number}\ndata: {number}\n\n".encode())
                if number >= 1:  # the first two at once, the rest only for a caller who stays
                    await asyncio.sleep(0.05)
        except (ConnectionError, asyncio.CancelledError):
            self.disconnects.append("/events")
            raise
        return answer

    async def _slow(self, _: web.Request) -> web.StreamResponse:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            self.disconnects.append("/slow")
            raise
        return web.Response()

    async def _flood(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        try:
            while True:
                await answer.write(CHUNK)
                self.bytes_read += len(CHUNK)
        except (ConnectionError, asyncio.CancelledError):
            self.disconnects.append("/flood")
            raise

    async def _stall(self, request: web.Request) -> web.StreamResponse:
        self.bytes_read = 0
        async for piece in request.content.iter_any():
            self.bytes_read += len(piece)
            await asyncio.sleep(600)
        return web.Response()


async def _echo(request: web.Request) -> web.StreamResponse:
    body = await request.read()
    return web.Response(body=body, headers={"X-Method": request.method}, content_type="application/octet-stream")


async def _bytes(request: web.Request) -> web.StreamResponse:
    left = int(request.match_info["count"])
    answer = web.StreamResponse()
    answer.content_length = left
    await answer.prepare(request)
    while left > 0 and request.method != "HEAD":
        piece = CHUNK[: min(left, len(CHUNK))]
        await answer.write(piece)
        left -= len(piece)
    return answer


async def _digest(request: web.Request) -> web.StreamResponse:
    digest, size = hashlib.sha256(), 0
    async for piece in request.content.iter_any():
        digest.update(piece)
        size += len(piece)
    return web.json_response({"sha256": digest.hexdigest(), "size": size})


async def _duplex(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse()
    await answer.prepare(request)
    async for piece in request.content.iter_any():
        await answer.write(piece)
    return answer


async def _reject_body(_: web.Request) -> web.StreamResponse:
    return web.Response(status=413, text="too much")


async def _abort_connection(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def _truncate_body(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse()
    if "length" in request.query:
        answer.content_length = 1_000_000
    await answer.prepare(request)
    await answer.write(b"begun")
    await asyncio.sleep(0.1)  # so that the first bytes are sent
    assert request.transport is not None
    request.transport.abort()
    return answer


async def _location(request: web.Request) -> web.StreamResponse:
    headers = {"Location": request.query["to"]}
    if "content" in request.query:
        headers["Content-Location"] = request.query["content"]
    return web.Response(status=int(request.query.get("code", "302")), headers=headers)


async def _headers(_: web.Request) -> web.StreamResponse:
    return web.Response(
        text="ok",
        headers=[
            ("Set-Cookie", "a=b"),
            ("Service-Worker-Allowed", "/"),
            ("Clear-Site-Data", '"*"'),
            ("Access-Control-Allow-Origin", "*"),
            ("Access-Control-Allow-Credentials", "true"),
            ("Access-Control-Expose-Headers", "x-a"),
            ("Strict-Transport-Security", "max-age=1"),
            ("Alt-Svc", 'h3="evil.example.com:443"'),
            ("Refresh", "0; url=http://evil.example.com"),
            ("Content-Security-Policy", "sandbox allow-scripts allow-same-origin"),
            ("Connection", "x-hop, keep-alive"),
            ("X-Hop", "1"),
            ("Proxy-Authenticate", "Basic"),
            ("WWW-Authenticate", "Basic realm=gateway"),
            ("X-Accel-Redirect", "/api/xapps"),
            ("X-Sendfile", "/etc/passwd"),
            ("Cache-Control", "max-age=5"),
            ("ETag", '"1"'),
            ("X-A", "one"),
            ("X-A", "two"),
        ],
    )


async def _html(_: web.Request) -> web.StreamResponse:
    return web.Response(text='<html><a href="/page">here</a><img src="there.png"></html>', content_type="text/html")


async def _yaml(request: web.Request) -> web.StreamResponse:
    return web.Response(status=500, body=request.query["text"].encode(), content_type="application/yaml")


async def _json(_: web.Request) -> web.StreamResponse:
    return web.json_response({"kind": "sample", "n": 1})


async def _status(request: web.Request) -> web.StreamResponse:
    code = int(request.match_info["code"])
    body = None if code in (204, 304) else b'{"kind": "mine"}'
    return web.Response(status=code, body=body, content_type="application/json")


async def _echo_websocket(request: web.Request) -> web.StreamResponse:
    socket = web.WebSocketResponse(protocols=("chat", "v2.chat"), max_msg_size=0)
    await socket.prepare(request)
    async for message in socket:
        if message.type is WSMsgType.BINARY:
            await socket.send_bytes(message.data)
        elif message.data.startswith("close "):
            await socket.close(code=int(message.data.split()[1]), message=b"as you wish")
        elif message.data.startswith("big "):
            await socket.send_bytes(bytes(int(message.data.split()[1])))
        else:
            await socket.send_str(message.data)
    return socket


async def _refuse_websocket(_: web.Request) -> web.StreamResponse:
    return web.Response(status=418, text="no sockets here", headers={"Set-Cookie": "a=b"})


async def _redirect_websocket(_: web.Request) -> web.StreamResponse:
    return web.Response(status=307, headers={"Location": "http://127.0.0.1:1/ws"})


async def _abort_websocket(request: web.Request) -> web.StreamResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    await socket.send_str("about to break")
    assert request.transport is not None
    await asyncio.sleep(0.1)
    request.transport.abort()
    return socket


@contextmanager
def serve_xapp(host: str = "127.0.0.1", *, tls: SSLContext | None = None) -> Iterator[XAppServer]:
    """Serve on a free port until the block ends."""
    api = XAppServer(host)
    started: Future[asyncio.AbstractEventLoop] = Future()
    stopping = asyncio.Event()

    async def serve() -> None:
        runner = web.AppRunner(api.application(), handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        try:
            site = web.TCPSite(runner, host, 0, ssl_context=tls)
            await site.start()
            api.port = runner.addresses[0][1]
            started.set_result(asyncio.get_running_loop())
            await stopping.wait()
        finally:
            await runner.cleanup()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    thread = threading.Thread(target=run, name="xapp api")
    thread.start()
    try:
        loop = started.result(START_SECONDS)
        yield api
        loop.call_soon_threadsafe(stopping.set)
    finally:
        thread.join(START_SECONDS)
