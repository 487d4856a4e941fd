"""The predefined labels on every object of a release, by which an xApp registers itself with the Service Monitor.

Lives in `reconcile` because it is part of every deploy step: a metadata patch as the same identity as helm. Its answers
are the newest state of the objects and go to the monitor, so that health is never judged from before the step.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.models import XApp
from xapp_operator.api.names import (
    HELM_RELEASE_NAME,
    LABEL_COMPONENT,
    LABEL_ORGANIZATION,
    LABEL_TEAM,
    LABEL_VERSION,
    LABEL_XAPP,
)
from xapp_operator.domain.naming import label_value
from xapp_operator.errors import NotFound
from xapp_operator.helm.inventory import ObjectRef, manifest_inventory
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import SERVICES, Resource
from xapp_operator.monitor.object_labels import has_labels
from xapp_operator.monitor.xapp_monitor import UnlabelledObject
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.telemetry.logs import get_logger

MAX_PARALLEL_PATCHES: Final = 4
MAX_OBJECTS_PER_REPAIR: Final = 50
"""Objects without labels that are cared for at one look; the others follow."""

_log = get_logger(__name__)


def predefined_labels(xapp: XApp) -> dict[str, str]:
    """Return the labels that every object of the release carries.

    Organization and team are sanitised; the name and a dotted numeric version are label values as they are.
    """
    return {
        LABEL_XAPP: xapp.metadata.name,
        LABEL_ORGANIZATION: label_value(xapp.spec.organization),
        LABEL_TEAM: label_value(xapp.spec.team),
        LABEL_VERSION: xapp.spec.version,
    }


def original_text_annotations(xapp: XApp) -> dict[str, str]:
    """Return the annotations that carry what no label value can: the texts as they were written."""
    return {LABEL_ORGANIZATION: xapp.spec.organization, LABEL_TEAM: xapp.spec.team}


async def label_objects(work: ReconcileRequest, tools: ReconcilerContext, manifest: str) -> None:
    """Label every object of `manifest` and tell the monitor what it consists of.

    Raises:
        AccessDenied: when the identity may not patch one of them; the message names the right.
    """
    refs = await asyncio.to_thread(manifest_inventory, manifest)
    tools.monitor.set_inventory(work.key, refs)
    client = tools.impersonation.client_for(work.xapp)
    limit = asyncio.Semaphore(MAX_PARALLEL_PATCHES)

    async def patch(ref: ObjectRef) -> None:
        async with limit:
            await _label_reference(work, tools, client, ref)

    tools.unlabelled.add(work.key)
    patches = await asyncio.gather(*map(patch, refs), return_exceptions=True)
    for problem in patches:
        if problem is not None:
            raise problem
    tools.unlabelled.discard(work.key)


async def repair_labels(work: ReconcileRequest, tools: ReconcilerContext) -> None:
    """Put labels back that are missing on objects of the release, unless that was done again and again just now.

    Objects that another release has taken over are left alone, and all of them while the XApp is suspended; those are
    only looked at. In the settled case nothing is asked and nothing written.

    Raises:
        AccessDenied: when the identity may not read or patch one of them; the message names the right.
    """
    labels = predefined_labels(work.xapp)
    client = tools.impersonation.client_for(work.xapp)
    unlabelled: list[tuple[UnlabelledObject, JsonObject]] = []
    for each in tools.monitor.find_unlabelled(work.key, labels)[:MAX_OBJECTS_PER_REPAIR]:
        try:
            body = await client.get(each.resource, each.name, namespace=each.namespace)
        except NotFound:
            continue
        if _belongs_to_release(work, body):
            await tools.monitor.update_object(each.resource, body)  # its watch may only have been late
            unlabelled.append((each, body))
    tools.monitor.set_unlabelled(work.key, [(each.resource, body) for each, body in unlabelled])
    if work.xapp.spec.suspend:
        return
    missing = [each for each, body in unlabelled if not has_labels(body, labels, component=each.resource == SERVICES)]
    now, due = time.monotonic(), tools.label_backoff.next_repair_at(work.key)
    if missing and now >= due:
        for each in missing:
            await _patch_labels(work, tools, client, each.resource, each.name, namespace=each.namespace)
        tools.label_backoff.record_repair(work.key, now=now)
        _log.info("labels repaired", namespace=work.key[0], name=work.key[1], objects=len(missing))
    elif missing:
        tools.queue.add_after(work.key, due - now)


def _belongs_to_release(work: ReconcileRequest, body: JsonObject) -> bool:
    annotations = obj(obj(body, "metadata"), "annotations")
    return text(annotations, HELM_RELEASE_NAME, work.xapp.release_name) == work.xapp.release_name


async def _label_reference(
    work: ReconcileRequest, tools: ReconcilerContext, client: KubeClient, ref: ObjectRef
) -> None:
    try:
        resource = await tools.kube.discovery.resource_for(api_version=ref.api_version, kind=ref.kind)
    except NotFound:
        return  # the kind is gone from the cluster, and its objects with it
    namespace = (ref.namespace or work.namespace) if resource.namespaced else None
    await _patch_labels(work, tools, client, resource, ref.name, namespace=namespace)


async def _patch_labels(
    work: ReconcileRequest,
    tools: ReconcilerContext,
    client: KubeClient,
    resource: Resource,
    name: str,
    *,
    namespace: str | None,
) -> None:
    labels = predefined_labels(work.xapp)
    if resource == SERVICES:
        labels[LABEL_COMPONENT] = name
    metadata: JsonObject = {"labels": dict(labels), "annotations": dict(original_text_annotations(work.xapp))}
    try:
        labelled = await client.patch(resource, name, {"metadata": metadata}, namespace=namespace)
    except NotFound:
        return  # removed again already, as objects with a time to live are
    await tools.monitor.update_object(resource, labelled)
