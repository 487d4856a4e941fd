"""Threat: requests that ask for a WebSocket, and get no answer, keep all connections of the gateway.

The WebSocket library does not answer what it cannot parse. No token is needed for such a request.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.localcluster.waiting import wait_until
from tests.security.gateway.test_half_sent_heads import HEAD, half_sent, is_closed, small_gateway
from tests.support.gateway import GatewayServer
from xapp_operator.gateway.http.connections import http_connections
from xapp_operator.gateway.http.connections.http_connections import HEAD_MAX_BYTES

CONNECTIONS = 16
UPGRADE = (
    b"Host: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)
GET = b"GET /api/stream HTTP/1.1\r\n" + UPGRADE
POST = b"POST /api/session HTTP/1.1\r\n" + UPGRADE

REFUSED = [
    pytest.param(POST + b"Content-Length: 2\r\n\r\n{}", 400, id="POST with a body"),
    pytest.param(POST + b"Content-Length: 2\r\n\r\n{", 400, id="POST with half a body"),
    pytest.param(POST + b"\r\n", 400, id="POST"),
    pytest.param(GET + b"Content-Length: 2\r\n\r\n{}", 400, id="GET with a body"),
    pytest.param(GET + b"Content-Length: 2\r\n\r\n", 400, id="GET without the body"),
    pytest.param(GET + b"Content-Length: 00\r\n\r\n", 400, id="a length of 00"),
    pytest.param(GET + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, id="chunked"),
    pytest.param(GET.replace(b"HTTP/1.1", b"HTTP/1.0") + b"\r\n", 400, id="HTTP/1.0"),
    pytest.param(GET + b"Bad Name: x\r\n\r\n", 400, id="name"),
    pytest.param(GET + b"Authorization: Bearer " + b"a" * 9000 + b"\r\n\r\n", 431, id="long line"),
    pytest.param(GET.replace(b"stream", b"stream?" + b"a" * 9000) + b"\r\n", 431, id="long path"),
    pytest.param(GET.replace(b"Version: 13", b"Version: 12") + b"\r\n", 400, id="version"),
]


class Audited(NamedTuple):
    """A gateway with XAPP_AUTH=kubernetes, and its audit log."""

    gateway: GatewayServer
    log: Path

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    folder = tmp_path_factory.mktemp("upgrades")
    log = folder / "audit.log"
    with small_gateway(folder, auth="kubernetes", connections=CONNECTIONS, audit_log=str(log)) as gateway:
        yield Audited(gateway, log)


@pytest.mark.parametrize(("request_", "status"), REFUSED)
def test_a_handshake_that_is_not_valid_is_answered_closed_and_audited(
    audited: Audited, request_: bytes, status: int
) -> None:
    before = len(audited.lines())
    with ExitStack() as stack:
        held = [half_sent(audited.gateway.port, request_, stack) for _ in range(CONNECTIONS)]
        answers = [read_all(each) for each in held]
    assert all(answer.startswith(b"HTTP/1.1 %d " % status) for answer in answers), answers[0]
    wait_until(lambda: len(audited.lines()) >= before + CONNECTIONS, timeout=30, what="the lines")
    found = {(line["status"], line["address"]) for line in audited.lines()[before:] if line["method"] is None}
    assert found == {(status, "127.0.0.1")}
    assert audited.gateway.send_raw(HEAD + b"\r\n").startswith(b"HTTP/1.1 200 ")


def test_an_upgrade_behind_an_unanswered_request_is_refused(tmp_path: Path) -> None:
    stream = b"GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with small_gateway(tmp_path) as gateway, ExitStack() as stack:
        answer = read_all(half_sent(gateway.port, stream + GET + b"\r\n", stack))
    assert b" 101 " not in answer


@pytest.mark.parametrize("closes", ["displaced", "time"])
def test_the_time_of_a_head_runs_until_a_websocket_is_open(
    audited: Audited, monkeypatch: pytest.MonkeyPatch, closes: str
) -> None:
    """A library with an unknown defect may accept a request and do nothing with it."""
    nothing: Callable[[object], None] = lambda _: None  # noqa: E731
    monkeypatch.setattr(http_connections.BoundedHttpProtocol, "handle_websocket_upgrade", nothing)
    if closes == "time":
        monkeypatch.setattr(http_connections, "HEAD_SECONDS", 0.2)
    with ExitStack() as stack:
        held = [half_sent(audited.gateway.port, GET + b"\r\n", stack) for _ in range(CONNECTIONS)]
        if closes == "time":
            assert [read_all(each) for each in held] == [b""] * CONNECTIONS
        assert audited.gateway.send_raw(HEAD + b"\r\n").startswith(b"HTTP/1.1 200 ")
        assert is_closed(held[0])


@pytest.mark.parametrize("coding", [b"xchunked", b"identity", b"gzip, chunked", b"chunked\r\nTransfer-Encoding: x"])
def test_an_unknown_transfer_coding_is_400(audited: Audited, coding: bytes) -> None:
    head = b"POST /api/session HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: " + coding + b"\r\n\r\n"
    with ExitStack() as stack:
        answer = read_all(half_sent(audited.gateway.port, head + b"2\r\n{}\r\n0\r\n\r\n", stack))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 4") == 1


@pytest.mark.parametrize("after", [b"", b"a" * 40_000])
def test_a_chunk_extension_beyond_the_limit_is_431(audited: Audited, after: bytes) -> None:
    head = b"POST /api/session HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with ExitStack() as stack:
        body = b"2;x=" + b"a" * 40_000 + b"\r\n{}\r\n0\r\n\r\n"
        answer = read_all(half_sent(audited.gateway.port, head + body + after, stack))
    assert answer.startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(("size", "status"), [(HEAD_MAX_BYTES - 200, 200), (HEAD_MAX_BYTES, 431), (40_000, 431)])
def test_the_limit_of_a_head_holds_for_a_complete_one(audited: Audited, size: int, status: int) -> None:
    with ExitStack() as stack:
        whole = HEAD + b"Connection: close\r\nX-A: " + b"a" * size + b"\r\n\r\n"
        assert read_all(half_sent(audited.gateway.port, whole, stack)).startswith(b"HTTP/1.1 %d " % status)


def read_all(connection: socket.socket) -> bytes:
    """Return all bytes until the gateway closes the connection."""
    read = b""
    try:
        while piece := connection.recv(65536):
            read += piece
    except ConnectionResetError:
        pass
    return read
