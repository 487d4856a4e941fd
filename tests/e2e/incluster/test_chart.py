"""The Helm chart on the real node: the pods start, and the test of the chart reaches the gateway."""

from __future__ import annotations

from subprocess import CalledProcessError
from typing import Any

import pytest

from tests.e2e.incluster.installation import DEADLINE_SECONDS, IMAGE, Installation
from tests.localcluster import Binaries
from tests.localrun.cluster_setup import SYSTEM_NAMESPACE
from tests.support.operator_chart import CHART, run_helm

pytestmark = pytest.mark.integration

RELEASE = "xapp-operator"
ON_THE_REAL_NODE = {
    "nodeSelector": {"xapp-operator.io/node-kind": "real"},
    "tolerations": [{"key": "xapp-operator.io/real-node", "operator": "Exists", "effect": "NoSchedule"}],
}


def test_the_chart_runs_and_its_own_test_succeeds(
    empty_cluster: tuple[Installation, set[str]], binaries: Binaries
) -> None:
    system, _ = empty_cluster
    repository, _, tag = IMAGE.rpartition(":")
    values: dict[str, Any] = {
        "image": {"repository": repository, "tag": tag, "pullPolicy": "Never"},
        "operator": ON_THE_REAL_NODE,
        "gateway": ON_THE_REAL_NODE,
    }
    system.cluster.kubectl("create", "namespace", SYSTEM_NAMESPACE)
    restricted = "pod-security.kubernetes.io/enforce=restricted"
    system.cluster.kubectl("label", "namespace", SYSTEM_NAMESPACE, restricted)

    def helm(*arguments: str, values: dict[str, Any] | None = None) -> str:
        place = ("--namespace", SYSTEM_NAMESPACE, f"--timeout={DEADLINE_SECONDS:.0f}s")
        return run_helm(binaries, *arguments, *place, values=values, env=system.cluster.env)

    helm("install", RELEASE, str(CHART), "--wait", values=values)
    assert all(len(system.pods(component)) == 1 for component in ("operator", "gateway"))
    before = {each["metadata"]["uid"] for component in ("operator", "gateway") for each in system.pods(component)}
    try:
        answer = helm("test", RELEASE)
    except CalledProcessError as error:
        pytest.fail(f"{error.stderr}\n{system.kubectl('logs', 'xapp-gateway-readyz')}")
    assert "Succeeded" in answer
    helm("upgrade", RELEASE, str(CHART), "--wait", values=values)
    after = {each["metadata"]["uid"] for component in ("operator", "gateway") for each in system.pods(component)}
    assert after == before
    helm("uninstall", RELEASE, "--wait")
    assert "xapps.xapp-operator.io" in system.cluster.kubectl("get", "crds", "-o", "name")
