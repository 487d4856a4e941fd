"""Answers that have no end of their own: sent until there is no more to tell, or the client has left.

Lives in the gateway, below the stream of changes and the logs, which say what is sent.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Final

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

HEARTBEAT_SECONDS: Final = 15.0
RETRY_MILLISECONDS: Final = 2000

_HEADERS: Final = {
    "Cache-Control": "no-store",
    # Proxies that buffer (nginx) would hold events back.
    "X-Accel-Buffering": "no",
}


class BaseStreamingResponse(Response, ABC):
    """An answer of unknown length; a client that leaves ends it at once."""

    def __init__(self, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(headers={**_HEADERS, **(headers or {})})
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send everything, or until the client leaves."""
        sending = asyncio.create_task(self._send_all(send))
        leaving = asyncio.create_task(_wait_for_disconnect(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            sending.cancel()
            await asyncio.wait({sending, leaving})
        if not sending.cancelled():
            sending.result()

    @abstractmethod
    async def send_body(self, send: Send) -> None:
        """Send the body, piece by piece."""

    async def _send_all(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await self.send_body(send)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def body_message(body: bytes) -> Message:
    """Return a piece of a body that others follow."""
    return {"type": "http.response.body", "body": body, "more_body": True}


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
