"""The requests of a `KubeClient` that change nothing in the cluster, as a type for code that must only read."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol, Unpack

from xapp_operator.api.json import JsonObject, obj
from xapp_operator.errors import NotFound
from xapp_operator.kube.discovery import Discovery
from xapp_operator.kube.request_encoding import ListOptions, ListResult
from xapp_operator.kube.resources import NAMESPACES, Resource


class KubeReader(Protocol):
    """A client that reads; `KubeClient` is one."""

    async def get(
        self, resource: Resource, name: str, *, namespace: str | None = None, metadata_only: bool = False
    ) -> JsonObject:
        """Return one object. Raises NotFound when it does not exist."""

    def list_pages(self, resource: Resource, **options: Unpack[ListOptions]) -> AsyncGenerator[ListResult]:
        """Yield the pages of a list."""

    async def server_version(self) -> str:
        """Return the version of the API server."""

    @property
    def discovery(self) -> Discovery:
        """Return what the cluster serves."""


async def is_namespace_terminating(kube: KubeReader, name: str) -> bool:
    """Return whether a namespace is being deleted, or is gone."""
    try:
        namespace = await kube.get(NAMESPACES, name)
    except NotFound:
        return True
    return "deletionTimestamp" in obj(namespace, "metadata")
