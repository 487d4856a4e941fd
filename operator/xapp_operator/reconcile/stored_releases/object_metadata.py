"""Reads the metadata of objects that a manifest names, with the identity of the XApp, and not from the watches."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Final

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.api.models import XApp
from xapp_operator.api.names import FIELD_MANAGER, HELM_RELEASE_NAME, HELM_RELEASE_NAMESPACE
from xapp_operator.domain.managed_fields import HELM_MANAGER
from xapp_operator.helm.manifest import ObjectRef
from xapp_operator.reconcile.reconcile_context import ObserverContext

MAX_PARALLEL_READS: Final = 4
_NOT_CREATORS: Final = frozenset({HELM_MANAGER, FIELD_MANAGER, "kube-controller-manager", "kube-scheduler"})
"""Managers of fields that write right after helm, or are helm."""


async def read_object_metadata(xapp: XApp, ref: ObjectRef, context: ObserverContext) -> JsonObject:
    """Return the metadata of an object of the XApp's release.

    Raises:
        NotFound: when it does not exist, or the cluster does not serve its kind.
        KubeError: when it cannot be read.
    """
    client, release_namespace = context.impersonation.client_for(xapp), xapp.metadata.namespace
    resource = await context.kube.discovery.resource_for(api_version=ref.api_version, kind=ref.kind)
    namespace = (ref.namespace or release_namespace) if resource.namespaced else None
    return obj(await client.get(resource, ref.name, namespace=namespace, metadata_only=True), "metadata")


def belongs_to_release(xapp: XApp, annotations: JsonObject) -> bool:
    """Return whether Helm's annotations assign an object to the XApp's release."""
    owner = text(annotations, HELM_RELEASE_NAMESPACE), text(annotations, HELM_RELEASE_NAME)
    return owner == (xapp.metadata.namespace, xapp.release_name)


def creation_time(metadata: JsonObject) -> float:
    """Return when an object was created, in seconds since the epoch; not a number if that is not known.

    Aggregated API servers serve objects without it.
    """
    try:
        return datetime.fromisoformat(text(metadata, "creationTimestamp")).timestamp()
    except ValueError:
        return math.nan


def making_time(metadata: JsonObject) -> float:
    """Return when an object was created, to compare it with the times of a revision. They are whole seconds.

    Whoever has written the object in the second of its creation, besides helm, may have created it. Then it counts as
    created in the second before, so that a revision of the same second has not made it.
    """
    created, made = creation_time(metadata), text(metadata, "creationTimestamp")
    is_by_others = any(
        text(each, "time") == made and not text(each, "subresource") and text(each, "manager") not in _NOT_CREATORS
        for each in items(metadata, "managedFields")
    )
    return created - 1.0 if is_by_others else created
