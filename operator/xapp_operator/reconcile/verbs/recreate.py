"""Recreate: create objects again that were being deleted when helm applied them, and are gone now.

It is a part of the helm step before, so it does not depend on `driftDetection`. Whether an object is gone is asked for:
somebody may have created it since, even without the labels by which the watches show it. Changes in StatusDraft:
`terminating`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.common.text import format_list
from xapp_operator.domain.drift import DriftedObject
from xapp_operator.domain.planning.actions import Recreate
from xapp_operator.errors import NotFound
from xapp_operator.kube.resources import Resource
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.verbs.correct_drift import apply_manifest, create_object

RECREATED: Final = "Recreated"
"""The reason of the event."""


async def recreate(action: Recreate, request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Create the objects that are gone, and record an event; what the cluster refuses becomes one too.

    Raises:
        KubeError: when the cluster does not answer.
    """
    known: set[DriftedObject] = set()

    async def create(
        one: DriftedObject, request: ReconcileRequest, context: ReconcilerContext, resource: Resource, body: JsonObject
    ) -> bool:
        client = context.impersonation.client_for(request.xapp)
        try:
            live = await client.get(resource, one.name, namespace=one.namespace if resource.namespaced else None)
        except NotFound:
            await create_object(one, request, context, resource, body)
            return True
        if not text(obj(live, "metadata"), "deletionTimestamp"):
            known.add(one)
        return False

    applied = await apply_manifest(action.objects, request, context, create)
    if applied is None:
        return
    done = {(each.kind, each.namespace, each.name) for each in (*applied.objects, *known)}
    noted = request.draft.terminating
    left = tuple(each for each in noted if (each.kind, each.namespace, each.name) not in done)
    request.draft = replace(request.draft, terminating=left)
    if applied.objects:
        names = [f"{each.kind} {each.name}" for each in applied.objects]
        message = (
            f"created again, because it was still being deleted when revision {request.draft.release.revision} was "
            f"deployed: {format_list(names, total=len(names))}"
        )
        context.events.record(request.raw, reason=RECREATED, message=message)
    if applied.error is not None:
        raise applied.error
