"""Threat: clients without a token send large bodies at once over HTTPS, and keep their connections.

TLS keeps memory for the most that it has received at once, as long as a connection is open.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import ExitStack
from pathlib import Path

from tests.localcluster.pki import Authority
from tests.support.memory import resident_bytes
from tests.unit.gateway.http.http_connections import post
from tests.unit.gateway.test_process import process

SECONDS = 60.0
CONNECTIONS = 100
BODY_BYTES = 1_000_000
REQUEST = post("/api/v1/charts", f"Content-Length: {BODY_BYTES}", body=b"x" * BODY_BYTES)
BYTES_PER_CONNECTION_MAX = 480 * 1024


def test_large_bodies_leave_little_memory(tmp_path: Path) -> None:
    pair = Authority(tmp_path / "pki").issue("gateway", common_name="gateway")
    trusting = ssl.create_default_context(cafile=tmp_path / "pki" / "ca.crt")
    files = {"XAPP_TLS_CERT": str(pair.certificate), "XAPP_TLS_KEY": str(pair.key)}
    with process(tmp_path, XAPP_AUTH="kubernetes", **files) as (running, http), ExitStack() as stack:

        def send() -> None:
            connection = socket.create_connection(("127.0.0.1", http.base_url.port or 0), timeout=SECONDS)
            tls = stack.enter_context(trusting.wrap_socket(connection, server_hostname="localhost"))
            tls.sendall(REQUEST)
            assert tls.recv(65536).startswith(b"HTTP/1.1 4")

        send()
        before = resident_bytes(running.pid)
        for _ in range(CONNECTIONS):
            send()
        grown = resident_bytes(running.pid) - before

    print(f"{grown / CONNECTIONS / 1024:.0f} KiB each")
    assert grown < CONNECTIONS * BYTES_PER_CONNECTION_MAX
