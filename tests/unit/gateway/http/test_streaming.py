"""Responses of unknown length, in simulated time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from starlette.types import Message, Send

from tests.unit.gateway.http.http_connections import in_simulated_time, now, until
from xapp_operator.errors import AccessDenied, ApiOverloaded, XAppError
from xapp_operator.gateway.http.responses import streaming

CHUNK = 64 * 1024


async def allowed() -> None:
    """Refuse nothing."""


class Client:
    """The other end of a response; it stops reading when `reads` is off, and leaves when it is told."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.reads = True
        self.leaves = asyncio.Event()
        self._more: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive(self) -> Message:
        if self._more:
            return self._more.pop()
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if not self.reads:
            await asyncio.Event().wait()
        self.messages.append(message)

    async def serve(self, response: Callable[..., Awaitable[None]]) -> None:
        await response({"type": "http"}, self.receive, self.send)

    @property
    def is_complete(self) -> bool:
        last = self.messages[-1]
        return last["type"] == "http.response.body" and not last["more_body"]


class Stream(streaming.BaseStreamingResponse):
    """A stream of so many chunks, one a second."""

    def __init__(self, chunks: int, *, whole: bool = False, recheck: streaming.Recheck = allowed) -> None:
        super().__init__(recheck=recheck, headers={"X-A": "b"})
        self.ends_whole_when_refused = whole
        self._chunks = chunks

    async def send_body(self, send: Send) -> None:
        for number in range(self._chunks):
            await send(streaming.body_message(b"%d" % number))
            await asyncio.sleep(1)


def test_a_stream_is_sent_until_its_end() -> None:
    async def test() -> None:
        client = Client()
        await client.serve(Stream(2))
        start, *rest = client.messages
        headers = dict(start["headers"])
        assert (start["type"], start["status"]) == ("http.response.start", 200)
        assert headers[b"cache-control"] == b"no-store"
        assert headers[b"x-accel-buffering"] == b"no"
        assert headers[b"x-a"] == b"b"
        assert b"content-length" not in headers
        assert rest == [
            {"type": "http.response.body", "body": b"0", "more_body": True},
            {"type": "http.response.body", "body": b"1", "more_body": True},
            {"type": "http.response.body", "body": b"", "more_body": False},
        ]

    in_simulated_time(test)


def test_a_stream_ends_when_its_client_leaves() -> None:
    async def test() -> None:
        client = Client()
        asyncio.get_running_loop().call_later(5.5, client.leaves.set)
        await client.serve(Stream(100))
        assert now() == pytest.approx(5.5)
        assert len(client.messages) == 7
        assert not client.is_complete

    in_simulated_time(test)


def test_the_error_of_a_stream_is_raised() -> None:
    class Broken(Stream):
        async def send_body(self, send: Send) -> None:
            raise ValueError("broken")

    async def test() -> None:
        with pytest.raises(ValueError, match="broken"):
            await Client().serve(Broken(1))

    in_simulated_time(test)


@pytest.mark.parametrize("whole", [False, True])
def test_a_stream_ends_when_its_caller_may_not_read_it_any_more(whole: bool) -> None:
    times: list[float] = []

    async def recheck() -> None:
        times.append(now())
        if len(times) == 3:
            raise AccessDenied("no")

    async def test() -> None:
        client = Client()
        await client.serve(Stream(100, whole=whole, recheck=recheck))
        assert times == pytest.approx([15, 30, 45])
        assert client.is_complete is whole

    in_simulated_time(test)


def test_the_end_of_a_refused_stream_does_not_wait_for_a_client_that_reads_nothing() -> None:
    async def test() -> None:
        client = Client()

        async def recheck() -> None:
            client.reads = False
            raise AccessDenied("no")

        await client.serve(Stream(100, whole=True, recheck=recheck))
        assert now() == pytest.approx(15 + 1)
        assert not client.is_complete

    in_simulated_time(test)


@pytest.mark.parametrize(("seconds", "error"), [(9.9, AccessDenied), (11.0, ApiOverloaded)])
def test_a_check_that_takes_too_long_has_failed(seconds: float, error: type[XAppError]) -> None:
    async def recheck() -> None:
        await asyncio.sleep(seconds)
        raise AccessDenied("no")

    async def test() -> None:
        found = await streaming.recheck_until_refused(recheck)
        assert type(found) is error
        assert now() == pytest.approx(15 + min(seconds, 10))

    in_simulated_time(test)


@pytest.mark.parametrize("size", [0, 1, CHUNK, CHUNK + 1])
def test_a_file_is_sent_in_chunks(size: int) -> None:
    async def test() -> None:
        client = Client()
        await client.serve(streaming.ChunkedResponse(b"x" * size, status_code=206))
        start, *chunks, final = client.messages
        assert (start["status"], dict(start["headers"])[b"content-length"]) == (206, str(size).encode())
        assert [len(each["body"]) for each in chunks] == [CHUNK] * (size // CHUNK) + [size % CHUNK] * (size % CHUNK > 0)
        assert all(each["more_body"] for each in chunks)
        assert final == {"type": "http.response.body", "body": b"", "more_body": False}

    in_simulated_time(test)


def test_of_several_works_the_others_end_with_the_first_or_in_time() -> None:
    async def test() -> None:
        first, second = await streaming.run_until_one_ends(asyncio.sleep(1), asyncio.sleep(9))
        assert (first.cancelled(), second.cancelled(), now()) == (False, True, 1)
        first, second = await streaming.run_until_one_ends(asyncio.sleep(7), asyncio.sleep(9), seconds=2)
        assert (first.cancelled(), second.cancelled(), now()) == (True, True, 3)

    in_simulated_time(test)


def test_all_works_end_with_the_one_that_waits_for_them() -> None:
    ended: list[int] = []

    async def work(number: int) -> None:
        try:
            await asyncio.sleep(100)
        finally:
            await asyncio.sleep(number)
            ended.append(number)

    async def test() -> None:
        waiting = asyncio.create_task(streaming.run_until_one_ends(work(1), work(2)))
        await until(lambda: now() > 5)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert ended == [1, 2]

    in_simulated_time(test)
