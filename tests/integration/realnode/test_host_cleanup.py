"""A real node leaves nothing on its machine however it ends, and two nodes do not interfere."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.realnode.conftest import NODES
from tests.integration.realnode.host_snapshot import take_snapshot
from tests.integration.realnode.pods import IMAGE, create, pod, service, wait_ready
from tests.localcluster import Binaries, Cluster, ClusterNotRunning, LocalCluster
from tests.localcluster.cluster import ROOT
from tests.localcluster.images import write_image
from tests.localcluster.realnode.namespaces import HostResources

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300), pytest.mark.usefixtures("real_node_supported")]


def run_pods(node: LocalCluster, folder: Path) -> Cluster:
    """Run two pods and a service on a node."""
    program = Binaries().resolve(["testpod"])["testpod"]
    write_image(folder / "image.tar", name=IMAGE, files={"/testpod": program}, entrypoint=["/testpod"])
    node.load_image(folder / "image.tar")
    access = node.connect()
    create(access, "default", [pod("web", "serve", probe=True), pod("bad", "crash"), service("web")])
    wait_ready(access, "default", "web")
    return access


def link_name(node: LocalCluster) -> str:
    """Return the name of a running node's link, which identifies its resources."""
    record = HostResources.read(node.layout.node_record)
    assert record is not None
    return record.link


def test_the_host_has_one_link_and_one_cgroup_and_nothing_after_the_stop(tmp_path: Path) -> None:
    before = take_snapshot()
    node = LocalCluster(tmp_path / "cluster", nodes=NODES)
    with node:
        run_pods(node, tmp_path)
        link = link_name(node)
        changes = before.changes(take_snapshot(own_suffix=link.removeprefix("xapp")))
        assert set(changes) == {"links", "addresses", "routes", "settings", "cgroups"}
        assert changes["links"] == [link]
        assert all(link in line for part in ("addresses", "routes", "settings") for line in changes[part])

    assert before.changes(take_snapshot(own_suffix=link.removeprefix("xapp"))) == {}
    assert sorted(path.name for path in node.layout.root.iterdir()) == ["audit.log", "cluster.lock", "logs"]


def test_nothing_remains_of_a_killed_supervisor_after_the_next_down(tmp_path: Path) -> None:
    before = take_snapshot()
    node = LocalCluster(tmp_path / "cluster", nodes=NODES)
    node.start()
    run_pods(node, tmp_path)
    link = link_name(node)
    state = node.state()

    state.supervisor.send_signal(signal.SIGKILL)

    for identity in state.identities:
        assert identity.wait(20.0), identity
    node.stop()
    assert before.changes(take_snapshot(own_suffix=link.removeprefix("xapp"))) == {}
    assert not node.layout.node.exists()
    assert not node.layout.node_record.exists()


def test_a_cluster_starts_again_where_a_supervisor_was_killed(tmp_path: Path) -> None:
    node = LocalCluster(tmp_path / "cluster", nodes=NODES)
    node.start()
    supervisor = node.state().supervisor
    supervisor.send_signal(signal.SIGKILL)
    assert supervisor.wait(20.0)

    with node:
        run_pods(node, tmp_path)


def test_nothing_remains_of_an_interrupted_start(tmp_path: Path) -> None:
    before = take_snapshot()
    with subprocess.Popen(
        [sys.executable, "-m", "tests.localcluster", "up", "--node=real", "--dir", str(tmp_path)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    ) as starter:
        assert starter.stderr is not None
        while "API server" not in starter.stderr.readline():
            assert starter.poll() is None
        link = link_name(LocalCluster(tmp_path))

        starter.send_signal(signal.SIGINT)

        assert starter.wait(30.0) == 130
    assert before.changes(take_snapshot(own_suffix=link.removeprefix("xapp"))) == {}


def test_a_cluster_ends_with_the_namespaces_of_its_node(tmp_path: Path) -> None:
    before = take_snapshot()
    node = LocalCluster(tmp_path / "cluster", nodes=NODES)
    node.start()
    state, link = node.state(), link_name(node)

    node.send_signal("node-namespaces", signal.SIGKILL)

    for identity in state.identities:
        assert identity.wait(30.0), identity
    with pytest.raises(ClusterNotRunning):
        node.connect()
    assert before.changes(take_snapshot(own_suffix=link.removeprefix("xapp"))) == {}


def test_two_nodes_run_side_by_side_and_one_outlives_the_other(tmp_path: Path) -> None:
    one = LocalCluster(tmp_path / "one", nodes=NODES)
    other = LocalCluster(tmp_path / "other", nodes=NODES)
    with one:
        (tmp_path / "a").mkdir()
        access = run_pods(one, tmp_path / "a")
        with other:
            (tmp_path / "b").mkdir()
            neighbour = run_pods(other, tmp_path / "b")
            assert access.node_address != neighbour.node_address
            assert link_name(one) != link_name(other)

        assert access.kubectl("exec", "web", "--", "/testpod", "say", "still here") == "still here\n"
