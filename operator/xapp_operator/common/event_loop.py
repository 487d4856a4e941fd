"""The event loop of our processes."""

from __future__ import annotations

import asyncio
from typing import Any

import uvloop


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a loop of uvloop that reports no connection that fails after nobody waits for it any more.

    uvloop leaves such an error behind when a TLS handshake fails in the moment in which its task is cancelled.
    """
    loop = uvloop.new_event_loop()
    loop.set_exception_handler(_handle_error)
    return loop


def _handle_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    future = context.get("future")
    is_result = future is None or isinstance(future, asyncio.Task)
    if is_result or not isinstance(context.get("exception"), ConnectionError):
        loop.default_exception_handler(context)
