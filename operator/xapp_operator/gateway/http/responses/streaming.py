"""Streaming responses, sent until there is nothing more to send or the client has disconnected."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Final, TypeAlias

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from xapp_operator.errors import ApiOverloaded, XAppError

HEARTBEAT_SECONDS: Final = 15.0
RETRY_MILLISECONDS: Final = 2000
RECHECK_SECONDS: Final = 15.0
RECHECK_TIMEOUT_SECONDS: Final = 10.0
"""A check that takes longer has failed: whoever slows down the API server must not keep a revoked permission by it."""

CHUNK_BYTES: Final = 64 * 1024
"""Bytes of a file that are handed to a connection at a time."""

FINAL_MESSAGE_SECONDS: Final = 1.0
FINAL_MESSAGE: Final[Message] = {"type": "http.response.body", "body": b"", "more_body": False}

Recheck: TypeAlias = Callable[[], Awaitable[None]]
"""Checks again whether a response may go on; raises an XAppError if not."""

_HEADERS: Final = {
    "Cache-Control": "no-store",
    # nginx, as other proxies that buffer, would hold events back.
    "X-Accel-Buffering": "no",
}


async def recheck_until_refused(recheck: Recheck) -> XAppError:
    """Call `recheck` every RECHECK_SECONDS; return the first error."""
    while True:
        await asyncio.sleep(RECHECK_SECONDS)
        try:
            async with asyncio.timeout(RECHECK_TIMEOUT_SECONDS):
                await recheck()
        except XAppError as error:
            return error
        except TimeoutError:
            return ApiOverloaded("the permissions of this request could not be checked again in time: send it again")


class BaseStreamingResponse(Response, ABC):
    """A response of unknown length; it ends when the client disconnects, or when `recheck` refuses it."""

    ends_whole_when_refused = False
    """Whether a response that `recheck` ends looks complete; otherwise its connection is aborted."""

    def __init__(self, *, recheck: Recheck, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(headers={**_HEADERS, **(headers or {})})
        self._recheck = recheck
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending, _, rechecking = await run_until_one_ends(
            self._send_all(send), wait_for_disconnect(receive), recheck_until_refused(self._recheck)
        )
        if not sending.cancelled():
            sending.result()
        elif not rechecking.cancelled():
            rechecking.result()
            if self.ends_whole_when_refused:
                await send_final_message(send)

    @abstractmethod
    async def send_body(self, send: Send) -> None:
        """Send the body, chunk by chunk."""

    async def _send_all(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await self.send_body(send)
        await send(FINAL_MESSAGE)


class ChunkedResponse(Response):
    """A file in memory that many responses share, sent in chunks, each when the client has read those before.

    So a client that does not read holds a chunk, and not a copy of the file.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for start in range(0, len(self.body), CHUNK_BYTES):
            await send(body_message(bytes(self.body[start : start + CHUNK_BYTES])))
        await send(FINAL_MESSAGE)


def body_message(body: bytes) -> Message:
    """Return the message for one chunk of a body; more chunks follow."""
    return {"type": "http.response.body", "body": body, "more_body": True}


async def send_final_message(send: Send) -> None:
    """End a body, unless the client has stopped reading."""
    try:
        async with asyncio.timeout(FINAL_MESSAGE_SECONDS):
            await send(FINAL_MESSAGE)
    except TimeoutError:
        return


async def run_until_one_ends(
    *work: Coroutine[object, None, object], seconds: float | None = None
) -> list[asyncio.Task[object]]:
    """Run coroutines until one ends or `seconds` pass, then cancel the others; return their tasks, all of them done."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return tasks


async def wait_for_disconnect(receive: Receive) -> None:
    """Return when the client has disconnected; the rest of its request is discarded."""
    while (await receive())["type"] != "http.disconnect":
        pass
