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

from xapp_operator.gateway.catalog.object_store import ViewCache
from xapp_operator.gateway.catalog.records import FACETS, XAPP_SORTS, XAppEntry, XAppSortKey

XAPP_VIEW_CACHE_SIZE: Final = 256
MERGE_FRACTION: Final = 8
"""The indexes of some namespaces are merged where they hold at most 1/8 of all xApps; else one scan costs less."""

XAppListener: TypeAlias = Callable[[str, XAppEntry], None]
"""Called with `added`, `modified` or `deleted`, and the entry."""


class XAppFilters(NamedTuple):
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
    def is_indexed(self) -> bool:
        """Tell whether an index answers it, so that nothing has to be scanned."""
        return self[1:] == _NO_FILTERS


_NO_FILTERS: Final = XAppFilters()[1:]
_NO_NAMESPACES: Final = frozenset[str]()


class _SortIndex:
    """The sort keys of some xApps, one sorted list for each of SORTS."""

    __slots__ = ("lists",)

    def __init__(self) -> None:
        self.lists: tuple[SortedList[XAppSortKey], ...] = tuple(SortedList() for _ in XAPP_SORTS)

    def add(self, entry: XAppEntry) -> None:
        for ordered, key in zip(self.lists, entry.sort_keys, strict=True):
            ordered.add(key)

    def remove(self, entry: XAppEntry) -> None:
        for ordered, key in zip(self.lists, entry.sort_keys, strict=True):
            ordered.remove(key)

    def move(self, before: XAppEntry, after: XAppEntry) -> None:
        for ordered, old, new in zip(self.lists, before.sort_keys, after.sort_keys, strict=True):
            if old != new:
                ordered.remove(old)
                ordered.add(new)

    def __len__(self) -> int:
        return len(self.lists[0])


class XAppView(Sequence[XAppEntry]):
    """The xApps of one request, in its order; valid until the store changes."""

    def __init__(self, keys: Sequence[XAppSortKey], entries: dict[str, XAppEntry], *, descending: bool) -> None:
        self._keys = keys
        self._entries = entries
        self._descending = descending

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, at: int) -> XAppEntry: ...

    @overload
    def __getitem__(self, at: slice) -> list[XAppEntry]: ...

    def __getitem__(self, at: int | slice) -> XAppEntry | list[XAppEntry]:
        if isinstance(at, int):
            return self._entries[self._keys[-1 - at if self._descending else at][1]]
        start, stop, _ = at.indices(len(self._keys))
        if self._descending:
            start, stop = len(self._keys) - stop, len(self._keys) - start
        found = [self._entries[key[1]] for key in self._keys[start:stop]]
        return found[::-1] if self._descending else found


class XAppRecordStore:
    """All entries, their indexes, and `version`, which grows with every change that a caller could see."""

    def __init__(self) -> None:
        self.version = 0
        self._by_uid: dict[str, XAppEntry] = {}
        self._by_key: dict[tuple[str, str], XAppEntry] = {}
        self._index = _SortIndex()
        self._namespace_indexes: dict[str, _SortIndex] = {}
        self._namespace_names: frozenset[str] | None = None
        self._views: ViewCache[Sequence[XAppSortKey]] = ViewCache(XAPP_VIEW_CACHE_SIZE)
        self._listeners: list[XAppListener] = []

    def __len__(self) -> int:
        return len(self._by_uid)

    def get(self, namespace: str, name: str) -> XAppEntry | None:
        """Return the entry of one xApp."""
        return self._by_key.get((namespace, name))

    def subscribe(self, listener: XAppListener) -> Callable[[], None]:
        """Call `listener` at every change; what is returned ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def put(self, entry: XAppEntry) -> None:
        """Add an xApp, or replace what is known of it."""
        before = self._by_key.get(entry.key)
        if before is not None and before.uid != entry.uid:
            self.remove(*entry.key)
            before = None
        self._by_uid[entry.uid] = self._by_key[entry.key] = entry
        if before is None:
            if entry.namespace not in self._namespace_indexes:
                self._namespace_indexes[entry.namespace] = _SortIndex()
                self._namespace_names = None
            for index in (self._index, self._namespace_indexes[entry.namespace]):
                index.add(entry)
        else:
            for index in (self._index, self._namespace_indexes[entry.namespace]):
                index.move(before, entry)
        if before != entry:
            self.version += 1
            self._notify("added" if before is None else "modified", entry)

    def remove(self, namespace: str, name: str) -> None:
        """Forget an xApp; one that is not there is no error."""
        entry = self._by_key.pop((namespace, name), None)
        if entry is None:
            return
        del self._by_uid[entry.uid]
        self._index.remove(entry)
        index = self._namespace_indexes[namespace]
        index.remove(entry)
        if not len(index):
            del self._namespace_indexes[namespace]
            self._namespace_names = None
        self.version += 1
        self._notify("deleted", entry)

    @property
    def namespaces(self) -> frozenset[str]:
        """Return the namespaces that hold an xApp: the very same set until one comes or goes."""
        if self._namespace_names is None:
            self._namespace_names = frozenset(self._namespace_indexes)
        return self._namespace_names

    def select(
        self, filters: XAppFilters, *, sort: str, descending: bool, within: frozenset[str] | None = None
    ) -> XAppView:
        """Return the xApps that `filters` let through, in the order asked for.

        Args:
            filters: what the list is narrowed down to.
            sort: one of SORTS.
            descending: the other way round.
            within: the namespaces that the caller may see; None for all.
        """
        if within is not None and filters.namespace is not None:
            filters, within = (filters, None) if filters.namespace in within else (filters, _NO_NAMESPACES)
        if filters.is_indexed and within is None:
            keys = self._index_keys(filters, sort)
        else:
            view_key = filters, sort, within
            keys = self._views.get(view_key, version=self.version, compute=lambda: self._scan(*view_key))
        return XAppView(keys, self._by_uid, descending=descending)

    def count_by(self, facet: str) -> dict[str, int]:
        """Return how many xApps have each value of one of FACETS."""
        at = FACETS.index(facet)
        return dict(Counter(entry.facets[at] for entry in self._by_uid.values()))

    def _index_keys(self, filters: XAppFilters, sort: str) -> Sequence[XAppSortKey]:
        index = self._index if filters.namespace is None else self._namespace_indexes.get(filters.namespace)
        return () if index is None else index.lists[XAPP_SORTS.index(sort)]

    def _scan(self, filters: XAppFilters, sort: str, within: frozenset[str] | None) -> Sequence[XAppSortKey]:
        found = self._index_keys(filters, sort) if within is None else self._keys_in_namespaces(within, sort)
        if filters.is_indexed:
            return found
        matches, entries = filter_predicate(filters), self._by_uid
        return [key for key in found if matches(entries[key[1]])]

    def _keys_in_namespaces(self, namespaces: frozenset[str], sort: str) -> Sequence[XAppSortKey]:
        at = XAPP_SORTS.index(sort)
        indexes = [self._namespace_indexes[each].lists[at] for each in namespaces if each in self._namespace_indexes]
        if len(indexes) == 1:
            return indexes[0]
        if sum(map(len, indexes)) * MERGE_FRACTION <= len(self):
            # Runs that are in order already are merged, not sorted, by Python's own sort.
            return sorted(chain.from_iterable(indexes))
        entries = self._by_uid
        return [key for key in self._index.lists[at] if entries[key[1]].namespace in namespaces]

    def _notify(self, change: str, entry: XAppEntry) -> None:
        for listener in tuple(self._listeners):
            listener(change, entry)


def filter_predicate(filters: XAppFilters) -> Callable[[XAppEntry], bool]:
    """Return what tells whether a list with `filters` shows an entry."""
    required_facets = [(at, value) for at, value in enumerate(filters[: len(FACETS)]) if value is not None]
    search = (filters.search or "").casefold()

    def matches(entry: XAppEntry) -> bool:
        facets = entry.facets
        for at, value in required_facets:
            if facets[at] != value:
                return False
        return search in entry.search_text

    return matches
