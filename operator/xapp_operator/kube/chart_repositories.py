"""Creates ChartRepository objects: the gateway as the caller, the operator for an XApp that names a new one."""

from __future__ import annotations

from xapp_operator.api.json import JsonObject
from xapp_operator.api.names import API_VERSION, REPOSITORY_KIND
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CHART_REPOSITORIES


async def create_chart_repository(client: KubeClient, spec: JsonObject, *, namespace: str, name: str) -> JsonObject:
    """Create a ChartRepository with `spec` and return it as stored.

    Raises:
        AlreadyExists: when there is one of that name.
        KubeError: when the cluster refuses it.
    """
    body: JsonObject = {
        "apiVersion": API_VERSION,
        "kind": REPOSITORY_KIND,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }
    return await client.create(CHART_REPOSITORIES, body)
