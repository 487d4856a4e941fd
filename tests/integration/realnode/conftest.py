"""A cluster with a real node for each file, and pods on it; skipped, in one line, where the machine cannot have one."""

import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.realnode.pods import IMAGE
from tests.localcluster import Binaries, BuildFailed, Cluster, LocalCluster
from tests.localcluster.choice import VARIABLE
from tests.localcluster.images import write_image
from tests.localcluster.realnode.detect import why_not
from tests.localcluster.tools import ALL_TOOLS

NODES = {"simulated": 1, "real": 1}
_NEED_NODE = {"real_node", "real_cluster", "room"}


_UNBUILT = pytest.StashKey[str]()


def _reason(config: pytest.Config) -> str | None:
    if os.environ.get(VARIABLE) == "simulated":
        return "NODE=simulated asks for no real node"
    return config.stash.get(_UNBUILT, None) or why_not(Path.cwd())


def pytest_collection_finish(session: pytest.Session) -> None:
    """Have the programs before the first test's clock runs: on a new machine they are built first."""
    needed = any(_NEED_NODE & set(getattr(item, "fixturenames", ())) for item in session.items)
    if needed and not session.config.option.collectonly and _reason(session.config) is None:
        try:
            Binaries().resolve(ALL_TOOLS)
        except BuildFailed as error:
            session.config.stash[_UNBUILT] = str(error).partition("\n")[0]


@pytest.fixture(scope="session")
def room(pytestconfig: pytest.Config) -> None:
    """A machine that can have a real node."""
    reason = _reason(pytestconfig)
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="module")
def real_node(room: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """A cluster with a real node, which knows the image of the tests."""
    folder = tmp_path_factory.mktemp("real")
    one = LocalCluster(folder / "cluster", nodes=NODES)
    with one:
        program = Binaries().resolve(["testpod"])["testpod"]
        write_image(folder / "image.tar", name=IMAGE, files={"/testpod": program}, entrypoint=["/testpod"])
        one.load_image(folder / "image.tar")
        yield one


@pytest.fixture
def real_cluster(real_node: LocalCluster) -> Cluster:
    """The way into it."""
    return real_node.access()


@pytest.fixture
def own_namespace(real_cluster: Cluster) -> Iterator[str]:
    """A namespace of the test's own, whose name says nothing; it is gone, with its containers, after the test."""
    name = f"test-{secrets.token_hex(4)}"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    real_cluster.kubectl("create", "-f", "-", input=json.dumps(namespace))
    real_cluster.kubectl("wait", "--for=create", "serviceaccount/default", "-n", name, "--timeout=60s")
    yield name
    real_cluster.kubectl("delete", "namespace", name, "--timeout=60s")
