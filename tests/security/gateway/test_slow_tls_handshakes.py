"""Threat: clients that never finish a TLS handshake keep connections and memory of the gateway."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from tests.localcluster.pki import Authority
from tests.localcluster.waiting import wait_until
from tests.support.gateway import GatewayServer, offline_gateway, serve_gateway
from tests.support.memory import resident_bytes
from xapp_operator.gateway.http.connections import tls_connections
from xapp_operator.gateway.http.connections.connection_limits import ConnectionLimits

SECONDS = 60.0
CONNECTIONS = 400
CONNECTIONS_PER_ADDRESS = 100
BYTES_PER_CONNECTION_MAX = 96 * 1024
FIRST_BYTES = [b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET /healthz HTTP/1.1\r\n\r\n"]


@pytest.fixture(scope="module")
def https_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[GatewayServer, ssl.SSLContext]]:
    """A gateway with HTTPS, and the context of a client; a handshake may take a second."""
    folder = tmp_path_factory.mktemp("tls")
    pair = Authority(folder).issue("gateway", common_name="gateway")
    settings, opened = offline_gateway(folder)
    changes = {"tls_cert": pair.certificate, "tls_key": pair.key, "connections_per_address": CONNECTIONS_PER_ADDRESS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tls_connections, "HANDSHAKE_SECONDS", 1.0)
        with serve_gateway(settings.model_copy(update=changes), opened) as one:
            yield one, ssl.create_default_context(cafile=folder / "ca.crt")


def limits(gateway: GatewayServer) -> ConnectionLimits:
    return gateway.server.connection_limits


def is_closed(connection: socket.socket) -> bool:
    """Wait until the gateway closes a connection."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True


@pytest.mark.parametrize("first", FIRST_BYTES, ids=["nothing", "half a ClientHello", "plain HTTP"])
def test_a_handshake_that_does_not_end_is_closed(
    https_gateway: tuple[GatewayServer, ssl.SSLContext], first: bytes
) -> None:
    with socket.create_connection(("127.0.0.1", https_gateway[0].port), timeout=SECONDS) as connection:
        connection.sendall(first)
        assert is_closed(connection)


def test_many_half_open_handshakes_take_little_memory_and_others_are_served(
    https_gateway: tuple[GatewayServer, ssl.SSLContext],
) -> None:
    gateway, trusting = https_gateway
    with gateway.client(verify=trusting) as http, ExitStack() as stack:
        http.get("/healthz")
        before = resident_bytes()
        held = [
            stack.enter_context(socket.create_connection(("127.0.0.1", gateway.port), timeout=SECONDS))
            for _ in range(CONNECTIONS)
        ]
        for each in held:
            with suppress(OSError):  # closed in favour of a newer one
                each.sendall(FIRST_BYTES[1])
        with gateway.client(verify=trusting) as another:
            assert another.get("/healthz").status_code == 200
        grown = resident_bytes() - before
        assert gateway.run_in_loop(lambda _: limits(gateway).open) <= CONNECTIONS_PER_ADDRESS
        assert all(map(is_closed, held))
        with gateway.client(verify=trusting) as another:
            assert another.get("/healthz").status_code == 200
    wait_until(lambda: gateway.run_in_loop(lambda _: limits(gateway).open) == 0, timeout=SECONDS, what="all to be gone")
    print(f"{CONNECTIONS} half-open TLS handshakes took {grown / CONNECTIONS / 1024:.0f} KiB each")
    assert grown < CONNECTIONS * BYTES_PER_CONNECTION_MAX
