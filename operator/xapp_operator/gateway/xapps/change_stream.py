"""One listener's stream of changes: a response that goes on as long as the caller may see the changes.

Permissions are checked before anything is sent. Their reviews are cached only for seconds, so a revoked permission ends
the stream, or hides a namespace from it, within seconds. The session is checked as in every streaming response.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from functools import partial
from typing import NamedTuple

from starlette.types import Receive, Scope, Send

from xapp_operator.errors import XAppError
from xapp_operator.gateway.auth.actions import Permission
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.catalog.change_feed import ChangeFeed, ListenerFilter, format_reset
from xapp_operator.gateway.http.limits import CallerSlots
from xapp_operator.gateway.http.responses.streaming import (
    HEARTBEAT_SECONDS,
    RETRY_MILLISECONDS,
    BaseStreamingResponse,
    body_message,
)


class ChangeStreamResponse(BaseStreamingResponse):
    """The response to one listener; it ends when they disconnect or lose their permissions, or the gateway stops."""

    media_type = "text/event-stream"
    ends_whole_when_refused = True

    def __init__(
        self,
        feed: ChangeFeed,
        caller: Caller,
        *,
        slots: CallerSlots,
        namespaces: Collection[str],
        shown: ListenerFilter,
        last_event_id: str | None,
    ) -> None:
        """Prepare a stream.

        Args:
            feed: where changes come from.
            caller: the listener, authenticated.
            slots: the stream holds one of them as long as it is open.
            namespaces: the namespaces to send changes of; empty for all that the caller may see.
            shown: what to send of them.
            last_event_id: the event to resume after; None starts now.
        """
        permissions = tuple(Permission("list", namespace) for namespace in namespaces)
        super().__init__(recheck=partial(caller.recheck, *permissions))
        self._feed = feed
        self._caller = caller
        self._slots = slots
        self._namespaces = frozenset(namespaces)
        self._shown = shown
        known = feed.position if last_event_id is None else feed.position_of(last_event_id)
        self._is_position_lost = known is None
        self._position = feed.position if known is None else known
        self._access = _ListAccess(frozenset(), frozenset())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._slots.hold(self._caller.user):
            self._access = await self._review_access()
            await super().__call__(scope, receive, send)

    async def send_body(self, send: Send) -> None:
        """Send changes and heartbeats until the feed is closed or the caller has lost their permissions."""
        # An id without data is not an event: it is where the listener resumes if the connection breaks now.
        text: bytes | None = f"retry: {RETRY_MILLISECONDS}\nid: {self._feed.id_at(self._position)}\n\n".encode()
        if self._is_position_lost:
            event_id = self._feed.id_at(self._position)
            await send(body_message(format_reset(event_id, "the id is too old, or from another replica")))
        while text is not None:
            await send(body_message(text))
            try:
                text = await self._next_text()
            except XAppError:
                # The caller signed out or lost a permission. Their next request gets the error.
                break

    async def _next_text(self) -> bytes | None:
        """Return the next bytes to send, which may be a heartbeat; None at the end."""
        clock = asyncio.get_running_loop().time
        heartbeat_at = clock() + HEARTBEAT_SECONDS
        while not self._feed.closed:
            # Changes that this listener does not see must not put off its heartbeat.
            in_time = await self._feed.wait_for_change(self._position, seconds=max(0.0, heartbeat_at - clock()))
            changes = self._feed.changes_after(self._position)
            self._position = self._feed.position if changes is None else self._position + len(changes)
            event_id = self._feed.id_at(self._position)
            previous_access, access = self._access, await self._review_access()
            self._access = access
            if changes is None:
                return format_reset(event_id, "too many changes happened at once")
            if previous_access.differs_from(access):
                return format_reset(event_id, "what you may see has changed")
            text = b"".join(self._shown.event(change) for change in changes if access.includes(change.namespace))
            if text or not in_time or clock() >= heartbeat_at:
                return text or f":\nid: {event_id}\n\n".encode()
        return None

    async def _review_access(self) -> _ListAccess:
        among = self._feed.namespaces
        if not self._namespaces:
            return _ListAccess(among, await self._caller.allowed_namespaces("list", among=among))
        await self._caller.require_list_allowed(namespaces=self._namespaces)
        return _ListAccess(self._namespaces, self._namespaces)


class _ListAccess(NamedTuple):
    """Which of the namespaces a caller may list; `allowed` None means all namespaces."""

    namespaces: frozenset[str]
    allowed: frozenset[str] | None

    def includes(self, namespace: str) -> bool:
        return self.allowed is None or namespace in self.allowed

    def differs_from(self, others: _ListAccess) -> bool:
        """Tell whether a namespace that both know is allowed in only one of them."""
        if self.allowed is others.allowed:
            return False
        if self.allowed is None or others.allowed is None:
            return True
        both = self.namespaces & others.namespaces
        return self.allowed & both != others.allowed & both
