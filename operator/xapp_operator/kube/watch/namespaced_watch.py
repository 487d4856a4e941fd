"""The objects of one kind in namespaces that come and go while the process runs: one watch for each, or one of all.

The permission to watch can be granted for each namespace. A watch that is refused or slow does not delay the others.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from xapp_operator.errors import KubeError
from xapp_operator.kube.watch.watch_cache import ChangeType, ObjectKey, Subscriber, WatchCache

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _NamespaceCache(Generic[T]):
    cache: WatchCache[T]
    started_at: float  # monotonic seconds


class NamespacedWatch(Generic[T]):
    """One `WatchCache` for each namespace that was added, or one for all."""

    def __init__(
        self,
        make_cache: Callable[[tuple[str, ...], Callable[[], None]], WatchCache[T]],
        *,
        cluster_wide: bool,
        on_status: Callable[[str | None], None],
    ) -> None:
        """Prepare without a watch.

        Args:
            make_cache: returns the cache of some namespaces (empty: all), given the cache's `on_status`.
            cluster_wide: one watch of all namespaces, begun with the first that is added.
            on_status: called with a namespace (None: all) when it has synced, and when its `failure` has changed.
        """
        self._make_cache = make_cache
        self._cluster_wide = cluster_wide
        self._on_status = on_status
        self._caches: dict[str | None, _NamespaceCache[T]] = {}
        self._subscribers: list[Subscriber[T]] = []
        self._stopping: set[asyncio.Task[None]] = set()

    def subscribe(self, subscriber: Subscriber[T]) -> None:
        """Call `subscriber` for every change in the namespaces that are added from now on."""
        self._subscribers.append(subscriber)

    def add_namespace(self, namespace: str) -> None:
        """Begin to watch a namespace, unless it is watched."""
        scope = self._scope(namespace)
        if scope in self._caches:
            return
        cache = self._make_cache(() if scope is None else (scope,), lambda: self._on_status(scope))
        cache.subscribe(lambda change, key, value: self._pass_on(scope, cache, change, key, value))
        self._caches[scope] = _NamespaceCache(cache, time.monotonic())
        cache.start()

    def remove_namespace(self, namespace: str) -> bool:
        """End the watch of a namespace, unless it is one of all; subscribers hear of its objects as DELETED.

        Returns:
            Whether it was watched.
        """
        removed = self._caches.pop(namespace, None)
        if removed is None:
            return False
        self._stop_cache(removed.cache)
        for key, value in tuple(removed.cache.items()):
            for subscriber in self._subscribers:
                subscriber("DELETED", key, value)
        return True

    async def stop(self) -> None:
        """End all watches."""
        caches, self._caches = self._caches, {}
        for each in caches.values():
            self._stop_cache(each.cache)
        await asyncio.gather(*self._stopping)

    def is_synced(self, namespace: str) -> bool:
        """Return whether the objects of a namespace have been listed."""
        found = self._find(namespace)
        return found is not None and found.synced.is_set()

    def failure(self, namespace: str) -> KubeError | None:
        """Return why the watch of a namespace is down now."""
        found = self._find(namespace)
        return found.failure if found is not None else None

    def get(self, *, namespace: str, name: str) -> T | None:
        found = self._find(namespace)
        return found.get(namespace=namespace, name=name) if found is not None else None

    @property
    def last_contact(self) -> float:
        """Return when any watch last had contact with the API server, on the monotonic clock; now without a watch.

        A watch that is silent ends by itself. So the newest contact shows whether the process has lost all of them.
        """
        contacts = (max(each.cache.last_contact, each.started_at) for each in self._caches.values())
        return max(contacts, default=time.monotonic())

    def _pass_on(self, scope: str | None, cache: WatchCache[T], change: ChangeType, key: ObjectKey, value: T) -> None:
        """Tell subscribers of a change; a watch that has ended may still have some on the way."""
        found = self._caches.get(scope)
        if found is not None and found.cache is cache:
            for subscriber in self._subscribers:
                subscriber(change, key, value)

    def _scope(self, namespace: str) -> str | None:
        return None if self._cluster_wide else namespace

    def _find(self, namespace: str) -> WatchCache[T] | None:
        found = self._caches.get(self._scope(namespace))
        return found.cache if found is not None else None

    def _stop_cache(self, cache: WatchCache[T]) -> None:
        task = asyncio.create_task(cache.stop())
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)
