"""Which connections wait for their clients, and so give way to newer ones; and how slowly a client may read."""

from __future__ import annotations

import asyncio

import pytest

from tests.unit.gateway.http.http_connections import (
    App,
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
from xapp_operator.gateway.http.connections.http_connections import BoundedHttpProtocol
from xapp_operator.gateway.http.connections.reading_time import ReadingTime

STRANGER_SECONDS = 15
CALLER_SECONDS = 300
USER = "X-User: jane"


async def gives_way(server: HttpServer, connection: MemoryTransport) -> bool:
    """Return whether the connection is closed for a newer one; the server has room for one only."""
    await settle()
    newer = server.connect("192.0.2.9")
    await settle()
    if connection.is_closing():
        newer.lose()
        await settle()
        return True
    [(status, headers, _)] = responses(newer.received)
    assert (status, headers["retry-after"]) == (503, "1")
    assert server.refused.pop() == ("192.0.2.9", 503, "too-many-connections")
    assert newer.closed_at is not None
    return False


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"", True),
        (b"GET /ok", True),
        (get("/ok"), True),
        (get("/wait"), False),
        (get("/begun"), False),
        (get("/wait") + b"GET /ok", False),
        (get("/wait") + get("/ok"), False),
        (get("/wait") + post("/body", "Content-Length: 5", body=b"a"), False),
        (post("/body", "Content-Length: 5", body=b"a"), True),
        (post("/body", "Content-Length: 5", USER, body=b"a"), True),
        (post("/wait", "Content-Length: 2", body=b"ab"), False),
        (get("/large"), True),
    ],
)
def test_a_connection_gives_way_while_it_waits_for_its_client(sent: bytes, expected: bool) -> None:
    async def test() -> None:
        server = HttpServer(total=1)
        connection = server.connect()
        if sent:
            connection.send(sent)
        assert await gives_way(server, connection) is expected
        assert server.limits.open == (0 if expected else 1)

    in_simulated_time(test)


def test_a_connection_gives_way_again_when_its_response_is_complete() -> None:
    async def test() -> None:
        server = HttpServer(total=1)
        connection = server.connect()
        connection.send(get("/wait"))
        assert not await gives_way(server, connection)
        server.app.go.set()
        await settle()
        assert responses(connection.received)[0][0] == 200
        assert await gives_way(server, connection)

    in_simulated_time(test)


def test_an_upload_that_the_server_does_not_read_waits_for_the_server() -> None:
    async def test() -> None:
        server = HttpServer(total=1)
        connection = server.connect()
        connection.send(post("/wait", "Content-Length: 200000", body=b"a" * 100_000))
        await settle()
        assert connection.is_reading_paused
        assert not await gives_way(server, connection)

    in_simulated_time(test)


def test_authenticated_uploads_give_way_after_strangers() -> None:
    async def test() -> None:
        server = HttpServer(total=2)
        known, stranger = server.connect(), server.connect()
        known.send(post("/body", "Content-Length: 5", USER, body=b"a"))
        await settle()
        known.send(b"b")  # only now is it known who sends it
        stranger.send(post("/body", "Content-Length: 5", body=b"a"))
        await settle()
        server.connect()
        await settle()
        assert (known.is_closing(), stranger.is_closing()) == (False, True)

    in_simulated_time(test)


def test_unfinished_requests_count_their_bytes() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(b"GET /ok")
        assert server.limits.unfinished_bytes == 7
        connection.send(b" HTTP/1.1\r\nHost: a\r\n\r\n")
        await settle()
        assert server.limits.unfinished_bytes == 0

        head = post("/body", "Content-Length: 4")
        connection.send(head)
        assert server.limits.unfinished_bytes == len(head)
        connection.send(b"a")
        assert server.limits.unfinished_bytes == len(head) + 1
        await settle()
        connection.send(b"b")  # the request has read the bytes before
        assert server.limits.unfinished_bytes == len(head) + 1
        connection.send(b"cd")
        await settle()
        assert responses(connection.received)[1][2] == b'"abcd"'
        assert server.limits.unfinished_bytes == 0

    in_simulated_time(test)


def test_the_body_of_a_known_caller_does_not_count() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(post("/body", "Content-Length: 4", USER, body=b"a"))
        await settle()
        connection.send(b"b")
        assert server.limits.unfinished_bytes == 0

    in_simulated_time(test)


def test_requests_behind_another_count_until_they_begin() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(get("/wait"))
        await settle()
        assert server.limits.unfinished_bytes == 0
        connection.send(get("/ok"))
        connection.send(b"GET")
        await settle()
        assert connection.is_reading_paused
        assert server.limits.unfinished_bytes == len(get("/ok"))
        server.app.go.set()
        await settle()
        assert len(responses(connection.received)) == 2
        assert server.limits.unfinished_bytes == 3

    in_simulated_time(test)


def unread(server: HttpServer, *headers: str) -> MemoryTransport:
    """Open a connection whose client asks for much and reads nothing."""
    connection = server.connect()
    connection.client_reads = False
    connection.send(get("/large", *headers))
    return connection


@pytest.mark.parametrize(("headers", "seconds"), [([], STRANGER_SECONDS), ([USER], CALLER_SECONDS)])
def test_a_response_that_nobody_reads_is_aborted(headers: list[str], seconds: int) -> None:
    async def test() -> None:
        server = HttpServer()
        connection = unread(server, *headers)
        await settle()
        assert server.limits.unsent_bytes > App.LARGE
        assert await until(lambda: connection.closed_at is not None) == seconds
        assert connection.aborted
        assert (server.limits.unsent_bytes, server.limits.open) == (0, 0)

    in_simulated_time(test)


@pytest.mark.parametrize(("count", "goes_on"), [(16 * 1024, True), (16 * 1024 - 1, False)])
def test_a_client_that_reads_enough_in_each_period_may_read_on(count: int, goes_on: bool) -> None:
    async def test() -> None:
        server = HttpServer()
        connection = unread(server)
        await asyncio.sleep(1)
        connection.read(count)
        await asyncio.sleep(STRANGER_SECONDS)
        assert connection.aborted is not goes_on
        await asyncio.sleep(STRANGER_SECONDS)
        assert connection.aborted

    in_simulated_time(test)


def test_a_client_that_has_read_everything_has_its_connection_on() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = unread(server)
        await asyncio.sleep(STRANGER_SECONDS - 1)
        connection.read()
        assert server.limits.unsent_bytes == 0
        await asyncio.sleep(STRANGER_SECONDS)
        assert connection.closed_at is None
        connection.send(get("/ok"))
        await settle()
        connection.read()
        assert [len(body) for _, _, body in responses(connection.received)] == [App.LARGE, 2]

    in_simulated_time(test)


def test_an_unread_response_gives_way() -> None:
    async def test() -> None:
        server = HttpServer(total=1)
        connection = unread(server)
        assert await gives_way(server, connection)
        assert connection.aborted

    in_simulated_time(test)


def test_a_request_begins_when_the_response_before_it_is_read() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = unread(server)
        connection.send(get("/ok"))
        await settle()
        assert server.app.paths == ["/large"]
        assert server.limits.unfinished_bytes == len(get("/ok"))
        connection.read()
        await settle()
        assert server.app.paths == ["/large", "/ok"]
        connection.read()
        assert len(responses(connection.received)) == 2
        connection.send(b"G")
        assert server.limits.unfinished_bytes == 1

    in_simulated_time(test)


def test_a_request_that_has_not_begun_is_forgotten_with_its_connection() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = unread(server)
        connection.send(get("/ok"))
        await settle()
        connection.lose()
        await settle()
        assert server.app.paths == ["/large"]
        assert server.limits.open == 0

    in_simulated_time(test)


def test_requests_behind_one_that_runs_on_are_forgotten_with_their_connection() -> None:
    """Nothing counts their bytes any more."""

    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        protocol = connection.get_protocol()
        assert isinstance(protocol, BoundedHttpProtocol)
        connection.send(get("/wait"))
        connection.send(get("/ok"))
        await settle()
        assert len(protocol.pipeline) == 1
        connection.lose()
        await settle()
        assert server.limits.unfinished_bytes == 0
        assert len(protocol.pipeline) == 0
        server.app.go.set()
        await settle()
        assert server.app.paths == ["/wait"]

    in_simulated_time(test)


def test_a_body_that_was_not_read_is_forgotten_with_its_response() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        protocol = connection.get_protocol()
        assert isinstance(protocol, BoundedHttpProtocol)
        connection.send(post("/ok", "Content-Length: 4", body=b"abcd"))
        assert protocol.cycle.body == b"abcd"
        await settle()
        assert len(responses(connection.received)) == 1
        assert protocol.cycle.body == b""

    in_simulated_time(test)


def test_a_request_does_not_begin_when_the_client_has_sent_its_end_before() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = unread(server)
        connection.send(get("/ok"))
        await settle()
        connection.close()  # as the loop does at the end of what the client sends; the client may read on
        connection.read()
        await settle()
        assert server.app.paths == ["/large"]
        assert server.limits.open == 0

    in_simulated_time(test)


def test_a_refusal_that_nobody_reads_is_aborted_too() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.client_reads = False
        connection.send(b"\x00\r\n\r\n")
        await settle()
        assert connection.closed_at is None
        assert server.limits.unsent_bytes > 0
        assert await until(lambda: connection.closed_at is not None) == STRANGER_SECONDS
        assert connection.aborted

    in_simulated_time(test)


def test_an_idle_connection_whose_client_does_not_read_is_aborted() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.client_reads = False
        connection.send(get("/ok"))  # too short to count as unread
        await asyncio.sleep(70)
        assert server.limits.unsent_bytes == 0
        await asyncio.sleep(6)
        assert connection.is_closing()
        assert server.limits.unsent_bytes > 0
        assert await until(lambda: connection.closed_at is not None) == pytest.approx(STRANGER_SECONDS - 1)
        assert connection.aborted

    in_simulated_time(test)


def test_an_upload_behind_a_running_request_does_not_give_way() -> None:
    async def test() -> None:
        server = HttpServer(total=1)
        connection = server.connect()
        connection.send(get("/mute") + post("/body", "Content-Length: 5", body=b"a"))
        await settle()
        connection.send(b"b")
        assert not await gives_way(server, connection)

    in_simulated_time(test)


def test_the_bytes_of_requests_are_forgotten_with_the_last_of_them() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(get("/wait") + get("/ok"))
        await settle()
        assert server.limits.unfinished_bytes == len(get("/wait")) + len(get("/ok"))
        server.app.go.set()
        await settle()
        assert server.limits.unfinished_bytes == 0

    in_simulated_time(test)


def test_a_response_without_an_end_that_nobody_reads_is_aborted() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.client_reads = False
        connection.send(get("/endless"))
        assert await until(lambda: connection.closed_at is not None) == STRANGER_SECONDS
        assert connection.aborted

    in_simulated_time(test)


@pytest.mark.parametrize("unread", [4096, 4097])
def test_few_unsent_bytes_count_as_read(unread: int) -> None:
    async def test() -> None:
        server = HttpServer()
        sample = server.connect()
        sample.send(get("/size/4000"))
        await settle()
        connection = server.connect()
        connection.client_reads = False
        connection.send(get(f"/size/{4000 + unread - len(sample.received)}"))
        await settle()
        assert connection.get_write_buffer_size() == unread
        assert server.limits.unsent_bytes == (unread if unread > 4096 else 0)

    in_simulated_time(test)


def test_a_request_waits_until_the_last_byte_before_it_is_read() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = unread(server)
        connection.send(get("/ok"))
        await settle()
        connection.read(connection.get_write_buffer_size() - 1)
        await settle()
        assert server.app.paths == ["/large"]
        connection.read(1)
        await settle()
        assert server.app.paths == ["/large", "/ok"]

    in_simulated_time(test)


@pytest.mark.parametrize("sent", [b"", b"GET /ok", get("/large"), get("/endless")])
def test_nothing_happens_to_a_connection_that_is_lost(sent: bytes) -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.client_reads = False
        if sent:
            connection.send(sent)
        await asyncio.sleep(1)
        connection.lose()
        await asyncio.sleep(100)
        assert (connection.aborted, connection.closed_at) == (False, 1)

    in_simulated_time(test)


def test_a_new_period_begins_with_another_caller_only() -> None:
    async def test() -> None:
        aborted: list[float] = []
        server = HttpServer()
        time = ReadingTime(server.connect(), lambda: aborted.append(now()))
        time.limit(is_authenticated=False)
        await asyncio.sleep(10)
        time.limit(is_authenticated=False)  # the period goes on
        await asyncio.sleep(10)
        assert aborted == [STRANGER_SECONDS]

        time.limit(is_authenticated=False)
        await asyncio.sleep(10)
        time.limit(is_authenticated=True)
        await asyncio.sleep(CALLER_SECONDS - 1)
        assert len(aborted) == 1
        time.end()
        time.limit(is_authenticated=True)
        await asyncio.sleep(CALLER_SECONDS - 1)
        assert len(aborted) == 1
        await asyncio.sleep(2)
        assert aborted[1] == pytest.approx(30 + 2 * CALLER_SECONDS - 1)

    in_simulated_time(test)


def test_what_follows_a_refused_part_is_not_looked_at() -> None:
    async def test() -> None:
        server = HttpServer()
        server.connect().send(b"no HTTP\r\n\r\n" * 2000)
        await settle()
        assert [reason for _, _, reason in server.refused] == ["not-http"]

    in_simulated_time(test)


def test_a_request_ends_with_its_connection_before_the_client_has_read_everything() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.client_reads = False
        connection.send(get("/size/7") + get("/mute"))
        await settle()
        connection.send(b"no HTTP\r\n\r\n")
        await settle()
        assert connection.closed_at is None
        assert server.app.disconnected == ["/mute"]

    in_simulated_time(test)
