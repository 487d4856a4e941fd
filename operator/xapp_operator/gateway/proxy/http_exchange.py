"""One HTTP request forwarded to an xApp and its response streamed back.

At most a buffer or two is in memory. Until the response starts, a pause longer than XAPP_PROXY_TIMEOUT ends the
exchange. A started response may last, but a caller who accepts nothing for SEND_TIMEOUT_SECONDS counts as disconnected.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from xapp_operator.errors import UpstreamUnreachable, XAppError
from xapp_operator.gateway.http.responses.problems import redact_path
from xapp_operator.gateway.http.responses.streaming import Recheck, recheck_until_refused, run_until_one_ends
from xapp_operator.gateway.proxy.headers import HeaderLists, forwarded_response_headers
from xapp_operator.gateway.proxy.location_rewriter import LocationRewriter
from xapp_operator.gateway.proxy.upstream import UpstreamResponse, timeout_error
from xapp_operator.telemetry.logs import get_logger

SEND_TIMEOUT_SECONDS: Final = 300.0

_NO_BODY_STATUSES: Final = frozenset({204, 304})
_FINAL_STATUSES: Final = range(200, 600)
_log = get_logger(__name__)


class RequestBody:
    """The body of the caller's request, and whether the caller disconnected."""

    def __init__(self, receive: Receive, *, has_body: bool) -> None:
        self._receive = receive
        self._has_body = has_body
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue(1)
        self._task: asyncio.Task[None] | None = None
        self.disconnected = asyncio.Event()
        self.on_progress: Callable[[], None] = lambda: None
        """Called whenever a chunk of the body was consumed."""

    def start(self) -> None:
        """Start to receive unless there is a body: `chunks` does that, so that `100 Continue` is not sent too early."""
        if not self._has_body:
            self._start_receiving()

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def chunks(self) -> AsyncGenerator[bytes]:
        """Yield the body as it arrives.

        Raises:
            ClientDisconnect: when the caller disconnects before its end.
        """
        self._start_receiving()
        while chunk := await self._chunks.get():
            self.on_progress()
            yield chunk
            self.on_progress()
        if self.disconnected.is_set():
            raise ClientDisconnect

    def _start_receiving(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._receive_messages())

    async def _receive_messages(self) -> None:
        more_body = True
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self.disconnected.set()
                break
            if more_body and message.get("body"):
                await self._chunks.put(message["body"])
            if more_body and not message.get("more_body", False):
                more_body = False
                await self._chunks.put(b"")
        if more_body:
            await self._chunks.put(b"")


async def wait_for_response(
    pending_response: Awaitable[UpstreamResponse], request_body: RequestBody, *, seconds: float, recheck: Recheck
) -> UpstreamResponse:
    """Return the response once it has started.

    Raises:
        XAppError: when `recheck` refuses the request, whose body may take long.
        UpstreamTimeout: when there is no progress for `seconds` before that.
        ClientDisconnect: when the caller disconnects.
    """
    loop = asyncio.get_running_loop()
    response_task = asyncio.ensure_future(pending_response)
    disconnect_task = asyncio.create_task(request_body.disconnected.wait())
    recheck_task = asyncio.create_task(recheck_until_refused(recheck))
    try:
        async with asyncio.timeout(seconds) as deadline:
            request_body.on_progress = lambda: deadline.reschedule(loop.time() + seconds)
            await asyncio.wait({response_task, disconnect_task, recheck_task}, return_when=asyncio.FIRST_COMPLETED)
    except TimeoutError:
        raise timeout_error(seconds) from None
    finally:
        request_body.on_progress = lambda: None
        disconnect_task.cancel()
        recheck_task.cancel()
        await asyncio.wait({recheck_task})
        if not response_task.done():
            response_task.cancel()
            await asyncio.gather(response_task, return_exceptions=True)
    if not recheck_task.cancelled():
        raise recheck_task.result()
    if response_task.cancelled() or (request_body.disconnected.is_set() and response_task.exception() is not None):
        raise ClientDisconnect
    response = response_task.result()
    if response.status not in _FINAL_STATUSES:
        raise UpstreamUnreachable(f"the xApp answered with the invalid HTTP status {response.status}")
    return response


class StreamingProxyResponse(Response):
    """The response of an xApp, streamed to the caller; `stack` is closed with it."""

    def __init__(
        self,
        response: UpstreamResponse,
        *,
        header_lists: HeaderLists,
        rewriter: LocationRewriter,
        request_body: RequestBody,
        stack: AsyncExitStack,
        is_head: bool,
        recheck: Recheck,
    ) -> None:
        self._recheck = recheck
        self.status_code = response.status
        self.background = None
        self._response = response
        self._request_body = request_body
        self._stack = stack
        self._has_no_body = is_head or response.status in _NO_BODY_STATUSES
        self.raw_headers = [
            (name, rewriter.rewrite_header(name, value))
            for name, value in forwarded_response_headers(response.headers, lists=header_lists)
            if name != b"content-length" or response.status not in _NO_BODY_STATUSES
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._stack:
            send_task, _, recheck_task = await run_until_one_ends(
                self._send_response(send),
                self._request_body.disconnected.wait(),
                recheck_until_refused(self._recheck),
            )
            # Stopped before the final message, which the server needs to tell completion from a disconnect.
            completed = not send_task.cancelled() and send_task.exception() is None
            await self._request_body.stop()
        if completed:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        error = None if send_task.cancelled() else send_task.exception()
        refusal = None if recheck_task.cancelled() else recheck_task.result()
        if error is not None and not isinstance(error, UpstreamUnreachable | TimeoutError):
            raise error
        # Without the final message the connection is aborted, so no caller takes the partial body for a whole one.
        _log.info(
            "xApp response aborted",
            path=redact_path(scope["path"]),
            reason=_abort_reason(error, refusal),
        )

    async def _send_response(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if self._has_no_body:
            return
        async for chunk in self._response.chunks():
            async with asyncio.timeout(SEND_TIMEOUT_SECONDS):
                await send({"type": "http.response.body", "body": chunk, "more_body": True})


def _abort_reason(error: BaseException | None, refusal: object) -> str:
    if error is not None:
        return "caller stalled or xApp disconnected"
    return f"no longer allowed: {refusal.title}" if isinstance(refusal, XAppError) else "caller disconnected"
