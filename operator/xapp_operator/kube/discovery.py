"""The kinds that the API server serves, and their paths, from its discovery documents.

Charts contain kinds of their own, so labels, health and drift need the path of any `apiVersion` and `kind` in a
manifest.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.errors import NotFound
from xapp_operator.kube.resources import Resource

ACCEPT: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
RESOURCES_MAX_AGE_SECONDS: Final = 600.0
API_VERSIONS_MAX_AGE_SECONDS: Final = 60.0
MISSING_KIND_MAX_AGE_SECONDS: Final = 1.0
_LIST_AND_DELETE: Final = frozenset({"list", "delete"})

FetchDocument: TypeAlias = Callable[[str, str], Awaitable[JsonObject]]
"""Reads a path with an Accept header."""


@dataclass(frozen=True, slots=True)
class _ServedResources:
    resources: dict[tuple[str, str], Resource]
    cluster_scoped: tuple[Resource, ...]
    namespaced: tuple[Resource, ...]
    stale_groups: frozenset[str]
    read_at: float


class Discovery:
    """The kinds of one API server, read on the first use, and again when they are old or a kind is missing."""

    def __init__(self, fetch: FetchDocument) -> None:
        self._fetch = fetch
        self._served: _ServedResources | None = None
        self._lock = asyncio.Lock()

    async def resource_for(self, *, api_version: str, kind: str) -> Resource:
        """Return the resource for `apiVersion` and `kind` of a manifest.

        Raises:
            NotFound: when the cluster does not serve the kind, even after a new read.
        """
        key = (api_version, kind)
        served = await self._read_discovery(max_age=RESOURCES_MAX_AGE_SECONDS)
        if key not in served.resources:
            served = await self._read_discovery(max_age=MISSING_KIND_MAX_AGE_SECONDS)
        if key not in served.resources:
            raise NotFound(
                f"the cluster does not serve {kind} of {api_version}: install its CustomResourceDefinition, "
                "or use an API version that the cluster serves"
            )
        return served.resources[key]

    async def served_kinds(self, *, at_this_moment: bool = False) -> frozenset[tuple[str, str]]:
        """Return every (apiVersion, kind) that the cluster serves now, or served up to a second ago."""
        max_age = 0.0 if at_this_moment else MISSING_KIND_MAX_AGE_SECONDS
        return frozenset((await self._read_discovery(max_age=max_age)).resources)

    async def served_versions(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Return the values of `apiVersion` of each (group, kind) that the cluster serves now, the preferred first."""
        versions: dict[tuple[str, str], tuple[str, ...]] = {}
        for each in (await self._read_discovery(max_age=0.0)).resources.values():
            key = (each.group, each.kind)
            versions[key] = (each.api_version, *versions.get(key, ()))  # the preferred version comes last
        return versions

    async def stale_groups(self) -> frozenset[str]:
        """Return the groups of which it is not known what is served: an aggregated API server does not answer."""
        return (await self._read_discovery(max_age=MISSING_KIND_MAX_AGE_SECONDS)).stale_groups

    async def cluster_scoped_resources(self) -> tuple[Resource, ...]:
        """Return the cluster-scoped kinds that can be listed and deleted, each in its preferred version.

        Namespaces come last: objects in them, and perhaps the rights to delete the others, go with them.
        """
        return (await self._read_discovery(max_age=RESOURCES_MAX_AGE_SECONDS)).cluster_scoped

    async def namespaced_resources(self) -> tuple[Resource, ...]:
        """Return the namespaced kinds that can be listed and deleted, each in its preferred version."""
        return (await self._read_discovery(max_age=RESOURCES_MAX_AGE_SECONDS)).namespaced

    async def api_versions(self) -> tuple[str, ...]:
        """Return the values for `helm template --api-versions`, sorted: `v1`, `v1/Pod`, `apps/v1` and so on."""
        served = await self._read_discovery(max_age=API_VERSIONS_MAX_AGE_SECONDS)
        versions = {api_version for api_version, _ in served.resources}
        return tuple(sorted(versions | {f"{api_version}/{kind}" for api_version, kind in served.resources}))

    async def _read_discovery(self, *, max_age: float) -> _ServedResources:
        async with self._lock:
            if self._served is None or time.monotonic() - self._served.read_at > max_age:
                read_at = time.monotonic()
                core, groups = await asyncio.gather(self._fetch("/api", ACCEPT), self._fetch("/apis", ACCEPT))
                found = (*_parse_resources(core), *_parse_resources(groups))
                removable = _preferred([resource for resource, verbs in found if verbs >= _LIST_AND_DELETE])
                self._served = _ServedResources(
                    {(resource.api_version, resource.kind): resource for resource, _ in reversed(found)},
                    cluster_scoped=tuple(
                        sorted((each for each in removable if not each.namespaced), key=_is_of_namespaces)
                    ),
                    namespaced=tuple(each for each in removable if each.namespaced),
                    stale_groups=frozenset(_find_stale_groups(groups)),
                    read_at=read_at,
                )
            return self._served


def _preferred(found: Sequence[Resource]) -> tuple[Resource, ...]:
    """Return each kind once, in the version that comes first; the core group, which comes first, is the last."""
    return tuple({(each.group, each.plural): each for each in reversed(found)}.values())


def _is_of_namespaces(resource: Resource) -> bool:
    return (resource.group, resource.kind) == ("", "Namespace")


def _find_stale_groups(document: JsonObject) -> Iterator[str]:
    for group in items(document, "items"):
        if any(text(version, "freshness") == "Stale" for version in items(group, "versions")):
            yield text(obj(group, "metadata"), "name")


def _parse_resources(document: JsonObject) -> Iterator[tuple[Resource, frozenset[str]]]:
    """Yield each resource, and the verbs that it is served with."""
    for group in items(document, "items"):
        name = text(obj(group, "metadata"), "name")
        for version in items(group, "versions"):
            for served in items(version, "resources"):
                verbs = served.get("verbs")
                resource = Resource(
                    group=name,
                    version=text(version, "version"),
                    plural=text(served, "resource"),
                    kind=text(obj(served, "responseKind"), "kind"),
                    namespaced=text(served, "scope") == "Namespaced",
                    has_status=any(text(each, "subresource") == "status" for each in items(served, "subresources")),
                )
                yield resource, frozenset(map(str, verbs if isinstance(verbs, list) else ()))
