"""A cluster of its own with a real node, on which the system is installed; skipped where there can be no such node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.incluster.caller import Caller
from tests.e2e.incluster.system import IMAGE, System
from tests.e2e.incluster.xapp import XAPP_IMAGE
from tests.localcluster import Binaries, LocalCluster
from tests.localcluster.appimage import build_image
from tests.localcluster.images import write_image
from tests.support.realnode import have_programs, why_no_real_node

NODES = {"simulated": 1, "real": 1}


def pytest_collection_finish(session: pytest.Session) -> None:
    have_programs(session, for_fixtures=("bare",))


@pytest.fixture(scope="module")
def bare(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[System, set[str]]]:
    """A cluster that has the images and nothing of the system yet, and what there is in it."""
    reason = why_no_real_node(pytestconfig)
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
        system = System(local, cluster)
        yield system, system.objects()


@pytest.fixture
def system(bare: tuple[System, set[str]]) -> System:
    """The installed system, all replicas ready."""
    installed, _ = bare
    installed.install()
    return installed


@pytest.fixture
def jane(system: System) -> Iterator[Caller]:
    """Somebody who may edit the namespace of the xApps, and speaks to the gateway through its node port."""
    with Caller.with_rights(system, "jane", role="edit") as caller:
        yield caller
        caller.remove_all()
