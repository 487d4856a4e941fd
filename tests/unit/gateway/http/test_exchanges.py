"""What the middleware adds to each request and its response, without a server and in simulated time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import HTTPConnection
from starlette.types import Message, Receive, Scope, Send

from tests.unit.gateway.http.http_connections import in_simulated_time, now, settle
from xapp_operator.config.settings import Settings
from xapp_operator.errors import AccessDenied
from xapp_operator.gateway.http import middleware
from xapp_operator.gateway.http.audit import audit_notes
from xapp_operator.gateway.http.middleware import GatewayMiddleware
from xapp_operator.telemetry.audit import AuditLog

MEBIBYTE = 1024 * 1024
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Exchange:
    """A client of the middleware: its requests, and what came back."""

    def __init__(self, app: App, audit: AuditLog) -> None:
        self.sessions: list[str] = []
        self.sent: list[Message] = []
        self.scope: Scope = {}
        self.received = 0
        self._app = app
        self._middleware = GatewayMiddleware(
            self._run, Settings().model_copy(update={"auth": "none"}), load_session=self._load_session, audit=audit
        )

    async def _load_session(self, connection: HTTPConnection) -> None:
        self.sessions.append(connection.scope["path"])
        if "x-stranger" in connection.headers:
            raise AccessDenied("no")

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        await self._app(scope, receive, send)

    async def request(
        self,
        method: str,
        path: str,
        *chunks: bytes,
        kind: str = "http",
        **headers: str,
    ) -> dict[str, str]:
        """Send a request whose body never ends if it ends with an empty chunk; return the headers of the response."""
        self.sent.clear()
        bodies = iter(chunks)

        async def receive() -> Message:
            chunk = next(bodies, None)
            if chunk is None:
                return {"type": "http.request", "body": b"", "more_body": False}
            if not chunk:
                await asyncio.Event().wait()
            self.received += len(chunk)
            return {"type": "http.request", "body": chunk, "more_body": True}

        async def send(message: Message) -> None:
            self.sent.append({**message, "at": now()})

        given = {"host": "localhost", **{name.replace("_", "-"): value for name, value in headers.items()}}
        scope: Scope = {
            "type": kind,
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
            "client": ("192.0.2.1", 40000),
            "extensions": {"websocket.http.response": {}},
        }
        if kind == "websocket":
            del scope["method"]
        await self._middleware(scope, receive, send)
        if not self.sent:
            return {}
        return {name.decode(): value.decode() for name, value in self.sent[0].get("headers", [])}

    @property
    def status(self) -> int:
        status: int = self.sent[0]["status"]
        return status

    @property
    def body(self) -> bytes:
        return b"".join(each.get("body", b"") for each in self.sent[1:])


def respond(*, status: int = 200, body: bytes = b"ok", **headers: str) -> App:
    """Return an application that reads nothing and responds."""
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": status, "headers": raw})
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return app


@pytest.fixture
def audit(tmp_path: Path) -> Iterator[AuditLog]:
    with AuditLog(str(tmp_path / "audit.log")) as log:
        yield log


@pytest.fixture
def read_audit(tmp_path: Path) -> Callable[[], list[dict[str, Any]]]:
    return lambda: [json.loads(line) for line in (tmp_path / "audit.log").read_text().splitlines()]


def test_responses_of_the_api_are_private_and_no_pages(audit: AuditLog) -> None:
    async def test() -> None:
        exchange = Exchange(respond(), audit)
        assert await exchange.request("GET", "/api/v1/xapps") == {
            "x-content-type-options": "nosniff",
            "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
            "cache-control": "private, no-cache",
            "vary": "Authorization, Cookie",
        }
        assert exchange.scope["path"] == "/api/xapps"
        assert exchange.sessions == ["/api/xapps"]

    in_simulated_time(test)


def test_headers_of_the_application_are_kept(audit: AuditLog) -> None:
    async def test() -> None:
        exchange = Exchange(respond(cache_control="no-store", vary="Accept", content_security_policy="x"), audit)
        headers = await exchange.request("GET", "/helmrepo/ric/index.yaml")
        assert (headers["cache-control"], headers["vary"], headers["content-security-policy"]) == (
            "no-store",
            "Accept",
            "x",
        )
        assert exchange.scope["path"] == "/api/charts/ric/index.yaml"
        assert exchange.sessions == ["/api/charts/ric/index.yaml"]

    in_simulated_time(test)


@pytest.mark.parametrize(
    ("path", "inner"),
    [
        ("/helmrepo/ric/a-1.tgz", "/api/charts/ric/a-1.tgz"),
        ("/helmrepo/ric/a-1.tgz.prov", "/api/charts/ric/a-1.tgz.prov"),
        ("/helmrepo/ric/a.html", "/helmrepo/ric/a.html"),
        ("/index.yaml", "/index.yaml"),
        ("/api/v1", "/api/v1"),
        ("/", "/"),
    ],
)
def test_one_route_serves_both_paths_of_a_chart(audit: AuditLog, path: str, inner: str) -> None:
    async def test() -> None:
        exchange = Exchange(respond(), audit)
        headers = await exchange.request("GET", path)
        assert exchange.scope["path"] == inner
        assert ("cache-control" in headers) is path.startswith(("/api/", "/helmrepo/"))

    in_simulated_time(test)


def test_a_head_is_a_get_whose_body_may_never_end(audit: AuditLog) -> None:
    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(3):
            await send({"type": "http.response.body", "body": b"x", "more_body": True})

    async def test() -> None:
        exchange = Exchange(endless, audit)
        await exchange.request("HEAD", "/api/xapps")
        assert (exchange.scope["method"], exchange.scope[middleware.ORIGINAL_METHOD]) == ("GET", "HEAD")
        assert [each["type"] for each in exchange.sent] == ["http.response.start", "http.response.body"]
        assert (exchange.sent[1]["body"], exchange.sent[1]["more_body"]) == (b"", False)
        await exchange.request("GET", "/api/xapps")
        assert exchange.scope["method"] == "GET"
        assert middleware.ORIGINAL_METHOD not in exchange.scope
        assert exchange.body == b"xxx"

    in_simulated_time(test)


@pytest.mark.parametrize("header", [{"content_length": "9"}, {"transfer_encoding": "chunked"}])
def test_the_rest_of_a_body_is_read_before_the_response_ends(audit: AuditLog, header: dict[str, str]) -> None:
    async def test() -> None:
        exchange = Exchange(respond(), audit)
        headers = await exchange.request("POST", "/api/x", b"abc", b"def", **header)
        assert headers["connection"] == "close"
        assert exchange.received == 6
        assert [(each["body"], each["more_body"]) for each in exchange.sent[1:]] == [
            (b"ok", True),
            (b"", True),
            (b"", False),
        ]

    in_simulated_time(test)


@pytest.mark.parametrize(
    ("method", "header"),
    [("POST", {}), ("POST", {"content_length": "0"}), ("GET", {"content_length": "9"}), ("HEAD", {})],
)
def test_a_connection_without_a_body_to_read_stays_open(audit: AuditLog, method: str, header: dict[str, str]) -> None:
    async def test() -> None:
        exchange = Exchange(respond(), audit)
        assert "connection" not in await exchange.request(method, "/api/x", b"abc", **header)
        assert exchange.received == 0
        assert not exchange.sent[-1]["more_body"]

    in_simulated_time(test)


def test_a_connection_whose_body_was_read_stays_open(audit: AuditLog) -> None:
    async def reading(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["more_body"]:
            pass
        await respond()(scope, receive, send)

    async def test() -> None:
        exchange = Exchange(reading, audit)
        assert "connection" not in await exchange.request("POST", "/api/x", b"abc", content_length="3")

    in_simulated_time(test)


def test_at_most_so_much_of_a_body_is_discarded(audit: AuditLog) -> None:
    async def test() -> None:
        exchange = Exchange(respond(), audit)
        await exchange.request("POST", "/api/x", *[b"x" * MEBIBYTE] * 70, content_length="1")
        assert exchange.received == 64 * MEBIBYTE
        assert not exchange.sent[-1]["more_body"]

    in_simulated_time(test)


def test_the_rest_of_a_body_is_not_waited_for_any_longer(audit: AuditLog) -> None:
    async def test() -> None:
        exchange = Exchange(respond(), audit)
        await exchange.request("POST", "/api/x", b"abc", b"", content_length="9")
        assert [each["at"] for each in exchange.sent] == pytest.approx([0, 0, 0, 10])
        assert not exchange.sent[-1]["more_body"]

    in_simulated_time(test)


def test_the_rests_of_so_many_bodies_are_read_at_a_time(audit: AuditLog) -> None:
    async def test() -> None:
        exchange = Exchange(respond(), audit)
        post = {"content_length": "9"}
        tasks = [asyncio.create_task(exchange.request("POST", "/api/x", b"abc", b"", **post)) for _ in range(65)]
        await settle()
        assert [task.done() for task in tasks].count(True) == 1  # it is not drained
        await asyncio.gather(*tasks)
        assert exchange.received == 64 * 3
        await exchange.request("POST", "/api/x", b"abc", **post)
        assert exchange.received == 65 * 3

    in_simulated_time(test)


def test_an_error_of_ours_is_a_problem(audit: AuditLog, read_audit: Callable[[], list[dict[str, Any]]]) -> None:
    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        raise AccessDenied("you may not")

    async def test() -> None:
        exchange = Exchange(refuse, audit)
        await exchange.request("GET", "/api/x")
        assert (exchange.status, json.loads(exchange.body)["detail"]) == (403, "you may not")
        await exchange.request("GET", "/api/x", x_stranger="1")
        assert (exchange.status, json.loads(exchange.body)["detail"]) == (403, "no")
        await exchange.request("GET", "/x", x_stranger="1")  # a page needs no session
        assert json.loads(exchange.body)["detail"] == "you may not"

    in_simulated_time(test)
    assert [(each["status"], each["reason"]) for each in read_audit()] == [(403, "access-denied")] * 3


@pytest.mark.parametrize("started", [False, True])
def test_a_bug_is_a_problem_unless_the_response_has_begun(
    audit: AuditLog, started: bool, read_audit: Callable[[], list[dict[str, Any]]]
) -> None:
    async def fail(scope: Scope, receive: Receive, send: Send) -> None:
        if started:
            await send({"type": "http.response.start", "status": 206})
        raise ValueError("secret")

    async def test() -> None:
        exchange = Exchange(fail, audit)
        headers = await exchange.request("GET", "/api/x")
        assert exchange.status == (206 if started else 500)
        assert b"secret" not in exchange.body
        assert headers["x-content-type-options"] == "nosniff"
        assert len(exchange.sent) == (1 if started else 2)

    in_simulated_time(test)
    assert [each["status"] for each in read_audit()] == [206 if started else 500]


@pytest.mark.parametrize(("media_type", "stages"), [("text/event-stream; a=b", 2), ("text/plain", 1)])
def test_requests_are_audited_and_streams_at_their_begin_too(
    audit: AuditLog, media_type: str, stages: int, read_audit: Callable[[], list[dict[str, Any]]]
) -> None:
    async def test() -> None:
        exchange = Exchange(respond(content_type=media_type), audit)
        await exchange.request("GET", "/api/x")
        await exchange.request("GET", "/healthz")
        await exchange.request("GET", "/readyz")

    in_simulated_time(test)
    lines = read_audit()
    assert [each["stage"] for each in lines] == ["ResponseStarted", "ResponseComplete"][-stages:]
    assert {(each["address"], each["method"], each["status"]) for each in lines} == {("192.0.2.1", "GET", 200)}


def test_the_application_adds_to_the_notes_of_its_request(
    audit: AuditLog, read_audit: Callable[[], list[dict[str, Any]]]
) -> None:
    async def note(scope: Scope, receive: Receive, send: Send) -> None:
        audit_notes(HTTPConnection(scope)).user = "jane"
        await respond()(scope, receive, send)

    in_simulated_time(lambda: Exchange(note, audit).request("GET", "/api/v1/x"))  # type: ignore[arg-type,return-value]
    assert [each["user"] for each in read_audit()] == ["jane"]


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({"sec_fetch_site": "same-origin", "sec_fetch_dest": "script"}, "/api/xapps", 403),
        ({"sec_fetch_site": "same-origin", "sec_fetch_dest": "style"}, "/api/v1/xapps", 403),
        ({"sec_fetch_site": "same-origin", "sec_fetch_dest": "empty"}, "/api/xapps", 200),
        ({"sec_fetch_site": "cross-site", "sec_fetch_dest": "script"}, "/api/xapps", 200),
        ({"sec_fetch_dest": "script"}, "/api/xapps", 200),
        ({"sec_fetch_site": "same-origin", "sec_fetch_dest": "script"}, "/api/v1/docs/x.js", 200),
        ({"sec_fetch_site": "same-origin", "sec_fetch_dest": "script"}, "/assets/x.js", 200),
    ],
)
def test_no_page_runs_a_response_of_the_api(audit: AuditLog, headers: dict[str, str], path: str, status: int) -> None:
    async def test() -> None:
        exchange = Exchange(respond(), audit)
        await exchange.request("GET", path, **headers)
        assert exchange.status == status

    in_simulated_time(test)


@pytest.mark.parametrize(
    ("method", "path", "accept", "served"),
    [
        ("GET", "/xapps/../a", "text/html", "/"),
        ("HEAD", "/xapps/../a", "text/html, */*", "/"),
        ("GET", "/xapps/a", "text/html", "/xapps/a"),
        ("GET", "/xapps/../a", "application/json", None),
        ("GET", "/xapps/../a", None, None),
        ("GET", "/api/../a", "text/html", None),
        ("POST", "/xapps/../a", "text/html", None),
        ("GET", "/xapps/../" + "a" * 8181, "text/html", "/"),
        ("GET", "/xapps/../" + "a" * 8183, "text/html", None),
    ],
)
def test_a_person_who_opens_a_refused_path_gets_the_dashboard(
    audit: AuditLog, method: str, path: str, accept: str | None, served: str | None
) -> None:
    async def test() -> None:
        exchange = Exchange(respond(), audit)
        await exchange.request(method, path, **({} if accept is None else {"accept": accept}))
        assert exchange.scope.get("path") == served
        assert exchange.status == (400 if served is None else 200)

    in_simulated_time(test)


def websocket(*messages: Message, error: Exception | None = None) -> App:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)
        if error is not None:
            raise error

    return app


@pytest.mark.parametrize(
    ("app", "headers", "expected"),
    [
        (websocket({"type": "websocket.accept"}), {}, [("ResponseStarted", 101), ("ResponseComplete", 101)]),
        (
            websocket({"type": "websocket.accept"}, {"type": "websocket.close"}),
            {},
            [("ResponseStarted", 101), ("ResponseComplete", 101)],
        ),
        (websocket({"type": "websocket.close"}), {}, [("ResponseComplete", 403)]),
        (
            websocket({"type": "websocket.http.response.start", "status": 502, "headers": []}),
            {},
            [("ResponseComplete", 502)],
        ),
        (websocket(error=AccessDenied("no")), {}, [("ResponseComplete", 403)]),
        (websocket(), {"origin": "http://evil.example.com"}, [("ResponseComplete", 403)]),
        (websocket(), {"origin": "http://localhost"}, [("ResponseComplete", 101)]),
        (websocket(), {"host": "evil.example.com"}, [("ResponseComplete", 421)]),
        (websocket(), {"x_stranger": "1"}, [("ResponseComplete", 403)]),
    ],
)
def test_websockets_are_checked_and_audited(
    audit: AuditLog,
    app: App,
    headers: dict[str, str],
    expected: list[tuple[str, int]],
    read_audit: Callable[[], list[dict[str, Any]]],
) -> None:
    async def test() -> None:
        exchange = Exchange(app, audit)
        await exchange.request("GET", "/api/v1/xapps/a/b/api/", kind="websocket", **headers)
        refused = expected == [("ResponseComplete", 421)] or "evil" in headers.get("origin", "")
        assert exchange.sessions == ([] if refused else ["/api/xapps/a/b/api/"])
        if expected[-1][1] in {403, 421} and exchange.sent[0]["type"] != "websocket.close":
            assert exchange.sent[0]["type"] == "websocket.http.response.start"
            assert exchange.status == expected[-1][1]

    in_simulated_time(test)
    lines = read_audit()
    assert [(each["stage"], each["status"]) for each in lines] == expected
    assert {each["method"] for each in lines} == {"WEBSOCKET"}
