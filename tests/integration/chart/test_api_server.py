"""The API server accepts the objects of the chart for every example of values."""

from __future__ import annotations

import json

import pytest

from tests.localcluster import Binaries, Cluster
from tests.localrun.cluster_setup import install_crds
from tests.support.operator_chart import CHART, EXAMPLES, chart_objects, pod_spec, run_helm

pytestmark = pytest.mark.integration

WATCHED_NAMESPACE = "ric-xapps"
"""The namespace of the example that has rights in some namespaces only."""
KINDS_OF_OTHER_PROJECTS = frozenset({"HTTPRoute", "PodMonitor", "PrometheusRule"})
"""Kinds that the control plane does not have; test_values.py and test_same_as_kustomize.py compare their fields."""


@pytest.fixture(scope="module", autouse=True)
def crds(cluster: Cluster) -> None:
    install_crds(cluster)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": WATCHED_NAMESPACE}}
    cluster.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(namespace))


@pytest.mark.parametrize("name", EXAMPLES)
def test_helm_lint_accepts_an_example(binaries: Binaries, name: str) -> None:
    run_helm(binaries, "lint", "--strict", str(CHART), f"--values={EXAMPLES[name]}")


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_api_server_accepts_an_example(cluster: Cluster, binaries: Binaries, namespace: str, name: str) -> None:
    objects = chart_objects(binaries, EXAMPLES[name], namespace=namespace)
    items = [each for (kind, _), each in objects.items() if kind not in KINDS_OF_OTHER_PROJECTS]
    content = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    answer = cluster.kubectl(
        *("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-o", "name", "-f", "-"), input=content
    )
    assert len(answer.splitlines()) == len(items)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_pods_keep_to_restricted_pod_security(
    cluster: Cluster, binaries: Binaries, namespace: str, name: str
) -> None:
    cluster.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    objects = chart_objects(binaries, EXAMPLES[name], namespace=namespace)
    specs = [pod_spec(objects, component) for component in ("operator", "gateway")]
    specs.append(objects["Pod", "xapp-gateway-readyz"]["spec"])
    for spec in specs:
        changed = {**spec, "serviceAccountName": "default"}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "probe", "namespace": namespace},
            "spec": changed,
        }
        cluster.kubectl("create", "--dry-run=server", "-f", "-", input=json.dumps(pod))
