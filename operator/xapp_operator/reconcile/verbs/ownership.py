"""What `adopt` may not take over: objects of another XApp that exists.

Helm takes over whatever its chart renders. So the chart is rendered first, while other XApps have objects where it
could have some. It only reads.
"""

from __future__ import annotations

import asyncio
import json

from xapp_operator.errors import HelmError, InputError
from xapp_operator.helm.manifest import manifest_inventory
from xapp_operator.helm.requests import TemplateRequest
from xapp_operator.monitor.live_objects import LiveObjectKey, cluster_scoped_key
from xapp_operator.reconcile.inputs.release_inputs import ReleaseInputs
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.work.work_queue import NamespacedName


async def require_free_objects(
    request: ReconcileRequest, context: ReconcilerContext, inputs: ReleaseInputs, *, upgrade: bool
) -> None:
    """Refuse to take over objects of an XApp that is there.

    Raises:
        HelmError: names the first such object and its XApp.
        KubeError: when it cannot be read what the cluster serves.
    """
    others = {
        key: owner for key, owner in context.monitor.objects_of_others(request.key).items() if _exists(context, owner)
    }
    for key in await _rendered_objects(request, context, inputs, upgrade=upgrade) if others else ():
        owner = others.get(key) or others.get(cluster_scoped_key(key))
        if owner is not None:
            kind, _, name = key
            # Who may install here need not know the XApps of other namespaces.
            whose = f"the XApp {owner[1]}" if owner[0] == request.namespace else "an XApp in another namespace"
            raise HelmError(
                f"{kind} {name} belongs to {whose}, and adopt takes over nothing of an XApp that exists: rename it, or "
                "remove it from that XApp, then request a retry",
                permanent=True,
            )


def _exists(context: ReconcilerContext, owner: NamespacedName) -> bool:
    found = context.xapps.get(owner)
    return found is not None and not found.deleting


async def _rendered_objects(
    request: ReconcileRequest, context: ReconcilerContext, inputs: ReleaseInputs, *, upgrade: bool
) -> list[LiveObjectKey]:
    version, api_versions = await asyncio.gather(context.kube.server_version(), context.kube.discovery.api_versions())
    try:
        rendered = await context.helm.template(
            TemplateRequest(
                name=request.xapp.release_name,
                namespace=request.namespace,
                chart=inputs.chart.path,
                values=await asyncio.to_thread(json.loads, inputs.values),
                kube_version=version,
                api_versions=api_versions,
                skip_schema=True,
                upgrade=upgrade,
                chart_name=inputs.chart.info.name,
            )
        )
        references = await asyncio.to_thread(manifest_inventory, rendered.manifest)
    except (InputError, HelmError):
        return []  # the step itself reports what is wrong
    return [(each.kind, each.namespace or request.namespace, each.name) for each in references]
