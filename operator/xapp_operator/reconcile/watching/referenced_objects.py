"""Watches the Secrets and ConfigMaps that XApps and repositories refer to, as metadata.

A change of one brings back the XApps that read it. Bodies are read when used and never kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.config.settings import Settings
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CONFIGMAPS
from xapp_operator.kube.watch.watch_cache import ChangeType, ObjectKey, WatchCache
from xapp_operator.reconcile.watching.secret_watch import OtherSecret, SecretEntry, SecretWatch

SYNC_SECONDS: Final = 60.0


class ReferencedObjects:
    """The versions of ConfigMaps in the watched namespaces, and of Secrets in those of XApps."""

    def __init__(
        self,
        kube: KubeClient,
        settings: Settings,
        *,
        secrets: SecretWatch,
        on_change: Callable[[str, str, str], None],
    ) -> None:
        """Prepare the watch; `on_change` is called with kind, namespace and name."""
        self._on_change = on_change
        self._secrets = secrets
        self._config_maps: WatchCache[str] = WatchCache(
            kube, CONFIGMAPS, transform=_object_version, namespaces=settings.namespaces, metadata_only=True
        )
        secrets.subscribe(self._on_secret)
        self._config_maps.subscribe(lambda _change, key, _found: on_change("ConfigMap", key.namespace, key.name))

    async def start(self) -> None:
        self._config_maps.start()
        await self._config_maps.wait_synced(timeout_seconds=SYNC_SECONDS)

    async def stop(self) -> None:
        await self._config_maps.stop()

    @property
    def last_contact(self) -> float:
        """Return when the watch last received something from the API server (monotonic seconds)."""
        return self._config_maps.last_contact

    def resource_version(self, kind: str, namespace: str, name: str) -> str | None:
        if kind == "Secret":
            return self._secrets.resource_version(namespace, name)
        return self._config_maps.get(namespace=namespace, name=name)

    def _on_secret(self, _: ChangeType, key: ObjectKey, found: SecretEntry) -> None:
        if isinstance(found, OtherSecret):  # nobody refers to a release record
            self._on_change("Secret", key.namespace, key.name)


def _object_version(body: JsonObject) -> str:
    return text(obj(body, "metadata"), "resourceVersion")
