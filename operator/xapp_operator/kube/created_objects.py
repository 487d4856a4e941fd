"""Deletes what a request created, when a later step of that request fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from xapp_operator.api.json import JsonObject, text
from xapp_operator.errors import KubeError
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import Resource
from xapp_operator.telemetry.logs import get_logger

FIRST_SERVER_ERROR: Final = 500

_log = get_logger(__name__)


@asynccontextmanager
async def cleanup_on_failure() -> AsyncIterator[AsyncExitStack]:
    """Yield a stack of cleanups that run, last first, if the block fails.

    They do not run when the outcome of the last write is unknown, because the API server may have stored an object that
    needs the others.
    """
    async with AsyncExitStack() as cleanup:
        try:
            yield cleanup
        except (KubeError, asyncio.CancelledError) as error:
            if not isinstance(error, KubeError) or error.status >= FIRST_SERVER_ERROR:
                cleanup.pop_all()
            raise
        cleanup.pop_all()


async def delete_created(
    client: KubeClient, resource: Resource, created: JsonObject, *, if_unchanged: bool = False
) -> None:
    """Delete the created object, and no later one of the same name; a failure is only logged.

    Args:
        client: deletes it.
        resource: the kind.
        created: its metadata, as the API server returned them.
        if_unchanged: keep the object if it changed since, because then something uses it.
    """
    name, namespace = text(created, "name"), text(created, "namespace")
    version = text(created, "resourceVersion") if if_unchanged else None
    try:
        await client.delete(resource, name, namespace=namespace, uid=text(created, "uid"), resource_version=version)
    except KubeError as error:
        _log.warning(
            "created object not deleted", kind=resource.kind, namespace=namespace, name=name, error=error.message
        )
