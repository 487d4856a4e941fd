"""Runs helm again without what it cannot read: kinds in a record that the cluster no longer serves.

helm reads the manifest of the revision in force before it upgrades or uninstalls, and stops at a kind whose
CustomResourceDefinition, or whose version, was removed from the cluster. Its objects are gone, or are of another
version now, so they are removed from the record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from xapp_operator.api.json import JsonObject, obj
from xapp_operator.domain.planning.plan_input import DEPLOYED
from xapp_operator.errors import KindNotServed
from xapp_operator.helm.releases.release_storage import release_secret_name, remove_unserved_kinds
from xapp_operator.kube.resources import SECRETS
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest

KINDS_REMOVED: Final = "UnservedKindsRemoved"
"""The reason of the event."""

T = TypeVar("T")


async def upgrade_without_unserved_kinds(
    request: ReconcileRequest, context: ReconcilerContext, refused: KindNotServed, upgrade: Callable[[], Awaitable[T]]
) -> T:
    """Remove the kinds from the revision in force, which an upgrade `refused`, and run `upgrade` again.

    Raises:
        KindNotServed: when that revision has no such kind, or the new one has it too. Then the record stays as it was.
    """
    revisions = context.release_watch.revisions(request.namespace, request.xapp.release_name)
    in_force = [each.revision for each in revisions if each.status == DEPLOYED] or [revisions[-1].revision]
    before, changed = await _remove_from_record(request, context, in_force[-1], refused)
    try:
        result = await upgrade()
    except KindNotServed:
        client = context.impersonation.client_for(request.xapp)
        restored = {**changed, "data": {**obj(before, "data")}}
        await client.replace(SECRETS, restored, namespace=request.namespace)
        raise
    message = f"upgraded without the objects in revision {in_force[-1]} that helm could not read: {refused.message}"
    context.events.record(request.raw, reason=KINDS_REMOVED, message=message)
    return result


async def remove_from_newest(request: ReconcileRequest, context: ReconcilerContext, refused: KindNotServed) -> None:
    """Remove the kinds from the newest record, which an uninstall `refused`.

    Raises:
        KindNotServed: when it has no such kind.
    """
    newest = context.release_watch.revisions(request.namespace, request.xapp.release_name)[-1]
    await _remove_from_record(request, context, newest.revision, refused)


async def _remove_from_record(
    request: ReconcileRequest, context: ReconcilerContext, revision: int, refused: KindNotServed
) -> tuple[JsonObject, JsonObject]:
    """Return the record as it was, and as it is stored now."""
    client, name = context.impersonation.client_for(request.xapp), request.xapp.release_name
    secret = await client.get(SECRETS, release_secret_name(name, revision), namespace=request.namespace)
    served = await context.kube.discovery.served_kinds()
    changed = await asyncio.to_thread(remove_unserved_kinds, secret, served=served)
    if changed is None:
        raise refused
    return secret, await client.replace(SECRETS, changed, namespace=request.namespace)
