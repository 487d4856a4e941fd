"""Which kinds the API server serves, and under which paths.

Lives in `kube` because it reads the API server's discovery documents. Charts bring kinds of their own, so labels,
health and drift need the path of any `apiVersion` and `kind` that stands in a manifest.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.errors import NotFound
from xapp_operator.kube.resources import Resource

ACCEPT: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
KNOWN_KIND_SECONDS: Final = 600.0
API_VERSIONS_SECONDS: Final = 60.0
MISS_SECONDS: Final = 1.0
_REMOVABLE: Final = frozenset({"list", "delete"})

Fetch: TypeAlias = Callable[[str, str], Awaitable[JsonObject]]
"""Reads a path with an Accept header."""


@dataclass(frozen=True, slots=True)
class _Served:
    resources: dict[tuple[str, str], Resource]
    cluster_scoped: tuple[Resource, ...]
    read_at: float


class Discovery:
    """The kinds of one API server, read when first asked, and again when old or when a kind is missing."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._served: _Served | None = None
        self._lock = asyncio.Lock()

    async def resource_for(self, *, api_version: str, kind: str) -> Resource:
        """Return the resource behind `apiVersion` and `kind` of a manifest.

        Raises:
            NotFound: when the cluster does not serve it, even when asked anew.
        """
        key = (api_version, kind)
        served = await self._read(max_age=KNOWN_KIND_SECONDS)
        if key not in served.resources:
            served = await self._read(max_age=MISS_SECONDS)
        if key not in served.resources:
            raise NotFound(
                f"the cluster does not serve {kind} of {api_version}: install its CustomResourceDefinition, "
                "or use a version of the API that the cluster has"
            )
        return served.resources[key]

    async def served(self) -> frozenset[tuple[str, str]]:
        """Return every (apiVersion, kind) that the cluster serves right now."""
        return frozenset((await self._read(max_age=MISS_SECONDS)).resources)

    async def cluster_scoped(self) -> tuple[Resource, ...]:
        """Return the kinds without a namespace, the core group left out, that can be listed and deleted."""
        return (await self._read(max_age=KNOWN_KIND_SECONDS)).cluster_scoped

    async def api_versions(self) -> tuple[str, ...]:
        """Return `v1`, `v1/Pod`, `apps/v1`, `apps/v1/Deployment`, …, sorted: what helm calls API versions."""
        served = await self._read(max_age=API_VERSIONS_SECONDS)
        versions = {api_version for api_version, _ in served.resources}
        return tuple(sorted(versions | {f"{api_version}/{kind}" for api_version, kind in served.resources}))

    async def _read(self, *, max_age: float) -> _Served:
        async with self._lock:
            if self._served is None or time.monotonic() - self._served.read_at > max_age:
                read_at = time.monotonic()
                core, groups = await asyncio.gather(self._fetch("/api", ACCEPT), self._fetch("/apis", ACCEPT))
                found = (*_resources(core), *_resources(groups))
                self._served = _Served(
                    {(resource.api_version, resource.kind): resource for resource in reversed(found)},
                    cluster_scoped=tuple(
                        resource for resource in _resources(groups, verbs=_REMOVABLE) if not resource.namespaced
                    ),
                    read_at=read_at,
                )
            return self._served


def _resources(document: JsonObject, *, verbs: frozenset[str] = frozenset()) -> Iterator[Resource]:
    for group in items(document, "items"):
        name = text(obj(group, "metadata"), "name")
        for version in items(group, "versions"):
            for served in items(version, "resources"):
                offered = served.get("verbs")
                if not verbs.issubset(map(str, offered if isinstance(offered, list) else ())):
                    continue
                kind = text(obj(served, "responseKind"), "kind")
                yield Resource(
                    group=name,
                    version=text(version, "version"),
                    plural=text(served, "resource"),
                    kind=kind,
                    namespaced=text(served, "scope") == "Namespaced",
                )
