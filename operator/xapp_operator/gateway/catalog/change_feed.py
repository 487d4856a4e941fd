"""The last changes of xApps, and what a listener sees of them as Server-Sent Events.

All streams read from one ring buffer, each at its own position, so nothing is queued for a listener. A listener that
falls behind the ring must list again. A change holds what filters look at, before and after it, so that a listener with
filters learns of an xApp that begins to match or no longer does. The id of an event is random, so that it reveals
nothing about other events; only this process knows it, and only while the event is in the ring.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

import orjson

from xapp_operator.gateway.catalog.records import XAppEntry
from xapp_operator.gateway.catalog.xapp_filters import FilterFields, XAppFilters
from xapp_operator.gateway.catalog.xapp_store import XAppRecordStore

RING_EVENTS_MAX: Final = 10_000
RING_BYTES_MAX: Final = 16 * 1024 * 1024
BATCH_BYTES: Final = 64 * 1024

_EVENT_ID_BYTES: Final = 9


@dataclass(frozen=True, slots=True)
class FeedChange:
    """One change: the entry after it, or the last one of a deleted xApp.

    `before` and `after` are what filters look at; None where there was or is no xApp.
    """

    id: str
    namespace: str
    name: str
    record_json: bytes
    summary_length: int
    before: FilterFields | None
    after: FilterFields | None

    @property
    def size(self) -> int:
        """Return about how many bytes the ring holds for this change."""
        return len(self.record_json) + sum(len(each.search_text) for each in (self.before, self.after) if each)


class ListenerFilter:
    """What one listener sees: the changes of xApps that pass all filters."""

    def __init__(self, filters: XAppFilters, *, names: Collection[str] = (), summary: bool = False) -> None:
        """Prepare the filters.

        Args:
            filters: those of the list, without `namespace`, which is a matter of permissions.
            names: only xApps with one of these names; empty for all.
            summary: whether events have the summary of a record in place of the record.
        """
        self._matches = filters.matcher()
        self._names = frozenset(names)
        self._summary = summary

    def event(self, change: FeedChange) -> bytes:
        """Return a change as the listener sees it: an event, or nothing.

        For the listener, an xApp that begins to pass the filters is added, and one that ceases to pass them is deleted.
        """
        if self._names and change.name not in self._names:
            return b""
        passed, passes = self._passes(change.before), self._passes(change.after)
        if not passed and not passes:
            return b""
        kind = "deleted" if not passes else "modified" if passed else "added"
        data = change.record_json[: change.summary_length] + b"}" if self._summary else change.record_json
        return format_event(kind, change.id, data)

    def _passes(self, fields: FilterFields | None) -> bool:
        return fields is not None and (self._matches is None or self._matches(fields))


class ChangeFeed:
    """The ring of changes. A position is the number of changes since the process started."""

    def __init__(
        self,
        store: XAppRecordStore,
        *,
        is_synced: Callable[[], bool],
        max_events: int = RING_EVENTS_MAX,
        max_bytes: int = RING_BYTES_MAX,
    ) -> None:
        """Subscribe to `store`; changes before `is_synced` fill it and are not events."""
        self._store = store
        self._is_synced = is_synced
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._bytes = 0
        self._first = 1
        self._changes: dict[int, FeedChange] = {}
        self._preceding_id = secrets.token_urlsafe(_EVENT_ID_BYTES)
        self._positions = {self._preceding_id: 0}
        self._changes_by_namespace: Counter[str] = Counter()
        self._known_namespaces: tuple[frozenset[str], frozenset[str]] | None = None
        self._changed = asyncio.Event()
        self.closed = False
        self._unsubscribe = store.subscribe(self._append)

    def close(self) -> None:
        """End every stream, so that the process can stop."""
        if not self.closed:
            self._unsubscribe()
            self.closed = True
            self._wake_listeners()

    @property
    def position(self) -> int:
        """Return the position of the latest change."""
        return self._first + len(self._changes) - 1

    @property
    def namespaces(self) -> frozenset[str]:
        """Return the namespaces with an xApp or a change: the same set object while none comes or goes."""
        held = self._store.namespaces
        if self._known_namespaces is None or self._known_namespaces[0] is not held:
            self._known_namespaces = held, held | self._changes_by_namespace.keys()
        return self._known_namespaces[1]

    @property
    def latest_id(self) -> str:
        """Return the id after which a stream has only changes that the store does not contain yet."""
        return self.id_at(self.position)

    def id_at(self, position: int) -> str:
        """Return the id after which a stream resumes at `position`, which must be in the ring."""
        return self._preceding_id if position == self._first - 1 else self._changes[position].id

    def position_of(self, event_id: str) -> int | None:
        """Return the position of an event, or None if it is too old or comes from another process."""
        return self._positions.get(event_id)

    def changes_after(self, position: int) -> list[FeedChange] | None:
        """Return some of the changes after `position`; None if the ring no longer has them."""
        at, size, found = position + 1, 0, list[FeedChange]()
        if at < self._first:
            return None
        while size < BATCH_BYTES and (change := self._changes.get(at)) is not None:
            found.append(change)
            size += change.size
            at += 1
        return found

    async def wait_for_change(self, position: int, *, seconds: float) -> bool:
        """Wait for a change after `position` or the end of the feed; return False after `seconds` without either."""
        if self.closed or self.position > position:
            return True
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True

    def _append(self, change: str, entry: XAppEntry, before: XAppEntry | None) -> None:
        if not self._is_synced():
            return
        event_id = secrets.token_urlsafe(_EVENT_ID_BYTES)
        position = self.position + 1
        self._changes[position] = added = FeedChange(
            event_id,
            entry.namespace,
            entry.name,
            entry.record_json,
            entry.summary_length,
            before=None if before is None else before.filter_fields,
            after=None if change == "deleted" else entry.filter_fields,
        )
        self._positions[event_id] = position
        self._bytes += added.size
        if not self._changes_by_namespace[entry.namespace]:
            self._known_namespaces = None
        self._changes_by_namespace[entry.namespace] += 1
        while len(self._changes) > self._max_events or (self._bytes > self._max_bytes and len(self._changes) > 1):
            self._drop_oldest()
        self._wake_listeners()

    def _drop_oldest(self) -> None:
        dropped = self._changes.pop(self._first)
        self._first += 1
        del self._positions[self._preceding_id]
        self._preceding_id = dropped.id
        self._bytes -= dropped.size
        self._changes_by_namespace[dropped.namespace] -= 1
        if not self._changes_by_namespace[dropped.namespace]:
            del self._changes_by_namespace[dropped.namespace]
            self._known_namespaces = None

    def _wake_listeners(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def format_event(name: str, event_id: str, data: bytes) -> bytes:
    """Return a Server-Sent Event (WHATWG HTML, 9.2.6); `data` is JSON on one line."""
    return b"event: %b\nid: %b\ndata: %b\n\n" % (name.encode(), event_id.encode(), data)


def format_reset(event_id: str, reason: str) -> bytes:
    """Return the event after which a client lists again and resumes after `event_id`."""
    return format_event("reset", event_id, orjson.dumps({"detail": f"{reason}: list the xApps again"}))
