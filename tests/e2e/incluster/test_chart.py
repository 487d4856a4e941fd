"""The Helm chart on the real node: the pods start, and the test of the chart reaches the gateway."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

import httpx
import pytest

from tests.e2e.incluster.caller import NAMESPACE, Caller
from tests.e2e.incluster.installation import COMPONENTS, DEADLINE_SECONDS, IMAGE, XAPP_NAMESPACE, Installation
from tests.e2e.incluster.xapp_chart import running_chart
from tests.localcluster import Binaries
from tests.localcluster.pki import Authority
from tests.localcluster.realnode.node import NODE_NAME
from tests.localrun.cluster_setup import SYSTEM_NAMESPACE
from tests.support.operator_chart import CHART, run_helm

pytestmark = pytest.mark.integration

RELEASE = "xapp-operator"
ON_THE_REAL_NODE = {
    "nodeSelector": {"xapp-operator.io/node-kind": "real"},
    "tolerations": [{"key": "xapp-operator.io/real-node", "operator": "Exists", "effect": "NoSchedule"}],
}

REPOSITORY, _, TAG = IMAGE.rpartition(":")
VALUES: dict[str, Any] = {
    "image": {"repository": REPOSITORY, "tag": TAG, "pullPolicy": "Never"},
    "operator": ON_THE_REAL_NODE,
    "gateway": ON_THE_REAL_NODE,
}


@pytest.fixture
def system(empty_cluster: tuple[Installation, set[str]]) -> Iterator[Installation]:
    """A cluster whose namespace for the system accepts restricted pods only, as the manifests create it."""
    installation, _ = empty_cluster
    installation.cluster.kubectl("create", "namespace", SYSTEM_NAMESPACE)
    restricted = "pod-security.kubernetes.io/enforce=restricted"
    installation.cluster.kubectl("label", "namespace", SYSTEM_NAMESPACE, restricted)
    yield installation
    installation.cluster.kubectl("delete", "namespace", SYSTEM_NAMESPACE, f"--timeout={DEADLINE_SECONDS:.0f}s")


def test_the_chart_runs_and_its_own_test_succeeds(system: Installation, binaries: Binaries) -> None:
    helm(system, binaries, "install", RELEASE, str(CHART), "--wait", values=VALUES)
    assert all(len(system.pods(component)) == 1 for component in COMPONENTS)
    before = pod_uids(system)

    run_chart_tests(system, binaries)

    helm(system, binaries, "upgrade", RELEASE, str(CHART), "--wait", values=VALUES)
    assert pod_uids(system) == before
    helm(system, binaries, "uninstall", RELEASE, "--wait")
    assert "xapps.xapp-operator.io" in system.cluster.kubectl("get", "crds", "-o", "name")


def test_the_chart_runs_with_rights_in_one_namespace_only_and_over_https(
    system: Installation, binaries: Binaries, tmp_path: Path
) -> None:
    node_address = system.cluster.node_address
    assert node_address is not None
    pair = Authority(tmp_path / "pki", addresses=[node_address]).issue("gateway", common_name="gateway")
    trusting = ssl.create_default_context(cafile=tmp_path / "pki" / "ca.crt")
    files = (f"--cert={pair.certificate}", f"--key={pair.key}")
    system.kubectl("create", "secret", "tls", "xapp-gateway-tls", *files)
    system.cluster.kubectl("apply", "--server-side", "-k", str(XAPP_NAMESPACE))
    forbidden_before = system.forbidden_requests()  # also of pods that lost their rights when they were uninstalled
    values = VALUES | {
        "watchNamespaces": [NAMESPACE],
        "clusterAdvertiseAddress": node_address,
        "rbac": {"namespaced": True},
        "gateway": ON_THE_REAL_NODE | {"tls": {"enabled": True}},
    }
    helm(system, binaries, "install", RELEASE, str(CHART), "--wait", values=values)

    run_chart_tests(system, binaries)

    assert cluster_role_bindings(system) == []
    with Caller.with_role(system, "jane", role="edit", tls=trusting) as jane:
        uploaded = jane.upload("runs", running_chart())
        assert uploaded.status_code == httpx.codes.ACCEPTED, uploaded.text
        jane.wait_ready("acme-ran-runs")
        (pod,) = json.loads(system.cluster.kubectl("get", "pods", "-n", NAMESPACE, "-o", "json"))["items"]
        assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == (NODE_NAME, "Running")
        jane.remove_all()
    assert system.forbidden_requests() == forbidden_before
    helm(system, binaries, "uninstall", RELEASE, "--wait")
    system.cluster.kubectl("delete", "-k", str(XAPP_NAMESPACE), f"--timeout={DEADLINE_SECONDS:.0f}s")


def helm(system: Installation, binaries: Binaries, *arguments: str, values: dict[str, Any] | None = None) -> str:
    place = ("--namespace", SYSTEM_NAMESPACE, f"--timeout={DEADLINE_SECONDS:.0f}s")
    return run_helm(binaries, *arguments, *place, values=values, env=system.cluster.env)


def run_chart_tests(system: Installation, binaries: Binaries) -> None:
    """Run `helm test`, and show the log of the pod if it fails."""
    try:
        answer = helm(system, binaries, "test", RELEASE)
    except CalledProcessError as error:
        pytest.fail(f"{error.stderr}\n{system.kubectl('logs', 'xapp-gateway-readyz')}")
    assert "Succeeded" in answer


def pod_uids(system: Installation) -> set[str]:
    return {each["metadata"]["uid"] for component in COMPONENTS for each in system.pods(component)}


def cluster_role_bindings(system: Installation) -> list[str]:
    """Return the names of the ClusterRoleBindings for service accounts of the system."""
    bindings = json.loads(system.cluster.kubectl("get", "clusterrolebindings", "-o", "json"))["items"]
    return [
        binding["metadata"]["name"]
        for binding in bindings
        if any(subject.get("namespace") == SYSTEM_NAMESPACE for subject in binding.get("subjects", ()))
    ]
