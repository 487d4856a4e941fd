"""The cluster's advertise address: as configured, or that of the first ready node.

Lives in `reconcile`; charts in the style of dRAX read it from their values. A found address is kept as long as some
node still has it, so that a node that comes and goes does not change anybody's values.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.config import Settings
from xapp_operator.domain.health_result import find_condition
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import NODES

CACHE_SECONDS: Final = 60.0
_PREFERRED_TYPES: Final = ("ExternalIP", "InternalIP")


class AdvertiseAddress:
    """Finds the address and remembers it for a minute."""

    def __init__(self, kube: KubeClient, settings: Settings) -> None:
        self._kube = kube
        self.configured = settings.cluster_advertise_address
        self._found: str | None = None
        self._looked_at = -CACHE_SECONDS

    async def get(self) -> str | None:
        """Return the address, or None where no node has one."""
        if self.configured:
            return self.configured
        if time.monotonic() - self._looked_at >= CACHE_SECONDS:
            nodes = (await self._kube.list(NODES)).items
            self._found = choose_address(nodes, current=self._found)
            self._looked_at = time.monotonic()
        return self._found


def choose_address(nodes: list[JsonObject], *, current: str | None) -> str | None:
    """Return the address to advertise: `current` while a node has it, else the first ready node's (oldest first)."""
    if current is not None and any(current in _addresses(node) for node in nodes):
        return current
    ready = [node for node in nodes if _is_ready(node)]
    ready.sort(key=lambda node: (text(obj(node, "metadata"), "creationTimestamp"), text(obj(node, "metadata"), "name")))
    return next((address for node in ready for address in _addresses(node)), None)


def _addresses(node: JsonObject) -> Iterator[str]:
    listed = items(obj(node, "status"), "addresses")
    for kind in _PREFERRED_TYPES:
        yield from (text(each, "address") for each in listed if text(each, "type") == kind)


def _is_ready(node: JsonObject) -> bool:
    ready = find_condition(node, "Ready")
    return ready is not None and ready.is_true
