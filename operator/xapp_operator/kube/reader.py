"""The requests of a `KubeClient` that change nothing in the cluster, as a type for code that must only read."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
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

    async def preview_apply(
        self, resource: Resource, name: str, body: JsonObject, *, namespace: str | None = None, field_manager: str
    ) -> JsonObject:
        """Return what a server-side apply would store. The API server asks for the right to patch."""

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


async def first_page(
    kube: KubeReader,
    resource: Resource,
    namespace: str,
    *,
    limit: int,
    label_selector: str | None = None,
    field_selector: str | None = None,
) -> list[JsonObject]:
    """Return at most `limit` objects of a namespace; what is beyond them is not read.

    Raises:
        KubeError: when they cannot be listed.
    """
    pages = kube.list_pages(
        resource, namespace=namespace, label_selector=label_selector, field_selector=field_selector, limit=limit
    )
    async with aclosing(pages):
        async for page in pages:
            return page.items
    return []
