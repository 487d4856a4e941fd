"""Runs helm again without what it cannot read: kinds and versions in a record that the cluster no longer serves.

helm reads the manifest of the revision in force before it upgrades or uninstalls, and stops at a kind whose
CustomResourceDefinition, or whose version, was removed from the cluster. So the record is changed: see
`helm.served_manifest`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from xapp_operator.api.json import JsonObject, obj
from xapp_operator.common.text import join_escaped
from xapp_operator.domain.planning.plan_input import DEPLOYED
from xapp_operator.errors import KindNotServed, KubeError
from xapp_operator.helm.releases.release_storage import release_secret_name, serve_kinds
from xapp_operator.kube.resources import SECRETS
from xapp_operator.monitor.live_objects import is_custom_group
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest

UNSERVED_KINDS: Final = "UnservedKinds"
"""The reason of the event."""

T = TypeVar("T")


async def forget_unserved_kinds(request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Let helm ask again which kinds are served, if a custom one of the release is not served any more.

    helm remembers kinds for hours. With a version that is gone, it would take each object for deleted, and leave it. So
    it matters what is served at this moment: a definition and an XApp may be changed in one commit.
    """
    found = context.monitor.release_objects(request.key)
    wanted = {(each.api_version, each.key[0]) for each in found if is_custom_group(each.group)}
    with contextlib.suppress(KubeError):  # then helm fails too
        if wanted and (unserved := wanted - await context.kube.discovery.served_kinds(at_this_moment=True)):
            context.helm.forget_kinds(unserved)


async def upgrade_without_unserved_kinds(
    request: ReconcileRequest, context: ReconcilerContext, refused: KindNotServed, upgrade: Callable[[], Awaitable[T]]
) -> T:
    """Change the record of the revision in force, because of which helm `refused` an upgrade, and run `upgrade` again.

    Raises:
        KindNotServed: when that revision has no such kind, or the new one has it too. Then the record stays as it was.
    """
    revisions = context.release_watch.revisions(request.namespace, request.xapp.release_name)
    deployed = (each for each in reversed(revisions) if each.status == DEPLOYED)
    in_force = next(deployed, revisions[-1]).revision
    before, changed, changes = await _serve_kinds(request, context, in_force, refused)
    told = join_escaped(changes, total=len(changes))
    message = (
        f"changed the record of revision {in_force}, because the cluster does not serve all of its kinds and "
        f"versions: {told}"
    )
    stays_changed = True
    try:
        return await upgrade()
    except KindNotServed:
        client = context.impersonation.client_for(request.xapp)
        restored = {**changed, "data": {**obj(before, "data")}}
        await client.replace(SECRETS, restored, namespace=request.namespace)
        stays_changed = False
        raise
    finally:
        if stays_changed:
            context.events.record(request.raw, reason=UNSERVED_KINDS, message=message)


async def serve_kinds_of_newest(request: ReconcileRequest, context: ReconcilerContext, refused: KindNotServed) -> None:
    """Change the newest record, because of which helm `refused` an uninstall.

    Raises:
        KindNotServed: when it has no such kind.
    """
    newest = context.release_watch.revisions(request.namespace, request.xapp.release_name)[-1]
    await _serve_kinds(request, context, newest.revision, refused)


async def _serve_kinds(
    request: ReconcileRequest, context: ReconcilerContext, revision: int, refused: KindNotServed
) -> tuple[JsonObject, JsonObject, tuple[str, ...]]:
    """Return the record as it was, as it is stored now, and what was changed."""
    client, name = context.impersonation.client_for(request.xapp), request.xapp.release_name
    secret = await client.get(SECRETS, release_secret_name(name, revision), namespace=request.namespace)
    discovery = context.kube.discovery
    served, unknown = await discovery.served_versions(), await discovery.stale_groups()
    found = await asyncio.to_thread(serve_kinds, secret, served, unknown_groups=unknown)
    if found is None:
        raise refused
    changed, changes = found
    return secret, await client.replace(SECRETS, changed, namespace=request.namespace), changes
