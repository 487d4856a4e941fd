"""Responses with the log of a container: plain text, or Server-Sent Events for each line while the log grows.

At most a chunk of the log is in memory, so a client that reads slowly slows down the kubelet. A response ends at a
number of bytes, and says how to go on.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from starlette.types import Receive, Scope, Send

from xapp_operator.common.text import rfc3339
from xapp_operator.errors import GatewayNotFound, Invalid, MalformedRequest, NotFound, XAppError
from xapp_operator.gateway.http.responses.streaming import (
    HEARTBEAT_SECONDS,
    RETRY_MILLISECONDS,
    BaseStreamingResponse,
    Recheck,
    body_message,
)
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.request_encoding import PodLogOptions

TEXT_MAX_SECONDS: Final = 300.0
POLL_SECONDS: Final = 1.0
LOG_LINE_MAX_BYTES: Final = 64 * 1024
LOG_TEXT_MAX_BYTES: Final = 10 * 1024 * 1024
LOG_EVENTS_MAX_BYTES: Final = 32 * 1024 * 1024
"""After which a followed log ends; a client that reads on without a pause sends a request for each such part."""

_TIMESTAMP: Final = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[-+]\d\d:\d\d) ", re.ASCII)
_EVENT_ID: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{9})Z(?:#([1-9]\d{0,8}))?", re.ASCII)
_LINE_BREAKS: Final = re.compile(r"\r\n|\r")
_CUT_MARK: Final = "… (the rest of this line is left out)"
_TEXT_CUT_LINE: Final = (
    f"--- This answer is cut at {LOG_TEXT_MAX_BYTES // 2**20} MiB: ask for fewer lines with tail, for newer ones with "
    "since, or follow the log. ---\n"
).encode()
_END_EVENT: Final = b"event: end\ndata: the container has ended, or its pod is gone\n\n"


@dataclass(frozen=True, slots=True, order=True)
class LogPosition:
    """The position of a line: seconds since the epoch, nanoseconds, and the number of earlier lines with that time."""

    seconds: int
    nanos: int
    repeated: int = 0

    @property
    def time(self) -> str:
        """Return the time as RFC 3339, rounded down to a second."""
        return rfc3339(self.seconds)

    @property
    def id(self) -> str:
        counted = f"#{self.repeated}" if self.repeated else ""
        return f"{self.time[:-1]}.{self.nanos:09}Z{counted}"


def parse_event_id(last_event_id: str) -> LogPosition:
    """Return the position in the id of an event.

    Raises:
        MalformedRequest: for any other text.
    """
    found = _EVENT_ID.fullmatch(last_event_id)
    try:
        if found is not None:
            seconds = int(datetime.fromisoformat(f"{found[1]}+00:00").timestamp())
            return LogPosition(seconds, int(found[2]), int(found[3] or 0))
    except ValueError:
        pass
    raise MalformedRequest(
        "Last-Event-ID is not the id of an event of this log: send the id of the last event received, or leave it out"
    )


class LogEventEncoder:
    """Encodes a log with timestamps as events, without the lines up to and including `after`."""

    def __init__(self, after: LogPosition | None = None) -> None:
        self._after = after
        self._last = LogPosition(0, 0)
        self.encoded_bytes = 0
        """Of all events so far."""
        self._pending = b""
        self._line_is_cut = False
        self.last_line_has_timestamp = True
        """Whether the last line comes from the container; the kubelet's own error messages have no timestamp."""

    def feed(self, chunk: bytes) -> bytes:
        """Return the events for the lines that `chunk` completes."""
        *lines, rest = (self._pending + chunk).split(b"\n")
        events = b"".join(map(self._encode_line, lines))
        self.encoded_bytes += len(events)
        if len(rest) > LOG_LINE_MAX_BYTES:
            # The rest of a line beyond the limit is dropped.
            rest, self._line_is_cut = rest[:LOG_LINE_MAX_BYTES], True
        self._pending = rest
        return events

    def finish(self) -> bytes:
        """Return the event for a last line without a line break."""
        rest, self._pending = self._pending, b""
        return self._encode_line(rest) if rest else b""

    def limit_event(self) -> bytes:
        """Return the event that ends a response at its limit; its id is that of the last line, from where to go on."""
        position = self._last
        begun = f"{LOG_EVENTS_MAX_BYTES // 2**20} MiB of this log are sent, and one answer has no more"
        if position == LogPosition(0, 0):
            return f"event: limit\ndata: {begun}: ask again\n\n".encode()
        return (
            f"id: {position.id}\nevent: limit\n"
            f"data: {begun}: ask again with Last-Event-ID {position.id}, or with since={position.time}\n\n"
        ).encode()

    def _encode_line(self, line: bytes) -> bytes:
        is_cut = self._line_is_cut or len(line) > LOG_LINE_MAX_BYTES
        self._line_is_cut = False
        id_field = ""
        timestamp = _TIMESTAMP.match(line)
        self.last_line_has_timestamp = timestamp is not None
        if timestamp is not None:
            position = self._next_position(timestamp)
            if self._after is not None and position <= self._after:
                return b""
            id_field, line = f"id: {position.id}\n", line[timestamp.end() :]
        content = line[:LOG_LINE_MAX_BYTES].decode("utf-8", "replace") + (_CUT_MARK if is_cut else "")
        data = "".join(f"data: {part}\n" for part in _LINE_BREAKS.split(content.removesuffix("\r")))
        return f"{id_field}{data}\n".encode()

    def _next_position(self, timestamp: re.Match[bytes]) -> LogPosition:
        zone = timestamp[3].decode().replace("Z", "+00:00")
        at = int(datetime.fromisoformat(timestamp[1].decode() + zone).timestamp())
        nanos = int((timestamp[2] or b"0").ljust(9, b"0"))
        same_time = (at, nanos) == (self._last.seconds, self._last.nanos)
        self._last = LogPosition(at, nanos, self._last.repeated + 1 if same_time else 0)
        return self._last


class LogResponse(BaseStreamingResponse):
    """A response whose body is an open log; opening it first lets an error become a problem response."""

    def __init__(
        self, log: AsyncGenerator[bytes], stack: AsyncExitStack, *, headers: Mapping[str, str], recheck: Recheck
    ) -> None:
        super().__init__(headers=headers, recheck=recheck)
        self.log = log
        self._stack = stack

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._stack:
            await super().__call__(scope, receive, send)


class TextLogResponse(LogResponse):
    media_type = "text/plain"

    async def send_body(self, send: Send) -> None:
        """Send at most LOG_TEXT_MAX_BYTES in TEXT_MAX_SECONDS; the last line says if the log is cut."""
        left = LOG_TEXT_MAX_BYTES
        ends_with_line = True
        async with asyncio.timeout(TEXT_MAX_SECONDS):
            async for chunk in self.log:
                part = chunk[:left]
                left -= len(part)
                if part:
                    await send(body_message(part))
                    ends_with_line = part.endswith(b"\n")
                if len(part) < len(chunk):
                    await send(body_message(_TEXT_CUT_LINE if ends_with_line else b"\n" + _TEXT_CUT_LINE))
                    return


class EventLogResponse(LogResponse):
    """A growing log with an event for each line."""

    media_type = "text/event-stream"
    ends_whole_when_refused = True

    def __init__(
        self,
        log: AsyncGenerator[bytes],
        stack: AsyncExitStack,
        *,
        headers: Mapping[str, str],
        recheck: Recheck,
        after: LogPosition | None,
        is_closing: Callable[[], bool],
    ) -> None:
        super().__init__(log, stack, headers=headers, recheck=recheck)
        self._encoder = LogEventEncoder(after)
        self._is_closing = is_closing

    async def send_body(self, send: Send) -> None:
        """Send lines and heartbeats until the container ends, or LOG_EVENTS_MAX_BYTES are sent."""
        await send(body_message(f"retry: {RETRY_MILLISECONDS}\n\n".encode()))
        async with aclosing(self._events()) as events:
            try:
                async for each in events:
                    await send(body_message(each))
            except XAppError:
                return  # no end event: the client reconnects and resumes

    async def _events(self) -> AsyncGenerator[bytes]:
        async def next_chunk() -> bytes | None:
            return await anext(self.log, None)

        clock = asyncio.get_running_loop().time
        sent_at = clock()
        pending_chunk = asyncio.ensure_future(next_chunk())
        try:
            while not self._is_closing():
                await asyncio.wait({pending_chunk}, timeout=POLL_SECONDS)
                events = b""
                if pending_chunk.done():
                    chunk = pending_chunk.result()
                    if chunk is None:
                        rest = self._encoder.finish()
                        # No end event when the kubelet failed, so that the client reconnects.
                        yield rest + _END_EVENT if self._encoder.last_line_has_timestamp else rest
                        return
                    events = self._encoder.feed(chunk)
                    if self._encoder.encoded_bytes >= LOG_EVENTS_MAX_BYTES:
                        yield events + self._encoder.limit_event()
                        return
                    pending_chunk = asyncio.ensure_future(next_chunk())
                elif clock() - sent_at >= HEARTBEAT_SECONDS:
                    events = b":\n\n"
                if events:
                    yield events
                    sent_at = clock()
        finally:
            pending_chunk.cancel()
            await asyncio.wait({pending_chunk})
            if not pending_chunk.cancelled():
                pending_chunk.exception()  # retrieved, in case the client left first


async def open_log(
    client: KubeClient, pod: str, options: PodLogOptions, *, namespace: str, stack: AsyncExitStack
) -> AsyncGenerator[bytes]:
    """Open the log of a container; `stack` closes it.

    Raises:
        GatewayNotFound: when there is no such log; the message includes the API server's message.
        KubeError: when the pod's node does not answer.
    """
    try:
        return await stack.enter_async_context(client.stream_log(pod, options, namespace=namespace))
    except (Invalid, NotFound) as error:
        raise GatewayNotFound(f"there is no such log: {error.message}") from None


def resume_options(options: PodLogOptions, after: LogPosition) -> PodLogOptions:
    """Return the options that follow a log from a position on, without a limit on the lines since then."""
    return replace(options, tail_lines=None, since_seconds=None, since_time=after.time)
