"""Orphans are found by their working folder, and no other process is touched."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.localcluster.waiting import wait_until
from tests.unit.common.test_bounded_process import alive
from xapp_operator.errors import HelmError
from xapp_operator.helm.processes.workspace import Workspace, reap_orphans

OWNER = """
import subprocess, sys, time
from pathlib import Path
from xapp_operator.helm.processes.workspace import Workspace
base, ignore = Path(sys.argv[1]), sys.argv[2]
workspace = Workspace(base)
with workspace.call_folder() as folder:
    child = "import signal, time\\n" + ("signal.signal(signal.SIGTERM, signal.SIG_IGN)\\n" if ignore == "yes" else "")
    child += "open('ready', 'w').close()\\ntime.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", child], cwd=folder, start_new_session=True)
    while not (folder / "ready").exists():
        time.sleep(0.01)
    print(process.pid, flush=True)
    time.sleep(600)
"""


def owner_with_child(base: Path, *, ignores_sigterm: bool = False) -> tuple[subprocess.Popen[str], int]:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(base), "yes" if ignores_sigterm else "no"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    with owner.stdout:
        return owner, int(owner.stdout.readline())


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def kill(owner: "subprocess.Popen[str]") -> None:
    owner.kill()
    owner.wait()


async def test_processes_and_folders_of_a_killed_owner_are_removed(tmp_path: Path) -> None:
    owner, child = owner_with_child(tmp_path)
    kill(owner)
    assert alive(child)
    assert await reap_orphans(tmp_path, grace=10) == 1
    assert not alive(child)
    assert names_in(tmp_path) == []


async def test_an_orphan_that_ignores_sigterm_is_killed_after_the_grace_period(tmp_path: Path) -> None:
    owner, child = owner_with_child(tmp_path, ignores_sigterm=True)
    kill(owner)
    await reap_orphans(tmp_path, grace=0.1)
    wait_until(lambda: not alive(child), timeout=60, what="the orphan to end")


async def test_processes_of_a_running_owner_are_left_alone(tmp_path: Path) -> None:
    owner, child = owner_with_child(tmp_path)
    try:
        assert await reap_orphans(tmp_path, grace=1) == 0
        assert alive(child)
    finally:
        kill(owner)
        os.kill(child, signal.SIGKILL)


@pytest.fixture
def process_nearby(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    (tmp_path / "dead.lock").touch()
    (tmp_path / "dead").mkdir()
    (tmp_path / "deadline").mkdir()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], cwd=tmp_path / "deadline") as process:
        yield process
        process.kill()


async def test_a_process_in_another_folder_is_no_orphan(
    tmp_path: Path, process_nearby: "subprocess.Popen[bytes]"
) -> None:
    assert await reap_orphans(tmp_path, grace=1) == 0
    assert process_nearby.poll() is None
    assert names_in(tmp_path) == ["deadline"]


async def test_reaping_without_orphans_does_nothing(tmp_path: Path) -> None:
    assert await reap_orphans(tmp_path / "none", grace=1) == 0


def test_each_call_has_its_own_temporary_folder(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    with workspace.call_folder() as one, workspace.call_folder() as other:
        (one / "file").write_text("x")
        assert one != other
        assert list(other.iterdir()) == []
    assert not one.exists()
    workspace.close()
    workspace.close()
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_private(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "deep" / "helm")
    try:
        with workspace.call_folder() as folder:
            modes = {path.stat().st_mode & 0o777 for path in (folder, workspace.folder, tmp_path / "deep" / "helm")}
        assert modes == {0o700}
    finally:
        workspace.close()


@pytest.mark.skipif(os.getuid() != 0, reason="needs to give a folder away")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, 12345)
    with pytest.raises(HelmError, match="belongs to another user"):
        Workspace(tmp_path)


def test_kinds_are_forgotten_once_a_minute(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    known = workspace.discovery / "example.com" / "v1" / "served.json"
    known.parent.mkdir(parents=True)
    gone = {("example.com/v1", "Widget")}
    for unserved, left in (((), True), (gone, False), (gone, True), ({*gone, ("example.com/v2", "Widget")}, False)):
        known.touch()
        workspace.forget_kinds(unserved)
        assert known.exists() == left
    workspace.close()
