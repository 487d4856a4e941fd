"""The predefined labels on every object of a release, by which an xApp registers itself with the Service Monitor.

Lives in `reconcile` because it is part of every deploy step: a metadata patch as the same identity as helm. Its answers
are the newest state of the objects and go to the monitor, so that health is never judged from before the step.
"""

from __future__ import annotations

import asyncio
from typing import Final

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.api.models import XApp
from xapp_operator.api.names import LABEL_COMPONENT, LABEL_ORGANIZATION, LABEL_TEAM, LABEL_VERSION, LABEL_XAPP
from xapp_operator.domain.naming import label_value
from xapp_operator.errors import NotFound
from xapp_operator.helm.storage import ObjectRef, inventory
from xapp_operator.kube.client import KubeClient
from xapp_operator.reconcile.tools import Tools, Work

PARALLEL_PATCHES: Final = 4


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
    refs = inventory(manifest)
    tools.monitor.expect(work.key, refs)
    client = tools.identities.client_of(work.xapp)
    metadata: JsonObject = {
        "labels": dict(predefined_labels(work.xapp)),
        "annotations": dict(original_texts(work.xapp)),
    }
    limit = asyncio.Semaphore(PARALLEL_PATCHES)

    async def patch(ref: ObjectRef) -> None:
        async with limit:
            await _label(work, tools, client, ref, metadata)

    tools.unlabelled.add(work.key)
    patches = await asyncio.gather(*map(patch, refs), return_exceptions=True)
    for problem in patches:
        if problem is not None:
            raise problem
    tools.unlabelled.discard(work.key)


async def _label(work: Work, tools: Tools, client: KubeClient, ref: ObjectRef, metadata: JsonObject) -> None:
    try:
        resource = await tools.kube.discovery.resource_for(api_version=ref.api_version, kind=ref.kind)
        namespace = (ref.namespace or work.namespace) if resource.namespaced else None
        body: JsonObject = {"metadata": metadata}
        if ref.kind == "Service":
            body = {"metadata": {**metadata, "labels": {**_dict(metadata["labels"]), LABEL_COMPONENT: ref.name}}}
        labelled = await client.patch(resource, ref.name, body, namespace=namespace)
    except NotFound:
        return  # removed again already, as objects with a time to live are
    await tools.monitor.learn(resource, labelled)


def _dict(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
