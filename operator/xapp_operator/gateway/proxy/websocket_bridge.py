"""Forwards messages between the caller's WebSocket and the xApp's.

Messages are forwarded whole (at most 4 MiB), one at a time in each direction, so a side that does not read slows down
the other. Each end answers its own pings; close codes and reasons are forwarded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from starlette.responses import Response
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import CloseCode

from xapp_operator.gateway.auth.session_cookies import PROOF_SUBPROTOCOL_PREFIX, SESSION_SUBPROTOCOL
from xapp_operator.gateway.http.responses.streaming import (
    FINAL_MESSAGE_SECONDS,
    Recheck,
    recheck_until_refused,
    run_until_one_ends,
)
from xapp_operator.gateway.proxy.headers import HeaderLists, forwarded_response_headers

_TOKEN_PREFIX: Final = "base64url.bearer.authorization.k8s.io."  # noqa: S105 - a prefix that Kubernetes defines
_SECRET_PREFIXES: Final = (_TOKEN_PREFIX, PROOF_SUBPROTOCOL_PREFIX)
_REFUSED_REASON: Final = "the permission or the session has ended"
_UNSENDABLE_CODES: Final = frozenset({CloseCode.NO_STATUS_RCVD, CloseCode.ABNORMAL_CLOSURE, CloseCode.TLS_HANDSHAKE})


def forwarded_subprotocols(offered: Iterable[str]) -> list[str]:
    """Return the subprotocols for the xApp, without those in which callers send a token or the proof of a session."""
    return [each for each in offered if each and each != SESSION_SUBPROTOCOL and not each.startswith(_SECRET_PREFIXES)]


def denial_response(error: InvalidStatus, *, lists: HeaderLists) -> Response:
    """Return the xApp's response to a refused WebSocket handshake."""
    response = error.response
    headers = [(name.encode(), value.encode("latin-1", "replace")) for name, value in response.headers.raw_items()]
    forwarded = [
        each
        for each in forwarded_response_headers(headers, lists=lists)
        if each[0] not in {b"content-length", b"location"}
    ]
    denial = Response(bytes(response.body or b""), status_code=max(response.status_code, 200))
    denial.raw_headers = [*forwarded, (b"content-length", str(len(response.body or b"")).encode())]
    return denial


async def bridge_websockets(websocket: WebSocket, upstream: ClientConnection, *, recheck: Recheck) -> None:
    """Accept the caller's WebSocket and forward messages until one side closes; then close the other.

    When `recheck` refuses the caller, both are closed.
    """
    try:
        await websocket.accept(subprotocol=upstream.subprotocol or _own_subprotocol(websocket))
        *tasks, recheck_task = await run_until_one_ends(
            _forward_to_xapp(websocket, upstream),
            _forward_to_caller(websocket, upstream),
            recheck_until_refused(recheck),
        )
        if not recheck_task.cancelled():
            recheck_task.result()
            await _close_refused(websocket)
        for task in tasks:
            error = None if task.cancelled() else task.exception()
            if error is not None and not isinstance(error, ConnectionClosed | WebSocketDisconnect):
                raise error
    finally:
        await upstream.close()


async def _close_refused(websocket: WebSocket) -> None:
    if WebSocketState.DISCONNECTED in {websocket.client_state, websocket.application_state}:
        return
    with suppress(TimeoutError, WebSocketDisconnect):
        async with asyncio.timeout(FINAL_MESSAGE_SECONDS):
            await websocket.close(CloseCode.POLICY_VIOLATION, _REFUSED_REASON)


def _own_subprotocol(websocket: WebSocket) -> str | None:
    """Return the subprotocol to select if the xApp selects none: browsers fail without one of those they offered."""
    return SESSION_SUBPROTOCOL if SESSION_SUBPROTOCOL in websocket.scope["subprotocols"] else None


async def _forward_to_xapp(websocket: WebSocket, upstream: ClientConnection) -> None:
    while True:
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            code = message.get("code", CloseCode.GOING_AWAY)
            await upstream.close(
                CloseCode.GOING_AWAY if code in _UNSENDABLE_CODES else code, message.get("reason") or ""
            )
            return
        text = message.get("text")
        try:
            await upstream.send(text if text is not None else message["bytes"])
        except ConnectionClosed:
            return  # the other direction closes the caller's side


async def _forward_to_caller(websocket: WebSocket, upstream: ClientConnection) -> None:
    try:
        while True:
            message = await upstream.recv()
            if isinstance(message, str):
                await websocket.send_text(message)
            else:
                await websocket.send_bytes(message)
    except WebSocketDisconnect:
        return
    except ConnectionClosed as closed:
        code, reason = _close_code_and_reason(closed)
    if websocket.client_state is WebSocketState.CONNECTED:
        await websocket.close(code, reason)


def _close_code_and_reason(closed: ConnectionClosed) -> tuple[int, str]:
    """Return the close code and reason for the caller, from the xApp or else from this gateway."""
    frame = closed.rcvd or closed.sent
    if frame is None:
        return CloseCode.BAD_GATEWAY, "the connection to the xApp broke"
    return (CloseCode.NORMAL_CLOSURE if frame.code in _UNSENDABLE_CODES else frame.code), frame.reason
