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
from xapp_operator.helm.storage import ObjectRef, inventory
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import SERVICES, Resource
from xapp_operator.monitor.marks import carries
from xapp_operator.monitor.monitor import Lacking
from xapp_operator.reconcile.tools import Tools, Work
from xapp_operator.telemetry.logs import get_logger

PARALLEL_PATCHES: Final = 4
LOOKED_AT: Final = 50
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


def original_texts(xapp: XApp) -> dict[str, str]:
    """Return the annotations that carry what no label value can: the texts as they were written."""
    return {LABEL_ORGANIZATION: xapp.spec.organization, LABEL_TEAM: xapp.spec.team}


async def label_objects(work: Work, tools: Tools, manifest: str) -> None:
    """Label every object of `manifest` and tell the monitor what it consists of.

    Raises:
        AccessDenied: when the identity may not patch one of them; the message names the right.
    """
    refs = await asyncio.to_thread(inventory, manifest)
    tools.monitor.expect(work.key, refs)
    client = tools.identities.client_of(work.xapp)
    limit = asyncio.Semaphore(PARALLEL_PATCHES)

    async def patch(ref: ObjectRef) -> None:
        async with limit:
            await _label(work, tools, client, ref)

    tools.unlabelled.add(work.key)
    patches = await asyncio.gather(*map(patch, refs), return_exceptions=True)
    for problem in patches:
        if problem is not None:
            raise problem
    tools.unlabelled.discard(work.key)


async def put_back(work: Work, tools: Tools) -> None:
    """Put labels back that are missing on objects of the release, unless that was done again and again just now.

    Objects that another release has taken over are left alone, and all of them while the XApp is suspended; those are
    only looked at. In the settled case nothing is asked and nothing written.

    Raises:
        AccessDenied: when the identity may not read or patch one of them; the message names the right.
    """
    labels = predefined_labels(work.xapp)
    client = tools.identities.client_of(work.xapp)
    unseen: list[tuple[Lacking, JsonObject]] = []
    for each in tools.monitor.lacking(work.key, labels)[:LOOKED_AT]:
        try:
            body = await client.get(each.resource, each.name, namespace=each.namespace)
        except NotFound:
            continue
        if _of_this_release(work, body):
            await tools.monitor.learn(each.resource, body)  # its watch may only have been late
            unseen.append((each, body))
    tools.monitor.strayed(work.key, [(each.resource, body) for each, body in unseen])
    if work.xapp.spec.suspend:
        return
    bare = [each for each, body in unseen if not carries(body, labels, component=each.resource == SERVICES)]
    now, due = time.monotonic(), tools.losses.due(work.key)
    if bare and now >= due:
        for each in bare:
            await _label_one(work, tools, client, each.resource, each.name, namespace=each.namespace)
        tools.losses.mended(work.key, now=now)
        _log.info("labels put back", namespace=work.key[0], name=work.key[1], objects=len(bare))
    elif bare:
        tools.queue.add_after(work.key, due - now)


def _of_this_release(work: Work, body: JsonObject) -> bool:
    annotations = obj(obj(body, "metadata"), "annotations")
    return text(annotations, HELM_RELEASE_NAME, work.xapp.release_name) == work.xapp.release_name


async def _label(work: Work, tools: Tools, client: KubeClient, ref: ObjectRef) -> None:
    try:
        resource = await tools.kube.discovery.resource_for(api_version=ref.api_version, kind=ref.kind)
    except NotFound:
        return  # the kind is gone from the cluster, and its objects with it
    namespace = (ref.namespace or work.namespace) if resource.namespaced else None
    await _label_one(work, tools, client, resource, ref.name, namespace=namespace)


async def _label_one(
    work: Work, tools: Tools, client: KubeClient, resource: Resource, name: str, *, namespace: str | None
) -> None:
    labels = predefined_labels(work.xapp)
    if resource == SERVICES:
        labels[LABEL_COMPONENT] = name
    metadata: JsonObject = {"labels": dict(labels), "annotations": dict(original_texts(work.xapp))}
    try:
        labelled = await client.patch(resource, name, {"metadata": metadata}, namespace=namespace)
    except NotFound:
        return  # removed again already, as objects with a time to live are
    await tools.monitor.learn(resource, labelled)
