"""One listener's stream of changes, as an HTTP answer that does not end: what the caller may see, while they may.

Lives in the gateway above the feed. Rights are asked for again before anything is sent, as often as answers about them
run out, so that a right that was taken ends what it let through within seconds.
"""

from __future__ import annotations

from starlette.types import Receive, Scope, Send

from xapp_operator.errors import XAppError
from xapp_operator.gateway.auth import Caller
from xapp_operator.gateway.feed import Feed, reset
from xapp_operator.gateway.streaming import HEARTBEAT_SECONDS, RETRY_MILLISECONDS, StreamedAnswer, part


class EventStream(StreamedAnswer):
    """The answer to one listener; it ends when they leave, sign out, lose their rights, or the gateway ends."""

    media_type = "text/event-stream"

    def __init__(self, feed: Feed, caller: Caller, *, namespace: str | None, last_event_id: str | None) -> None:
        """Prepare a stream.

        Args:
            feed: where changes come from.
            caller: who listens; signed in.
            namespace: the only one to tell of; None for all that the caller may see.
            last_event_id: where to go on; None starts at the present.
        """
        super().__init__()
        self._feed = feed
        self._caller = caller
        self._namespace = namespace
        known = feed.position if last_event_id is None else feed.position_of(last_event_id)
        self._is_lost = known is None
        self._position = feed.position if known is None else known
        self._rights = _Rights(frozenset(), frozenset())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send changes until the listener leaves or the stream ends."""
        with self._feed.listening():
            self._rights = await self._now_allowed()
            await super().__call__(scope, receive, send)

    async def send_body(self, send: Send) -> None:
        """Send changes and heartbeats until the feed is closed, or the caller may hear no more."""
        # An id without data is no event, but where the listener goes on should the connection break now.
        text: bytes | None = f"retry: {RETRY_MILLISECONDS}\nid: {self._feed.id_at(self._position)}\n\n".encode()
        if self._is_lost:
            await send(part(reset(self._feed.id_at(self._position), "the id is too old, or of another replica")))
        while text is not None:
            await send(part(text))
            try:
                text = await self._next()
            except XAppError:
                # Signed out, or a right is gone: the next request is told so.
                break

    async def _next(self) -> bytes | None:
        """Return what to send next, which may be a heartbeat; None at the end."""
        while not self._feed.closed:
            in_time = await self._feed.wait(self._position, seconds=HEARTBEAT_SECONDS)
            changes = self._feed.after(self._position)
            self._position = self._feed.position if changes is None else self._position + len(changes)
            here = self._feed.id_at(self._position)
            before, rights = self._rights, await self._now_allowed()
            self._rights = rights
            if changes is None:
                return reset(here, "too many changes came at once")
            if before.differ(rights):
                return reset(here, "what you may see has changed")
            text = b"".join(change.text for change in changes if rights.allow(change.namespace))
            if text or not in_time:
                return text or f":\nid: {here}\n\n".encode()
        return None

    async def _now_allowed(self) -> _Rights:
        among = self._feed.namespaces
        if self._namespace is None:
            return _Rights(among, await self._caller.namespaces("list", among=among))
        await self._caller.require("list", namespace=self._namespace)
        only = frozenset({self._namespace})
        return _Rights(only, only)


class _Rights:
    """Which of the namespaces `among` a caller may list; `within` None for all there are."""

    __slots__ = ("among", "within")

    def __init__(self, among: frozenset[str], within: frozenset[str] | None) -> None:
        self.among = among
        self.within = within

    def allow(self, namespace: str) -> bool:
        return self.within is None or namespace in self.within

    def differ(self, others: _Rights) -> bool:
        """Tell whether a namespace that was there all along has come into sight or gone out of it."""
        if self.within is others.within:
            return False
        if self.within is None or others.within is None:
            return True
        both = self.among & others.among
        return self.within & both != others.within & both
