"""With the component `namespaced`, operator and gateway have rights in the namespaces that they watch only."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.localcluster import Cluster, KubectlFailed, LocalCluster
from tests.localcluster.cluster import ROOT
from tests.localcluster.waiting import wait_until
from tests.localrun.cluster_setup import SYSTEM_NAMESPACE
from tests.support.charts import chart_archive
from tests.support.gateway import serve_gateway
from tests.support.operator import OperatorProcess
from tests.support.service_accounts import (
    apply_roles,
    apply_to_namespace,
    kustomized,
    prepare_namespace,
    write_account_kubeconfig,
)
from tests.support.xapp_manifest import xapp_manifest
from tests.support.xapps import XAppClient
from xapp_operator.config.settings import Settings

pytestmark = pytest.mark.integration

MANIFESTS = ROOT / "manifests"
WATCHED, OTHER = "watched", "other"
WITHOUT_NAMESPACE = (["nodes"], ["servicecidrs"])
"""Resources of the base that belong to no namespace."""


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with the roles of the component, and two namespaces with a deployer, of which one is watched."""
    folder = tmp_path_factory.mktemp("overlay")
    manifests = os.path.relpath(MANIFESTS, folder.resolve())
    content = {"resources": [f"{manifests}/base"], "components": [f"{manifests}/components/namespaced"]}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(content))
    with LocalCluster(tmp_path_factory.mktemp("cluster")) as cluster:
        apply_roles(cluster, folder)
        for namespace in (WATCHED, OTHER):
            cluster.kubectl("create", "namespace", namespace)
            prepare_namespace(cluster, namespace)
        apply_to_namespace(cluster, MANIFESTS / "watched-namespace", WATCHED)
        yield cluster


def settings_of_the_component(namespace: str) -> dict[str, str]:
    """Return the environment that the component gives to the operator, for another namespace."""
    built = yaml.safe_load((MANIFESTS / "components" / "namespaced" / "kustomization.yaml").read_text())
    operations = yaml.safe_load(built["patches"][-1]["patch"])
    return {each["value"]["name"]: each["value"]["value"] for each in operations} | {"XAPP_NAMESPACES": namespace}


def operator_process(cluster: Cluster, folder: Path, namespace: str) -> OperatorProcess:
    settings = {
        "KUBECONFIG": str(write_account_kubeconfig(cluster, "xapp-operator", folder)),
        "XAPP_ALLOW_OPERATOR_IDENTITY": "false",
        "XAPP_DEFAULT_SERVICE_ACCOUNT": "xapp-deployer",
        **settings_of_the_component(namespace),
    }
    return OperatorProcess(cluster, folder, settings)


def deployment(namespace: str) -> dict[str, tuple[str, str, str]]:
    """Return the parts of a deployment from a chart repository."""
    form = xapp_manifest("deployed", namespace=namespace)["spec"]
    return {"xAppForm": ("form.json", json.dumps(form), "application/json")}


def rules(cluster: Cluster, folder: str, kind: str, name: str) -> list[dict[str, Any]]:
    objects = kustomized(cluster, MANIFESTS / folder)
    (role,) = (each for each in objects if (each["kind"], each["metadata"]["name"]) == (kind, name))
    return list(role["rules"])


@pytest.mark.parametrize("component", ["operator", "gateway"])
def test_the_rules_are_those_of_the_base_within_a_namespace(system: Cluster, component: str) -> None:
    name = f"xapp-{component}"
    base = rules(system, "base", "ClusterRole", name)
    expected = [each for each in base if each["resources"] not in WITHOUT_NAMESPACE]
    assert len(base) - len(expected) == len(WITHOUT_NAMESPACE)
    assert rules(system, "watched-namespace", "Role", f"{name}-watch") == expected


@pytest.mark.parametrize("account", ["xapp-operator", "xapp-gateway"])
def test_the_account_has_no_rights_elsewhere(system: Cluster, account: str) -> None:
    def may(right: str, *place: str) -> bool:
        user = f"--as=system:serviceaccount:{SYSTEM_NAMESPACE}:{account}"
        try:
            return system.kubectl("auth", "can-i", *right.split(), user, *place).strip() == "yes"
        except KubectlFailed:  # the answer no
            return False

    wanted = ("list xapps", "list pods", "get namespaces", "watch deployments")
    assert [right for right in wanted if not may(right, "-n", WATCHED)] == []
    for place in (["-A"], ["-n", OTHER]):
        assert [right for right in (*wanted, "list nodes") if may(right, *place)] == []


def test_the_operator_deploys_in_the_namespace_that_it_watches(system: Cluster, tmp_path: Path) -> None:
    operator = operator_process(system, tmp_path, WATCHED)
    operator.start()
    try:
        watched, other = XAppClient(system, WATCHED), XAppClient(system, OTHER)
        for xapps in (other, watched):
            xapps.apply(xapps.uploaded_manifest("hello", chart_archive()))
        watched.wait_ready("hello")
        assert watched.helm_releases()["hello"]["status"] == "deployed"
        watched.kubectl("delete", "xapp", "hello", "--wait=false")
        watched.wait_gone("xapp", "hello")
        assert watched.helm_releases() == {}
        found = other.get("xapp", "hello")
        assert found is not None
        assert found["status"] == {"observedGeneration": -1}
        assert other.helm_releases() == {}
    finally:
        operator.stop()
    assert operator.error_lines() == []


def test_the_gateway_serves_the_namespace_that_it_watches(system: Cluster, tmp_path: Path) -> None:
    variables = settings_of_the_component(WATCHED)
    settings = Settings.model_validate(
        {
            "KUBECONFIG": str(write_account_kubeconfig(system, "xapp-gateway", tmp_path)),
            "port": 0,
            "helm": str(system.helm_path),
            "cache_dir": tmp_path / "cache",
            "audit_log": "off",
            **{name.removeprefix("XAPP_").lower(): value for name, value in variables.items()},
        }
    )
    for namespace in (WATCHED, OTHER):
        XAppClient(system, namespace).apply(xapp_manifest("listed", namespace=namespace))
    with serve_gateway(settings) as gateway, gateway.client() as http:
        system.kubectl(
            "create", "clusterrolebinding", "jane", "--clusterrole=cluster-admin", "--serviceaccount=default:default"
        )
        http.headers["Authorization"] = f"Bearer {system.kubectl('create', 'token', 'default').strip()}"
        listed = http.get("/api/xapps").json()
        assert [(each["namespace"], each["name"]) for each in listed["content"]] == [(WATCHED, "listed")]
        refused = http.post("/api/deployment/xapp", files=deployment(OTHER))
        assert refused.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
        assert refused.json()["detail"].endswith(f"must be one of the namespaces that this gateway serves: {WATCHED}")
        assert http.post("/api/deployment/xapp", files=deployment(WATCHED)).status_code == HTTPStatus.ACCEPTED


def test_an_operator_that_may_not_watch_its_namespace_says_so(system: Cluster, tmp_path: Path) -> None:
    operator = operator_process(system, tmp_path, OTHER)
    operator.start()
    try:
        wait_until(lambda: not operator.running, timeout=120, what="the end of the operator")
    finally:
        operator.stop()
    assert operator.exit_code == 1
    (line,) = operator.error_lines()
    assert "xapps" in line
    assert OTHER in line
