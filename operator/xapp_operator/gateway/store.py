"""Every xApp in memory, sorted by everything a list sorts by, kept in order change by change.

No request sorts or asks the API server: a page is a slice of an index. There is one index for each sort, cluster-wide
and for each namespace; a filter, and the namespaces that a caller may see, are looked through once and remembered until
something changes. Lives in the gateway, above the watch that feeds it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final, NamedTuple, TypeAlias, overload

from sortedcontainers import SortedList

from xapp_operator.gateway.records import FACETS, SORTS, Entry, SortKey
from xapp_operator.gateway.watched import Views

VIEWS_KEPT: Final = 256
MERGED_PART_MAX: Final = 8
"""The indexes of some namespaces are merged where they hold at most 1/8 of all xApps; else one scan costs less."""

Listener: TypeAlias = Callable[[str, Entry], None]
"""Called with `added`, `modified` or `deleted`, and the entry."""


class Filters(NamedTuple):
    """What a list is narrowed down to; None is no filter. The first fields are FACETS, in their order."""

    namespace: str | None = None
    organization: str | None = None
    team: str | None = None
    owner: str | None = None
    phase: str | None = None
    health: str | None = None
    source: str | None = None
    search: str | None = None

    @property
    def by_index(self) -> bool:
        """Tell whether an index answers it, so that nothing has to be scanned."""
        return self[1:] == _NO_FILTERS


_NO_FILTERS: Final = Filters()[1:]
_NOWHERE: Final = frozenset[str]()


class _Index:
    """The sort keys of some xApps, one sorted list for each of SORTS."""

    __slots__ = ("lists",)

    def __init__(self) -> None:
        self.lists: tuple[SortedList[SortKey], ...] = tuple(SortedList() for _ in SORTS)

    def add(self, entry: Entry) -> None:
        for ordered, key in zip(self.lists, entry.keys, strict=True):
            ordered.add(key)

    def remove(self, entry: Entry) -> None:
        for ordered, key in zip(self.lists, entry.keys, strict=True):
            ordered.remove(key)

    def move(self, before: Entry, after: Entry) -> None:
        for ordered, old, new in zip(self.lists, before.keys, after.keys, strict=True):
            if old != new:
                ordered.remove(old)
                ordered.add(new)

    def __len__(self) -> int:
        return len(self.lists[0])


class View(Sequence[Entry]):
    """The xApps of one request, in its order; valid until the store changes."""

    def __init__(self, keys: Sequence[SortKey], entries: dict[str, Entry], *, descending: bool) -> None:
        self._keys = keys
        self._entries = entries
        self._descending = descending

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, at: int) -> Entry: ...

    @overload
    def __getitem__(self, at: slice) -> list[Entry]: ...

    def __getitem__(self, at: int | slice) -> Entry | list[Entry]:
        if isinstance(at, int):
            return self._entries[self._keys[-1 - at if self._descending else at][1]]
        start, stop, _ = at.indices(len(self._keys))
        if self._descending:
            start, stop = len(self._keys) - stop, len(self._keys) - start
        found = [self._entries[key[1]] for key in self._keys[start:stop]]
        return found[::-1] if self._descending else found


class RecordStore:
    """All entries, their indexes, and `version`, which grows with every change that a caller could see."""

    def __init__(self) -> None:
        self.version = 0
        self._by_uid: dict[str, Entry] = {}
        self._by_key: dict[tuple[str, str], Entry] = {}
        self._all = _Index()
        self._namespaces: dict[str, _Index] = {}
        self._named: frozenset[str] | None = None
        self._views: Views[Sequence[SortKey]] = Views(VIEWS_KEPT)
        self._listeners: list[Listener] = []

    def __len__(self) -> int:
        return len(self._by_uid)

    def get(self, namespace: str, name: str) -> Entry | None:
        """Return the entry of one xApp."""
        return self._by_key.get((namespace, name))

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` at every change; what is returned ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def put(self, entry: Entry) -> None:
        """Add an xApp, or replace what is known of it."""
        before = self._by_key.get(entry.key)
        if before is not None and before.uid != entry.uid:
            self.remove(*entry.key)
            before = None
        self._by_uid[entry.uid] = self._by_key[entry.key] = entry
        if before is None:
            if entry.namespace not in self._namespaces:
                self._namespaces[entry.namespace] = _Index()
                self._named = None
            for index in (self._all, self._namespaces[entry.namespace]):
                index.add(entry)
        else:
            for index in (self._all, self._namespaces[entry.namespace]):
                index.move(before, entry)
        if before != entry:
            self.version += 1
            self._tell("added" if before is None else "modified", entry)

    def remove(self, namespace: str, name: str) -> None:
        """Forget an xApp; one that is not there is no error."""
        entry = self._by_key.pop((namespace, name), None)
        if entry is None:
            return
        del self._by_uid[entry.uid]
        self._all.remove(entry)
        index = self._namespaces[namespace]
        index.remove(entry)
        if not len(index):
            del self._namespaces[namespace]
            self._named = None
        self.version += 1
        self._tell("deleted", entry)

    @property
    def namespaces(self) -> frozenset[str]:
        """Return the namespaces that hold an xApp: the very same set until one comes or goes."""
        if self._named is None:
            self._named = frozenset(self._namespaces)
        return self._named

    def view(self, filters: Filters, *, sort: str, descending: bool, within: frozenset[str] | None = None) -> View:
        """Return the xApps that `filters` let through, in the order asked for.

        Args:
            filters: what the list is narrowed down to.
            sort: one of SORTS.
            descending: the other way round.
            within: the namespaces that the caller may see; None for all.
        """
        if within is not None and filters.namespace is not None:
            filters, within = (filters, None) if filters.namespace in within else (filters, _NOWHERE)
        if filters.by_index and within is None:
            keys = self._index_keys(filters, sort)
        else:
            asked = filters, sort, within
            keys = self._views.get(asked, version=self.version, find=lambda: self._look_through(*asked))
        return View(keys, self._by_uid, descending=descending)

    def counted(self, facet: str) -> dict[str, int]:
        """Return how many xApps have each value of one of FACETS."""
        at = FACETS.index(facet)
        return dict(Counter(entry.facets[at] for entry in self._by_uid.values()))

    def _index_keys(self, filters: Filters, sort: str) -> Sequence[SortKey]:
        index = self._all if filters.namespace is None else self._namespaces.get(filters.namespace)
        return () if index is None else index.lists[SORTS.index(sort)]

    def _look_through(self, filters: Filters, sort: str, within: frozenset[str] | None) -> Sequence[SortKey]:
        found = self._index_keys(filters, sort) if within is None else self._within(within, sort)
        if filters.by_index:
            return found
        matches, entries = matcher(filters), self._by_uid
        return [key for key in found if matches(entries[key[1]])]

    def _within(self, namespaces: frozenset[str], sort: str) -> Sequence[SortKey]:
        at = SORTS.index(sort)
        indexes = [self._namespaces[each].lists[at] for each in namespaces if each in self._namespaces]
        if len(indexes) == 1:
            return indexes[0]
        if sum(map(len, indexes)) * MERGED_PART_MAX <= len(self):
            # Runs that are in order already are merged, not sorted, by Python's own sort.
            return sorted(chain.from_iterable(indexes))
        entries = self._by_uid
        return [key for key in self._all.lists[at] if entries[key[1]].namespace in namespaces]

    def _tell(self, change: str, entry: Entry) -> None:
        for listener in tuple(self._listeners):
            listener(change, entry)


def matcher(filters: Filters) -> Callable[[Entry], bool]:
    """Return what tells whether a list with `filters` shows an entry."""
    wanted = [(at, value) for at, value in enumerate(filters[: len(FACETS)]) if value is not None]
    needle = (filters.search or "").casefold()

    def matches(entry: Entry) -> bool:
        facets = entry.facets
        for at, value in wanted:
            if facets[at] != value:
                return False
        return needle in entry.haystack

    return matches
