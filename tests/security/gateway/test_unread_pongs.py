"""Threat: one end of a WebSocket sends pings and does not read the answers, which then fill the memory of the gateway.

So do clients before anybody has looked at their token.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.localcluster.waiting import wait_until
from tests.security.gateway.test_half_sent_heads import HEAD, SECONDS
from tests.security.gateway.test_upgrades_without_an_answer import UPGRADE
from tests.support.gateway import GatewayServer
from tests.support.proxied_xapp import ProxiedXApp, proxy_to_service
from tests.support.stand_in_api import serve_api
from tests.support.xapp_server import serve_xapp
from xapp_operator.gateway.http.connections import reading_time
from xapp_operator.gateway.proxy.xapp_proxy import XAppProxy

CONNECTIONS = 16
PINGS = (b"\x89" + bytes([0x80 | 125]) + b"\0\0\0\0" + b"p" * 125) * 500
XAPP_PINGS = (b"\x89\x7d" + b"p" * 125) * 500
MUCH = 64 * 1024 * 1024
"""More than the buffers of the kernel take."""
PATIENCE = 2.0


def open_handshake(proxied: ProxiedXApp, stack: ExitStack, *, token: str = "any") -> socket.socket:
    connection = stack.enter_context(socket.create_connection(("127.0.0.1", proxied.gateway.port), timeout=SECONDS))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    head = f"GET {proxied.proxy_path}/ws HTTP/1.1\r\nAuthorization: Bearer {token}\r\n".encode()
    connection.sendall(head + UPGRADE + b"\r\n")
    return connection


def sent_until_blocked(connection: socket.socket, frames: bytes) -> int:
    """Send frames until the other end takes none for PATIENCE seconds, at most MUCH; return the number of bytes."""
    connection.settimeout(PATIENCE)
    sent = 0
    try:
        while sent < MUCH:
            sent += connection.send(frames)
    except OSError:
        pass
    return sent


def unsent(gateway: GatewayServer) -> int:
    return gateway.run_in_loop(
        lambda _: sum(each.transport.get_write_buffer_size() for each in gateway.server.server_state.connections)
    )


@contextmanager
def unanswered_handshakes(monkeypatch: pytest.MonkeyPatch, folder: Path, **changes: Any) -> Iterator[ProxiedXApp]:
    """Serve an xApp whose WebSockets are never accepted."""

    async def wait(*_: Any) -> None:
        await asyncio.sleep(600)

    monkeypatch.setattr(XAppProxy, "forward_websocket", wait)
    with serve_xapp() as api, proxy_to_service(api, folder, **changes) as proxied:
        yield proxied


def test_a_websocket_is_displaced_until_it_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with unanswered_handshakes(monkeypatch, tmp_path, connections=CONNECTIONS) as proxied, ExitStack() as stack:
        for _ in range(CONNECTIONS):
            open_handshake(proxied, stack)
        tasks = proxied.gateway.server.server_state.tasks
        wait_until(
            lambda: proxied.gateway.run_in_loop(lambda _: len(tasks)) == CONNECTIONS, timeout=SECONDS, what="handshakes"
        )
        assert proxied.gateway.send_raw(HEAD + b"\r\n").startswith(b"HTTP/1.1 200 ")


def test_a_refused_websocket_is_closed_though_nobody_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reading_time, "UNAUTHENTICATED_WRITE_SECONDS", 0.2)
    with (
        caplog.at_level(logging.WARNING),
        serve_xapp() as xapp,
        serve_api() as api,
        proxy_to_service(xapp, tmp_path, kubernetes=api.port) as proxied,
        ExitStack() as stack,
    ):
        for number in range(CONNECTIONS):
            connection = open_handshake(proxied, stack, token=f"unknown{number}")
            sent_until_blocked(connection, b"\xff\xff" * 1000 if number % 2 else PINGS)
        limits = proxied.gateway.server.connection_limits
        wait_until(
            lambda: proxied.gateway.run_in_loop(lambda _: limits.open) == 0, timeout=SECONDS, what="all to be closed"
        )
    assert [each.getMessage() for each in caplog.records if each.exc_info] == []


def test_pings_of_a_client_that_does_not_read_are_left(tmp_path: Path) -> None:
    with serve_xapp() as api, proxy_to_service(api, tmp_path) as proxied, ExitStack() as stack:
        connection = open_handshake(proxied, stack)
        assert connection.recv(4096).startswith(b"HTTP/1.1 101 ")
        assert sent_until_blocked(connection, PINGS) < MUCH
        assert unsent(proxied.gateway) < 1024 * 1024
        connection.setblocking(True)
        connection.settimeout(SECONDS)
        assert len(connection.recv(65536)) > 0


@contextmanager
def pinging_xapp(sent: list[int]) -> Iterator[SimpleNamespace]:
    """Serve an xApp that accepts a WebSocket and sends pings; it adds the number of bytes that were taken."""

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(4096)
            key = re.findall(rb"(?i)sec-websocket-key: (\S+)", head)[0]
            accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
            connection.sendall(
                b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
                + accept
                + b"\r\n\r\n"
            )
            sent.append(sent_until_blocked(connection, XAPP_PINGS))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        thread = threading.Thread(target=serve, name="pinging xapp")
        thread.start()
        yield SimpleNamespace(host="127.0.0.1", port=listener.getsockname()[1])
        thread.join(SECONDS)


def test_pings_of_an_xapp_that_does_not_read_are_left(tmp_path: Path) -> None:
    sent = list[int]()
    with (
        pinging_xapp(sent) as api,
        proxy_to_service(api, tmp_path) as proxied,  # type: ignore[arg-type]
        proxied.open_websocket("/ws", ping_interval=None),
    ):
        wait_until(lambda: sent != [], timeout=SECONDS, what="the xApp to be stopped")
    assert sent[0] < MUCH
