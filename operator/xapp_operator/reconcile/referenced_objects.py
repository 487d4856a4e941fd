"""Which version every Secret and ConfigMap has that an XApp or a repository may name; never what is in them.

Lives in `reconcile`: a change of one brings back the XApps that read it. Watched as metadata only, so bodies are read
when they are used and kept nowhere. Helm's own Secrets are left out; `releases` watches them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.config import Settings
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CONFIGMAPS, SECRETS
from xapp_operator.kube.watch_cache import ChangeType, ObjectKey, WatchCache
from xapp_operator.reconcile.chart_secrets import ANNOTATION_RELEASED_AT, ChartSecretInfo, is_chart_secret

SYNC_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """One Secret or ConfigMap."""

    resource_version: str
    chart_secret: ChartSecretInfo | None = None


class ReferencedObjects:
    """The versions of all Secrets and ConfigMaps in the namespaces that are cared for."""

    def __init__(self, kube: KubeClient, settings: Settings, *, on_change: Callable[[str, str, str], None]) -> None:
        self._on_change = on_change
        self._caches = {
            "Secret": WatchCache(
                kube,
                SECRETS,
                transform=_object_version,
                namespaces=settings.namespaces,
                label_selector="owner!=helm",
                metadata_only=True,
            ),
            "ConfigMap": WatchCache(
                kube, CONFIGMAPS, transform=_object_version, namespaces=settings.namespaces, metadata_only=True
            ),
        }
        for kind, cache in self._caches.items():
            cache.subscribe(self._subscriber(kind))

    async def start(self) -> None:
        """Begin to watch and wait for the first lists."""
        for cache in self._caches.values():
            cache.start()
        await asyncio.gather(*(cache.wait_synced(timeout_seconds=SYNC_SECONDS) for cache in self._caches.values()))

    async def stop(self) -> None:
        """End the watches."""
        await asyncio.gather(*(cache.stop() for cache in self._caches.values()))

    @property
    def last_contact(self) -> float:
        """Return when the quieter watch last heard from the API server (monotonic seconds)."""
        return min(cache.last_contact for cache in self._caches.values())

    def resource_version(self, kind: str, namespace: str, name: str) -> str | None:
        """Return the resourceVersion of an object, or None when there is none."""
        found = self._caches[kind].get(namespace=namespace, name=name)
        return found.resource_version if found else None

    def owned_chart_secret_uid(self, owner: str, *, namespace: str, name: str) -> str | None:
        """Return the uid of the chart Secret of that name if the object `owner` (uid) is among its owners."""
        found = self._caches["Secret"].get(namespace=namespace, name=name)
        facts = found.chart_secret if found else None
        return facts.uid if facts is not None and owner in facts.owner_uids else None

    def chart_secrets(self) -> Iterator[tuple[str, str, ChartSecretInfo]]:
        """Yield namespace, name and facts of every Secret with an uploaded chart."""
        for key, found in list(self._caches["Secret"].items()):
            if found.chart_secret is not None:
                yield key.namespace, key.name, found.chart_secret

    def _subscriber(self, kind: str) -> Callable[[ChangeType, ObjectKey, ObjectVersion], None]:
        def changed(_: ChangeType, key: ObjectKey, __: ObjectVersion) -> None:
            self._on_change(kind, key.namespace, key.name)

        return changed


def _object_version(body: JsonObject) -> ObjectVersion:
    metadata = obj(body, "metadata")
    version = text(metadata, "resourceVersion")
    if not is_chart_secret(text(metadata, "name")):
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
