"""The cluster's advertise address: the configured address, or the address of the first ready node.

dRAX-style charts read it from their values. A found address stays as long as any node has it, so that nodes that come
and go do not change the values of releases.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.config.settings import Settings
from xapp_operator.domain.health.health_result import true_condition
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import NODES

CACHE_SECONDS: Final = 60.0
_PREFERRED_TYPES: Final = ("ExternalIP", "InternalIP")


class AdvertiseAddress:
    """Finds the address and caches it for a minute."""

    def __init__(self, kube: KubeClient, settings: Settings) -> None:
        self._kube = kube
        self.configured = settings.cluster_advertise_address
        self._found: str | None = None
        self._found_at = -CACHE_SECONDS

    async def get(self) -> str | None:
        """Return the address, or None when no node has one."""
        if self.configured:
            return self.configured
        if time.monotonic() - self._found_at >= CACHE_SECONDS:
            nodes = (await self._kube.list(NODES)).items
            self._found = choose_address(nodes, current=self._found)
            self._found_at = time.monotonic()
        return self._found


def choose_address(nodes: list[JsonObject], *, current: str | None) -> str | None:
    """Return the address to advertise: `current` while a node has it, else the first ready node's (oldest first)."""
    if current is not None and any(current in _addresses(node) for node in nodes):
        return current
    ready = [node for node in nodes if true_condition(node, "Ready")]
    ready.sort(key=lambda node: (text(obj(node, "metadata"), "creationTimestamp"), text(obj(node, "metadata"), "name")))
    return next((address for node in ready for address in _addresses(node)), None)


def _addresses(node: JsonObject) -> Iterator[str]:
    listed = items(obj(node, "status"), "addresses")
    for kind in _PREFERRED_TYPES:
        yield from (text(each, "address") for each in listed if text(each, "type") == kind)
