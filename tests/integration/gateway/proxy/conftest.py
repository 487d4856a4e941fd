"""An xApp whose API is a server of the test, behind a gateway on both routes: Service and API server.

The API server connects to pods by their addresses. No node runs the pod here: its status says that it is
ready and has an address of this machine, where the server listens.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest

from tests.integration.gateway.conftest import settings_for
from tests.localcluster import Cluster
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import NAMESPACES, XAPPS, ApiServer
from tests.support.gateway import GatewayServer, serve_gateway
from tests.support.proxied_xapp import NAME, PORT, SERVICE, ProxiedXApp, proxy_to_service, service_object
from tests.support.xapp_server import XAppServer, serve_xapp
from tests.unit.gateway.xapp_objects import raw_xapp

SERVICES: Final = "/api/v1/namespaces/{}/services"
PODS: Final = "/api/v1/namespaces/{}/pods"
ENDPOINTS: Final = "/api/v1/namespaces/{}/endpoints"
ADDED_HEADERS: Final[dict[str, Any]] = {
    "proxy_request_headers": ("x-custom",),
    "proxy_response_headers": ("x-a", "x-method"),
}
PROXY_MODES: Final = ("service", "apiserver")


def non_loopback_address() -> str:
    """Return an address of this machine that is not loopback, without sending anything."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            address = str(probe.getsockname()[0])
        except OSError:
            address = "127.0.0.1"
    if address.startswith("127."):
        pytest.skip("this machine has no address but loopback, which an API server connects to no pod at")
    return address


def create_service(api: ApiServer, namespace: str, *, address: str, port: int, name: str = SERVICE) -> None:
    """Create a Service of the xApp with one pod at `address` and `port`, independent of controllers."""
    service = service_object(name, namespace=namespace)
    metadata = {key: service["metadata"][key] for key in ("name", "labels", "annotations")}
    wait_until(
        lambda: api.find(f"/api/v1/namespaces/{namespace}/serviceaccounts/default"),
        timeout=60,
        what="a service account in the namespace",
    )
    pod = {"schedulerName": "nobody", "containers": [{"name": "api", "image": "none"}]}
    api.create(PODS.format(namespace), {"metadata": {"name": name}, "spec": pod})
    status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
    api.patch(f"{PODS.format(namespace)}/{name}/status", {"status": status})
    ports = [{"name": "http", "port": port, "protocol": "TCP"}]
    pod_ref = {"kind": "Pod", "name": name, "namespace": namespace}
    endpoints = [{"addresses": [{"ip": address, "targetRef": pod_ref}], "ports": ports}]
    api.create(ENDPOINTS.format(namespace), {"metadata": {"name": name}, "subsets": endpoints})
    ports = [{"name": "http", "port": PORT, "targetPort": port, "protocol": "TCP"}]
    api.create(SERVICES.format(namespace), {"metadata": metadata, "spec": {"ports": ports}})


def create_xapp(api: ApiServer, namespace: str) -> None:
    """Create the XApp, which no operator deploys."""
    body = raw_xapp(NAME, namespace=namespace)
    api.create(XAPPS.format(namespace), {**body, "metadata": {"name": NAME}})


@pytest.fixture(scope="package")
def reachable_xapp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[XAppServer]:
    """The API of the xApp, at an address that an API server connects to."""
    with serve_xapp(non_loopback_address()) as one:
        yield one


@pytest.fixture(scope="package")
def via_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxiedXApp]:
    """The xApp behind a gateway that connects to its Service."""
    with (
        serve_xapp() as one,
        proxy_to_service(one, tmp_path_factory.mktemp("service"), **ADDED_HEADERS) as behind,
    ):
        yield behind


@pytest.fixture(scope="package")
def proxy_namespace(api: ApiServer) -> Iterator[str]:
    """A namespace of the package."""
    name = f"proxy-{secrets.token_hex(4)}"
    api.create(NAMESPACES, {"metadata": {"name": name}})
    yield name
    api.delete(f"{NAMESPACES}/{name}")


@pytest.fixture(scope="package")
def via_apiserver(
    cluster: Cluster,
    api: ApiServer,
    proxy_namespace: str,
    reachable_xapp: XAppServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ProxiedXApp]:
    """The xApp behind a gateway that goes through the API server."""
    create_xapp(api, proxy_namespace)
    create_service(api, proxy_namespace, address=reachable_xapp.host, port=reachable_xapp.port)
    settings = settings_for(cluster, tmp_path_factory.mktemp("apiserver"), proxy="apiserver", **ADDED_HEADERS)
    with serve_gateway(settings) as gateway:
        behind = ProxiedXApp(gateway, reachable_xapp, namespace=proxy_namespace, via_apiserver=True)
        wait_proxied(gateway, behind)
        yield behind


def wait_proxied(gateway: GatewayServer, proxied: ProxiedXApp) -> None:
    """Wait until the gateway knows xApp and Service."""
    with proxied.client() as http:
        wait_until(lambda: http.get("/json").status_code == 200, timeout=60, what="the Service of the xApp")


@pytest.fixture(params=PROXY_MODES)
def proxied(request: pytest.FixtureRequest) -> ProxiedXApp:
    """The xApp behind a gateway, on each of the two routes."""
    name = "via_service" if request.param == "service" else "via_apiserver"
    found: ProxiedXApp = request.getfixturevalue(name)
    found.api.requests.clear()
    found.api.disconnects.clear()
    return found


@pytest.fixture
def http(proxied: ProxiedXApp) -> Iterator[httpx.Client]:
    """A client of the xApp through the gateway."""
    with proxied.client() as client:
        yield client
