"""Requests that end early, have a wrong size, or cost too much; raw bytes over a socket."""

from __future__ import annotations

import http.server
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest
from structlog.testing import capture_logs

from tests.integration.gateway.gateway_client import DEPLOYMENT, NO_OBJECTS, GatewayClient
from tests.localcluster.waiting import wait_until
from tests.support.charts import CONFIGMAP_TEMPLATE, chart_archive
from tests.support.gateway import GatewayServer
from xapp_operator.helm import engine
from xapp_operator.helm.processes.limits import RENDERINGS_MAX

pytestmark = pytest.mark.integration

ENDLESS_TEMPLATE: Final = "a: {{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}"
MIB: Final = 1024 * 1024


@contextmanager
def half_sent(gateway: GatewayServer, head: bytes, body: bytes = b"") -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as connection:
        connection.sendall(head + b"\r\n" + body)
        yield connection


def head(*lines: str) -> bytes:
    whole = [f"POST {DEPLOYMENT} HTTP/1.1", "Host: localhost", *lines]
    return "".join(f"{line}\r\n" for line in whole).encode()


def part(name: str, content: bytes) -> bytes:
    return b'--x\r\nContent-Disposition: form-data; name="%s"; filename="f"\r\n\r\n%b' % (name.encode(), content)


MULTIPART: Final = "Content-Type: multipart/form-data; boundary=x"


def test_an_interrupted_upload_leaves_nothing_and_is_no_server_error(
    gateway: GatewayServer, client: GatewayClient
) -> None:
    form = part("xAppForm", json.dumps(client.deployment_form()).encode()) + b"\r\n"
    with capture_logs() as logs:
        with half_sent(gateway, head(MULTIPART, "Content-Length: 500000"), form + part("file", b"\x1f\x8b" * 10_000)):
            wait_until(lambda: list(client.uploads.iterdir()), timeout=60, what="the upload to begin")
        wait_until(lambda: not list(client.uploads.iterdir()), timeout=60, what="the file to go")
        wait_until(lambda: "client disconnected" in [line["event"] for line in logs], timeout=60, what="the disconnect")
    assert client.existing_objects() == NO_OBJECTS
    assert client.http.get("/healthz").status_code == 200
    assert [line for line in logs if line["log_level"] in {"error", "critical"}] == []


def test_a_client_that_disconnects_during_the_write_gets_a_complete_xapp(
    gateway: GatewayServer, client: GatewayClient
) -> None:
    body = (
        part("xAppForm", json.dumps(client.deployment_form()).encode())
        + b"\r\n"
        + part("file", chart_archive())
        + b"\r\n--x--"
    )
    with half_sent(gateway, head(MULTIPART, f"Content-Length: {len(body)}"), body):
        pass
    wait_until(lambda: client.existing_objects()["xapps"], timeout=60, what="the XApp")
    assert len(client.existing_objects()["charts"]) == 1


def test_an_upload_without_content_length_is_stopped_at_its_limit(
    gateway: GatewayServer, client: GatewayClient
) -> None:
    chunk = b"x" * 65536
    with half_sent(gateway, head(MULTIPART, "Transfer-Encoding: chunked")) as connection:
        first = part("file", b"")
        connection.sendall(b"%x\r\n%b\r\n" % (len(first), first))
        sent = 0
        try:
            for _ in range(64):
                connection.sendall(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                sent += len(chunk)
            connection.sendall(b"0\r\n\r\n")
        except OSError:
            assert sent > MIB
        answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"1,048,576" in answer
    assert b"connection: close" in answer.lower()
    assert client.existing_objects() == NO_OBJECTS


def test_an_upload_with_a_too_large_content_length_is_refused_before_the_body(gateway: GatewayServer) -> None:
    with half_sent(gateway, head(MULTIPART, f"Content-Length: {5 * MIB}")) as connection:
        assert connection.recv(65536).startswith(b"HTTP/1.1 413")


def test_an_upload_may_come_byte_by_byte(gateway: GatewayServer, client: GatewayClient) -> None:
    body = (
        part("xAppForm", json.dumps(client.deployment_form()).encode())
        + b"\r\n"
        + part("file", chart_archive())
        + b"\r\n--x--"
    )
    with half_sent(gateway, head(MULTIPART, f"Content-Length: {len(body)}")) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(len(body)):
            connection.sendall(body[at : at + 1])
        assert connection.recv(65536).startswith(b"HTTP/1.1 202")


def test_external_references_of_a_schema_are_never_fetched(client: GatewayClient) -> None:
    requested: list[str] = []

    class Counting(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requested.append(self.path)
            self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Counting) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            schema = json.dumps(
                {
                    "properties": {
                        "port": {"$ref": f"http://127.0.0.1:{server.server_port}/port.json"},
                        "user": {"$ref": "file:///etc/passwd"},
                    }
                }
            )
            files = {"values.schema.json": schema, "templates/a.yaml": CONFIGMAP_TEMPLATE, "values.yaml": "port: 1\n"}
            shown = client.post_deployment(client.deployment_form(), file=chart_archive(files), dryRun="true")
            taken = client.post_deployment(client.deployment_form(), file=chart_archive(files), values="port: x")
        finally:
            server.shutdown()
            thread.join()
    assert (shown.status_code, taken.status_code) == (200, 202)
    assert any("schema" in warning for warning in shown.json()["warnings"])
    assert requested == []


def test_slow_renders_do_not_block_lists(client: GatewayClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "TEMPLATE_CPU_SECONDS", 1)
    archive = chart_archive({"templates/a.yaml": ENDLESS_TEMPLATE})
    with ThreadPoolExecutor(RENDERINGS_MAX + 2) as pool:
        rendering = [
            pool.submit(client.post_deployment, client.deployment_form(team=f"team-{at}"), file=archive)
            for at in range(RENDERINGS_MAX + 2)
        ]
        most = wait_until(helm_processes, timeout=60, what="a rendering to begin")
        while not all(each.done() for each in rendering):
            assert client.http.get("/api/xapps").status_code == 200
            most = max(most, helm_processes())
    assert [each.result().status_code for each in rendering] == [422] * (RENDERINGS_MAX + 2)
    assert 1 <= most <= RENDERINGS_MAX
    assert client.existing_objects() == NO_OBJECTS


def helm_processes() -> int:
    """Return the number of running helm processes that this process started."""
    found = 0
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # a thread that has ended in the meantime
            children = (task / "children").read_text().split()
            found += sum(map(_renders, children))
    return found


def _renders(process: str) -> bool:
    try:
        return b"template" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False
