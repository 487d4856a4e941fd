"""Watches the Secrets and ConfigMaps that XApps and repositories refer to, as metadata.

A change of one brings back the XApps that read it. Bodies are read when used and never kept. Helm's own Secrets
are left out; `release_watch` watches them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.config import Settings
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CONFIGMAPS, SECRETS
from xapp_operator.kube.watch.watch_cache import WatchCache

SYNC_SECONDS: Final = 60.0


class ReferencedObjects:
    """The versions of all Secrets and ConfigMaps in the watched namespaces."""

    def __init__(self, kube: KubeClient, settings: Settings, *, on_change: Callable[[str, str, str], None]) -> None:
        """Prepare the watches; `on_change` is called with kind, namespace and name."""
        self._secrets: WatchCache[str] = WatchCache(
            kube,
            SECRETS,
            transform=_object_version,
            namespaces=settings.namespaces,
            label_selector="owner!=helm",
            metadata_only=True,
        )
        self._config_maps: WatchCache[str] = WatchCache(
            kube, CONFIGMAPS, transform=_object_version, namespaces=settings.namespaces, metadata_only=True
        )
        self._secrets.subscribe(lambda _change, key, _found: on_change("Secret", key.namespace, key.name))
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
        return (self._secrets if kind == "Secret" else self._config_maps).get(namespace=namespace, name=name)


def _object_version(body: JsonObject) -> str:
    return text(obj(body, "metadata"), "resourceVersion")
