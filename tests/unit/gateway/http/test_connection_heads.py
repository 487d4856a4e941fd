"""What one connection may send outside of bodies, and what it is told when that is too much or not HTTP."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.unit.gateway.http.http_connections import (
    HttpServer,
    MemoryTransport,
    get,
    in_simulated_time,
    now,
    post,
    responses,
    settle,
    until,
)

ADDRESS = "192.0.2.1"
HEAD_MAX_BYTES = 32 * 1024
HEAD_SECONDS = 5


def head_of(size: int) -> bytes:
    """Return a request whose head has so many bytes."""
    begin = get("/ok", "X-A: ")
    return begin.replace(b"X-A: ", b"X-A: " + b"a" * (size - len(begin)))


def only_refusal(server: HttpServer, connection: MemoryTransport) -> tuple[int, str, str]:
    """Return status, reason and detail of the refusal that closed the connection."""
    [(status, headers, body)] = responses(connection.received)
    [(address, noted, reason)] = server.refused
    assert (address, noted) == (ADDRESS, status)
    assert connection.closed_at is not None
    assert headers["connection"] == "close"
    problem = json.loads(body)
    assert problem["status"] == status
    return status, reason, problem["detail"]


def test_what_is_not_http_is_answered_with_a_problem() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(b"\x16\x03\x01 hello\r\n\r\n")
        await settle()
        [(status, headers, body)] = responses(connection.received)
        assert connection.received.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert status == 400
        assert headers == {
            "content-type": "application/problem+json",
            "content-length": str(len(body)),
            "connection": "close",
            "cache-control": "no-store",
        }
        assert json.loads(body) == {
            "type": "about:blank",
            "title": "Bad Request",
            "status": 400,
            "detail": "this is not a valid HTTP/1.1 request: correct its request line and headers",
            "instance": None,
            "errors": [],
        }
        assert server.refused == [(ADDRESS, 400, "not-http")]
        assert connection.closed_at == 0
        assert server.limits.open == 0

    in_simulated_time(test)


@pytest.mark.parametrize("piece", [HEAD_MAX_BYTES, 4096, 100])
def test_a_head_of_the_greatest_size_is_served(piece: int) -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        head = head_of(HEAD_MAX_BYTES)
        for start in range(0, len(head), piece):
            connection.send(head[start : start + piece])
        await settle()
        assert [status for status, _, _ in responses(connection.received)] == [200]
        assert server.refused == []

    in_simulated_time(test)


@pytest.mark.parametrize("piece", [2 * HEAD_MAX_BYTES, 100])
def test_a_larger_head_is_refused(piece: int) -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        head = head_of(HEAD_MAX_BYTES + 300)
        for start in range(0, len(head), piece):
            connection.send(head[start : start + piece])
        await settle()
        status, reason, detail = only_refusal(server, connection)
        assert (status, reason) == (431, "head-too-large")
        assert "32,768" in detail
        assert server.app.paths == []

    in_simulated_time(test)


def test_a_head_is_refused_before_it_is_whole() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(b"GET /ok HTTP/1.1\r\nX-A: ")
        connection.send(b"a" * (HEAD_MAX_BYTES - 23))
        await settle()
        assert server.refused == []
        assert server.limits.unfinished_bytes == HEAD_MAX_BYTES
        connection.send(b"a")
        await settle()
        assert only_refusal(server, connection)[:2] == (431, "head-too-large")
        assert server.limits.unfinished_bytes == 0

    in_simulated_time(test)


def test_the_bytes_of_many_heads_count_apart() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        for _ in range(3):
            connection.send(head_of(HEAD_MAX_BYTES - 10))
            await settle()
        assert [status for status, _, _ in responses(connection.received)] == [200, 200, 200]

    in_simulated_time(test)


@pytest.mark.parametrize(("number", "status"), [(128, 200), (129, 431)])
def test_the_number_of_headers_is_bounded(number: int, status: int) -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(get("/ok", *["a: b"] * (number - 1)))
        await settle()
        assert [each for each, _, _ in responses(connection.received)] == [status]
        assert [reason for _, _, reason in server.refused] == ([] if status == 200 else ["head-too-large"])

    in_simulated_time(test)


@pytest.mark.parametrize(
    ("coding", "accepted"),
    [
        ("chunked", True),
        (" Chunked ", True),
        ("gzip, chunked", False),
    ],
)
def test_only_chunked_bodies_are_read(coding: str, accepted: bool) -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(post("/body", f"Transfer-Encoding: {coding}", body=b"2\r\nhi\r\n0\r\n\r\n"))
        await settle()
        if accepted:
            assert [body for _, _, body in responses(connection.received)] == [b'"hi"']
            assert server.refused == []
        else:
            status, reason, detail = only_refusal(server, connection)
            assert (status, reason) == (400, "not-http")
            assert "Transfer-Encoding" in detail

    in_simulated_time(test)


def test_a_trailer_is_no_header() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(post("/body", "Transfer-Encoding: chunked", body=b"1\r\na\r\n0\r\nX-User: jane\r\n\r\n"))
        await settle()
        assert [body for _, _, body in responses(connection.received)] == [b'"a"']
        assert "x-user" not in server.app.headers[0]
        connection.send(get("/ok", "X-User: joe"))
        await settle()
        assert server.app.headers[1]["x-user"] == "joe"

    in_simulated_time(test)


def test_trailers_and_extensions_of_chunks_are_bounded() -> None:
    async def test() -> None:
        for begin, piece, status in (
            (b"0\r\n", b"x: y\r\n" * 16, 431),
            (b"1;" + b"a" * HEAD_MAX_BYTES, b"a" * 4096, 431),
        ):
            server = HttpServer()
            connection = server.connect()
            connection.send(post("/body", "Transfer-Encoding: chunked", body=begin))
            sent = 0
            while not connection.is_closing() and sent < 4 * HEAD_MAX_BYTES:
                connection.send(piece)
                sent += len(piece)
                await settle()
            assert [each for each, _, _ in responses(connection.received)] == [status]
            assert [reason for _, _, reason in server.refused] == ["head-too-large"]
            assert sent <= HEAD_MAX_BYTES + 4096

    in_simulated_time(test)


def test_the_extension_of_a_chunk_is_bounded_also_if_its_chunk_comes_with_it() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(post("/body", "Transfer-Encoding: chunked"))
        for _ in range(8):
            connection.send(b"1;" + b"a" * 4000 + b"\r\nx\r\n")
        await settle()
        assert server.refused == []  # each chunk counts anew
        connection.send(b"1;" + b"a" * (HEAD_MAX_BYTES - 2))
        await settle()
        assert server.refused == []
        connection.send(b"a\r\nx\r\n")
        await settle()
        assert only_refusal(server, connection)[:2] == (431, "head-too-large")

    in_simulated_time(test)


def test_the_extension_of_a_chunk_exceeds_its_bound_by_4_kib_at_most() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(post("/body", "Transfer-Encoding: chunked"))
        begin = b"1\r\nx\r\n1;"
        connection.send(begin + b"a" * (HEAD_MAX_BYTES + 4096 - len(begin)) + b"a")
        await settle()
        assert only_refusal(server, connection)[:2] == (431, "head-too-large")

    in_simulated_time(test)


def test_bodies_have_no_bound_here() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        length = 10 * HEAD_MAX_BYTES
        connection.send(post("/body", f"Content-Length: {length}", body=b"x" * length))
        await settle()
        [(status, _, body)] = responses(connection.received)
        assert (status, len(body)) == (200, length + 2)

    in_simulated_time(test)


@pytest.mark.parametrize("begin", [b"", b"\r\n", b"GET /o"])
def test_a_connection_without_a_whole_head_is_closed_in_time(begin: bytes) -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        if begin:
            await asyncio.sleep(HEAD_SECONDS - 1)
            connection.send(begin)
        await until(lambda: connection.closed_at is not None)
        assert connection.closed_at == HEAD_SECONDS
        assert connection.received == b""
        assert server.limits.open == 0

    in_simulated_time(test)


def test_after_a_response_the_time_of_a_head_begins_with_its_first_byte() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(get("/ok"))
        await asyncio.sleep(50)
        connection.send(b"GET")
        await asyncio.sleep(HEAD_SECONDS - 1)
        connection.send(b" /ok")
        await until(lambda: connection.closed_at is not None)
        assert connection.closed_at == 50 + HEAD_SECONDS
        assert len(responses(connection.received)) == 1

    in_simulated_time(test)


def test_line_breaks_do_not_keep_a_connection_open() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(get("/ok"))
        await asyncio.sleep(50)
        connection.send(b"\r\n")
        await asyncio.sleep(3)
        connection.send(b"\r\n")
        await until(lambda: connection.closed_at is not None)
        assert connection.closed_at == 50 + HEAD_SECONDS

    in_simulated_time(test)


def test_an_idle_connection_is_closed_after_its_keep_alive_time() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        await asyncio.sleep(2)
        connection.send(get("/ok"))
        await until(lambda: connection.closed_at is not None)
        assert connection.closed_at == 2 + 75
        assert server.limits.open == 0

    in_simulated_time(test)


def test_the_time_of_a_head_does_not_bound_a_body_or_a_response() -> None:
    async def test() -> None:
        server = HttpServer()
        slow, waiting = server.connect(), server.connect()
        slow.send(post("/body", "Content-Length: 2", body=b"a"))
        waiting.send(get("/wait"))
        await asyncio.sleep(60)
        slow.send(b"b")
        server.app.go.set()
        await settle()
        assert responses(slow.received)[0][2] == b'"ab"'
        assert responses(waiting.received)[0][2] == b"ok"

    in_simulated_time(test)


def test_the_head_of_a_pipelined_request_may_wait_for_the_response_before_it() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(get("/wait") + b"GET /o")
        await asyncio.sleep(12)
        assert not connection.is_closing()
        server.app.go.set()
        await until(lambda: connection.closed_at is not None)
        assert connection.closed_at == 15  # the third period of the head
        assert len(responses(connection.received)) == 1

    in_simulated_time(test)


def test_at_most_sixteen_requests_wait_for_an_earlier_one() -> None:
    async def test() -> None:
        for waiting, refused in ((16, []), (17, [(ADDRESS, 0, "not-http")])):
            server = HttpServer()
            connection = server.connect()
            connection.send(get("/wait") + get("/ok") * waiting)
            await settle()
            assert server.refused == refused
            server.app.go.set()
            await settle()
            assert len(responses(connection.received)) == (0 if refused else 1 + waiting)
            assert (connection.closed_at is None) == (not refused)
            assert now() == 0

    in_simulated_time(test)


def test_requests_of_one_connection_are_answered_in_their_order() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(get("/wait") + post("/body", "Content-Length: 1", body=b"a") + get("/ok"))
        await settle()
        assert server.app.paths == ["/wait"]
        assert connection.received == b""
        server.app.go.set()
        await settle()
        assert [body for _, _, body in responses(connection.received)] == [b"ok", b'"a"', b"ok"]

    in_simulated_time(test)


def test_after_a_refusal_behind_a_running_request_nothing_is_answered() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(get("/wait"))
        await settle()
        connection.send(b"\x00\x01\r\n\r\n")
        await settle()
        server.app.go.set()
        await settle()
        assert (connection.received, server.refused) == (b"", [(ADDRESS, 0, "not-http")])
        assert connection.closed_at == 0

    in_simulated_time(test)


@pytest.mark.parametrize(("path", "status"), [("/body", 400), ("/begun", 0)])
def test_a_body_that_is_not_http_is_refused_unless_its_response_has_begun(path: str, status: int) -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(post(path, "Transfer-Encoding: chunked"))
        await settle()
        begun = connection.received
        connection.send(b"no chunk\r\n")
        await settle()
        assert server.refused == [(ADDRESS, status, "not-http")]
        answer = connection.received.removeprefix(begun)
        assert answer.startswith(b"HTTP/1.1 400 ") if status else answer == b""
        assert server.app.disconnected == (["/body"] if status else [])

    in_simulated_time(test)


def test_a_client_that_leaves_ends_its_request() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(get("/mute") + get("/ok"))
        await settle()
        connection.lose()
        await settle()
        assert server.app.disconnected == ["/mute"]
        assert server.app.paths == ["/mute"]
        assert server.limits.open == 0

    in_simulated_time(test)


def test_an_upgrade_to_something_else_is_ignored() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(get("/ok", "Connection: Upgrade", "Upgrade: h2c"))
        await settle()
        assert [status for status, _, _ in responses(connection.received)] == [200]
        await asyncio.sleep(HEAD_SECONDS + 1)
        assert connection.closed_at is None

    in_simulated_time(test)


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 431)])
def test_the_path_and_the_headers_of_a_head_are_bounded_exactly(more: int, status: int) -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        others = sum(len(each) for each in ("/ok", "HostX-A", "localhost")) + 2 * 4
        connection.send(get("/ok", "X-A: " + "a" * (HEAD_MAX_BYTES - others + more)))
        await settle()
        assert [each for each, _, _ in responses(connection.received)] == [status]

    in_simulated_time(test)


def test_a_head_does_not_count_towards_the_chunks_of_its_body() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(post("/body", "Transfer-Encoding: chunked", "X-A: " + "a" * (HEAD_MAX_BYTES - 200)))
        connection.send(b"1;" + b"a" * (HEAD_MAX_BYTES - 2))
        await settle()
        assert server.refused == []
        connection.send(b"a")
        await settle()
        assert only_refusal(server, connection)[:2] == (431, "head-too-large")

    in_simulated_time(test)


def test_a_body_behind_a_running_request_that_is_not_http_is_not_answered() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(get("/mute") + post("/body", "Transfer-Encoding: chunked"))
        await settle()
        connection.send(b"no chunk\r\n")
        await settle()
        assert (connection.received, server.refused) == (b"", [(ADDRESS, 0, "not-http")])
        assert server.app.disconnected == ["/mute"]

    in_simulated_time(test)


def test_trailers_do_not_count_towards_the_next_head() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        trailer = b"0\r\nX-A: " + b"a" * (HEAD_MAX_BYTES - 100) + b"\r\n\r\n"
        connection.send(post("/body", "Transfer-Encoding: chunked", body=trailer))
        await settle()
        connection.send(b"GET /ok HTTP/1.1\r\n")
        await settle()
        connection.send(head_of(1000).partition(b"\r\n")[2])
        await settle()
        assert [status for status, _, _ in responses(connection.received)] == [200, 200]

    in_simulated_time(test)
