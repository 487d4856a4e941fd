"""Which objects of a chart are in the cluster already, read as the caller: `adopt: true` takes them over."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final, TypeAlias

from xapp_operator.common.parallel import run_parallel
from xapp_operator.errors import HelmError, KubeError, NotFound
from xapp_operator.helm.manifest import ObjectRef, manifest_inventory
from xapp_operator.kube.client import KubeClient

OBJECTS_LOOKED_UP_MAX: Final = 100
LOOKED_UP_AT_ONCE: Final = 4
LOOKUP_SECONDS: Final = 15.0

ExistingObjects: TypeAlias = dict[ObjectRef, bool | None]
"""Whether an object exists; None if that is not known. `expires` of a reference is never set."""


async def find_existing_objects(client: KubeClient, manifest: str, *, namespace: str) -> ExistingObjects:
    """Return which objects of a manifest exist; not known are those that the caller may not read, and beyond the first.

    Args:
        client: the caller's client.
        manifest: rendered objects, without hooks.
        namespace: of objects that name none.
    """
    try:
        references = await asyncio.to_thread(manifest_inventory, manifest)
    except HelmError:
        return {}  # helm says so itself
    found: ExistingObjects = dict.fromkeys((replace(each, expires=False) for each in references), None)

    async def look_up(ref: ObjectRef) -> None:
        found[ref] = await _exists(client, ref, namespace=ref.namespace or namespace)

    try:
        async with asyncio.timeout(LOOKUP_SECONDS):
            await run_parallel(look_up, list(found)[:OBJECTS_LOOKED_UP_MAX], at_once=LOOKED_UP_AT_ONCE)
    except TimeoutError:
        pass  # the others are not known
    return found


async def _exists(client: KubeClient, ref: ObjectRef, *, namespace: str) -> bool | None:
    try:
        resource = await client.discovery.resource_for(api_version=ref.api_version, kind=ref.kind)
        place = namespace if resource.namespaced else None
        await client.get(resource, ref.name, namespace=place, metadata_only=True)
    except NotFound:
        return False  # also if the namespace comes with the deployment, or the kind with the chart
    except KubeError:
        return None
    return True
