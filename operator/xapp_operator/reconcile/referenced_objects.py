"""Watches the Secrets and ConfigMaps that XApps and repositories refer to, as metadata, and keeps chart Secrets owned.

A change of one brings back the XApps that read it. Bodies are read when used and never kept. Helm's own Secrets
are left out; `release_watch` watches them.

A chart Secret holds an uploaded chart. The gateway creates it without an owner, the operator adds each XApp that uses
it to its owners and removes those that no longer do, and Kubernetes deletes it with its last owner. Chart Secrets that
nobody has owned for an hour are deleted.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from xapp_operator.api.json import Json, JsonObject, items, obj, text
from xapp_operator.api.models import XApp
from xapp_operator.api.names import ANNOTATION_RELEASED_AT, API_VERSION, CHART_SECRET_TYPE, XAPP_KIND
from xapp_operator.common.text import RFC3339_FORMAT, rfc3339
from xapp_operator.config import Settings
from xapp_operator.domain.naming import is_chart_secret_name
from xapp_operator.errors import Conflict, NotFound
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CONFIGMAPS, SECRETS
from xapp_operator.kube.watch.watch_cache import ChangeType, ObjectKey, WatchCache

SYNC_SECONDS: Final = 60.0
UNOWNED_GRACE: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class ChartSecretInfo:
    """The metadata of a chart Secret."""

    uid: str
    owner_uids: frozenset[str]
    created_at: str  # RFC 3339
    released_at: str | None  # when its last owner left it


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """One Secret or ConfigMap."""

    resource_version: str
    chart_secret: ChartSecretInfo | None = None


@dataclass(frozen=True, slots=True)
class ArchiveOwnerChanges:
    """Names of chart Secrets whose owners an XApp should be added to or removed from."""

    add: str | None = None
    remove: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.add is not None or bool(self.remove)


class ReferencedObjects:
    """The versions of all Secrets and ConfigMaps in the watched namespaces."""

    def __init__(self, kube: KubeClient, settings: Settings, *, on_change: Callable[[str, str, str], None]) -> None:
        """Prepare the watches; `on_change` is called with kind, namespace and name."""
        self._on_change = on_change
        self._secrets: WatchCache[ObjectVersion] = WatchCache(
            kube,
            SECRETS,
            transform=_object_version,
            namespaces=settings.namespaces,
            label_selector="owner!=helm",
            metadata_only=True,
        )
        self._config_maps: WatchCache[ObjectVersion] = WatchCache(
            kube, CONFIGMAPS, transform=_object_version, namespaces=settings.namespaces, metadata_only=True
        )
        self._chart_owners: dict[ObjectKey, frozenset[str]] = {}  # uids of the owners of chart Secrets
        self._owned: dict[str, set[ObjectKey]] = {}  # the reverse
        self._secrets.subscribe(self._on_secret)
        self._config_maps.subscribe(lambda _change, key, _found: on_change("ConfigMap", key.namespace, key.name))

    async def start(self) -> None:
        caches = (self._secrets, self._config_maps)
        for cache in caches:
            cache.start()
        await asyncio.gather(*(cache.wait_synced(timeout_seconds=SYNC_SECONDS) for cache in caches))

    async def stop(self) -> None:
        await asyncio.gather(self._secrets.stop(), self._config_maps.stop())

    @property
    def last_contact(self) -> float:
        """Return when the quieter watch last received something from the API server (monotonic seconds)."""
        return min(self._secrets.last_contact, self._config_maps.last_contact)

    def resource_version(self, kind: str, namespace: str, name: str) -> str | None:
        found = (self._secrets if kind == "Secret" else self._config_maps).get(namespace=namespace, name=name)
        return found.resource_version if found else None

    def owned_chart_secret_uid(self, owner: str, *, namespace: str, name: str) -> str | None:
        """Return the uid of the chart Secret of that name if the object with uid `owner` is among its owners."""
        found = self._secrets.get(namespace=namespace, name=name)
        info = found.chart_secret if found else None
        return info.uid if info is not None and owner in info.owner_uids else None

    def owned_chart_secrets(self, owner: str, *, namespace: str) -> tuple[str, ...]:
        """Return the names of the chart Secrets in `namespace` that the XApp with uid `owner` owns, sorted.

        Owner references in other namespaces mean nothing: anyone can write them into a Secret of their own.
        """
        return tuple(sorted(key.name for key in self._owned.get(owner, ()) if key.namespace == namespace))

    def store_written(self, secret: JsonObject) -> None:
        """Take over a Secret as a write has returned it, without waiting for its watch event."""
        self._secrets.store_written(secret)

    def unowned_chart_secrets(self) -> list[tuple[str, str, str]]:
        """Return namespace, name and uid of the chart Secrets that nobody has owned for an hour."""
        return [
            (key.namespace, key.name, info.uid)
            for key, found in list(self._secrets.items())
            if (info := found.chart_secret) is not None
            and not info.owner_uids
            and datetime.now(UTC) - _unowned_since(info) >= UNOWNED_GRACE
        ]

    def _on_secret(self, change: ChangeType, key: ObjectKey, found: ObjectVersion) -> None:
        if found.chart_secret is not None:
            owners = found.chart_secret.owner_uids if change != "DELETED" else frozenset[str]()
            before = self._chart_owners.pop(key, frozenset())
            for uid in before - owners:
                self._owned[uid].discard(key)
                if not self._owned[uid]:
                    del self._owned[uid]
            for uid in owners - before:
                self._owned.setdefault(uid, set()).add(key)
            if owners:
                self._chart_owners[key] = owners
        self._on_change("Secret", key.namespace, key.name)


class ChartSecretOwners:
    """Writes the owner references of chart Secrets."""

    def __init__(self, kube: KubeClient, references: ReferencedObjects) -> None:
        self._kube = kube
        self._references = references
        self._lock = asyncio.Lock()  # XApps that share a chart would conflict with one another

    async def update(self, xapp: XApp, changes: ArchiveOwnerChanges) -> None:
        """Add `xapp` to the owners of one chart Secret and remove it from those of others.

        A Secret that somebody else has just changed or deleted is left as it is: its event brings the XApp back.
        """
        added = () if changes.add is None else (changes.add,)
        async with self._lock:
            for name in (*added, *changes.remove):
                with contextlib.suppress(NotFound, Conflict):
                    await self._set_owner(xapp, name, owns=name in added)

    async def delete_unowned(self) -> None:
        """Delete the chart Secrets that nobody has owned for an hour."""
        for namespace, name, uid in self._references.unowned_chart_secrets():
            try:
                found = await self._kube.get(SECRETS, name, namespace=namespace)
                metadata = obj(found, "metadata")
                if text(found, "type") != CHART_SECRET_TYPE or items(metadata, "ownerReferences"):
                    continue
                version = text(metadata, "resourceVersion")
                await self._kube.delete(SECRETS, name, namespace=namespace, uid=uid, resource_version=version)
            except (NotFound, Conflict):
                continue

    async def _set_owner(self, xapp: XApp, name: str, *, owns: bool) -> None:
        namespace = xapp.metadata.namespace
        metadata = obj(await self._kube.get(SECRETS, name, namespace=namespace, metadata_only=True), "metadata")
        owners = [each for each in items(metadata, "ownerReferences") if text(each, "uid") != xapp.metadata.uid]
        if owns:
            owners.append(
                {
                    "apiVersion": API_VERSION,
                    "kind": XAPP_KIND,
                    "name": xapp.metadata.name,
                    "uid": xapp.metadata.uid,
                }
            )
        change: JsonObject = {
            "resourceVersion": text(metadata, "resourceVersion"),
            "ownerReferences": list[Json](owners),
            "annotations": {ANNOTATION_RELEASED_AT: None if owners else rfc3339(datetime.now(UTC))},
        }
        self._references.store_written(await self._kube.patch(SECRETS, name, {"metadata": change}, namespace=namespace))


def _object_version(body: JsonObject) -> ObjectVersion:
    metadata = obj(body, "metadata")
    version = text(metadata, "resourceVersion")
    if not is_chart_secret_name(text(metadata, "name")):
        return ObjectVersion(version)
    return ObjectVersion(
        version,
        ChartSecretInfo(
            uid=text(metadata, "uid"),
            owner_uids=frozenset(text(owner, "uid") for owner in items(metadata, "ownerReferences")),
            created_at=text(metadata, "creationTimestamp"),
            released_at=text(obj(metadata, "annotations"), ANNOTATION_RELEASED_AT) or None,
        ),
    )


def _unowned_since(info: ChartSecretInfo) -> datetime:
    for timestamp in (info.released_at, info.created_at):
        try:
            return datetime.strptime(timestamp or "", RFC3339_FORMAT).replace(tzinfo=UTC)
        except ValueError:  # anyone who may change the Secret can write the annotation
            continue
    return datetime.now(UTC)
