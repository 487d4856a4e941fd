"""Leftovers: the namespace of a deleted XApp goes away, and with it helm's record of what the release was made of.

Kubernetes removes what is in the namespace; what has none would stay for ever. It is found by our label and Helm's own
annotations, both of which must name this release, and removed as the identity that made it.
"""

from __future__ import annotations

from xapp_operator.api.json import obj, text
from xapp_operator.api.names import HELM_RELEASE_NAME, HELM_RELEASE_NAMESPACE, LABEL_XAPP
from xapp_operator.errors import AccessDenied, NotFound
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest


async def cleanup_orphans(work: ReconcileRequest, tools: ReconcilerContext) -> None:
    """Delete the cluster-scoped objects of a release whose record is gone; a missing right becomes an event.

    Raises:
        KubeError: when the cluster does not answer; the deletion is tried again.
    """
    client = tools.impersonation.client_for(work.xapp)
    release = (work.xapp.release_name, work.namespace)
    denied: AccessDenied | None = None
    for resource in await tools.kube.discovery.cluster_scoped_resources():
        try:
            found = await client.list(
                resource, label_selector=f"{LABEL_XAPP}={work.xapp.metadata.name}", metadata_only=True
            )
            for item in found.items:
                metadata = obj(item, "metadata")
                annotations = obj(metadata, "annotations")
                if (text(annotations, HELM_RELEASE_NAME), text(annotations, HELM_RELEASE_NAMESPACE)) == release:
                    await client.delete(resource, text(metadata, "name"), uid=text(metadata, "uid"))
        except NotFound:
            continue
        except AccessDenied as error:
            denied = denied or error
    if denied is not None:
        tools.events.record(work.raw, event_type="Warning", reason="LeftBehind", message=denied.message)
