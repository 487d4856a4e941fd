"""Multipart bodies over real HTTP: which are accepted, which are refused and when, and that no files are left."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from structlog.testing import capture_logs

from tests.support.charts import chart_archive
from tests.support.gateway import GatewayServer
from xapp_operator.gateway.http.requests import bodies

PATH = "/api/deployment/xapp"
FORM = {
    "xAppName": "hello",
    "organization": "acme",
    "team": "ran",
    "version": "0.1.0",
    "owner": "jane",
    "method": "Upload Chart",
    "namespace": "ric-xapps",
}
MIB = 1024 * 1024
ACCEPTED_STATUS = 503
"""Past every check of the request itself: only the API server, which these tests do not have, is missing."""


@pytest.fixture(autouse=True)
def nothing_left(folder: Path) -> Iterator[None]:
    """No request may leave files."""
    yield
    wait_until(lambda: not uploads(folder))


def wait_until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def uploads(folder: Path) -> list[Path]:
    return [path for path in (folder / "cache").glob("uploads-*/*") if path.is_file()]


def part(name: str, content: bytes, *, headers: str = "", filename: str | None = None) -> bytes:
    shown = f'; filename="{filename}"' if filename is not None else ""
    head = f'--b\r\nContent-Disposition: form-data; name="{name}"{shown}\r\n{headers}\r\n'
    return head.encode() + content + b"\r\n"


def body(*parts: bytes) -> bytes:
    return b"".join(parts) + b"--b--\r\n"


def post(http: httpx.Client, content: bytes, *, media: str = "multipart/form-data; boundary=b") -> httpx.Response:
    return http.post(PATH, content=content, headers={"Content-Type": media})


form_part = part("xAppForm", json.dumps(FORM).encode())
file_part = part("file", chart_archive(), filename="hello.tgz")


@pytest.mark.parametrize(
    "content",
    [
        body(form_part, file_part),
        body(file_part, form_part),
        body(form_part, file_part, part("values", b"a: 1\n")),
        body(part("xAppForm", json.dumps(FORM).encode(), headers="Content-Type: application/json\r\n"), file_part),
        body(part("xAppForm", json.dumps(FORM).encode(), filename="form.json"), file_part),
        body(part("xAppForm", json.dumps(FORM).encode(), headers="content-type: text/csv\r\n"), file_part),
        body(form_part, part("file", chart_archive(), headers="Content-Type: text/plain\r\n", filename="x.zip")),
        body(form_part, part("file", chart_archive())),
        body(form_part, file_part) + b"an epilogue",
        body(form_part.replace(b"name=", b"NAME=").replace(b"form-data", b"Form-Data"), file_part),
    ],
    ids=[
        "form first",
        "file first",
        "with values",
        "form as a JSON part",
        "form as a file",
        "another type of the form",
        "another type and name of the file",
        "file without a name",
        "epilogue",
        "other case",
    ],
)
def test_part_headers_beyond_the_name_are_ignored(http: httpx.Client, content: bytes) -> None:
    answer = post(http, content)

    assert answer.status_code == ACCEPTED_STATUS, answer.text


@pytest.mark.parametrize(
    ("content", "media", "status", "says"),
    [
        (b"{}", "application/json", 415, "multipart/form-data"),
        (b"", "", 415, "multipart/form-data"),
        (b"a=1", "application/x-www-form-urlencoded", 415, "multipart/form-data"),
        (body(form_part), "multipart/mixed; boundary=b", 415, "multipart/form-data"),
        (body(form_part), "multipart/form-data", 400, "boundary"),
        (body(form_part), "multipart/form-data; boundary=" + "b" * 300, 400, "RFC 7578"),
        (b"", "multipart/form-data; boundary=b", 400, "closing boundary"),
        (b"no boundary at all", "multipart/form-data; boundary=b", 400, "RFC 7578"),
        (body(form_part)[:-6], "multipart/form-data; boundary=b", 400, "closing boundary"),
        (b"--b\r\n\r\nx\r\n--b--\r\n", "multipart/form-data; boundary=b", 400, "has no name"),
        (b"--b\r\nX: y\r\n\r\nx\r\n--b--\r\n", "multipart/form-data; boundary=b", 400, "has no name"),
        (b"--b\r\nBro ken\r\n\r\nx\r\n--b--\r\n", "multipart/form-data; boundary=b", 400, "RFC 7578"),
        (body(part("xAppForm", b"x", headers="A: b\r\n" * 40)), "multipart/form-data; boundary=b", 400, "RFC 7578"),
        (body(file_part), "multipart/form-data; boundary=b", 400, "xAppForm"),
        (body(part("xAppForm", b""), file_part), "multipart/form-data; boundary=b", 400, "xAppForm"),
        (body(part("xAppForm", b"{"), file_part), "multipart/form-data; boundary=b", 400, "xAppForm"),
        (body(part("xAppForm", b"[1]"), file_part), "multipart/form-data; boundary=b", 422, "list"),
        (
            body(form_part, form_part, file_part),
            "multipart/form-data; boundary=b",
            422,
            "xAppForm was sent more than once",
        ),
        (body(form_part, file_part, file_part), "multipart/form-data; boundary=b", 422, "file was sent more than once"),
        (body(form_part, part("chart", b"x")), "multipart/form-data; boundary=b", 422, "chart is not a part"),
        (body(form_part, part("xappform", b"x")), "multipart/form-data; boundary=b", 422, "did you mean 'xAppForm'"),
        (body(form_part), "multipart/form-data; boundary=b", 422, "file is required"),
    ],
)
def test_an_invalid_body_is_refused(http: httpx.Client, content: bytes, media: str, status: int, says: str) -> None:
    answer = post(http, content, media=media)

    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert says in answer.json()["detail"]


def test_many_unknown_parts_make_a_short_message(http: httpx.Client) -> None:
    answer = post(http, body(form_part, *(part(f"p{at}", b"x") for at in range(2000))))

    assert answer.status_code == 422
    assert len(answer.content) < 4096


@pytest.mark.parametrize(
    ("name", "size", "bound"), [("file", MIB, "1,048,576"), ("values", MIB, "1,048,576"), ("xAppForm", 65536, "65,536")]
)
def test_a_part_over_its_limit_is_refused_by_name(http: httpx.Client, name: str, size: int, bound: str) -> None:
    answer = post(http, body(part(name, b"x" * (size + 1))))

    assert answer.status_code == 413
    assert answer.json()["errors"][0]["field"] == name
    assert bound in answer.json()["detail"]


def test_a_part_of_exactly_its_limit_is_accepted(http: httpx.Client) -> None:
    values = b"a: " + b"x" * (MIB - 3)

    assert post(http, body(form_part, file_part, part("values", values))).status_code == ACCEPTED_STATUS


def test_limits_are_enforced_during_the_upload(gateway: GatewayServer) -> None:
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as connection:
        connection.sendall(
            f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
            "Transfer-Encoding: chunked\r\n\r\n".encode()
        )
        start = part("file", b"")[:-2]
        connection.sendall(b"%x\r\n%b\r\n" % (len(start), start))
        for _ in range(17):
            connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")

        assert connection.recv(65536).startswith(b"HTTP/1.1 413 ")
        # The refusal is sent before the end; a client that continues to send gets no reset.
        for _ in range(17):
            connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        connection.sendall(b"0\r\n\r\n")
        while connection.recv(65536):  # the rest of the refusal, and then the end
            pass


def test_an_announced_size_over_the_limit_is_refused_before_the_body(gateway: GatewayServer) -> None:
    answer = gateway.send_raw(
        f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
        "Content-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n".encode()
    )

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"100 Continue" not in answer


def test_a_client_that_disconnects_leaves_no_files(gateway: GatewayServer, http: httpx.Client, folder: Path) -> None:
    content = body(form_part, part("file", b"x" * 200_000))
    with capture_logs() as logs:
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as connection:
            connection.sendall(
                f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
                f"Content-Length: {len(content)}\r\n\r\n".encode()
            )
            connection.sendall(content[:100_000])
            wait_until(lambda: bool(uploads(folder)))
        wait_until(lambda: not uploads(folder))
        wait_until(lambda: "client disconnected" in [line["event"] for line in logs])
    assert http.get("/healthz").status_code == 200
    assert [line for line in logs if line["log_level"] in {"error", "critical"}] == []


def test_a_slow_upload_is_accepted(gateway: GatewayServer) -> None:
    content = body(form_part, file_part)
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(
            f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
            f"Content-Length: {len(content)}\r\n\r\n".encode()
        )
        for at in range(0, len(content), 7):
            connection.sendall(content[at : at + 7])
        assert connection.recv(65536).startswith(f"HTTP/1.1 {ACCEPTED_STATUS} ".encode())


def test_a_stalled_upload_is_refused(gateway: GatewayServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "BODY_MIN_SECONDS", 0.2)
    answer = gateway.send_raw(
        f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
        "Content-Length: 5000\r\n\r\n--b".encode()
    )

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"stopped before its end" in answer
