"""Answers that carry a log: as plain text to its end, or line by line as Server-Sent Events while it grows.

Neither holds more than a chunk of it in memory: a client that reads slowly slows the kubelet. Lives in the gateway.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from starlette.types import Receive, Scope, Send

from xapp_operator.errors import Invalid, MalformedRequest, NotFound, NotFoundHere, XAppError
from xapp_operator.gateway.slots import Slots
from xapp_operator.gateway.streaming import HEARTBEAT_SECONDS, RETRY_MILLISECONDS, StreamedAnswer, part
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.logs import LogOptions
from xapp_operator.kube.transport import Stream

TEXT_SECONDS: Final = 300.0
TICK_SECONDS: Final = 1.0
LINE_MAX_BYTES: Final = 64 * 1024
LOGS_MAX: Final = 256
"""Open at a time in one gateway: each holds a connection of the API server and one of a kubelet."""

_TIMESTAMP: Final = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[-+]\d\d:\d\d) ", re.ASCII)
_EVENT_ID: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{9})Z(?:#([1-9]\d{0,8}))?", re.ASCII)
_BREAKS: Final = re.compile(r"\r\n|\r")
_END: Final = b"event: end\ndata: the container has ended, or its pod is gone\n\n"


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A line by its time: seconds since the epoch, nanoseconds, and how many lines before it have the same time."""

    seconds: int
    nanos: int
    repeated: int = 0

    @property
    def time(self) -> str:
        """Return the time as RFC 3339, to the second below it."""
        return datetime.fromtimestamp(self.seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def id(self) -> str:
        """Return the id of the event of this line."""
        counted = f"#{self.repeated}" if self.repeated else ""
        return f"{self.time[:-1]}.{self.nanos:09}Z{counted}"


def position_in(last_event_id: str) -> Position:
    """Return the position that the id of an event tells.

    Raises:
        MalformedRequest: for what is no such id.
    """
    found = _EVENT_ID.fullmatch(last_event_id)
    try:
        if found is not None:
            seconds = int(datetime.fromisoformat(f"{found[1]}+00:00").timestamp())
            return Position(seconds, int(found[2]), int(found[3] or 0))
    except ValueError:
        pass
    raise MalformedRequest(
        "Last-Event-ID is no id of an event of this log: send the id of the last event that came, or leave it out"
    )


class LineEvents:
    """Cuts a log with timestamps into events, leaving out what comes before and at `after`."""

    def __init__(self, after: Position | None = None) -> None:
        self._after = after
        self._last = Position(0, 0)
        self._pending = b""
        self._cut = False
        self.is_of_container = True
        """Whether the last line is of the container: those of a kubelet that cannot read (on) have no time."""

    def feed(self, chunk: bytes) -> bytes:
        """Return the events of the lines that `chunk` completes."""
        *lines, rest = (self._pending + chunk).split(b"\n")
        events = b"".join(map(self._line, lines))
        if len(rest) > LINE_MAX_BYTES:
            # The rest of a line beyond the bound is dropped until it ends.
            rest, self._cut = rest[:LINE_MAX_BYTES], True
        self._pending = rest
        return events

    def end(self) -> bytes:
        """Return the event of a last line that nobody ended."""
        rest, self._pending = self._pending, b""
        return self._line(rest) if rest else b""

    def _line(self, line: bytes) -> bytes:
        is_cut = self._cut or len(line) > LINE_MAX_BYTES
        self._cut = False
        told = ""
        stamp = _TIMESTAMP.match(line)
        self.is_of_container = stamp is not None
        if stamp is not None:
            position = self._position(stamp)
            if self._after is not None and position <= self._after:
                return b""
            told, line = f"id: {position.id}\n", line[stamp.end() :]
        said = line[:LINE_MAX_BYTES].decode("utf-8", "replace") + ("…" if is_cut else "")
        data = "".join(f"data: {part}\n" for part in _BREAKS.split(said.removesuffix("\r")))
        return f"{told}{data}\n".encode()

    def _position(self, stamp: re.Match[bytes]) -> Position:
        zone = stamp[3].decode().replace("Z", "+00:00")
        at = int(datetime.fromisoformat(stamp[1].decode() + zone).timestamp())
        nanos = int((stamp[2] or b"0").ljust(9, b"0"))
        same = (at, nanos) == (self._last.seconds, self._last.nanos)
        self._last = Position(at, nanos, self._last.repeated + 1 if same else 0)
        return self._last


class LogAnswer(StreamedAnswer):
    """An answer whose body is a log that has been opened already, so that a refusal is an answer of its own."""

    def __init__(self, stream: Stream, stack: AsyncExitStack, *, headers: Mapping[str, str]) -> None:
        super().__init__(headers=headers)
        self.log = stream
        self._stack = stack

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the log until it ends or the client leaves."""
        async with self._stack:
            await super().__call__(scope, receive, send)


class LogText(LogAnswer):
    """A log as it is."""

    media_type = "text/plain"

    async def send_body(self, send: Send) -> None:
        """Send what there is."""
        async with asyncio.timeout(TEXT_SECONDS):
            async for chunk in self.log.chunks():
                await send(part(chunk))


class LogEvents(LogAnswer):
    """A log that grows, an event for each line; `goes_on` is asked at heartbeats whether the client may still read."""

    media_type = "text/event-stream"

    def __init__(
        self,
        stream: Stream,
        stack: AsyncExitStack,
        *,
        headers: Mapping[str, str],
        after: Position | None,
        goes_on: Callable[[], Awaitable[bool]],
        is_closing: Callable[[], bool],
    ) -> None:
        super().__init__(stream, stack, headers=headers)
        self._lines = LineEvents(after)
        self._goes_on = goes_on
        self._is_closing = is_closing

    async def send_body(self, send: Send) -> None:
        """Send lines and heartbeats until the container ends, or the client may read no more."""
        await send(part(f"retry: {RETRY_MILLISECONDS}\n\n".encode()))
        clock = asyncio.get_running_loop().time
        sent = looked = clock()
        async with _reading(self.log) as chunks:
            reading = asyncio.ensure_future(chunks())
            try:
                while not self._is_closing():
                    if clock() - looked >= HEARTBEAT_SECONDS:
                        looked = clock()
                        if not await self._goes_on():
                            return
                    await asyncio.wait({reading}, timeout=TICK_SECONDS)
                    events = b""
                    if reading.done():
                        chunk = reading.result()
                        if chunk is None:
                            rest = self._lines.end()
                            # Without the end where the kubelet gave up: then the client asks again.
                            await send(part(rest + _END if self._lines.is_of_container else rest))
                            return
                        events = self._lines.feed(chunk)
                        reading = asyncio.ensure_future(chunks())
                    elif clock() - sent >= HEARTBEAT_SECONDS:
                        events = b":\n\n"
                    if events:
                        await send(part(events))
                        sent = clock()
            except XAppError:
                return  # no end: the client asks again, and goes on where it was
            finally:
                reading.cancel()
                await asyncio.wait({reading})
                if not reading.cancelled():
                    reading.exception()  # seen here, should the client have left first


def log_slots() -> Slots:
    """Return the places for logs that are read at a time."""
    return Slots(LOGS_MAX, refusal=f"{LOGS_MAX} logs are being read, the most at a time: ask again in a second")


async def opened_log(
    client: KubeClient, pod: str, options: LogOptions, *, namespace: str, stack: AsyncExitStack
) -> Stream:
    """Return the log of a container, held by `stack`.

    Raises:
        NotFoundHere: when there is none (yet, or any more), in the words of the API server.
        KubeError: when the pod's node does not answer.
    """
    try:
        return await stack.enter_async_context(client.log(pod, options, namespace=namespace))
    except (Invalid, NotFound) as error:
        raise NotFoundHere(f"there is no such log: {error.message}") from None


def going_on(options: LogOptions, after: Position) -> LogOptions:
    """Return the options of a log that is followed from a position on, however many lines there are since."""
    return replace(options, tail=None, since_seconds=None, since_time=after.time)


@asynccontextmanager
async def _reading(stream: Stream) -> AsyncIterator[Callable[[], Awaitable[bytes | None]]]:
    chunks = stream.chunks()

    async def following() -> bytes | None:
        return await anext(chunks, None)

    try:
        yield following
    finally:
        await chunks.aclose()
