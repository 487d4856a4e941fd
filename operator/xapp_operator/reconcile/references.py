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
from xapp_operator.kube.cache import ChangeType, Key, WatchCache
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CONFIGMAPS, SECRETS
from xapp_operator.reconcile.archives import ANNOTATION_RELEASED_AT, ChartSecret, is_chart_secret

SYNC_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Reference:
    """One Secret or ConfigMap."""

    version: str
    chart: ChartSecret | None = None


class References:
    """The versions of all Secrets and ConfigMaps in the namespaces that are cared for."""

    def __init__(self, kube: KubeClient, settings: Settings, *, on_change: Callable[[str, str, str], None]) -> None:
        self._on_change = on_change
        self._caches = {
            "Secret": WatchCache(
                kube,
                SECRETS,
                keep=_keep,
                namespaces=settings.namespaces,
                label_selector="owner!=helm",
                metadata_only=True,
            ),
            "ConfigMap": WatchCache(kube, CONFIGMAPS, keep=_keep, namespaces=settings.namespaces, metadata_only=True),
        }
        for kind, cache in self._caches.items():
            cache.on_event(self._subscriber(kind))

    async def start(self) -> None:
        """Begin to watch and wait for the first lists."""
        for cache in self._caches.values():
            cache.start()
        await asyncio.gather(*(cache.wait_synced(seconds=SYNC_SECONDS) for cache in self._caches.values()))

    async def stop(self) -> None:
        """End the watches."""
        await asyncio.gather(*(cache.stop() for cache in self._caches.values()))

    @property
    def last_contact(self) -> float:
        """Return when the quieter watch last heard from the API server (monotonic seconds)."""
        return min(cache.last_contact for cache in self._caches.values())

    def version(self, kind: str, namespace: str, name: str) -> str | None:
        """Return the resourceVersion of an object, or None when there is none."""
        found = self._caches[kind].get(namespace=namespace, name=name)
        return found.version if found else None

    def owned_chart(self, owner: str, *, namespace: str, name: str) -> str | None:
        """Return the uid of the chart Secret of that name if the object `owner` (uid) is among its owners."""
        found = self._caches["Secret"].get(namespace=namespace, name=name)
        facts = found.chart if found else None
        return facts.uid if facts is not None and owner in facts.owners else None

    def chart_secrets(self) -> Iterator[tuple[str, str, ChartSecret]]:
        """Yield namespace, name and facts of every Secret with an uploaded chart."""
        for key, found in list(self._caches["Secret"].items()):
            if found.chart is not None:
                yield key.namespace, key.name, found.chart

    def _subscriber(self, kind: str) -> Callable[[ChangeType, Key, Reference], None]:
        def changed(_: ChangeType, key: Key, __: Reference) -> None:
            self._on_change(kind, key.namespace, key.name)

        return changed


def _keep(body: JsonObject) -> Reference:
    metadata = obj(body, "metadata")
    version = text(metadata, "resourceVersion")
    if not is_chart_secret(text(metadata, "name")):
        return Reference(version)
    return Reference(
        version,
        ChartSecret(
            uid=text(metadata, "uid"),
            owners=frozenset(text(owner, "uid") for owner in items(metadata, "ownerReferences")),
            created=text(metadata, "creationTimestamp"),
            released=text(obj(metadata, "annotations"), ANNOTATION_RELEASED_AT) or None,
        ),
    )
