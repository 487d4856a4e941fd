"""RepairLabels, and the labelling after Install and Upgrade: metadata patches with the same identity as helm's.

New objects have their labels already, from helm's post-renderer, so most installs need no patch. All others are patched
also where nothing is missing: the responses are the newest state of the objects and go to the monitor, so that health
is never judged from before the helm step. Changes in StatusDraft: the labelled revision.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from xapp_operator.api.json import JsonObject
from xapp_operator.api.names import LABEL_COMPONENT
from xapp_operator.common.waiting import wait_for_state
from xapp_operator.domain.planning.actions import RepairLabels
from xapp_operator.domain.registration import original_text_annotations
from xapp_operator.errors import KubeError, NotFound
from xapp_operator.helm.manifest import ObjectRef
from xapp_operator.kube.resources import SERVICES
from xapp_operator.monitor.live_objects import LiveObjectKey
from xapp_operator.monitor.object_labels import has_labels
from xapp_operator.monitor.release_objects import UnlabelledObject
from xapp_operator.reconcile.labels import predefined_labels
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.stored_releases.deployed_release import read_inventory
from xapp_operator.reconcile.watching.release_watch import read_release_record
from xapp_operator.telemetry.logs import get_logger

LABELS_NOT_WRITTEN: Final = "LabelsNotWritten"
"""The reason of the event, unless a right is missing."""
MAX_PARALLEL_PATCHES: Final = 4
WATCH_SECONDS: Final = 1.0
"""What the watches do not show by then is patched."""

_log = get_logger(__name__)


async def label_release(
    request: ReconcileRequest,
    context: ReconcilerContext,
    manifest: str,
    *,
    revision: int,
    known: Collection[LiveObjectKey] | None = None,
) -> None:
    """Label every object of a revision's manifest, and tell the monitor what the release consists of.

    If helm has applied the labels, `known` are the objects that had them before: all others need no patch once the
    watches show them, because what is shown comes from after the helm step.

    Raises:
        AccessDenied: when the identity may not patch one of them; the message names the missing permission.
        ChartInvalid: when the manifest cannot be read.
    """
    references = await read_inventory(request.key, revision, manifest, context)
    limit = asyncio.Semaphore(MAX_PARALLEL_PATCHES)

    async def patch(ref: ObjectRef) -> None:
        async with limit:
            try:
                resource = await context.kube.discovery.resource_for(api_version=ref.api_version, kind=ref.kind)
            except NotFound:
                return  # the kind was removed from the cluster, and its objects with it
            namespace = (ref.namespace or request.namespace) if resource.namespaced else None
            await _label_object(request, context, UnlabelledObject(resource, namespace, ref.name))

    refused_before = context.incompletely_labelled.setdefault(request.key, None)
    shown = frozenset[LiveObjectKey]() if known is None else await _wait_for_new_objects(request, context, known)
    unsure = [each for each in references if (each.kind, each.namespace or request.namespace, each.name) not in shown]
    errors = [each for each in await asyncio.gather(*map(patch, unsure), return_exceptions=True) if each is not None]
    refused = [each for each in errors if isinstance(each, KubeError) and each.permanent]
    if errors:
        # A copy: the traceback of the error refers to the values of the XApp.
        context.incompletely_labelled[request.key] = copy.copy(refused[0]) if refused else refused_before
        raise [*refused, *errors][0]
    context.incompletely_labelled.pop(request.key, None)
    request.draft = replace(request.draft, labelled_revision=revision)


async def _wait_for_new_objects(
    request: ReconcileRequest, context: ReconcilerContext, known: Collection[LiveObjectKey]
) -> frozenset[LiveObjectKey]:
    """Return the objects of the release that the watches show with all labels, without those in `known`."""
    labels, monitor = predefined_labels(request.xapp), context.monitor
    with monitor.changes(request.key) as changed:
        await wait_for_state(changed, lambda: not monitor.find_unlabelled(request.key, labels), seconds=WATCH_SECONDS)
    return frozenset(
        each.key
        for each in monitor.release_objects(request.key)
        if each.live is not None and not each.live.deleting and each.live.key not in known
        if each.live.labels.has_labels(labels, component=each.live.service is not None)
    )


async def repair_labels(
    action: RepairLabels,
    request: ReconcileRequest,
    context: ReconcilerContext,
    objects: tuple[UnlabelledObject, ...],
) -> None:
    """Write the labels on `objects`, or on all objects of the release; what the cluster refuses becomes an event.

    Raises:
        ReleaseRecordDamaged: when the release record cannot be decoded.
    """
    if action.all_objects:
        context.incompletely_labelled.setdefault(request.key, None)  # until all of them are labelled
    try:
        if action.all_objects:
            revision = request.draft.release.revision or 0
            record = await read_release_record(context.kube, request.namespace, request.xapp.release_name, revision)
            await label_release(request, context, record.manifest, revision=revision)
        else:
            await _patch_each(request, context, objects)
    except KubeError as error:
        context.events.record_refusal(request.raw, error, otherwise=LABELS_NOT_WRITTEN)
    finally:
        context.label_backoff.record_repair(request.key, now=context.clock.monotonic())


async def _patch_each(
    request: ReconcileRequest, context: ReconcilerContext, objects: tuple[UnlabelledObject, ...]
) -> None:
    """Write the labels on every object that can be written; raise the first error at the end."""
    errors: list[KubeError] = []
    for each in objects:
        try:
            await patch_labels(request, context, each)
        except KubeError as error:
            errors.append(error)
    labelled = len(objects) - len(errors)
    _log.info("labels repaired", namespace=request.namespace, name=request.key[1], objects=labelled)
    if errors:
        raise errors[0]


async def _label_object(request: ReconcileRequest, context: ReconcilerContext, found: UnlabelledObject) -> None:
    """Write the labels on one object; a refusal does not matter if helm has applied them.

    Raises:
        AccessDenied: when the identity may not patch it, and it lacks labels, or may not be read either.
    """
    try:
        await patch_labels(request, context, found)
    except KubeError as refused:
        if not refused.permanent or not await _has_labels(request, context, found):
            raise


async def _has_labels(request: ReconcileRequest, context: ReconcilerContext, found: UnlabelledObject) -> bool:
    """Return whether an object has the labels; if so, the monitor learns its newest state."""
    client = context.impersonation.client_for(request.xapp)
    try:
        live = await client.get(found.resource, found.name, namespace=found.namespace)
    except KubeError:
        return False  # why it could not be labelled tells more
    if not has_labels(live, predefined_labels(request.xapp), component=found.resource == SERVICES):
        return False
    await context.monitor.update_object(found.resource, live)
    return True


async def patch_labels(request: ReconcileRequest, context: ReconcilerContext, found: UnlabelledObject) -> None:
    """Write the labels on one object, if it exists.

    Raises:
        AccessDenied: when the identity may not patch it.
    """
    labels = predefined_labels(request.xapp)
    if found.resource == SERVICES:
        labels[LABEL_COMPONENT] = found.name
    metadata: JsonObject = {"labels": {**labels}, "annotations": {**original_text_annotations(request.xapp.spec)}}
    client = context.impersonation.client_for(request.xapp)
    try:
        labelled = await client.patch(found.resource, found.name, {"metadata": metadata}, namespace=found.namespace)
    except NotFound:
        return  # already deleted, as objects with a time to live are
    await context.monitor.update_object(found.resource, labelled)
