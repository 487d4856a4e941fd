"""A cluster with a real node for each file; skipped where the machine cannot run one."""

import json
import secrets
from collections.abc import Iterator

import pytest

from tests.integration.realnode.pods import IMAGE
from tests.localcluster import Binaries, Cluster, LocalCluster
from tests.localcluster.images import write_image
from tests.support.realnode import build_real_node_tools, real_node_unavailable

NODES = {"simulated": 1, "real": 1}


def pytest_collection_finish(session: pytest.Session) -> None:
    build_real_node_tools(session, for_fixtures=("real_node", "real_cluster", "real_node_supported"))


@pytest.fixture(scope="session")
def real_node_supported(pytestconfig: pytest.Config) -> None:
    """Skips the test where the machine cannot run a real node."""
    reason = real_node_unavailable(pytestconfig)
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="module")
def real_node(real_node_supported: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """A cluster with a real node, into which the test image is loaded."""
    folder = tmp_path_factory.mktemp("real")
    one = LocalCluster(folder / "cluster", nodes=NODES)
    with one:
        program = Binaries().resolve(["testpod"])["testpod"]
        write_image(folder / "image.tar", name=IMAGE, files={"/testpod": program}, entrypoint=["/testpod"])
        one.load_image(folder / "image.tar")
        yield one


@pytest.fixture
def real_cluster(real_node: LocalCluster) -> Cluster:
    """Access to the cluster."""
    return real_node.connect()


@pytest.fixture
def own_namespace(real_cluster: Cluster) -> Iterator[str]:
    """A namespace for one test, whose containers are removed after the test."""
    name = f"test-{secrets.token_hex(4)}"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    real_cluster.kubectl("create", "-f", "-", input=json.dumps(namespace))
    real_cluster.kubectl("wait", "--for=create", "serviceaccount/default", "-n", name, "--timeout=60s")
    yield name
    real_cluster.kubectl("delete", "pods", "--all", "-n", name, "--now", "--timeout=60s")
    # without waiting: the namespace controller takes at least five seconds
    real_cluster.kubectl("delete", "namespace", name, "--wait=false")
