"""Request bodies: their size, their speed, and what is wrong with them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from tests.support.fakes.clock import FakeClock, FakeTimeLoop
from tests.unit.gateway.http.requests import body_messages, make_request
from xapp_operator.errors import ContentTooLarge, FormInvalid, MalformedRequest
from xapp_operator.gateway.http.requests.bodies import (
    decode_json_object,
    iter_body,
    read_body,
    read_json_object,
)

BODY_MIN_BYTES = 10 * 1024
BODY_MIN_SECONDS = 10.0


async def test_a_body_is_read_up_to_its_maximum() -> None:
    chunks = (b"ab", b"", b"cd")
    assert await read_body(make_request(messages=body_messages(*chunks)), what="body", max_bytes=4) == b"abcd"
    with pytest.raises(ContentTooLarge, match="body has more than 3 bytes, which is the maximum here: send less"):
        await read_body(make_request(messages=body_messages(*chunks)), what="body", max_bytes=3)
    request = make_request(messages=body_messages(b'{"a":', b"1}"))
    assert await read_json_object(request, what="body") == {"a": 1}


@pytest.mark.parametrize(("size", "accepted"), [(65_536, True), (65_537, False)])
async def test_a_json_object_has_a_maximum_of_its_own(size: int, accepted: bool) -> None:
    request = make_request(messages=body_messages(b'{"a":1}'.ljust(size)))
    if accepted:
        assert await read_json_object(request, what="body") == {"a": 1}
        return
    with pytest.raises(ContentTooLarge, match="body has more than 65,536 bytes, which is the maximum here: send less"):
        await read_json_object(request, what="body")


async def test_a_client_that_goes_is_noticed() -> None:
    messages: list[Message] = [body_messages(b"a", b"")[0], {"type": "http.disconnect"}]
    with pytest.raises(ClientDisconnect):
        await read_body(make_request(messages=messages), what="body", max_bytes=10)
    no_fields: list[Message] = [{"type": "http.request"}]
    assert await read_body(make_request(messages=no_fields), what="body", max_bytes=10) == b""


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        (b"", MalformedRequest, "body is empty: send a JSON object"),
        (b" \n", MalformedRequest, "body is empty"),
        (b"\xef\xbb\xbf ", MalformedRequest, "body is empty"),
        (b'{"a":\n x}', MalformedRequest, "body is not JSON: line 2, column 2: "),
        (b'{"a": 1, "a": 2}', FormInvalid, "a"),
        (b"[]", FormInvalid, "as in {…}, not a list"),
        (b'"x"', FormInvalid, "not a text"),
        (b"1", FormInvalid, "not a number"),
        (b"1.5", FormInvalid, "not a number"),
        (b"true", FormInvalid, "not a boolean"),
        (b"null", FormInvalid, "not a null"),
    ],
)
def test_only_a_json_object_is_accepted(data: bytes, error: type[Exception], says: str) -> None:
    with pytest.raises(error) as raised:
        decode_json_object(data, what="body")
    assert says in str(raised.value)


def test_a_byte_order_mark_is_ignored() -> None:
    assert decode_json_object(b'\xef\xbb\xbf{"a": [1]}', what="body") == {"a": [1]}


class SlowClient:
    """Sends chunks, each after some simulated seconds."""

    def __init__(self, *chunks: tuple[float, int]) -> None:
        self._chunks = [*chunks]
        self.clock = FakeClock()

    def read(self, *, seconds: float | None = None, pause: float = 0.0) -> int:
        """Return the size of the body; the reader pauses after each chunk. Without `seconds`, the default counts."""
        sizes: list[int] = []

        async def receive() -> Message:
            wait, size = self._chunks.pop(0)
            await asyncio.sleep(wait)
            return {"type": "http.request", "body": b"x" * size, "more_body": bool(self._chunks)}

        async def read_all() -> None:
            request: Request = make_request()
            slow: Callable[[], Coroutine[Any, Any, Message]] = receive
            options = {} if seconds is None else {"seconds": seconds}
            async for chunk in iter_body(Request(request.scope, slow), **options):
                sizes.append(len(chunk))
                await asyncio.sleep(pause)

        with asyncio.Runner(loop_factory=lambda: FakeTimeLoop(self.clock)) as runner:
            runner.run(read_all())
        return sum(sizes)


def test_a_body_may_be_slow_if_enough_arrives_in_each_period() -> None:
    half = BODY_MIN_BYTES // 2
    steady = [(BODY_MIN_SECONDS / 2 - 0.1, half)] * 10
    assert SlowClient(*steady).read() == 10 * half
    one_too_few = [(BODY_MIN_SECONDS / 2 + 0.1, half)] * 10
    with pytest.raises(MalformedRequest, match="send it within 600 seconds, and at least 10,240 bytes in 10 seconds"):
        SlowClient(*one_too_few).read()
    with pytest.raises(MalformedRequest):
        SlowClient((6.0, BODY_MIN_BYTES - 1), (6.0, 1)).read()
    assert SlowClient((6.0, BODY_MIN_BYTES), (6.0, 1)).read() == BODY_MIN_BYTES + 1
    assert SlowClient(*[(6.0, BODY_MIN_BYTES)] * 2, (6.0, 1)).read() == 2 * BODY_MIN_BYTES + 1
    with pytest.raises(MalformedRequest):
        SlowClient((6.0, BODY_MIN_BYTES), (6.0, BODY_MIN_BYTES - 1), (6.0, 1)).read()


def test_the_time_of_the_reader_does_not_count_but_the_whole_body_has_a_limit() -> None:
    assert SlowClient((1.0, 1), (1.0, 1), (1.0, 1)).read(pause=BODY_MIN_SECONDS) == 3
    large = [(5.0, BODY_MIN_BYTES)] * 4
    assert SlowClient(*large).read(seconds=21) == 4 * BODY_MIN_BYTES
    with pytest.raises(MalformedRequest, match="send it within 19 seconds"):
        SlowClient(*large).read(seconds=19)
