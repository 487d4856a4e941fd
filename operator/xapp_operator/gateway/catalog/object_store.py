"""Objects of the cluster in memory: sorted, filtered and paged without a request to the API server.

There is one index for each sort, over all objects and for each namespace, updated with every change: a page of an
unfiltered list is a slice of an index. A filter, or the namespaces that a caller may see, cost one scan, or a look at
the few objects that an index of values names; its result is reused until an object changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final, Generic, Protocol, Self, TypeAlias, TypeVar

from cachetools import LRUCache
from sortedcontainers import SortedList

from xapp_operator.api.json import JsonObject
from xapp_operator.config.settings import Settings
from xapp_operator.errors import NotReady
from xapp_operator.gateway.catalog.store_history import SortKey, StoredEntry, StoreHistory, StoreSnapshot
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import Resource
from xapp_operator.kube.watch.watch_cache import ChangeType, ObjectKey, WatchCache

SCAN_CACHE_SIZE: Final = 256
MERGE_FRACTION: Final = 8
"""Few keys are sorted, if they are at most 1/8 of all; otherwise a scan of all, which are in order, costs less."""


class StoreEntry(StoredEntry, Protocol):
    """What a store holds of one object: any frozen value with these properties."""

    @property
    def uid(self) -> str:
        """Identify the object; another object of the same name has another uid."""
        ...

    @property
    def name(self) -> str: ...

    @property
    def sort_keys(self) -> tuple[SortKey, ...]:
        """Return one sort key for each sort of the store."""
        ...


FilterValues: TypeAlias = tuple[str, ...]
"""The values of one filter, sorted: an object passes with any of them, and every object passes if there are none."""

E = TypeVar("E", bound=StoreEntry)
E_contra = TypeVar("E_contra", contravariant=True)
Listener: TypeAlias = Callable[[str, E, E | None], None]
"""Called with `added`, `modified` or `deleted`, the entry, and the entry before the change, if there was one."""


class Filters(Protocol[E_contra]):
    """The filters of a list: any hashable value with these properties."""

    @property
    def namespace(self) -> tuple[str, ...]:
        """Return the namespaces to list; empty for all."""
        ...

    def predicate(self) -> Callable[[E_contra], bool] | None:
        """Return the test of all filters but `namespace`; None if there are none."""
        ...


class _SortIndex:
    """The sort keys of some objects: one sorted list for each sort."""

    __slots__ = ("lists",)

    def __init__(self, sorts: int) -> None:
        self.lists: tuple[SortedList[SortKey], ...] = tuple(SortedList() for _ in range(sorts))

    def update(self, before: tuple[SortKey, ...], after: tuple[SortKey, ...]) -> None:
        for ordered, old, new in zip(self.lists, before, after, strict=True):
            if old != new:
                ordered.remove(old)
                ordered.add(new)

    def add(self, keys: tuple[SortKey, ...]) -> None:
        for ordered, key in zip(self.lists, keys, strict=True):
            ordered.add(key)

    def remove(self, keys: tuple[SortKey, ...]) -> None:
        for ordered, key in zip(self.lists, keys, strict=True):
            ordered.remove(key)

    def __len__(self) -> int:
        return len(self.lists[0])


class View(Generic[E]):
    """The entries of one request in the requested order, read as slices; valid until the store changes."""

    def __init__(self, keys: Sequence[SortKey], entries: dict[str, E], *, descending: bool) -> None:
        self._keys = keys
        self._entries = entries
        self._descending = descending

    def __len__(self) -> int:
        return len(self._keys)

    def fixed_keys(self) -> Sequence[SortKey]:
        """Return the keys in ascending order, in a sequence that does not change with the store."""
        return list(self._keys) if isinstance(self._keys, SortedList) else self._keys

    def __getitem__(self, at: slice) -> list[E]:
        start, stop, _ = at.indices(len(self._keys))
        if self._descending:
            start, stop = len(self._keys) - stop, len(self._keys) - start
        found = [self._entries[key[1]] for key in self._keys[start:stop]]
        return found[::-1] if self._descending else found


class ObjectStore(Generic[E]):
    """All entries of one kind and their indexes; `version` grows with every change that a caller could see."""

    def __init__(self, *, sorts: Sequence[str]) -> None:
        """Create an empty store; `sorts` names the sort keys of its entries, in their order."""
        self.version = 0
        self._sorts = tuple(sorts)
        self._by_uid: dict[str, E] = {}
        self._by_key: dict[tuple[str, str], E] = {}
        self._index = _SortIndex(len(self._sorts))
        self._namespace_indexes: dict[str, _SortIndex] = {}
        self._namespace_versions: dict[str, int] = {}
        self._namespaces: frozenset[str] | None = None
        self._scans = self._empty_cache()
        self._listeners: list[Listener[E]] = []
        self._history: StoreHistory[E] = StoreHistory(self._by_uid)

    def __len__(self) -> int:
        return len(self._by_uid)

    def get(self, namespace: str, name: str) -> E | None:
        return self._by_key.get((namespace, name))

    def namespace_version(self, namespace: str) -> int:
        """Return the `version` of the last change in a namespace; without objects in it, the current one."""
        return self._namespace_versions.get(namespace, self.version)

    @property
    def namespaces(self) -> frozenset[str]:
        """Return the namespaces that hold an object: the same set object until one comes or goes."""
        if self._namespaces is None:
            self._namespaces = frozenset(self._namespace_indexes)
        return self._namespaces

    def count(self, namespace: str) -> int:
        """Return the number of objects in a namespace."""
        index = self._namespace_indexes.get(namespace)
        return 0 if index is None else len(index)

    def subscribe(self, listener: Listener[E]) -> Callable[[], None]:
        """Call `listener` at every change; the function that is returned ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def put(self, entry: E) -> None:
        """Add an object or replace what is known of it."""
        namespace, name = entry.namespace, entry.name
        before = self._by_key.get((namespace, name))
        if before == entry:
            return
        if before is not None and before.uid != entry.uid:
            self.remove(namespace, name)
            before = None
        self._history.record(entry.uid, namespace, before)
        self._by_uid[entry.uid] = self._by_key[namespace, name] = entry
        if namespace not in self._namespace_indexes:
            self._namespace_indexes[namespace] = _SortIndex(len(self._sorts))
            self._namespaces = None
        for index in (self._index, self._namespace_indexes[namespace]):
            if before is None:
                index.add(entry.sort_keys)
            else:
                index.update(before.sort_keys, entry.sort_keys)
        self._on_change("added" if before is None else "modified", entry, before)

    def remove(self, namespace: str, name: str) -> None:
        """Remove an object, if it is there."""
        entry = self._by_key.pop((namespace, name), None)
        if entry is None:
            return
        self._history.record(entry.uid, namespace, entry)
        del self._by_uid[entry.uid]
        self._index.remove(entry.sort_keys)
        index = self._namespace_indexes[namespace]
        index.remove(entry.sort_keys)
        if not len(index):
            del self._namespace_indexes[namespace]
            self._namespaces = None
        self._on_change("deleted", entry, entry)

    def select(
        self, filters: Filters[E], *, sort: str, descending: bool = False, within: frozenset[str] | None = None
    ) -> View[E]:
        """Return the objects that pass the filters, in order.

        Args:
            filters: the filters of the list.
            sort: one of the store's sorts.
            descending: whether to reverse the order.
            within: the namespaces that the caller may see; None for all.
        """
        namespaces = self._visible_namespaces(filters, within)
        predicate = filters.predicate()
        if predicate is None and (namespaces is None or len(namespaces) <= 1):
            keys = self._keys(namespaces, sort)
        else:
            request = filters, sort, within
            cached = self._scans.get(request)
            if cached is None:
                cached = self._scans[request] = self._scan(filters, predicate, sort=sort, namespaces=namespaces)
            keys = cached
        return View(keys, self._by_uid, descending=descending)

    def snapshot(
        self, filters: Filters[E], *, sort: str, descending: bool = False, within: frozenset[str] | None = None
    ) -> StoreSnapshot[E]:
        """Return what `select` returns, as it is now and stays until it is closed."""
        view = self.select(filters, sort=sort, descending=descending, within=within)
        namespaces = self._visible_namespaces(filters, within)
        return self._history.begin(
            view.fixed_keys(),
            descending=descending,
            namespaces=None if namespaces is None else namespaces & self.namespaces,
        )

    @staticmethod
    def _visible_namespaces(filters: Filters[E], within: frozenset[str] | None) -> frozenset[str] | None:
        """Return the namespaces of a list; None for all."""
        if not filters.namespace:
            return within
        named = frozenset(filters.namespace)
        return named if within is None else named & within

    def _candidates(self, _filters: Filters[E]) -> set[str] | None:
        """Return the uids of all objects that can pass the filters, from an index; None if no index helps."""
        return None

    def _scan(
        self,
        filters: Filters[E],
        predicate: Callable[[E], bool] | None,
        *,
        sort: str,
        namespaces: frozenset[str] | None,
    ) -> Sequence[SortKey]:
        entries = self._by_uid
        candidates = None if predicate is None else self._candidates(filters)
        if predicate is not None and candidates is not None and len(candidates) * MERGE_FRACTION <= len(self):
            at = self._sorts.index(sort)
            found = (entries[uid] for uid in candidates)
            return sorted(
                entry.sort_keys[at]
                for entry in found
                if (namespaces is None or entry.namespace in namespaces) and predicate(entry)
            )
        keys = self._keys(namespaces, sort)
        if predicate is None:
            return keys
        return [key for key in keys if predicate(entries[key[1]])]

    def _keys(self, namespaces: frozenset[str] | None, sort: str) -> Sequence[SortKey]:
        if namespaces is None:
            return self._index.lists[self._sorts.index(sort)]
        return self._keys_within(namespaces, sort)

    def _keys_within(self, namespaces: frozenset[str], sort: str) -> Sequence[SortKey]:
        at = self._sorts.index(sort)
        indexes = [self._namespace_indexes[each].lists[at] for each in namespaces if each in self._namespace_indexes]
        if len(indexes) <= 1:
            return indexes[0] if indexes else ()
        if sum(map(len, indexes)) * MERGE_FRACTION <= len(self):
            # Python's sort merges runs that are in order.
            return sorted(chain.from_iterable(indexes))
        entries = self._by_uid
        return [key for key in self._index.lists[at] if entries[key[1]].namespace in namespaces]

    def _on_change(self, change: str, entry: E, before: E | None) -> None:
        self.version += 1
        if entry.namespace in self._namespace_indexes:
            self._namespace_versions[entry.namespace] = self.version
        else:
            self._namespace_versions.pop(entry.namespace, None)
        if self._scans:
            self._scans = self._empty_cache()
        for listener in tuple(self._listeners):
            listener(change, entry, before)

    @staticmethod
    def _empty_cache() -> LRUCache[tuple[Filters[E], str, frozenset[str] | None], Sequence[SortKey]]:
        return LRUCache(SCAN_CACHE_SIZE)


class WatchedStore(Generic[E]):
    """A store of one kind that a watch of the monitored namespaces keeps current inside the `async with` block."""

    def __init__(
        self,
        kube: KubeClient,
        settings: Settings,
        resource: Resource,
        *,
        sorts: Sequence[str],
        build_entry: Callable[[JsonObject], E],
        plural_name: str,
        metadata_only: bool = False,
    ) -> None:
        """Prepare the watch.

        Args:
            kube: the gateway's own client.
            settings: names the monitored namespaces.
            resource: the kind.
            sorts: the sorts of the store.
            build_entry: makes the entry of an object.
            plural_name: the kind in messages to users.
            metadata_only: read objects without their spec.
        """
        self.store: ObjectStore[E] = ObjectStore(sorts=sorts)
        self._plural_name = plural_name
        self._cache = WatchCache(
            kube, resource, transform=build_entry, namespaces=settings.namespaces, metadata_only=metadata_only
        )
        self._cache.subscribe(self._on_change)
        self.synced = self._cache.synced

    async def __aenter__(self) -> Self:
        self._cache.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """End the watch; the store stays readable."""
        await self._cache.stop()

    def put(self, raw: JsonObject) -> None:
        """Store an object that was just written, without waiting for its watch event."""
        self._cache.store_written(raw)

    def synced_store(self) -> ObjectStore[E]:
        """Return the store, once all objects are known.

        Raises:
            NotReady: until the first list of the cluster is complete.
        """
        if not self.synced.is_set():
            raise NotReady(f"the {self._plural_name} of the cluster have not been read yet: try again in a second")
        return self.store

    def _on_change(self, change: ChangeType, key: ObjectKey, entry: E) -> None:
        if change == "DELETED":
            self.store.remove(*key)
        else:
            self.store.put(entry)
