"""Threat: a caller saves a repository at an address inside the cluster, and the gateway asks it for them."""

from __future__ import annotations

import pytest

from tests.integration.gateway.gateway_client import GatewayClient
from xapp_operator.api.json import text

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("form", ["{}", "[::ffff:{}]"])
def test_charts_are_not_listed_from_a_service_of_the_cluster(client: GatewayClient, form: str) -> None:
    service = client.api.get("/api/v1/namespaces/default/services/kubernetes")
    url = f"https://{form.format(text(service['spec'], 'clusterIP'))}"
    saved = client.http.post("/api/repositories", json={"name": "inside", "namespace": client.namespace, "url": url})
    assert saved.status_code == 201, saved.text
    answer = client.http.get(f"{saved.headers['Location']}/charts")
    assert answer.status_code == 422
    assert "it has an address of a Service in the cluster" in answer.json()["detail"]
