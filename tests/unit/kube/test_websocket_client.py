"""A WebSocket to an xApp: how it is opened, and that it is read only while its server reads."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.client import ClientProtocol
from websockets.uri import parse_uri

from tests.localcluster.pki import Authority
from xapp_operator.kube.proxy.websocket_client import WebSocketRequest, _BoundedConnection, open_websocket


class RecordedTransport(asyncio.Transport):
    """Notes what a connection writes, and whether it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.reads = True

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.written.append(b"the end")


@pytest.fixture
async def transport() -> RecordedTransport:
    return RecordedTransport()


@pytest.fixture
async def connection(transport: RecordedTransport) -> _BoundedConnection:
    made = _BoundedConnection(ClientProtocol(parse_uri("ws://xapp/")))
    made.connection_made(transport)
    return made


async def test_nothing_is_read_while_the_server_does_not_read(
    connection: _BoundedConnection, transport: RecordedTransport
) -> None:
    connection.pause_writing()
    assert (connection.paused, transport.reads) == (True, False)
    connection.recv_messages.resume()  # all messages were taken
    assert not transport.reads
    connection.resume_writing()
    assert (connection.paused, transport.reads) == (False, True)


async def test_nothing_is_read_while_too_many_messages_wait(
    connection: _BoundedConnection, transport: RecordedTransport
) -> None:
    connection.pause_writing()
    connection.recv_messages.paused = True
    connection.resume_writing()
    assert not transport.reads
    connection.recv_messages.paused = False
    connection.recv_messages.resume()
    assert transport.reads


@pytest.mark.parametrize(
    ("due", "written"),
    [([], []), ([b"a"], [b"a"]), ([b"a", b"b"], [b"ab"]), ([b"a", b""], [b"a", b"the end"])],
)
async def test_what_is_due_is_sent_as_one_piece(
    connection: _BoundedConnection, transport: RecordedTransport, due: list[bytes], written: list[bytes]
) -> None:
    connection.protocol.writes = due
    connection.send_data()
    assert transport.written == written


class Server:
    """Accepts WebSockets and notes the head of each, and the server name of its TLS handshake."""

    def __init__(self) -> None:
        self.hosts: list[str] = []
        self.subprotocols: list[list[str]] = []
        self.names: list[str | None] = []

    async def accept(self, websocket: ServerConnection) -> None:
        assert websocket.request is not None
        self.hosts.append(websocket.request.headers["Host"])
        self.subprotocols.append(websocket.request.headers.get_all("Sec-WebSocket-Protocol"))
        await websocket.wait_closed()

    async def open(self, request: WebSocketRequest, *, tls: ssl.SSLContext | None = None) -> None:
        async with serve(self.accept, "127.0.0.1", 0, ssl=tls) as server:
            address = next(iter(server.sockets)).getsockname()
            async with await open_websocket(replace(request, address=address), seconds=60):
                pass

    def note_name(self, _: object, name: str | None, __: object) -> None:
        self.names.append(name)


@pytest.mark.parametrize(("port", "host"), [(80, "xapp"), (443, "xapp:443")])
async def test_a_plain_connection_names_the_host_of_the_xapp(port: int, host: str) -> None:
    server = Server()
    await server.open(WebSocketRequest(host="xapp", port=port, path="/"))
    assert (server.hosts, server.subprotocols) == ([host], [[]])


@pytest.mark.parametrize(("port", "host"), [(80, "kubernetes.default.svc:80"), (443, "kubernetes.default.svc")])
@pytest.mark.parametrize("name", [None, "localhost"])
async def test_an_encrypted_connection_checks_the_name_of_the_server(
    tmp_path: Path, name: str | None, port: int, host: str
) -> None:
    server = Server()
    pair = Authority(tmp_path).issue("server", common_name="server")
    theirs = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    theirs.load_cert_chain(pair.certificate, pair.key)
    theirs.sni_callback = server.note_name
    ours = ssl.create_default_context(cafile=tmp_path / "ca.crt")
    ours.verify_flags &= ~ssl.VERIFY_X509_STRICT
    request = WebSocketRequest(host="kubernetes.default.svc", port=port, path="/", tls=ours, server_hostname=name)
    await server.open(request, tls=theirs)
    assert (server.hosts, server.names) == ([host], [name or "kubernetes.default.svc"])
