"""The last changes of xApps, each as the bytes of a Server-Sent Event, made once however many listen.

Lives in the gateway between the store and its streams. All streams read from one ring, each at its own position, so
nothing is queued for a listener: who falls behind the ring has lost changes and is told to list again. An event's id
says nothing about other events; it is known to this process only, and for as long as the ring goes back.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

import orjson

from xapp_operator.gateway.records import Entry
from xapp_operator.gateway.slots import Slots
from xapp_operator.gateway.store import RecordStore

RING_EVENTS: Final = 10_000
RING_BYTES: Final = 16 * 1024 * 1024
BATCH_BYTES: Final = 64 * 1024
LISTENERS_MAX: Final = 4096

_ID_BYTES: Final = 9


@dataclass(frozen=True, slots=True)
class Change:
    """One change: `text` is the whole event."""

    id: str
    namespace: str
    text: bytes


class Feed:
    """The ring of changes. A position counts changes since the process began; 0 is before the first."""

    def __init__(
        self,
        store: RecordStore,
        *,
        is_synced: Callable[[], bool],
        most: int = RING_EVENTS,
        most_bytes: int = RING_BYTES,
    ) -> None:
        """Listen to `store`; what comes before `is_synced` is its filling, of which nobody is told."""
        self._store = store
        self._is_synced = is_synced
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        self._first = 1
        self._changes: dict[int, Change] = {}
        self._before = secrets.token_urlsafe(_ID_BYTES)
        self._positions = {self._before: 0}
        self._in_ring: Counter[str] = Counter()
        self._known: tuple[frozenset[str], frozenset[str]] | None = None
        self._news = asyncio.Event()
        self._listeners = Slots(
            LISTENERS_MAX,
            refusal=f"{LISTENERS_MAX:,} streams of changes are open, the most that are served: ask again later",
        )
        self.closed = False
        self._end = store.subscribe(self._note)

    def close(self) -> None:
        """End every stream, so that the process can end."""
        if not self.closed:
            self._end()
            self.closed = True
            self._wake()

    @property
    def position(self) -> int:
        """Return the position of the latest change."""
        return self._first + len(self._changes) - 1

    @property
    def namespaces(self) -> frozenset[str]:
        """Return the namespaces that hold an xApp or have just lost one: the same set while none comes or goes."""
        held = self._store.namespaces
        if self._known is None or self._known[0] is not held:
            self._known = held, held | self._in_ring.keys()
        return self._known[1]

    def id_at(self, position: int) -> str:
        """Return the id after which a stream goes on at `position`, which the ring still reaches."""
        return self._before if position == self._first - 1 else self._changes[position].id

    def listening(self) -> AbstractContextManager[None]:
        """Count a listener for as long as the block lasts.

        Raises:
            TooManyAtOnce: when there are LISTENERS_MAX already.
        """
        return self._listeners.taken()

    def position_of(self, event_id: str) -> int | None:
        """Return the position of an event, or None when it is too old or of another process."""
        return self._positions.get(event_id)

    def after(self, position: int) -> list[Change] | None:
        """Return the changes after `position`, some at a time; None when the ring does not go back so far."""
        at, size, found = position + 1, 0, list[Change]()
        if at < self._first:
            return None
        while size < BATCH_BYTES and (change := self._changes.get(at)) is not None:
            found.append(change)
            size += len(change.text)
            at += 1
        return found

    async def wait(self, position: int, *, seconds: float) -> bool:
        """Wait until there is a change after `position` or the feed is closed; False when `seconds` passed before."""
        if self.closed or self.position > position:
            return True
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        return True

    def _note(self, change: str, entry: Entry) -> None:
        if not self._is_synced():
            return
        event_id = secrets.token_urlsafe(_ID_BYTES)
        text = event(change, event_id, entry.record)
        position = self.position + 1
        self._changes[position] = Change(event_id, entry.namespace, text)
        self._positions[event_id] = position
        self._bytes += len(text)
        if not self._in_ring[entry.namespace]:
            self._known = None
        self._in_ring[entry.namespace] += 1
        while len(self._changes) > self._most or (self._bytes > self._most_bytes and len(self._changes) > 1):
            self._drop_first()
        self._wake()

    def _drop_first(self) -> None:
        dropped = self._changes.pop(self._first)
        self._first += 1
        del self._positions[self._before]
        self._before = dropped.id
        self._bytes -= len(dropped.text)
        self._in_ring[dropped.namespace] -= 1
        if not self._in_ring[dropped.namespace]:
            del self._in_ring[dropped.namespace]
            self._known = None

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


def event(name: str, event_id: str, data: bytes) -> bytes:
    """Return a Server-Sent Event (WHATWG HTML, 9.2.6); `data` is JSON in one line."""
    return b"event: %b\nid: %b\ndata: %b\n\n" % (name.encode(), event_id.encode(), data)


def reset(event_id: str, why: str) -> bytes:
    """Return the event that tells a listener to list again, and to go on after `event_id`."""
    return event("reset", event_id, orjson.dumps({"detail": f"{why}: list the xApps again"}))
