"""A tenant deploys into a namespace that does not exist yet, and runs a privileged pod there."""

import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.gateway.caller_factory import ACCOUNTS, BINDINGS, CLUSTER_BINDINGS, CLUSTER_ROLES, CallerFactory
from tests.integration.gateway.conftest import settings_for
from tests.integration.gateway.gateway_client import XAPP_NAME, GatewayClient
from tests.localcluster import Cluster, KubectlFailed
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import NAMESPACES, XAPPS, ApiServer
from tests.support.charts import chart_archive
from tests.support.gateway import GatewayServer, serve_gateway

pytestmark = pytest.mark.integration

ARCHIVE = chart_archive()
DEPLOYER = "xapp-deployer"
IN_THE_CLUSTER = {"default_service_account": DEPLOYER}
"""The setting that manifests/ set for both processes."""


@pytest.fixture
def unmade(api: ApiServer) -> Iterator[str]:
    """A namespace that does not exist."""
    name = f"unmade-{secrets.token_hex(4)}"
    yield name
    api.delete(f"{NAMESPACES}/{name}")


def admin_of(gateway: GatewayServer, api: ApiServer, namespace: str) -> Iterator[GatewayClient]:
    with gateway.client() as http:
        yield GatewayClient(http=http, api=api, namespace=namespace, uploads=gateway.gateway.upload_folder)


@pytest.fixture
def admin(cluster: Cluster, api: ApiServer, unmade: str, tmp_path: Path) -> Iterator[GatewayClient]:
    """An administrator at a gateway with the settings of manifests/."""
    with serve_gateway(settings_for(cluster, tmp_path, **IN_THE_CLUSTER)) as gateway:
        yield from admin_of(gateway, api, unmade)


@pytest.fixture
def creator(caller_factory: CallerFactory, api: ApiServer) -> Iterator[str]:
    """The token of a caller who may create namespaces and XApps everywhere, but no service accounts."""
    name, role = "creator", f"creator-{caller_factory.namespace}"
    token = caller_factory.create_account(name)
    rules = [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["create"]}]
    api.create(CLUSTER_ROLES, {"metadata": {"name": role}, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": name, "namespace": caller_factory.namespace}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    api.create(CLUSTER_BINDINGS, {"metadata": {"name": role}, "roleRef": reference, "subjects": [subject]})
    with caller_factory.grant_in_all_namespaces(name, xapps=["get", "list", "create"], chartarchives=["get", "create"]):
        yield token
    api.delete(f"{CLUSTER_BINDINGS}/{role}")
    api.delete(f"{CLUSTER_ROLES}/{role}")


def pod(**container: Any) -> str:
    spec = {"containers": [{"name": "x", "image": "x", **container}]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, "spec": spec})


def create_pod(cluster: Cluster, namespace: str, manifest: str) -> None:
    cluster.kubectl("create", "-n", namespace, "--dry-run=server", "-f", "-", input=manifest)


def test_a_new_namespace_refuses_privileged_pods_and_runs_ordinary_ones(
    cluster: Cluster, admin: GatewayClient, unmade: str
) -> None:
    assert admin.post_deployment(admin.deployment_form(), file=ARCHIVE).status_code == 202

    cluster.kubectl("wait", "--for=create", "serviceaccount/default", "-n", unmade, "--timeout=60s")
    create_pod(cluster, unmade, pod())
    with pytest.raises(KubectlFailed, match="violates PodSecurity"):
        create_pod(cluster, unmade, pod(securityContext={"privileged": True}))


def test_the_level_is_a_setting(cluster: Cluster, api: ApiServer, unmade: str, tmp_path: Path) -> None:
    settings = settings_for(cluster, tmp_path, namespace_pod_security="restricted")
    with serve_gateway(settings) as gateway:
        for client in admin_of(gateway, api, unmade):
            assert client.post_deployment(client.deployment_form(), file=ARCHIVE).status_code == 202

    labels = api.get(f"{NAMESPACES}/{unmade}")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_helm_gets_a_service_account_with_rights_in_the_new_namespace_only(
    admin: GatewayClient, api: ApiServer, unmade: str
) -> None:
    assert admin.post_deployment(admin.deployment_form(), file=ARCHIVE).status_code == 202

    account = api.get(f"{ACCOUNTS.format(unmade)}/{DEPLOYER}")
    assert account["automountServiceAccountToken"] is False
    binding = api.get(f"{BINDINGS.format(unmade)}/{DEPLOYER}")
    assert binding["roleRef"]["name"] == DEPLOYER
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": DEPLOYER, "namespace": unmade}]


def test_nothing_is_created_with_rights_that_the_caller_lacks(
    authenticated_gateway: GatewayServer,
    api: ApiServer,
    creator: str,
    unmade: str,
    tmp_path: Path,
) -> None:
    own = authenticated_gateway.gateway.settings
    settings = own.model_copy(update={**IN_THE_CLUSTER, "cache_dir": tmp_path})
    with serve_gateway(settings) as gateway, gateway.client(headers={"Authorization": f"Bearer {creator}"}) as http:
        caller = GatewayClient(http=http, api=api, namespace=unmade, uploads=gateway.gateway.upload_folder)
        wait_until(
            lambda: caller.post_deployment(caller.deployment_form(), file=ARCHIVE).status_code != 403,
            timeout=60,
            what="the right to create namespaces",
        )

    assert api.names(XAPPS.format(unmade)) == [XAPP_NAME]
    assert DEPLOYER not in api.names(ACCOUNTS.format(unmade))
    assert api.names(BINDINGS.format(unmade)) == []
