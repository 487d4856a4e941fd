"""Problem details: their types, which are part of the API, and the headers that all of them have."""

from __future__ import annotations

import ast
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
from xapp_operator.gateway.http.connections.http_connections import HEAD_MAX_BYTES
from xapp_operator.gateway.http.responses.problems import (
    PROBLEM_HEADERS,
    PROBLEM_MEDIA_TYPE,
    PROBLEM_TYPE_PREFIX,
    problem_type,
)

API_DOCS = Path(__file__).parents[4] / "docs" / "api.md"
PACKAGE = Path(errors.__file__).parent


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


REQUEST_IN_TEXT = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE) ?(/|…|\{)|/api/(?!v1/docs|v1`)\S")
"""A request in words for people; the interactive documentation is a page."""

DOCUMENTATION = {"description", "summary"}
"""Keywords and keys of the OpenAPI document, which is for those who use the API."""


def test_no_message_names_a_request() -> None:
    """Messages stand on pages, in conditions and events, where nobody can send a request; `next` is for that."""
    found = {
        f"{path.relative_to(PACKAGE)}:{line}": text
        for path in PACKAGE.rglob("*.py")
        for line, text in sentences(ast.parse(path.read_text()))
        if REQUEST_IN_TEXT.search(text)
    }
    assert found == {}


def sentences(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the texts with a space in a module, without docstrings and the words of the OpenAPI document."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.keyword) and node.arg in DOCUMENTATION:
        return
    if isinstance(node, ast.Constant | ast.JoinedStr):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        text = "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in parts)
        if " " in text:
            yield node.lineno, text
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.Dict) and child in node.values:
            key = node.keys[node.values.index(child)]
            if isinstance(key, ast.Constant) and key.value in DOCUMENTATION:
                continue
        yield from sentences(child)


def test_a_problem_names_the_requests_that_help(http: httpx.Client) -> None:
    absent = http.get("/api/xapps/ns/absent").json()
    assert absent["next"] == [
        {"method": "GET", "path": "/api/xapps"},
        {"method": "POST", "path": "/api/deployment/xapp"},
    ]
    assert "look for it in the list of all xApps, or deploy it" in absent["detail"]
    assert "next" not in http.get("/api/nothing").json()
