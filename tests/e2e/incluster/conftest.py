"""A cluster with a real node for the installed system; skipped where the machine cannot run a real node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.incluster.caller import Caller
from tests.e2e.incluster.installation import IMAGE, Installation
from tests.e2e.incluster.xapp_chart import XAPP_IMAGE
from tests.localcluster import Binaries, LocalCluster
from tests.localcluster.appimage import build_image
from tests.localcluster.images import write_image
from tests.support.realnode import build_real_node_tools, real_node_unavailable

NODES = {"simulated": 1, "real": 1}


def pytest_collection_finish(session: pytest.Session) -> None:
    build_real_node_tools(session, for_fixtures=("empty_cluster",))


@pytest.fixture(scope="module")
def empty_cluster(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Installation, set[str]]]:
    """A cluster with the images and without the system, and the objects that it has."""
    reason = real_node_unavailable(pytestconfig)
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("incluster")
    build_image(folder / "system.tar", name=IMAGE)
    program = Binaries().resolve(["testpod"])["testpod"]
    write_image(folder / "xapp.tar", name=XAPP_IMAGE, files={"/testpod": program}, entrypoint=["/testpod"])
    local = LocalCluster(folder / "cluster", nodes=NODES)
    with local as cluster:
        for archive in ("system.tar", "xapp.tar"):
            local.load_image(folder / archive)
            (folder / archive).unlink()
        system = Installation(local, cluster)
        yield system, system.objects()


@pytest.fixture
def installation(empty_cluster: tuple[Installation, set[str]]) -> Installation:
    """The installed system, all replicas ready."""
    installed, _ = empty_cluster
    installed.install()
    return installed


@pytest.fixture
def jane(installation: Installation) -> Iterator[Caller]:
    """A caller with the role edit in the namespace of the xApps."""
    with Caller.with_role(installation, "jane", role="edit") as caller:
        yield caller
        caller.remove_all()
