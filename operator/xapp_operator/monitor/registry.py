"""The registry of the gateway: all xApps by the labels of their objects, however they were installed.

It watches the operator's label and the recognised label sets, with one watch for each kind and set, and writes nothing.
An xApp consists of the objects of one release: the release in Helm's annotations, or else the name in the labels. An
object that matches two sets counts once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from xapp_operator.api.json import JsonObject, obj
from xapp_operator.config.settings import Settings
from xapp_operator.domain.health.health_result import HealthResult
from xapp_operator.domain.health.resource_health import overall_health
from xapp_operator.errors import AccessDenied, NotFound
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import Resource
from xapp_operator.kube.watch.watch_cache import ChangeType, ObjectKey, WatchCache
from xapp_operator.label_sets import LabelSet
from xapp_operator.monitor.live_objects import (
    METADATA_ONLY,
    WATCHED_RESOURCES,
    WORKLOAD_KINDS,
    LiveObject,
    LiveObjectKey,
    is_standalone,
    to_live_object,
)
from xapp_operator.monitor.object_labels import (
    OPERATOR_LABEL_SET,
    ObjectLabels,
    ReleaseKey,
    read_labels,
    release_key_of,
)

SYNC_POLL_SECONDS: Final = 0.2

_XAPP_KINDS: Final = WORKLOAD_KINDS | {"Service"}


@dataclass(frozen=True, slots=True)
class Registration:
    """One xApp by its labels; `release` is the name in the labels when Helm did not install it."""

    namespace: str
    release: str
    objects: tuple[LiveObject, ...]

    @property
    def has_workload_or_service(self) -> bool:
        """Return whether there is more than what an uninstall leaves, such as volume claims of a StatefulSet."""
        return any(live.health.kind in _XAPP_KINDS for live in self.objects)

    @property
    def made_by_helm(self) -> bool:
        """Return whether Helm installed it, so that an XApp can adopt the release."""
        return any(live.labels.release for live in self.objects)

    @property
    def health(self) -> HealthResult:
        return overall_health(live.health for live in self.objects)

    def first_value(self, select: Callable[[ObjectLabels], str]) -> str:
        """Return the first text that `select` finds in the labels of an object, or an empty one."""
        return next((found for live in self.objects if (found := select(live.labels))), "")


class XAppRegistry:
    """All xApps by their labels, as they change."""

    def __init__(
        self,
        kube: KubeClient,
        settings: Settings,
        *,
        on_change: Callable[[ReleaseKey], None],
        on_sync: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare the watches.

        Args:
            kube: reads the objects.
            settings: the namespaces and the recognised label sets.
            on_change: gets the release of every object that was added, changed or deleted.
            on_sync: called once, after all lists have been read and before `synced` is set.
        """
        self._sets: tuple[LabelSet, ...] = (OPERATOR_LABEL_SET, *settings.label_sets)
        self._on_change = on_change
        self._on_sync = on_sync
        self._objects_by_key: dict[LiveObjectKey, LiveObject] = {}
        self._releases: dict[ReleaseKey, tuple[LiveObjectKey, ...]] = {}
        self._caches = {
            resource: tuple(
                WatchCache(
                    kube,
                    resource,
                    transform=partial(self._to_live_object, resource),
                    namespaces=settings.namespaces,
                    label_selector=one.selector,
                    metadata_only=resource in METADATA_ONLY,
                )
                for one in self._sets
            )
            for resource in WATCHED_RESOURCES
        }
        for resource, caches in self._caches.items():
            for cache in caches:
                cache.subscribe(partial(self._on_event, resource))
        self._syncing: asyncio.Task[None] | None = None
        self.synced = asyncio.Event()
        """Set when all lists have been read; kinds that are forbidden or not served do not delay it."""

    def start(self) -> None:
        """Start the watches without waiting for the first lists."""
        for cache in self._all_caches():
            cache.start()
        self._syncing = asyncio.create_task(self._sync(), name="sync of the registry")

    async def stop(self) -> None:
        """Stop the watches; the objects stay readable."""
        if self._syncing is not None:
            self._syncing.cancel()
        await asyncio.gather(*(cache.stop() for cache in self._all_caches()))

    def objects(self, namespace: str, release: str) -> tuple[LiveObject, ...]:
        """Return the objects of one release, sorted by kind, namespace and name."""
        keys = self._releases.get((namespace, release), ())
        return tuple(self._objects_by_key[key] for key in sorted(keys))

    def get(self, namespace: str, release: str) -> Registration | None:
        found = self.objects(namespace, release)
        return Registration(namespace, release, found) if found else None

    def _all_caches(self) -> Iterator[WatchCache[LiveObject]]:
        return (cache for caches in self._caches.values() for cache in caches)

    async def _sync(self) -> None:
        for cache in self._all_caches():
            while not cache.synced.is_set() and not isinstance(cache.failure, AccessDenied | NotFound):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(SYNC_POLL_SECONDS):
                        await cache.synced.wait()
        self._on_sync()
        self.synced.set()

    def _to_live_object(self, resource: Resource, body: JsonObject) -> LiveObject | None:
        metadata = obj(body, "metadata")
        labels = read_labels(metadata, self._sets)
        release = release_key_of(metadata, labels)
        if release is None or not is_standalone(resource, body):
            return None
        return to_live_object(body, kind=resource.kind, owner=release, labels=labels)

    def _on_event(self, resource: Resource, change: ChangeType, key: ObjectKey, live: LiveObject) -> None:
        now: LiveObject | None = live
        if change == "DELETED":  # or it only stopped matching this selector: another set may still match it
            others = (cache.get(namespace=key.namespace, name=key.name) for cache in self._caches[resource])
            now = next((other for other in others if other is not None), None)
        before = self._objects_by_key.get(live.key)
        if before is not None and (now is None or before.owner != now.owner):
            self._remove(before)
        if now is not None:
            at = now.key
            if at not in self._objects_by_key:
                self._releases[now.owner] = (*self._releases.get(now.owner, ()), at)
            self._objects_by_key[at] = now
        for owner in {each.owner: None for each in (before, now) if each is not None}:
            if before != now or (before and now and before.changed_at != now.changed_at):
                self._on_change(owner)

    def _remove(self, live: LiveObject) -> None:
        del self._objects_by_key[live.key]
        left = tuple(key for key in self._releases[live.owner] if key != live.key)
        if left:
            self._releases[live.owner] = left
        else:
            del self._releases[live.owner]
