"""Gateways over real HTTP on the test cluster. No operator runs there: the tests write the status of XApps."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.gateway.caller_factory import CallerFactory, create_token
from tests.integration.gateway.gateway_client import GatewayClient
from tests.localcluster import Cluster
from tests.localrun.cluster_setup import install_crds
from tests.support.apiserver import NAMESPACES, ApiServer
from tests.support.gateway import GatewayServer, serve_gateway
from tests.support.helm_user import HelmUser
from tests.support.openapi_contract import OpenApiContract
from tests.support.own_cluster import BASE, MANIFESTS, wait_for_kinds
from xapp_operator.config.settings import Settings


def settings_for(cluster: Cluster, folder: Path, **changes: object) -> Settings:
    """Return settings of a gateway on a free port."""
    given: dict[str, object] = {
        "KUBECONFIG": str(cluster.kubeconfig),
        "auth": "none",
        "port": 0,
        "helm": str(cluster.helm_path),
        "cache_dir": folder / "cache",
        "allow_loopback_repositories": True,
        "audit_log": "off",
        **changes,
    }
    return Settings.model_validate(given)


@pytest.fixture(scope="package")
def crds(cluster: Cluster) -> None:
    install_crds(cluster)


@pytest.fixture(scope="package")
def api(cluster: Cluster, crds: None) -> Iterator[ApiServer]:
    with ApiServer(cluster) as server:
        wait_for_kinds(server)
        yield server


@pytest.fixture(scope="package")
def gateway(cluster: Cluster, crds: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayServer]:
    """A gateway that treats every caller as the administrator."""
    with serve_gateway(settings_for(cluster, tmp_path_factory.mktemp("gateway"))) as one:
        yield one


@pytest.fixture
def namespace(api: ApiServer) -> Iterator[str]:
    """A new namespace without pods. The test does not wait for its deletion."""
    name = f"gateway-{secrets.token_hex(4)}"
    api.create(NAMESPACES, {"metadata": {"name": name}})
    yield name
    api.delete(f"{NAMESPACES}/{name}")


@pytest.fixture
def client(gateway: GatewayServer, api: ApiServer, namespace: str) -> Iterator[GatewayClient]:
    """A caller with its own namespace, whose responses are checked against the OpenAPI document."""
    with gateway.client(event_hooks={"response": [OpenApiContract.from_gateway(gateway).check_response]}) as http:
        yield GatewayClient(http=http, api=api, namespace=namespace, uploads=gateway.gateway.upload_folder)


@pytest.fixture(scope="package")
def user_roles(cluster: Cluster, api: ApiServer) -> None:
    """The roles of manifests/base. Like the CRDs they stay, because other workers of the run need them too."""
    files = [f"--filename={BASE / name}" for name in MANIFESTS]
    cluster.kubectl("apply", "--server-side", "--force-conflicts", *files)


@pytest.fixture(scope="package")
def authenticated_gateway(
    cluster: Cluster, api: ApiServer, user_roles: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayServer]:
    """A gateway that requires a token and runs as its service account of manifests/base."""
    folder = tmp_path_factory.mktemp("guarded")
    config = json.loads(cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": create_token(api, "xapp-gateway", namespace="xapp-operator-system")}
    (folder / "kubeconfig").write_text(json.dumps(config))
    changes = {"KUBECONFIG": str(folder / "kubeconfig"), "auth": "kubernetes", "audit_log": "stderr"}
    with serve_gateway(settings_for(cluster, folder, **changes)) as one:
        yield one


@pytest.fixture
def caller_factory(authenticated_gateway: GatewayServer, api: ApiServer, namespace: str) -> CallerFactory:
    return CallerFactory(authenticated_gateway, api, namespace)


@pytest.fixture
def helm_user(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[HelmUser]:
    """A user of helm in the namespace, whose releases are uninstalled after the test."""
    one = HelmUser(cluster, namespace, tmp_path)
    yield one
    for release in sorted(one.releases()):
        one.uninstall(release)
