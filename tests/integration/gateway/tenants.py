"""Tenants with an xApp, a repository and a chart each, and a client that checks responses against the documentation."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.integration.gateway.gateway_client import ready_status
from tests.integration.gateway.permission_matrix import PermissionRow
from tests.support.apiserver import ARCHIVES, NAMESPACES, REPOSITORIES, XAPPS, ApiServer
from tests.support.charts import chart_archive, chart_archive_manifest
from tests.support.gateway import GatewayServer
from tests.support.openapi_contract import OpenApiContract
from tests.support.routes import WEBSOCKET, RouteKey

SERVICES: Final = "/api/v1/namespaces/{}/services"


@dataclass(frozen=True, slots=True)
class Tenant:
    """A namespace with an xApp and a repository; `marker` is in all of its data, and nowhere else."""

    namespace: str
    name: str
    marker: str


def create_tenant(api: ApiServer, name: str) -> Tenant:
    one = Tenant(
        namespace=f"matrix-{name}-{secrets.token_hex(4)}", name=f"{name}-ran-hello", marker=secrets.token_hex(8)
    )
    api.create(NAMESPACES, {"metadata": {"name": one.namespace}})
    spec = {
        "xAppName": "hello",
        "organization": name,
        "team": "ran",
        "version": "0.1.0",
        "owner": one.marker,
        "method": "Remote Chart Repository",
        "namespace": one.namespace,
        "chartName": one.marker,
        "url": f"https://{one.marker}.example.com",
        "repoName": "charts",
    }
    head = {"apiVersion": "xapp-operator.io/v1alpha1"}
    api.create(XAPPS.format(one.namespace), {**head, "kind": "XApp", "metadata": {"name": one.name}, "spec": spec})
    api.patch(f"{XAPPS.format(one.namespace)}/{one.name}/status", {"status": ready_status()})
    api.create(
        REPOSITORIES.format(one.namespace),
        {
            **head,
            "kind": "ChartRepository",
            "metadata": {"name": one.name},
            "spec": {"url": f"https://{one.marker}.example.com"},
        },
    )
    archive = chart_archive_manifest(chart_archive(name=one.marker), namespace=one.namespace)
    archive["metadata"]["name"] = one.name
    # A problem repeats the path, so that the name of the chart's file is no marker.
    archive["metadata"]["annotations"] |= {
        "xapp-operator.io/chart": "hello",
        "xapp-operator.io/description": one.marker,
    }
    archive["spec"]["provenance"] = f"signed by {one.marker}"
    api.create(ARCHIVES.format(one.namespace), archive)
    port = {"name": f"p{one.marker[:14]}", "port": 80}
    api.create(SERVICES.format(one.namespace), {"metadata": {"name": f"s-{one.marker}"}, "spec": {"ports": [port]}})
    return one


@dataclass(frozen=True, slots=True)
class ContractClient:
    """Requests routes, and checks every response against the OpenAPI document."""

    http: httpx.Client
    contract: OpenApiContract

    def call(self, route: RouteKey, row: PermissionRow, at: Tenant, **headers: str) -> httpx.Response:
        """Return the response of a route about a tenant, or the beginning of a stream."""
        named = {"namespace": at.namespace, "name": at.name, **row.path}
        path = re.sub(r"\{(\w+)(:path)?\}", lambda found: named[found[1]], route.path)
        if route.method == WEBSOCKET:
            return self._open_websocket(path, headers)
        request = self.http.build_request(route.method, path, headers=headers, **row.request(at.namespace))
        answer = self.http.send(request, stream=True)
        try:
            if answer.headers.get("content-type", "").startswith("text/event-stream"):
                return httpx.Response(answer.status_code, text=next(answer.iter_text()))
            answer.read()
        finally:
            answer.close()
        if route.path.replace(":path", "") in self.contract.document["paths"]:
            self.contract.check_response(answer)
        return answer

    def _open_websocket(self, path: str, headers: dict[str, str]) -> httpx.Response:
        sent = {name: self.http.headers[name] for name in ("authorization", "cookie") if name in self.http.headers}
        address = f"ws://{self.http.base_url.netloc.decode()}{path}"
        with pytest.raises(InvalidStatus) as refused, connect(address, additional_headers=sent | headers, proxy=None):
            pass
        answer = refused.value.response
        return httpx.Response(answer.status_code, headers=list(answer.headers.raw_items()), content=bytes(answer.body))


@contextmanager
def contract_client(
    authenticated_gateway: GatewayServer, openapi_contract: OpenApiContract, **headers: str
) -> Iterator[ContractClient]:
    with authenticated_gateway.client(headers=headers) as http:
        yield ContractClient(http, openapi_contract)


def bearer_header(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
