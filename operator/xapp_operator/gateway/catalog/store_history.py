"""What a store contained at earlier instants, for walks through a list that changes meanwhile.

A snapshot of a list holds the keys of its entries, in order. The entries themselves are shared with the store: an
instant keeps only those that have changed since, once for all snapshots of this and earlier instants. So a snapshot
copies no entry, and a change costs one look at the newest instant, however many snapshots there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

HISTORY_BYTES_MAX: Final = 32 * 1024 * 1024
"""About how much memory the changed entries of one store may take."""
CHANGE_BYTES: Final = 300
"""What an instant needs to keep an entry, besides the entry."""
KEY_BYTES: Final = 8
"""What a snapshot needs to refer to a key."""

SortValue: TypeAlias = str | tuple[int, tuple[int, ...], str]
SortKey: TypeAlias = tuple[SortValue, str]
"""What an object is sorted by, then its uid."""


class StoredEntry(Protocol):
    @property
    def namespace(self) -> str: ...

    @property
    def memory_bytes(self) -> int:
        """Return about how many bytes of memory the entry takes."""
        ...


E = TypeVar("E", bound=StoredEntry)


class Instant(Generic[E]):
    """The state of a store between two changes; `replaced` has what changed before the following instant.

    Values of `replaced` are the namespace of an entry, and the entry as it was, or None if there was none.
    """

    __slots__ = ("following", "previous", "replaced", "snapshots")

    def __init__(self, previous: Instant[E] | None) -> None:
        self.replaced: dict[str, tuple[str, E | None]] = {}
        self.snapshots = 0
        self.previous = previous
        self.following: Instant[E] | None = None


class StoreSnapshot(Generic[E]):
    """The entries of a list at one instant, in order, read as slices until it is closed.

    `namespaces` are those that its list can contain; None for all.
    """

    def __init__(
        self,
        history: StoreHistory[E],
        instant: Instant[E],
        keys: Sequence[SortKey],
        *,
        descending: bool,
        namespaces: frozenset[str] | None,
    ) -> None:
        self.namespaces = namespaces
        self.closed = False
        self._history = history
        self._instant = instant
        self._keys = keys
        self._descending = descending

    @property
    def memory_bytes(self) -> int:
        """Return about how many bytes of memory its keys take."""
        return KEY_BYTES * len(self._keys)

    def close(self) -> None:
        """Give its memory back; it cannot be read any more."""
        if not self.closed:
            self.closed = True
            self._history.end(self, self._instant)

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, at: slice) -> list[E]:
        start, stop, _ = at.indices(len(self._keys))
        if self._descending:
            start, stop = len(self._keys) - stop, len(self._keys) - start
        found = [self._history.entry_at(self._instant, key[1]) for key in self._keys[start:stop]]
        return found[::-1] if self._descending else found


class StoreHistory(Generic[E]):
    """The instants of one store that open snapshots need."""

    def __init__(self, current: Mapping[str, E], *, max_bytes: int = HISTORY_BYTES_MAX) -> None:
        """Keep the history of `current`, the entries of the store by uid."""
        self._current = current
        self._max_bytes = max_bytes
        self._newest: Instant[E] | None = None
        self._changed_since = False
        self._open: set[StoreSnapshot[E]] = set()
        self._bytes: Counter[str] = Counter()  # of kept entries, by namespace

    @property
    def kept_bytes(self) -> int:
        """Return about how many bytes of memory the kept entries take."""
        return self._bytes.total()

    def begin(
        self, keys: Sequence[SortKey], *, descending: bool, namespaces: frozenset[str] | None
    ) -> StoreSnapshot[E]:
        """Return a snapshot of now; `keys` are those of its entries, in a sequence that does not change."""
        if self._newest is None or self._changed_since:
            instant = Instant(self._newest)
            if self._newest is not None:
                self._newest.following = instant
            self._newest, self._changed_since = instant, False
        self._newest.snapshots += 1
        snapshot = StoreSnapshot(self, self._newest, keys, descending=descending, namespaces=namespaces)
        self._open.add(snapshot)
        return snapshot

    def record(self, uid: str, namespace: str, before: E | None) -> None:
        """Note a change of an entry that was `before`; None if there was none."""
        instant = self._newest
        if instant is None:
            return
        self._changed_since = True
        if uid in instant.replaced:
            return
        instant.replaced[uid] = namespace, before
        self._bytes[namespace] += _kept_bytes(before)
        if self._bytes.total() > self._max_bytes:
            self._drop_largest_namespace()

    def entry_at(self, instant: Instant[E], uid: str) -> E:
        """Return an entry that existed at an instant, as it was then."""
        at: Instant[E] | None = instant
        while at is not None:
            kept = at.replaced.get(uid)
            if kept is not None:
                if kept[1] is None:
                    break
                return kept[1]
            at = at.following
        return self._current[uid]

    def end(self, snapshot: StoreSnapshot[E], instant: Instant[E]) -> None:
        """Forget what only this snapshot needed; earlier instants take over what they need too."""
        self._open.discard(snapshot)
        instant.snapshots -= 1
        if instant.snapshots:
            return
        previous, following = instant.previous, instant.following
        for uid, (namespace, entry) in instant.replaced.items():
            if previous is not None and uid not in previous.replaced:
                previous.replaced[uid] = namespace, entry
            else:
                self._forget(namespace, entry)
        if previous is not None:
            previous.following = following
        if following is not None:
            following.previous = previous
        else:
            self._newest, self._changed_since = previous, True

    def _drop_largest_namespace(self) -> None:
        """Close all snapshots that show the namespace with the most changes, and forget these."""
        ((largest, _),) = self._bytes.most_common(1)
        for snapshot in tuple(self._open):
            if snapshot.namespaces is None or largest in snapshot.namespaces:
                snapshot.close()
        instant = self._newest
        while instant is not None:
            for uid in [uid for uid, (namespace, _) in instant.replaced.items() if namespace == largest]:
                self._forget(*instant.replaced.pop(uid))
            instant = instant.previous

    def _forget(self, namespace: str, entry: E | None) -> None:
        self._bytes[namespace] -= _kept_bytes(entry)
        if not self._bytes[namespace]:
            del self._bytes[namespace]


def _kept_bytes(entry: StoredEntry | None) -> int:
    return CHANGE_BYTES + (0 if entry is None else entry.memory_bytes)
