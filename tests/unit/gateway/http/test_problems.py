"""Problem details: their types, which are part of the API, and the headers that all of them have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.gateway import GatewayServer
from tests.unit.gateway.http.test_connections import HEAD, connected, rest
from tests.unit.gateway.routes.test_unauthenticated_routes import open_websocket
from xapp_operator import errors
from xapp_operator.errors import XAppError
from xapp_operator.gateway.http.connections import HEAD_MAX_BYTES
from xapp_operator.gateway.http.problems import PROBLEM_HEADERS, PROBLEM_MEDIA_TYPE, PROBLEM_TYPE_PREFIX, problem_type

API_DOCS = Path(__file__).parents[4] / "docs" / "api.md"


def error_classes(base: type[XAppError] = XAppError) -> Iterator[type[XAppError]]:
    """Return all classes of the error tree; others end a process and never reach a client."""
    for each in base.__subclasses__():
        yield from error_classes(each)
    if base.__module__ == errors.__name__:
        yield base


def test_the_documented_problem_types_are_those_of_the_code() -> None:
    """Types are made from class names: a renamed class must not change the API unnoticed."""
    section = API_DOCS.read_text().partition("\n#### Problem types\n")[2].partition("\n#")[0]
    rows = re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \| .+ \|$", section, flags=re.MULTILINE)
    documented = {(PROBLEM_TYPE_PREFIX + name, int(status)) for name, status in rows}
    assert len(documented) == len(rows)
    assert documented == {(problem_type(each), each.status) for each in error_classes()}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/nothing", 404),
        ("DELETE", "/api/xapps", 405),
        ("GET", "/api/xapps?page=x", 400),
        ("POST", "/api/deployment/xapp", 415),
        ("GET", "/api/xapps/ns/absent/api/x", 404),
    ],
)
def test_every_problem_has_the_common_headers(http: httpx.Client, method: str, path: str, status: int) -> None:
    answer = http.request(method, path)
    assert answer.status_code == status
    assert_common_headers(answer)


def test_a_403_lists_missing_rights_and_other_problems_do_not(http: httpx.Client) -> None:
    refused = http.delete("/api/deployment/xapp", headers={"Origin": "http://evil.example.com"})
    assert (refused.status_code, refused.json()["missing"]) == (403, [])
    assert "missing" not in http.get("/api/nothing").json()


def test_a_refused_websocket_has_the_common_headers(http: httpx.Client) -> None:
    assert_common_headers(open_websocket(http, "/api/xapps/ns/absent/api/x", {}))


@pytest.mark.parametrize(
    ("sent", "status"),
    [(b"NONSENSE\r\n\r\n", 400), (HEAD + b"X-A: " + b"a" * HEAD_MAX_BYTES, 431)],
    ids=["not HTTP", "large head"],
)
def test_what_never_becomes_a_request_gets_a_problem(gateway: GatewayServer, sent: bytes, status: int) -> None:
    with connected(gateway) as connection:
        connection.sendall(sent)
        head, _, body = rest(connection).partition(b"\r\n\r\n")
    status_line, *lines = head.decode().split("\r\n")
    answer = httpx.Response(status, headers=dict(line.split(": ", 1) for line in lines), content=body)
    assert status_line.startswith(f"HTTP/1.1 {status} ")
    assert answer.json()["status"] == status
    assert_common_headers(answer)


def assert_common_headers(answer: httpx.Response) -> None:
    assert answer.headers["content-type"] == PROBLEM_MEDIA_TYPE
    assert {name: answer.headers[name] for name in PROBLEM_HEADERS} == PROBLEM_HEADERS
