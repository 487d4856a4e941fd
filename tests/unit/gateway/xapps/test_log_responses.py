"""Log responses, from a server on loopback that ends, breaks and continues logs like a real one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise

import pytest
from aiohttp import web
from starlette.types import Message

from tests.unit.gateway.http.http_connections import in_simulated_time
from tests.unit.kube.conftest import Connect, connect
from xapp_operator.errors import AccessDenied, GatewayNotFound
from xapp_operator.gateway.http.responses import streaming
from xapp_operator.gateway.xapps.logs import log_responses
from xapp_operator.gateway.xapps.logs.log_responses import (
    LOG_TEXT_MAX_BYTES,
    EventLogResponse,
    LogPosition,
    LogResponse,
    TextLogResponse,
    open_log,
)
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.request_encoding import PodLogOptions

__all__ = ["connect"]

SECONDS = 60.0
HELD_BYTES_MAX = 16 * 1024 * 1024
"""What the buffers of two sockets may hold."""
LINE = b"2026-11-20T08:00:00.1Z one\n"
Write = Callable[[web.Request, web.StreamResponse], Awaitable[None]]


class Client:
    """The client of a response: the received bytes, and when it disconnects."""

    def __init__(self) -> None:
        self.body = b""
        self.ended = False
        self.came = asyncio.Event()
        self.leaves = asyncio.Event()

    async def receive(self) -> Message:
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.body += message.get("body", b"")
        self.ended = message["type"] == "http.response.body" and not message["more_body"]
        if self.body:
            self.came.set()

    async def take(self, answer: LogResponse) -> None:
        async with asyncio.timeout(SECONDS):
            await answer({"type": "http"}, self.receive, self.send)


async def serve(connect: Connect, write: Write, *, gone: asyncio.Event | None = None) -> KubeClient:
    """Connect to a server whose logs are written by `write`; `gone` is set when the reader has disconnected."""

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            await write(request, response)
        except (ConnectionError, asyncio.CancelledError):
            if gone is not None:
                gone.set()
            raise
        return response

    return await connect(handler)


async def log(client: KubeClient, stack: AsyncExitStack, *, follow: bool) -> AsyncGenerator[bytes]:
    options = PodLogOptions(container="main", follow=follow)
    return await open_log(client, "web", options, namespace="ran", stack=stack)


@asynccontextmanager
async def events(
    client: KubeClient, *, allowed: bool = True, after: LogPosition | None = None
) -> AsyncIterator[EventLogResponse]:
    async def recheck() -> None:
        if not allowed:
            raise AccessDenied("no longer")

    async with AsyncExitStack() as stack:
        stream = await log(client, stack, follow=True)
        yield EventLogResponse(
            stream, stack.pop_all(), headers={}, after=after, recheck=recheck, is_closing=lambda: False
        )


async def always_allowed() -> None:
    return


async def test_text_is_forwarded_unchanged(connect: Connect) -> None:
    async def write(request: web.Request, response: web.StreamResponse) -> None:
        assert request.query["container"] == "main"
        for _ in range(1000):
            await response.write(b"\xff line\n")

    client, reader = await serve(connect, write), Client()
    async with AsyncExitStack() as stack:
        stream = await log(client, stack, follow=False)
        await reader.take(TextLogResponse(stream, stack.pop_all(), headers={}, recheck=always_allowed))
    assert (reader.body, reader.ended) == (b"\xff line\n" * 1000, True)


async def test_an_event_reports_the_end_of_a_container(connect: Connect) -> None:
    async def write(_request: web.Request, response: web.StreamResponse) -> None:
        await response.write(LINE + LINE[:-1])

    reader = Client()
    async with events(await serve(connect, write)) as answer:
        await reader.take(answer)
    assert reader.ended
    assert reader.body.count(b"data: one") == 2
    assert b"event: end\n" in reader.body.split(b"\n\n")[-2] + b"\n"


async def test_a_broken_connection_sends_no_end_event(connect: Connect) -> None:
    async def write(request: web.Request, response: web.StreamResponse) -> None:
        await response.write(LINE)
        assert request.transport is not None
        request.transport.abort()

    reader = Client()
    async with events(await serve(connect, write)) as answer:
        await reader.take(answer)
    assert reader.ended
    assert b"event: end" not in reader.body


async def test_a_read_error_of_the_kubelet_is_not_the_end_of_the_log(connect: Connect) -> None:
    async def write(_request: web.Request, response: web.StreamResponse) -> None:
        await response.write(LINE + b"failed to create fsnotify watcher: too many open files")

    reader = Client()
    async with events(await serve(connect, write)) as answer:
        await reader.take(answer)
    assert reader.ended
    assert reader.body.endswith(b"data: failed to create fsnotify watcher: too many open files\n\n")


async def test_a_text_of_the_greatest_size_is_complete_and_a_larger_one_says_that_it_is_cut(connect: Connect) -> None:
    sizes = iter((LOG_TEXT_MAX_BYTES, LOG_TEXT_MAX_BYTES + 1))

    async def write(_request: web.Request, response: web.StreamResponse) -> None:
        await response.write(b"x" * next(sizes))

    client, whole, cut = await serve(connect, write), Client(), Client()
    for reader in (whole, cut):
        async with AsyncExitStack() as stack:
            stream = await log(client, stack, follow=False)
            await reader.take(TextLogResponse(stream, stack.pop_all(), headers={}, recheck=always_allowed))
    assert len(whole.body) == LOG_TEXT_MAX_BYTES
    text, mark = cut.body[:LOG_TEXT_MAX_BYTES], cut.body[LOG_TEXT_MAX_BYTES:]
    assert text == whole.body
    assert mark.startswith(b"\n--- This answer is cut at 10 MiB: ")


async def test_a_followed_log_ends_at_its_limit_and_says_how_to_go_on(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_bytes = 2 * 1024 * 1024
    monkeypatch.setattr(log_responses, "LOG_EVENTS_MAX_BYTES", limit_bytes)
    line = b"2026-11-20T08:00:00.1Z " + b"x" * 1_000 + b"\n"

    async def write(_request: web.Request, response: web.StreamResponse) -> None:
        while True:
            await response.write(line)

    reader = Client()
    async with events(await serve(connect, write)) as answer:
        await reader.take(answer)
    assert reader.ended
    assert limit_bytes <= len(reader.body) < 2 * limit_bytes
    *_, last, limit, end = reader.body.split(b"\n\n")
    last_id = last.splitlines()[0].removeprefix(b"id: ").decode()
    assert limit.decode() == (
        f"id: {last_id}\nevent: limit\ndata: 2 MiB of this log are sent, and one answer has no more: "
        f"ask again with Last-Event-ID {last_id}, or with since=2026-11-20T08:00:00Z"
    )
    assert end == b""


async def test_a_client_that_does_not_read_holds_the_kubelet_back(connect: Connect) -> None:
    written = 0
    is_held_back = asyncio.Event()

    async def write(_request: web.Request, response: web.StreamResponse) -> None:
        nonlocal written
        while written < HELD_BYTES_MAX:
            waiting = asyncio.ensure_future(response.write(LINE * 1_000))
            await asyncio.wait({waiting}, timeout=1)
            if not waiting.done():
                break
            written += 1_000 * len(LINE)
        is_held_back.set()

    async def never(_message: Message) -> None:
        await asyncio.Event().wait()

    reader = Client()
    async with events(await serve(connect, write)) as answer:
        taking = asyncio.create_task(answer({"type": "http"}, reader.receive, never))
        await asyncio.wait_for(is_held_back.wait(), SECONDS)
        reader.leaves.set()
        await taking
    assert written < HELD_BYTES_MAX


async def test_reading_ends_when_the_client_disconnects(connect: Connect) -> None:
    gone = asyncio.Event()

    async def write(_request: web.Request, response: web.StreamResponse) -> None:
        while True:
            await response.write(LINE)
            await asyncio.sleep(0)

    reader = Client()
    async with events(await serve(connect, write, gone=gone)) as answer:
        taking = asyncio.create_task(reader.take(answer))
        await asyncio.wait_for(reader.came.wait(), SECONDS)
        reader.leaves.set()
        await taking
    await asyncio.wait_for(gone.wait(), SECONDS)
    assert not reader.ended


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_responses, "HEARTBEAT_SECONDS", 0.05)
    monkeypatch.setattr(streaming, "RECHECK_SECONDS", 0.05)
    monkeypatch.setattr(log_responses, "POLL_SECONDS", 0.01)


async def silence(_request: web.Request, _response: web.StreamResponse) -> None:
    await asyncio.Event().wait()


async def test_a_quiet_log_stream_sends_comments(connect: Connect, impatient: None) -> None:
    reader = Client()
    async with events(await serve(connect, silence)) as answer:
        taking = asyncio.create_task(reader.take(answer))
        async with asyncio.timeout(SECONDS):
            while reader.body.count(b":\n\n") < 2:
                reader.came.clear()
                await reader.came.wait()
        reader.leaves.set()
        await taking
    assert not reader.ended


def test_a_comment_is_sent_after_15_seconds_without_data() -> None:
    async def test() -> None:
        async def without_lines() -> AsyncGenerator[bytes]:
            await asyncio.Event().wait()
            yield b""

        times: list[float] = []
        reader, clock = Client(), asyncio.get_running_loop().time

        async def send(message: Message) -> None:
            if message.get("body") == b":\n\n":
                times.append(clock())
            if len(times) == 2:
                reader.leaves.set()

        answer = EventLogResponse(
            without_lines(), AsyncExitStack(), headers={}, after=None, recheck=always_allowed, is_closing=lambda: False
        )
        started = clock()
        await answer({"type": "http"}, reader.receive, send)
        waited = [time - before for before, time in pairwise([started, *times])]
        assert waited == pytest.approx([15.0, 15.0])

    in_simulated_time(test)


async def test_a_log_stream_ends_when_permission_is_withdrawn(connect: Connect, impatient: None) -> None:
    reader = Client()
    async with events(await serve(connect, silence), allowed=False) as answer:
        await reader.take(answer)
    assert reader.ended
    assert b"event: end" not in reader.body


async def test_a_missing_log_is_refused_with_the_message_of_the_server(connect: Connect) -> None:
    async def handler(_request: web.Request) -> web.StreamResponse:
        message = 'container "main" in pod "web" is waiting to start: ContainerCreating'
        return web.json_response({"kind": "Status", "code": 400, "message": message}, status=400)

    client = await connect(handler)
    async with AsyncExitStack() as stack:
        with pytest.raises(GatewayNotFound, match="waiting to start"):
            await log(client, stack, follow=True)
