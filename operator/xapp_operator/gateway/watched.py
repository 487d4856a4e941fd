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
from xapp_operator.kube.cache import ChangeType, Key, WatchCache
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import Resource

VIEWS_KEPT: Final = 64


class Named(Protocol):
    """What can be kept: it has a namespace and a name."""

    @property
    def key(self) -> Key:
        """Return both."""
        ...


V = TypeVar("V")
T = TypeVar("T", bound=Named)


class Views(Generic[V]):
    """What was found for the last questions, `most` of them; each answer counts until the version changes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: OrderedDict[Hashable, tuple[int, V]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._found)

    def get(self, asked: Hashable, *, version: int, find: Callable[[], V]) -> V:
        """Return what `find` returned for `asked` at this version."""
        known = self._found.get(asked)
        if known is None or known[0] != version:
            known = self._found[asked] = version, find()
        self._found.move_to_end(asked)
        if len(self._found) > self._most:
            self._found.popitem(last=False)
        return known[1]


class NamespacedStore(ABC, Generic[T]):
    """Objects by namespace and name, in the orders of a subclass; `version` grows with every change."""

    def __init__(self) -> None:
        self.version = 0
        self._objects: dict[Key, T] = {}
        self._counts: Counter[str] = Counter()
        self._namespaces: frozenset[str] = frozenset()

    @property
    def namespaces(self) -> frozenset[str]:
        """Return the namespaces that hold an object: the very same set until one comes or goes."""
        return self._namespaces

    def get(self, namespace: str, name: str) -> T | None:
        """Return one object."""
        return self._objects.get(Key(namespace, name))

    def put(self, found: T) -> None:
        """Add an object, or replace what is known of it."""
        known = self._objects.get(found.key)
        if known == found:
            return
        self._objects[found.key] = found
        self._reorder(known, found)
        self.version += 1
        if known is None:
            self._count(found.key.namespace, 1)

    def remove(self, namespace: str, name: str) -> None:
        """Forget an object; one that is not there is no error."""
        known = self._objects.pop(Key(namespace, name), None)
        if known is None:
            return
        self._reorder(known, None)
        self.version += 1
        self._count(namespace, -1)

    @abstractmethod
    def _reorder(self, before: T | None, after: T | None) -> None:
        """Keep every order right when an object comes, changes or goes; None is no object."""

    def _count(self, namespace: str, change: int) -> None:
        self._counts[namespace] += change
        if not self._counts[namespace]:
            del self._counts[namespace]
        if len(self._namespaces) != len(self._counts):
            self._namespaces = frozenset(self._counts)


class WatchedList(Generic[T]):
    """The objects of one kind in the monitored namespaces, watched while the `async with` block lasts."""

    def __init__(
        self,
        kube: KubeClient,
        settings: Settings,
        resource: Resource,
        *,
        store: NamespacedStore[T],
        keep: Callable[[JsonObject], T],
        what: str,
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
        self._kept = store
        self._what = what
        self._cache: WatchCache[T] = WatchCache(kube, resource, keep=keep, namespaces=settings.namespaces)
        self._cache.on_event(self._changed)
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
        self._cache.put(raw)

    def require_synced(self) -> None:
        """Refuse to speak of these objects before all of them are known.

        Raises:
            NotReady: until the first list of the cluster is there.
        """
        if not self.synced.is_set():
            raise NotReady(f"the {self._what} of the cluster have not been read yet: ask again in a second")

    def _changed(self, change: ChangeType, key: Key, found: T) -> None:
        if change == "DELETED":
            self._kept.remove(*key)
        else:
            self._kept.put(found)
