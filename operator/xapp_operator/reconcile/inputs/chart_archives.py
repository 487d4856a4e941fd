"""Watches ChartArchives as metadata, makes XApps their owners, and deletes those that nothing uses.

A ChartArchive holds an uploaded chart. The gateway creates it without an owner, the operator adds each XApp that uses
it to its owners and removes those that no longer do. The last XApp that uses it takes it along when it is deleted;
Kubernetes would, but later, and could take it from somebody who has found it there meanwhile. Those that nobody has
owned for an hour are deleted. One with the annotation `keep` has no owners and is never deleted.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from weakref import WeakValueDictionary

from xapp_operator.api.json import Json, JsonObject, items, obj, text
from xapp_operator.api.models import XApp
from xapp_operator.api.names import ANNOTATION_KEEP, ANNOTATION_RELEASED_AT, API_VERSION, XAPP_KIND
from xapp_operator.common.clock import SYSTEM_CLOCK, Clock
from xapp_operator.common.text import RFC3339_FORMAT, rfc3339
from xapp_operator.config.settings import Settings
from xapp_operator.errors import Conflict, KubeError, NotFound
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CHART_ARCHIVES
from xapp_operator.kube.watch.watch_cache import ChangeType, ObjectKey, WatchCache

SYNC_SECONDS: Final = 60.0
UNOWNED_GRACE: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class ArchiveInfo:
    """The metadata of a ChartArchive; its chart never changes, so the uid identifies the bytes."""

    uid: str
    owner_uids: frozenset[str]
    keep: bool
    created_at: str  # RFC 3339
    released_at: str | None  # when its last owner left it


@dataclass(frozen=True, slots=True)
class ArchiveOwnerChanges:
    """Names of ChartArchives whose owners an XApp should be added to or removed from."""

    add: str | None = None
    remove: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.add is not None or bool(self.remove)


class ChartArchives:
    """The ChartArchives of the watched namespaces, and which XApps own them."""

    def __init__(
        self,
        kube: KubeClient,
        settings: Settings,
        *,
        on_change: Callable[[str, str, str], None],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Prepare the watch; `on_change` is called with kind, namespace and name."""
        self._on_change = on_change
        self._clock = clock
        self._archives: WatchCache[ArchiveInfo] = WatchCache(
            kube, CHART_ARCHIVES, transform=_archive_info, namespaces=settings.namespaces, metadata_only=True
        )
        self._owners: dict[ObjectKey, frozenset[str]] = {}
        self._owned: dict[str, set[ObjectKey]] = {}  # the reverse
        self._archives.subscribe(self._on_archive)

    async def start(self) -> None:
        self._archives.start()
        await self._archives.wait_synced(timeout_seconds=SYNC_SECONDS)

    async def stop(self) -> None:
        await self._archives.stop()

    @property
    def last_contact(self) -> float:
        """Return when the watch last received something from the API server (monotonic seconds)."""
        return self._archives.last_contact

    def get(self, namespace: str, name: str) -> ArchiveInfo | None:
        return self._archives.get(namespace=namespace, name=name)

    def owner_changes(self, xapp: XApp, *, used: str | None, add: bool, leave_others: bool) -> ArchiveOwnerChanges:
        """Return which ChartArchives should gain or lose `xapp` as an owner.

        Args:
            xapp: the XApp.
            used: the name of the ChartArchive whose chart it uses, if any.
            add: whether it becomes an owner of that one.
            leave_others: whether it is removed from the owners of all others.
        """
        namespace, uid = xapp.metadata.namespace, xapp.metadata.uid
        # Owner references in other namespaces mean nothing: anyone can write them into an object of their own.
        owned = sorted(key.name for key in self._owned.get(uid, ()) if key.namespace == namespace)
        found = None if used is None else self.get(namespace, used)
        may_own = found is not None and not found.keep
        return ArchiveOwnerChanges(
            add=used if add and may_own and used not in owned else None,
            remove=tuple(name for name in owned if (leave_others if name != used else not may_own)),
        )

    def store_written(self, archive: JsonObject) -> None:
        """Take over a ChartArchive as a write has returned it, without waiting for its watch event."""
        self._archives.store_written(archive)

    def unowned(self) -> list[tuple[str, str]]:
        """Return namespace and name of the ChartArchives that nobody has owned for an hour."""
        now = self._clock.now()
        return [(key.namespace, key.name) for key, found in self._archives.items() if _is_unowned(found, now)]

    def _on_archive(self, change: ChangeType, key: ObjectKey, found: ArchiveInfo) -> None:
        owners = found.owner_uids if change != "DELETED" else frozenset[str]()
        before = self._owners.pop(key, frozenset())
        for uid in before - owners:
            self._owned[uid].discard(key)
            if not self._owned[uid]:
                del self._owned[uid]
        for uid in owners - before:
            self._owned.setdefault(uid, set()).add(key)
        if owners:
            self._owners[key] = owners
        self._on_change(CHART_ARCHIVES.kind, key.namespace, key.name)


class ChartArchiveOwners:
    """Writes the owner references of ChartArchives."""

    def __init__(
        self,
        kube: KubeClient,
        archives: ChartArchives,
        *,
        is_used: Callable[[str, str], bool],
        is_staying: Callable[[str, str, str], bool],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Write with `kube`.

        Args:
            kube: the client, with the operator's own identity.
            archives: the watched ChartArchives.
            is_used: whether an XApp that is not being deleted refers to the ChartArchive of a namespace and name.
            is_staying: whether the XApp of a namespace, name and uid exists and is not being deleted.
            clock: tells the time.
        """
        self._kube = kube
        self._archives = archives
        self._is_used = is_used
        self._is_staying = is_staying
        self._clock = clock
        # XApps that share a chart would conflict with one another; other namespaces do not wait for them.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def update(self, xapp: XApp, changes: ArchiveOwnerChanges) -> None:
        """Add `xapp` to the owners of one ChartArchive and remove it from those of others.

        One that somebody else has just changed or deleted is left as it is: its event brings the XApp back.
        """
        added = () if changes.add is None else (changes.add,)
        lock = self._locks.setdefault(xapp.metadata.namespace, asyncio.Lock())
        async with lock:
            for name in (*added, *changes.remove):
                with contextlib.suppress(NotFound, Conflict):
                    await self._set_owner(xapp, name, owns=name in added)

    async def leave(self, xapp: XApp) -> None:
        """Delete the ChartArchives that only `xapp` owns, before it goes; leave those that another XApp refers to.

        What fails is left to Kubernetes, which deletes objects without owners: a deletion never waits for this.
        """
        namespace = xapp.metadata.namespace
        for name in self._archives.owner_changes(xapp, used=None, add=False, leave_others=True).remove:
            with contextlib.suppress(KubeError):
                found = await self._kube.get(CHART_ARCHIVES, name, namespace=namespace, metadata_only=True)
                owners = items(obj(found, "metadata"), "ownerReferences")
                if all(text(each, "uid") != xapp.metadata.uid for each in owners):
                    continue  # somebody uses it again: the gateway has taken this XApp out of its owners
                if any(self._is_staying(namespace, text(each, "name"), text(each, "uid")) for each in owners):
                    continue
                if _archive_info(found).keep or self._is_used(namespace, name):
                    await self.update(xapp, ArchiveOwnerChanges(remove=(name,)))
                else:
                    await self._delete_unchanged(found)

    async def delete_unowned(self) -> None:
        """Delete the ChartArchives that nobody has owned for an hour.

        A suspended XApp owns nothing new, so what an XApp refers to stays too.
        """
        for namespace, name in self._archives.unowned():
            if self._is_used(namespace, name):
                continue
            with contextlib.suppress(NotFound, Conflict):
                found = await self._kube.get(CHART_ARCHIVES, name, namespace=namespace, metadata_only=True)
                if _is_unowned(_archive_info(found), self._clock.now()):
                    await self._delete_unchanged(found)

    async def _delete_unchanged(self, found: JsonObject) -> None:
        """Delete a ChartArchive, unless somebody has changed it since it was read (Conflict)."""
        name, namespace, uid, version = (
            text(obj(found, "metadata"), field) for field in ("name", "namespace", "uid", "resourceVersion")
        )
        await self._kube.delete(CHART_ARCHIVES, name, namespace=namespace, uid=uid, resource_version=version)

    async def _set_owner(self, xapp: XApp, name: str, *, owns: bool) -> None:
        namespace = xapp.metadata.namespace
        found = await self._kube.get(CHART_ARCHIVES, name, namespace=namespace, metadata_only=True)
        metadata = obj(found, "metadata")
        owners = [each for each in items(metadata, "ownerReferences") if text(each, "uid") != xapp.metadata.uid]
        if owns and not _archive_info(found).keep:
            owners.append(
                {
                    "apiVersion": API_VERSION,
                    "kind": XAPP_KIND,
                    "name": xapp.metadata.name,
                    "uid": xapp.metadata.uid,
                }
            )
        now = rfc3339(self._clock.now())
        change: JsonObject = {
            "resourceVersion": text(metadata, "resourceVersion"),
            "ownerReferences": list[Json](owners),
            "annotations": {ANNOTATION_RELEASED_AT: None if owners else now},
        }
        self._archives.store_written(
            await self._kube.patch(CHART_ARCHIVES, name, {"metadata": change}, namespace=namespace)
        )


def _archive_info(body: JsonObject) -> ArchiveInfo:
    metadata = obj(body, "metadata")
    annotations = obj(metadata, "annotations")
    return ArchiveInfo(
        uid=text(metadata, "uid"),
        owner_uids=frozenset(text(owner, "uid") for owner in items(metadata, "ownerReferences")),
        keep=text(annotations, ANNOTATION_KEEP) == "true",
        created_at=text(metadata, "creationTimestamp"),
        released_at=text(annotations, ANNOTATION_RELEASED_AT) or None,
    )


def _is_unowned(info: ArchiveInfo, now: float) -> bool:
    return not info.keep and not info.owner_uids and now - _unowned_since(info, now) >= UNOWNED_GRACE.total_seconds()


def _unowned_since(info: ArchiveInfo, now: float) -> float:
    """Return when the last owner left; a time in the future, from a clock that jumped, counts as now."""
    for timestamp in (info.released_at, info.created_at):
        with contextlib.suppress(ValueError):  # anyone who may change the ChartArchive can write the annotation
            return min(datetime.strptime(timestamp or "", RFC3339_FORMAT).replace(tzinfo=UTC).timestamp(), now)
    return now
