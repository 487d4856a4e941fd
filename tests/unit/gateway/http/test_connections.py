"""Bounds on the heads of requests: raw bytes to a gateway over real HTTP."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.gateway import GatewayServer
from tests.support.proxied_xapp import proxy_to_service
from tests.support.xapp_server import serve_xapp
from xapp_operator.gateway.http.connections import http_connections

HEAD_MAX_BYTES = 32 * 1024

SECONDS = 60.0
HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
SIGN_IN = b'{"token": "t"}'
MUCH = 16 * 1024 * 1024


@contextmanager
def connected(gateway: GatewayServer) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=SECONDS) as connection:
        yield connection


def sent_without_end(connection: socket.socket, begin: bytes, piece: bytes) -> int:
    """Send `begin` and then `piece` repeatedly, at most MUCH; return the number of bytes sent."""
    sent = 0
    try:
        connection.sendall(begin)
        while sent < MUCH:
            connection.sendall(piece)
            sent += len(piece)
    except OSError:
        pass
    return sent


def rest(connection: socket.socket) -> bytes:
    """Return all bytes until the server closes the connection."""
    read = b""
    try:
        while piece := connection.recv(65536):
            read += piece
    except ConnectionResetError:
        pass
    return read


@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        (b"GET /", b"a" * 8192),
        (b"GET /healthz?", b"a" * 8192),
        (HEAD + b"X-A: ", b"a" * 8192),
        (HEAD, b"a" * 8192),
        (HEAD, b"x: y\r\n" * 1000),
        (b"", b"\r\n" * 4096),
        (
            b"POST /api/session HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
            b"x: y\r\n" * 1000,
        ),
        (b"POST /api/session HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"a" * 8192),
    ],
    ids=["path", "query", "value", "name", "headers", "line breaks", "trailers", "chunk extension"],
)
def test_bytes_outside_bodies_are_bounded(gateway: GatewayServer, begin: bytes, piece: bytes) -> None:
    with connected(gateway) as connection:
        assert sent_without_end(connection, begin, piece) < MUCH


def test_the_response_to_a_large_head_gives_the_limit(gateway: GatewayServer) -> None:
    with connected(gateway) as connection:
        connection.sendall(HEAD + b"X-A: " + b"a" * HEAD_MAX_BYTES)
        head, _, body = rest(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 431 ")
    assert "32,768" in json.loads(body)["detail"]


def test_each_head_has_its_own_limit(gateway: GatewayServer) -> None:
    long = b"X-A: " + b"a" * (HEAD_MAX_BYTES - 200) + b"\r\n"
    with connected(gateway) as connection:
        for closing in (b"", b"", b"Connection: close\r\n"):
            connection.sendall(HEAD + long + closing + b"\r\n")
        assert rest(connection).count(b"HTTP/1.1 200 ") == 3


@pytest.mark.parametrize("begin", [b"", b"\r\n", b"GET /hea", HEAD])
@pytest.mark.parametrize("used", [False, True])
def test_a_connection_without_a_request_is_closed(
    gateway: GatewayServer, monkeypatch: pytest.MonkeyPatch, begin: bytes, used: bool
) -> None:
    with ExitStack() as stack:
        if used:
            connection = stack.enter_context(connected(gateway))
            connection.sendall(HEAD + b"\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        monkeypatch.setattr(http_connections, "HEAD_SECONDS", 0.2)
        if not used:
            connection = stack.enter_context(connected(gateway))
        if begin or not used:  # a connection may be idle for longer after a response
            connection.sendall(begin)
            assert b"HTTP/1.1 " not in rest(connection)


@pytest.mark.parametrize("behind", [b"", b"GET /hea"])
def test_a_body_may_take_longer_than_a_head(
    gateway: GatewayServer, monkeypatch: pytest.MonkeyPatch, behind: bytes
) -> None:
    monkeypatch.setattr(http_connections, "HEAD_SECONDS", 2.0)  # enough to send one on a busy machine
    length = len(SIGN_IN)
    with connected(gateway) as connection, connected(gateway) as silent:
        connection.sendall(b"POST /api/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n{" % length)
        assert rest(silent) == b""  # the time limit of a head
        connection.sendall(SIGN_IN[1:] + behind)
        assert connection.recv(65536).startswith(b"HTTP/1.1 201 ")


def test_a_websocket_may_take_longer_than_a_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connections, "HEAD_SECONDS", 0.5)
    with serve_xapp() as xapp, proxy_to_service(xapp, tmp_path) as proxied, proxied.open_websocket("/ws") as socket:
        for _ in range(2):
            with connected(proxied.gateway) as silent:
                assert rest(silent) == b""  # the time limit of a head
        socket.send("still here")
        assert socket.recv(timeout=SECONDS) == "still here"
