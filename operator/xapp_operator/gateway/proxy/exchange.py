"""One request passed on to an xApp and its answer passed back, as they come, until either side leaves.

Between the two sides lies never more than a buffer or two. Before the answer begins, nothing may stand still for longer
than XAPP_PROXY_TIMEOUT; once it has begun it may last, but a caller who takes nothing of it for STALLED_SECONDS has
left.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from xapp_operator.errors import UpstreamUnreachable
from xapp_operator.gateway.proxy.headers import answered, is_reference
from xapp_operator.gateway.proxy.paths import logged
from xapp_operator.gateway.proxy.redirects import Place
from xapp_operator.gateway.proxy.upstream import Answer, silent
from xapp_operator.telemetry.logs import get_logger

STALLED_SECONDS: Final = 300.0

_BODILESS: Final = frozenset({204, 304})
_STATUSES: Final = range(200, 600)
_log = get_logger(__name__)


class Intake:
    """What comes from the caller: the body of the request, and that they have left."""

    def __init__(self, receive: Receive, *, has_body: bool) -> None:
        self._receive = receive
        self._has_body = has_body
        self._waiting: asyncio.Queue[bytes] = asyncio.Queue(1)
        self._task: asyncio.Task[None] | None = None
        self.left = asyncio.Event()
        self.moved: Callable[[], None] = lambda: None
        """Called whenever a piece of the body has been taken."""

    def start(self) -> None:
        """Begin to listen; a body is asked for by `body` only, so that nobody is told to send what nobody takes."""
        if not self._has_body:
            self._listen()

    async def stop(self) -> None:
        """End listening."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def body(self) -> AsyncGenerator[bytes]:
        """Yield the body of the request as it comes.

        Raises:
            ClientDisconnect: when the caller leaves before its end.
        """
        self._listen()
        while piece := await self._waiting.get():
            self.moved()
            yield piece
            self.moved()
        if self.left.is_set():
            raise ClientDisconnect

    def _listen(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        more = True
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self.left.set()
                break
            if more and message.get("body"):
                await self._waiting.put(message["body"])
            if more and not message.get("more_body", False):
                more = False
                await self._waiting.put(b"")
        if more:
            await self._waiting.put(b"")


async def begun(opening: Awaitable[Answer], intake: Intake, *, seconds: float) -> Answer:
    """Return the answer once it has begun.

    Raises:
        UpstreamSilent: when nothing moves for `seconds` before that.
        ClientDisconnect: when the caller leaves.
    """
    loop = asyncio.get_running_loop()
    opened = asyncio.ensure_future(opening)
    leaving = asyncio.create_task(intake.left.wait())
    try:
        async with asyncio.timeout(seconds) as limit:
            intake.moved = lambda: limit.reschedule(loop.time() + seconds)
            await asyncio.wait({opened, leaving}, return_when=asyncio.FIRST_COMPLETED)
    except TimeoutError:
        raise silent(seconds) from None
    finally:
        intake.moved = lambda: None
        leaving.cancel()
        if not opened.done():
            opened.cancel()
            await asyncio.gather(opened, return_exceptions=True)
    if opened.cancelled() or (intake.left.is_set() and opened.exception() is not None):
        raise ClientDisconnect
    answer = opened.result()
    if answer.status not in _STATUSES:
        raise UpstreamUnreachable(f"the xApp answered with the status {answer.status}, which HTTP does not have")
    return answer


class Passing(Response):
    """The answer of an xApp on its way to the caller; `stack` holds what it takes, and is closed with it."""

    def __init__(self, answer: Answer, *, place: Place, intake: Intake, stack: AsyncExitStack, head: bool) -> None:
        self.status_code = answer.status
        self.background = None
        self._answer = answer
        self._intake = intake
        self._stack = stack
        self._bodiless = head or answer.status in _BODILESS
        self.raw_headers = [
            (name, place.outward(value.decode("latin-1")).encode("ascii", "replace") if is_reference(name) else value)
            for name, value in answered(answer.headers)
            if name != b"content-length" or answer.status not in _BODILESS
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer until its end, or until the caller has left."""
        async with self._stack:
            passing = asyncio.create_task(self._pass(send))
            leaving = asyncio.create_task(self._intake.left.wait())
            try:
                await asyncio.wait({passing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                leaving.cancel()
                passing.cancel()
                await asyncio.gather(passing, return_exceptions=True)
            # Only after its own end: the server tells one who has got everything from one who has left.
            ended = not passing.cancelled() and passing.exception() is None
            await self._intake.stop()
        if ended:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        error = None if passing.cancelled() else passing.exception()
        if error is not None and not isinstance(error, UpstreamUnreachable | TimeoutError):
            raise error
        # Left without its end, the connection is broken off: nobody may take what came for the whole.
        _log.info(
            "answer of an xApp broken off",
            path=logged(scope["path"]),
            reason="the caller left" if error is None else "the caller stalled or the xApp broke off",
        )

    async def _pass(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if self._bodiless:
            return
        async for chunk in self._answer.chunks():
            async with asyncio.timeout(STALLED_SECONDS):
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
