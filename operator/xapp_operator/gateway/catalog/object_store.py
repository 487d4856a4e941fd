"""What every list from memory is made of: objects by namespace and name, the watch that feeds them, remembered views.

Lives in the gateway, below `repository_store` and `services`, which add what their objects are and how they are
ordered. The store of xApps has two sources, listeners and an index for each namespace, and shares the views only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from types import TracebackType
from typing import Final, Generic, Protocol, Self, TypeVar

from xapp_operator.api.json import JsonObject
from xapp_operator.config import Settings
from xapp_operator.errors import NotReady
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import Resource
from xapp_operator.kube.watch_cache import ChangeType, ObjectKey, WatchCache

VIEW_CACHE_SIZE: Final = 64


class HasKey(Protocol):
    """What can be kept: it has a namespace and a name."""

    @property
    def key(self) -> ObjectKey:
        """Return both."""
        ...


V = TypeVar("V")
T = TypeVar("T", bound=HasKey)


class ViewCache(Generic[V]):
    """What was found for the last questions, `most` of them; each answer counts until the version changes."""

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._views: OrderedDict[Hashable, tuple[int, V]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._views)

    def get(self, key: Hashable, *, version: int, compute: Callable[[], V]) -> V:
        """Return what `find` returned for `asked` at this version."""
        cached = self._views.get(key)
        if cached is None or cached[0] != version:
            cached = self._views[key] = version, compute()
        self._views.move_to_end(key)
        if len(self._views) > self._max_size:
            self._views.popitem(last=False)
        return cached[1]


class ObjectStore(ABC, Generic[T]):
    """Objects by namespace and name, in the orders of a subclass; `version` grows with every change."""

    def __init__(self) -> None:
        self.version = 0
        self._objects: dict[ObjectKey, T] = {}
        self._namespace_counts: Counter[str] = Counter()
        self._namespaces: frozenset[str] = frozenset()

    @property
    def namespaces(self) -> frozenset[str]:
        """Return the namespaces that hold an object: the very same set until one comes or goes."""
        return self._namespaces

    def get(self, namespace: str, name: str) -> T | None:
        """Return one object."""
        return self._objects.get(ObjectKey(namespace, name))

    def put(self, found: T) -> None:
        """Add an object, or replace what is known of it."""
        known = self._objects.get(found.key)
        if known == found:
            return
        self._objects[found.key] = found
        self._update_indexes(known, found)
        self.version += 1
        if known is None:
            self._count_namespace(found.key.namespace, 1)

    def remove(self, namespace: str, name: str) -> None:
        """Forget an object; one that is not there is no error."""
        known = self._objects.pop(ObjectKey(namespace, name), None)
        if known is None:
            return
        self._update_indexes(known, None)
        self.version += 1
        self._count_namespace(namespace, -1)

    @abstractmethod
    def _update_indexes(self, before: T | None, after: T | None) -> None:
        """Keep every order right when an object comes, changes or goes; None is no object."""

    def _count_namespace(self, namespace: str, change: int) -> None:
        self._namespace_counts[namespace] += change
        if not self._namespace_counts[namespace]:
            del self._namespace_counts[namespace]
        if len(self._namespaces) != len(self._namespace_counts):
            self._namespaces = frozenset(self._namespace_counts)


class WatchedStore(Generic[T]):
    """The objects of one kind in the monitored namespaces, watched while the `async with` block lasts."""

    def __init__(
        self,
        kube: KubeClient,
        settings: Settings,
        resource: Resource,
        *,
        store: ObjectStore[T],
        build_entry: Callable[[JsonObject], T],
        plural_name: str,
    ) -> None:
        """Prepare the watch.

        Args:
            kube: the gateway's own client.
            settings: tells the namespaces.
            resource: the kind.
            store: gets every change.
            keep: what the store gets of an object.
            what: the kind in the plural, for people.
        """
        self._store = store
        self._plural_name = plural_name
        self._cache: WatchCache[T] = WatchCache(kube, resource, transform=build_entry, namespaces=settings.namespaces)
        self._cache.subscribe(self._on_change)
        self.synced = self._cache.synced

    async def __aenter__(self) -> Self:
        self._cache.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """End the watch; what is known stays readable."""
        await self._cache.stop()

    def put(self, raw: JsonObject) -> None:
        """Take in an object that was just written, without waiting for its watch event."""
        self._cache.store_written(raw)

    def require_synced(self) -> None:
        """Refuse to speak of these objects before all of them are known.

        Raises:
            NotReady: until the first list of the cluster is there.
        """
        if not self.synced.is_set():
            raise NotReady(f"the {self._plural_name} of the cluster have not been read yet: ask again in a second")

    def _on_change(self, change: ChangeType, key: ObjectKey, found: T) -> None:
        if change == "DELETED":
            self._store.remove(*key)
        else:
            self._store.put(found)
