"""An upgrade of the chart while an operator with the rights of the chart works: no release is installed again.

Pods are simulated, so the operator runs as a process of the test, with the token of the service account of the chart.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.chart.test_install import Installation
from tests.localcluster import Binaries, Cluster, LocalCluster
from tests.support.operator import OperatorProcess
from tests.support.operator_chart import CHART
from tests.support.service_accounts import prepare_namespace, write_account_kubeconfig
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

NAMESPACE = "ric-xapps"
XAPP = "hello"


@pytest.fixture
def cluster_of_chart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with LocalCluster(tmp_path_factory.mktemp("cluster")) as cluster:
        cluster.kubectl("create", "namespace", NAMESPACE)
        yield cluster


def earlier_chart(folder: Path) -> Path:
    """Return a chart of an earlier version, with an earlier definition and fewer rights of the operator."""
    chart = shutil.copytree(CHART, folder / "chart")
    for name, old, new in (
        ("Chart.yaml", "version: ", "version: 0.0.1-before."),
        ("templates/generated/xapp-operator.io_xapps.yaml", "    shortNames:\n    - xa\n", ""),
        ("templates/generated/xapp-operator.io_xapps.yaml", "            x-kubernetes-map-type: atomic\n", ""),
        (
            "templates/generated/operator-rbac.yaml",
            "  resources: [networkpolicies]\n  verbs: [list, watch]\n",
            "  resources: [networkpolicies]\n  verbs: [list]\n",
        ),
    ):
        text = (chart / name).read_text()
        assert old in text
        (chart / name).write_text(text.replace(old, new, 1))
    return chart


def test_releases_survive_an_upgrade_of_the_chart(
    cluster_of_chart: Cluster, binaries: Binaries, tmp_path: Path
) -> None:
    installation, xapps = Installation(cluster_of_chart, binaries), XAppClient(cluster_of_chart, NAMESPACE)
    installation.install(earlier_chart(tmp_path))
    prepare_namespace(cluster_of_chart, NAMESPACE)
    operator = OperatorProcess(
        cluster_of_chart,
        tmp_path,
        {
            "KUBECONFIG": str(write_account_kubeconfig(cluster_of_chart, "xapp-operator", tmp_path)),
            "XAPP_ALLOW_OPERATOR_IDENTITY": "false",
            "XAPP_DEFAULT_SERVICE_ACCOUNT": "xapp-deployer",
        },
    )
    operator.start()
    try:
        xapps.apply(xapps.uploaded_manifest(XAPP, workload_chart(), values={"greeting": "one"}))
        xapps.wait_ready(XAPP)
        deployed = [installation.identity(f"{kind} {XAPP} -n {NAMESPACE}") for kind in ("xapp", "configmap")]
        workload, _ = installation.identity(f"deployment {XAPP} -n {NAMESPACE}")

        installation.upgrade()
        operator.stop()  # the pods of the new version take over
        operator.start()

        xapps.apply(xapps.uploaded_manifest("second", workload_chart()))
        xapps.wait_ready("second")
        assert deployed == [installation.identity(f"{kind} {XAPP} -n {NAMESPACE}") for kind in ("xapp", "configmap")]
        assert workload == installation.identity(f"deployment {XAPP} -n {NAMESPACE}")[0]
        assert xapps.names("secrets", f"owner=helm,name={XAPP}") == [f"sh.helm.release.v1.{XAPP}.v1"]

        xapps.apply(xapps.uploaded_manifest(XAPP, workload_chart(), values={"greeting": "two"}))
        xapps.wait_until(
            lambda: (xapps.status(XAPP).get("release") or {}).get("revision") == 2, what="the new revision"
        )
    finally:
        operator.stop()
