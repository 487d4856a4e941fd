"""Operator and gateway on a cluster with a real node, one of each per worker.

The tests are skipped, with the reason in one line, where the machine cannot run a real node. A test creates its objects
in `e2e_namespace`, whose containers are removed after the test. Only pods with the node selector and the toleration of
`tests.localcluster.realnode.node` (NODE_LABELS, NODE_TAINT) run on the real node; all others are simulated.
"""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.sample_xapp import SampleXApp
from tests.localcluster import Binaries, Cluster, LocalCluster
from tests.localcluster.cluster import ROOT
from tests.localrun.cluster_setup import prepare_cluster
from tests.localrun.image import IMAGE
from tests.localrun.image import sample_image as archive_of_sample
from tests.support.gateway import GatewayServer, serve_gateway
from tests.support.operator import OperatorProcess
from tests.support.realnode import build_real_node_tools, real_node_unavailable
from tests.support.xapps import XAppClient
from xapp_operator.config.settings import Settings

NODES = {"simulated": 1, "real": 1}
_DELETE_SECONDS = 90


def pytest_collection_finish(session: pytest.Session) -> None:
    build_real_node_tools(session, for_fixtures=("e2e_local",))


@pytest.fixture(scope="package")
def e2e_local(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """The cluster, to stop and start its processes or load images. Skips the test without a real node."""
    reason = real_node_unavailable(pytestconfig)
    if reason:
        pytest.skip(reason)
    local = LocalCluster(tmp_path_factory.mktemp("e2e") / "cluster", nodes=NODES)
    with local as cluster:
        prepare_cluster(cluster, ROOT)
        yield local


@pytest.fixture(scope="package")
def e2e_cluster(e2e_local: LocalCluster) -> Cluster:
    """Access to the cluster as its administrator, with definitions and roles applied."""
    return e2e_local.connect()


@pytest.fixture(scope="package")
def sample_image(e2e_local: LocalCluster) -> str:
    """The name of the sample xApps' image in their charts' values. The image is loaded into the real node."""
    e2e_local.load_image(archive_of_sample(Binaries()))
    return IMAGE


@pytest.fixture(scope="package")
def e2e_operator(e2e_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    """The operator as a process. A test that kills it starts it again."""
    process = OperatorProcess(e2e_cluster, tmp_path_factory.mktemp("operator"), _advertise_settings(e2e_cluster))
    process.start()
    yield process
    process.stop()
    errors = process.error_lines()
    sys.stderr.write("\n".join(errors[-20:]))
    assert not errors, "the operator logged errors"


@pytest.fixture(scope="package")
def e2e_gateway(e2e_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayServer]:
    """The gateway with synced caches and without authentication."""
    with serve_gateway(gateway_settings(e2e_cluster, tmp_path_factory.mktemp("gateway"))) as gateway:
        yield gateway


def gateway_settings(cluster: Cluster, folder: Path, *, port: int = 0) -> Settings:
    """Return the settings of a gateway that asks for no token; `folder` is for its cache."""
    settings = {
        "KUBECONFIG": str(cluster.kubeconfig),
        "auth": "none",
        "port": port,
        "helm": str(cluster.helm_path),
        "cache_dir": folder / "cache",
        "allow_loopback_repositories": True,
        "cluster_advertise_address": cluster.node_address,
        "audit_log": "off",
    }
    return Settings.model_validate(settings)


@pytest.fixture
def e2e_namespace(e2e_cluster: Cluster) -> Iterator[str]:
    """A namespace for one test, whose XApps and containers are removed after the test."""
    name = f"e2e-{secrets.token_hex(4)}"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    e2e_cluster.kubectl("create", "-f", "-", input=json.dumps(namespace))
    e2e_cluster.kubectl("wait", "--for=create", "serviceaccount/default", "-n", name, "--timeout=60s")
    yield name
    e2e_cluster.kubectl("delete", "xapps", "--all", "-n", name, f"--timeout={_DELETE_SECONDS}s")
    e2e_cluster.kubectl("delete", "pods", "--all", "-n", name, "--now", f"--timeout={_DELETE_SECONDS}s")
    # without waiting: the namespace controller takes at least five seconds
    e2e_cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def e2e_xapps(e2e_operator: OperatorProcess, e2e_cluster: Cluster, e2e_namespace: str) -> XAppClient:
    """The XApps in the test's namespace, with a running operator."""
    if not e2e_operator.running:
        e2e_operator.start()
    return XAppClient(e2e_cluster, e2e_namespace)


@pytest.fixture
def e2e_sample(e2e_gateway: GatewayServer, e2e_xapps: XAppClient, sample_image: str) -> Iterator[SampleXApp]:
    """The sample xApp in the test's namespace, which enforces restricted Pod Security."""
    assert sample_image
    enforced = "pod-security.kubernetes.io/enforce=restricted"
    e2e_xapps.cluster.kubectl("label", "namespace", e2e_xapps.namespace, enforced)
    with e2e_gateway.client() as http:
        yield SampleXApp(http, e2e_xapps)


def _advertise_settings(cluster: Cluster) -> dict[str, str]:
    return {"XAPP_CLUSTER_ADVERTISE_ADDRESS": cluster.node_address or ""}
