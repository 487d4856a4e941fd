"""Clients without a token that open connections and send no complete request.

They must not take the memory of the gateway, nor its connections, nor its time.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.support.gateway import GatewayServer, offline_gateway, serve_gateway
from tests.support.memory import resident_bytes
from tests.unit.gateway.test_process import process
from xapp_operator.gateway.http.connections import connection_limits, http_connections
from xapp_operator.gateway.http.connections.http_connections import HEAD_MAX_BYTES, HEADERS_MAX, PIPELINED_REQUESTS_MAX

SECONDS = 60.0
HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
HALF_SENT = 2000
MEMORY_MAX_BYTES = 128 * 1024 * 1024


def half_sent(port: int, head: bytes, stack: ExitStack) -> socket.socket:
    connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=SECONDS))
    connection.settimeout(SECONDS)
    with suppress(ConnectionError):  # the server has refused it already
        connection.sendall(head)
    return connection


def is_closed(connection: socket.socket) -> bool:
    """Return whether the server has closed the connection, without waiting."""
    connection.setblocking(False)
    try:
        while connection.recv(65536):
            pass
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True
    return True


@contextmanager
def small_gateway(folder: Path, **changes: object) -> Iterator[GatewayServer]:
    settings, opened = offline_gateway(folder)
    with serve_gateway(settings.model_copy(update=changes), opened) as gateway:
        yield gateway


@pytest.mark.parametrize(
    "rest", [b"X-A: " + b"a" * 30_000, b"ab: c\r\n" * 4400], ids=["long headers", "many short headers"]
)
def test_2000_half_sent_heads_cost_little_memory_and_others_are_answered(tmp_path: Path, rest: bytes) -> None:
    with process(tmp_path) as (running, http), ExitStack() as stack:
        http.get("/healthz")
        before = resident_bytes(running.pid)
        for _ in range(HALF_SENT):
            half_sent(http.base_url.port or 0, HEAD + rest, stack)

        with httpx.Client(base_url=http.base_url, trust_env=False, timeout=SECONDS) as other:
            assert other.get("/healthz").status_code == 200
        grown = resident_bytes(running.pid) - before

    assert grown < MEMORY_MAX_BYTES, f"{grown:,}"


def test_all_unfinished_heads_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "HEADS_MAX_BYTES", 10 * HEAD_MAX_BYTES)
    with small_gateway(tmp_path) as gateway, ExitStack() as stack:
        heads = [half_sent(gateway.port, HEAD + b"X-A: " + b"a" * 30_000, stack) for _ in range(30)]
        with gateway.client() as other:
            assert other.get("/healthz").status_code == 200
        unfinished = gateway.run_in_loop(lambda _: gateway.server.connection_limits.unfinished_bytes)
        open_heads = [not is_closed(each) for each in heads]

    assert unfinished <= 10 * HEAD_MAX_BYTES
    assert open_heads == sorted(open_heads), "the oldest are closed first"
    assert 1 <= open_heads.count(True) <= 11


def test_a_head_with_too_many_headers_is_431(tmp_path: Path) -> None:
    with small_gateway(tmp_path) as gateway:
        accepted = gateway.send_raw(HEAD + b"a: b\r\n" * (HEADERS_MAX - 1) + b"\r\n")
        refused = gateway.send_raw(HEAD + b"a: b\r\n" * HEADERS_MAX + b"\r\n")
    assert accepted.startswith(b"HTTP/1.1 200 ")
    assert refused.startswith(b"HTTP/1.1 431 ")
    assert f"{HEADERS_MAX} headers".encode() in refused


def test_pipelined_requests_are_bounded(tmp_path: Path) -> None:
    stream = b"GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with small_gateway(tmp_path) as gateway, ExitStack() as stack:
        few = half_sent(gateway.port, stream + (HEAD + b"\r\n") * PIPELINED_REQUESTS_MAX, stack)
        many = half_sent(gateway.port, stream + (HEAD + b"\r\n") * 5000, stack)
        with suppress(ConnectionResetError):
            while many.recv(65536):  # ends when the server closes the connection
                pass
        assert b"HTTP/1.1 200 " in few.recv(65536)
        assert not is_closed(few)


def test_pipelined_requests_within_the_bound_are_all_answered(tmp_path: Path) -> None:
    with small_gateway(tmp_path) as gateway, ExitStack() as stack:
        last = HEAD + b"Connection: close\r\n\r\n"
        connection = half_sent(gateway.port, (HEAD + b"\r\n") * (PIPELINED_REQUESTS_MAX - 1) + last, stack)
        answers = b""
        while data := connection.recv(65536):
            answers += data
    assert answers.count(b"HTTP/1.1 200 ") == PIPELINED_REQUESTS_MAX


@pytest.mark.parametrize("limits", [{"connections": 16}, {"connections_per_address": 16}], ids=["total", "address"])
@pytest.mark.parametrize("head", [b"", HEAD], ids=["idle", "half-sent"])
def test_a_new_request_displaces_the_connection_that_waits_longest(
    tmp_path: Path, limits: dict[str, int], head: bytes
) -> None:
    with small_gateway(tmp_path, **limits) as gateway, ExitStack() as stack:
        waiting = [half_sent(gateway.port, head, stack) for _ in range(16)]
        with gateway.client() as other:
            assert other.get("/healthz").status_code == 200
        closed = [is_closed(each) for each in waiting]
    assert closed == [True] + [False] * 15


@pytest.mark.parametrize("limits", [{"connections": 16}, {"connections_per_address": 16}], ids=["total", "address"])
def test_a_connection_is_refused_while_all_others_are_served(tmp_path: Path, limits: dict[str, int]) -> None:
    stream = b"GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with small_gateway(tmp_path, **limits) as gateway, ExitStack() as stack:
        served = [half_sent(gateway.port, stream, stack) for _ in range(16)]
        for each in served:
            assert each.recv(4096).startswith(b"HTTP/1.1 200 ")
        refused = gateway.send_raw(HEAD + b"\r\n")
        served.pop().close()
        answers = (gateway.send_raw(HEAD + b"\r\n") for _ in iter(int, 1))
        assert next(answer for answer in answers if answer.startswith(b"HTTP/1.1 200 "))
    assert refused.startswith(b"HTTP/1.1 503 ")
    assert b"Retry-After: 1" in refused
    assert b"XAPP_CONNECTIONS" in refused


def test_the_limit_of_one_address_does_not_apply_to_another_or_to_a_trusted_proxy(tmp_path: Path) -> None:
    stream = b"GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for changes, status in (({}, b"503"), ({"trusted_proxies": ("127.0.0.1/32",)}, b"200")):
        with small_gateway(tmp_path, connections_per_address=8, **changes) as gateway, ExitStack() as stack:
            for _ in range(8):
                assert half_sent(gateway.port, stream, stack).recv(4096).startswith(b"HTTP/1.1 200 ")
            assert gateway.send_raw(HEAD + b"\r\n").startswith(b"HTTP/1.1 " + status)
            with socket.create_connection(("127.0.0.1", gateway.port), source_address=("127.0.0.2", 0)) as other:
                other.settimeout(SECONDS)
                other.sendall(HEAD + b"\r\n")
                assert other.recv(4096).startswith(b"HTTP/1.1 200 ")


def test_a_websocket_counts_as_a_connection_until_it_is_closed(tmp_path: Path) -> None:
    handshake = (
        b"GET /api/stream HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    with small_gateway(tmp_path) as gateway:
        with ExitStack() as stack:
            assert half_sent(gateway.port, handshake, stack).recv(4096)
        limits = gateway.server.connection_limits
        while gateway.run_in_loop(lambda _: limits.open):
            pass


def test_a_trailer_does_not_become_a_header(tmp_path: Path) -> None:
    """A proxy in front checks headers, and not trailers."""
    seen = list[tuple[bytes, bytes]]()
    original = http_connections.BoundedHttpProtocol.on_message_complete

    def record(protocol: http_connections.BoundedHttpProtocol) -> None:
        seen.extend(protocol.headers)
        original(protocol)

    chunked = b"POST /api/session HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
    with pytest.MonkeyPatch.context() as patch, small_gateway(tmp_path) as gateway:
        patch.setattr(http_connections.BoundedHttpProtocol, "on_message_complete", record)
        gateway.send_raw(chunked + b"X-Forwarded-Proto: https\r\n\r\n")
    assert [name for name, _ in seen] == [b"host", b"transfer-encoding"]
