"""Decisions about real nodes that need none: the prerequisites, the addresses, the images."""

import hashlib
import json
import os
import resource
import runpy
import tarfile
from pathlib import Path

import pytest

from tests.localcluster.images import write_image
from tests.localcluster.node_choice import choose_nodes
from tests.localcluster.realnode.cgroups import hierarchies
from tests.localcluster.realnode.network import reserve_subnet
from tests.localcluster.realnode.prerequisites import inotify_obstacle, real_node_obstacle


def test_nodes_are_simulated_by_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NODE", raising=False)
    assert choose_nodes(folder=tmp_path) == {"simulated": 2}

    monkeypatch.setenv("NODE", "real")
    assert choose_nodes(folder=tmp_path) == {"simulated": 2, "real": 1}
    assert choose_nodes("simulated", folder=tmp_path, simulated=1) == {"simulated": 1}


def test_an_unknown_node_choice_is_refused_with_the_known_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NODE", "genuine")

    with pytest.raises(ValueError, match="NODE=genuine is not known; use one of: simulated, real, auto"):
        choose_nodes(folder=tmp_path)


def test_without_root_auto_chooses_simulated_nodes_and_prints_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    messages: list[str] = []

    nodes = choose_nodes("auto", folder=tmp_path, progress=messages.append)

    assert nodes == {"simulated": 2}
    assert messages == [
        "simulated nodes only: a real node needs root for namespaces, mounts and control groups; run it as root"
    ]


def test_all_obstacles_are_printed_and_nothing_is_tried_in_vain(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    runpy.run_module("tests.localcluster.realnode", run_name="__main__")
    printed = dict(line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert list(printed) == ["root", "folders", "control groups", "inotify", "kernel"]
    assert "run it as root" in printed["root"]
    assert printed["kernel"] == "not tried, because something else is missing"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gets as far as folders")
def test_a_folder_that_the_node_would_hide_is_refused() -> None:
    reason = real_node_obstacle(Path("/var/lib/ci/cluster"))

    assert reason
    assert "\n" not in reason


def test_exhausted_inotify_instances_are_reported_and_none_is_leaked() -> None:
    free = os.dup(0)  # the lowest free descriptor; the numbers above it may have gaps
    os.close(free)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # limits the descriptors of this process instead of the user's inotify instances, which other programs need
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + 4, hard))
    try:
        reason = inotify_obstacle(100)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert reason
    assert "\n" not in reason
    assert "fs.inotify.max_user_instances" in reason
    assert inotify_obstacle(0) is None
    links = [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    assert Path("anon_inode:inotify") not in links


def test_cgroup_hierarchies_are_found_where_they_are_mounted(tmp_path: Path) -> None:
    groups, mounts = tmp_path / "cgroup", tmp_path / "mountinfo"
    groups.write_text("9:name=systemd:/\n4:memory:/ci/job\n2:cpu,cpuacct:/ci\n1:pids:/elsewhere\n0::/unified\n")
    mounts.write_text(
        "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
        "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 /ci /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
        "36 31 0:33 /ci /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
        "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    )

    found = {item.controllers: str(item.own_group) for item in hierarchies(groups=groups, mounts=mounts)}

    assert found == {
        "name=systemd": "/sys/fs/cgroup/systemd",
        "memory": "/sys/fs/cgroup/memory/job",
        "cpu,cpuacct": "/sys/fs/cgroup/cpu,cpuacct/ci",
    }


def test_an_image_is_a_complete_and_reproducible_oci_layout(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"#!")
    for name in ("one.tar", "other.tar"):
        write_image(
            tmp_path / name,
            name="localhost/xapp:1",
            files={"/opt/bin/xapp": program},
            entrypoint=["/opt/bin/xapp"],
            environment={"A": "b"},
        )

    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "other.tar").read_bytes()
    with tarfile.open(tmp_path / "one.tar") as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar.getmembers()}  # type: ignore[union-attr]
        for name, content in files.items():
            if name.startswith("blobs/"):
                assert name == f"blobs/sha256/{hashlib.sha256(content).hexdigest()}"
        descriptor = json.loads(files["index.json"])["manifests"][0]
        assert descriptor["annotations"]["io.containerd.image.name"] == "localhost/xapp:1"
        manifest = json.loads(files[_blob(descriptor)])
        config = json.loads(files[_blob(manifest["config"])])
        assert config["rootfs"]["diff_ids"] == [manifest["layers"][0]["digest"]]
        assert config["config"]["User"] == "65532:65532"
        (tmp_path / "layer.tar").write_bytes(files[_blob(manifest["layers"][0])])
    with tarfile.open(tmp_path / "layer.tar") as layer:
        modes = {member.name: oct(member.mode) for member in layer.getmembers()}
    assert modes.items() >= {"tmp": "0o1777", "opt/bin": "0o755", "opt/bin/xapp": "0o755"}.items()


@pytest.mark.skipif(not Path("/usr/sbin/ip").exists() and not Path("/sbin/ip").exists(), reason="needs iproute2")
def test_two_nodes_get_different_addresses() -> None:
    with reserve_subnet(7) as one, reserve_subnet(7) as other:
        assert not one.network.overlaps(other.network)
        assert one.host_address != one.node_address
    with reserve_subnet(7) as again:
        assert again == one


def _blob(descriptor: dict[str, str]) -> str:
    return f"blobs/{descriptor['digest'].replace(':', '/')}"
