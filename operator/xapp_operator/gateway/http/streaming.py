"""Streaming responses, sent until there is nothing more to send or the client has disconnected."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping
from typing import Final

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

HEARTBEAT_SECONDS: Final = 15.0
RETRY_MILLISECONDS: Final = 2000

_HEADERS: Final = {
    "Cache-Control": "no-store",
    # nginx, as other proxies that buffer, would hold events back.
    "X-Accel-Buffering": "no",
}


class BaseStreamingResponse(Response, ABC):
    """A response of unknown length; it ends at once when the client disconnects."""

    def __init__(self, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(headers={**_HEADERS, **(headers or {})})
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending, _ = await run_until_one_ends(self._send_all(send), wait_for_disconnect(receive))
        if not sending.cancelled():
            sending.result()

    @abstractmethod
    async def send_body(self, send: Send) -> None:
        """Send the body, chunk by chunk."""

    async def _send_all(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await self.send_body(send)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def body_message(body: bytes) -> Message:
    """Return the message for one chunk of a body; more chunks follow."""
    return {"type": "http.response.body", "body": body, "more_body": True}


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
