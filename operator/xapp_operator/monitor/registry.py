"""The registry: which xApps there are by their labels, however they were installed, and what each is made of.

Lives in `monitor`; used by the gateway. It watches what carries our label or one of the recognised sets, picked on the
server's side by one watch for each kind and set, and writes to nothing. An xApp is the objects of one release: that of
Helm's annotations, or else the name that the labels give. An object with the labels of two sets is one object.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from xapp_operator.api.json import JsonObject, obj
from xapp_operator.config import LabelSet, Settings
from xapp_operator.domain.health import Health, overall
from xapp_operator.errors import AccessDenied, NotFound
from xapp_operator.kube.cache import ChangeType, Key, WatchCache
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import Resource
from xapp_operator.monitor.live import (
    METADATA_ONLY,
    WATCHED,
    WORKLOADS,
    LiveObject,
    ObjectKey,
    live_object,
    watchable,
)
from xapp_operator.monitor.marks import OURS, Mark, ReleaseKey, mark_of, release_of

REFUSAL_LOOK_SECONDS: Final = 0.2

_MAKES_AN_XAPP: Final = WORKLOADS | {"Service"}


@dataclass(frozen=True, slots=True)
class Registration:
    """One xApp by its labels: its release, or where Helm made none the name of the labels, and its objects in order."""

    namespace: str
    release: str
    objects: tuple[LiveObject, ...]

    @property
    def runs(self) -> bool:
        """Return whether there is more than what an uninstall leaves behind, such as claims of a StatefulSet."""
        return any(live.health.kind in _MAKES_AN_XAPP for live in self.objects)

    @property
    def by_helm(self) -> bool:
        """Return whether Helm made it, so that an XApp can adopt the release."""
        return any(live.mark.release for live in self.objects)

    @property
    def health(self) -> Health:
        """Return how all of it fares."""
        return overall(live.health for live in self.objects)

    def said(self, what: Callable[[Mark], str]) -> str:
        """Return the first text that `what` finds in what the objects say of themselves, or nothing."""
        return next((found for live in self.objects if (found := what(live.mark))), "")


class Registry:
    """Everything that registers itself by labels, as it changes."""

    def __init__(self, kube: KubeClient, settings: Settings, *, on_change: Callable[[ReleaseKey], None]) -> None:
        """Prepare the watches; `on_change` gets the release of every object that came, changed or went."""
        self._sets: tuple[LabelSet, ...] = (OURS, *settings.label_sets)
        self._on_change = on_change
        self._placed: dict[ObjectKey, LiveObject] = {}
        self._releases: dict[ReleaseKey, tuple[ObjectKey, ...]] = {}
        self._caches = {
            resource: tuple(
                WatchCache(
                    kube,
                    resource,
                    keep=partial(self._keep, resource),
                    namespaces=settings.namespaces,
                    label_selector=one.selector,
                    metadata_only=resource in METADATA_ONLY,
                )
                for one in self._sets
            )
            for resource in WATCHED
        }
        for resource, caches in self._caches.items():
            for cache in caches:
                cache.on_event(partial(self._changed, resource))
        self._syncing: asyncio.Task[None] | None = None
        self.synced = asyncio.Event()
        """Set once all is known that may be read; a kind that is refused or not served holds up nothing."""

    def start(self) -> None:
        """Begin to watch; nothing is waited for."""
        for cache in self._all():
            cache.start()
        self._syncing = asyncio.create_task(self._sync(), name="sync of the registry")

    async def stop(self) -> None:
        """End every watch; what is known stays readable."""
        if self._syncing is not None:
            self._syncing.cancel()
        await asyncio.gather(*(cache.stop() for cache in self._all()))

    def objects(self, namespace: str, release: str) -> tuple[LiveObject, ...]:
        """Return the objects of one release by kind, namespace and name; none where it is not known."""
        keys = self._releases.get((namespace, release), ())
        return tuple(self._placed[key] for key in sorted(keys))

    def get(self, namespace: str, release: str) -> Registration | None:
        """Return one xApp by its labels, or None where no object of it is known."""
        found = self.objects(namespace, release)
        return Registration(namespace, release, found) if found else None

    def registered(self) -> Iterator[Registration]:
        """Iterate over all xApps by their labels, those that an XApp made too; finish before awaiting anything."""
        return (Registration(*key, self.objects(*key)) for key in self._releases)

    def _all(self) -> Iterator[WatchCache[LiveObject]]:
        return (cache for caches in self._caches.values() for cache in caches)

    async def _sync(self) -> None:
        for cache in self._all():
            while not cache.synced.is_set() and not isinstance(cache.failure, AccessDenied | NotFound):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(REFUSAL_LOOK_SECONDS):
                        await cache.synced.wait()
        self.synced.set()

    def _keep(self, resource: Resource, body: JsonObject) -> LiveObject | None:
        metadata = obj(body, "metadata")
        mark = mark_of(metadata, self._sets)
        release = release_of(metadata, mark)
        if release is None or not watchable(resource, body):
            return None
        return live_object(body, kind=resource.kind, owner=release, mark=mark)

    def _changed(self, resource: Resource, change: ChangeType, key: Key, live: LiveObject) -> None:
        now: LiveObject | None = live
        if change == "DELETED":  # or out of this selector only: another set may still hold it
            others = (cache.get(namespace=key.namespace, name=key.name) for cache in self._caches[resource])
            now = next((other for other in others if other is not None), None)
        before = self._placed.get(live.key)
        if before is not None and (now is None or before.owner != now.owner):
            self._forget(before)
        if now is not None:
            at = now.key
            if at not in self._placed:
                self._releases[now.owner] = (*self._releases.get(now.owner, ()), at)
            self._placed[at] = now
        for owner in {each.owner: None for each in (before, now) if each is not None}:
            if before != now or (before and now and before.changed != now.changed):
                self._on_change(owner)

    def _forget(self, live: LiveObject) -> None:
        del self._placed[live.key]
        left = tuple(key for key in self._releases[live.owner] if key != live.key)
        if left:
            self._releases[live.owner] = left
        else:
            del self._releases[live.owner]
