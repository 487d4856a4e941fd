"""An xApp that never finishes the head of its response: the caller gets a problem, and others are served."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from tests.support.proxied_xapp import proxy_to_service
from tests.support.xapp_server import XAppServer
from xapp_operator.common.response_heads import INFORMATIONAL_RESPONSES_MAX, RESPONSE_HEAD_MAX_BYTES

SECONDS = 60.0
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
EARLY_HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
MUCH = 64 * 1024 * 1024


@asynccontextmanager
async def raw_server(begin: bytes, repeated: bytes, written: list[int]) -> AsyncIterator[int]:
    """Answer each connection with `begin` and then `repeated` again and again."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(begin)
            block = repeated * (65536 // len(repeated)) if repeated else b""
            while block and written[0] < MUCH:
                writer.write(block)
                await writer.drain()
                written[0] += len(block)
            await reader.read()
        except OSError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@contextmanager
def serve_raw(begin: bytes, repeated: bytes = b"") -> Iterator[tuple[XAppServer, Callable[[], int]]]:
    """Serve in a thread; give the xApp and a function that returns how many repeated bytes were written."""
    written, started, stopping = [0], Future[int](), asyncio.Event()
    loops = list[asyncio.AbstractEventLoop]()

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        async with raw_server(begin, repeated, written) as port:
            started.set_result(port)
            await stopping.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="raw xapp")
    thread.start()
    try:
        yield XAppServer("127.0.0.1", started.result(SECONDS)), lambda: written[0]
    finally:
        loops[0].call_soon_threadsafe(stopping.set)
        thread.join(SECONDS)


@pytest.mark.parametrize(
    ("begin", "repeated"),
    [
        (b"", CONTINUE),
        (b"", EARLY_HINTS),
        (b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"),
        (b"HTTP/1.1 200 OK\r\nX-A: ", b"a" * 1000),
        (b"HTTP/1.1 ", b"2" * 1000),
    ],
    ids=["100 Continue", "103 Early Hints", "headers", "one header", "status line"],
)
def test_a_response_without_an_end_of_its_head_is_cut_off(tmp_path: Path, begin: bytes, repeated: bytes) -> None:
    with serve_raw(begin, repeated) as (xapp, written), proxy_to_service(xapp, tmp_path) as proxied:
        with proxied.client() as http:
            answer = http.get("/")
        with proxied.gateway.client() as other:
            assert other.get("/api/xapps").status_code == 200

    assert answer.status_code == 502
    assert "does not speak HTTP" in answer.json()["detail"]
    assert written() < MUCH


@pytest.mark.parametrize(
    ("begin", "status"),
    [
        (CONTINUE + OK, 200),
        (EARLY_HINTS * INFORMATIONAL_RESPONSES_MAX + OK, 200),
        (EARLY_HINTS * (INFORMATIONAL_RESPONSES_MAX + 1) + OK, 502),
        (b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * 30_000 + b"\r\nX-B: " + b"b" * 30_000 + b"\r\n" + OK[17:], 200),
        (b"HTTP/1.1 200 OK\r\n" + (b"X-A: " + b"a" * 30_000 + b"\r\n") * 3 + OK[17:], 502),
    ],
    ids=["one 100", "few 103", "too many 103", "large head", "too large head"],
)
def test_the_head_of_a_response_has_a_maximum(tmp_path: Path, begin: bytes, status: int) -> None:
    assert len(begin) < 2 * RESPONSE_HEAD_MAX_BYTES
    with serve_raw(begin) as (xapp, _), proxy_to_service(xapp, tmp_path) as proxied, proxied.client() as http:
        answer = http.get("/")
    assert answer.status_code == status
    assert status != 200 or answer.text == "ok"
