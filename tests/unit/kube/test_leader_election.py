"""An identity shows whether its process still runs; a process that is not visible never counts as dead."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.localcluster.waiting import wait_until
from xapp_operator.kube import leader_election
from xapp_operator.kube.leader_election import is_dead, process_identity

_SAY_WHO = """
import sys
from xapp_operator.kube.leader_election import process_identity
print(process_identity(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def other() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", _SAY_WHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def identity_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_an_identity_names_host_and_process() -> None:
    host, pid, ticks, machine = process_identity().split("/")
    assert host == socket.gethostname()
    assert (pid.isdecimal(), ticks.isdecimal(), "." in machine) == (True, True, True)
    assert process_identity() == process_identity()


def test_a_running_process_is_alive_and_a_killed_one_is_dead(other: subprocess.Popen[str]) -> None:
    identity = identity_of(other)
    assert not is_dead(identity)
    other.kill()
    # The process is a zombie, which cannot lead either.
    wait_until(lambda: is_dead(identity), timeout=60, what="the killed process to count as dead")
    other.wait()
    assert is_dead(identity)


def test_a_process_id_in_use_by_a_later_process_is_dead(other: subprocess.Popen[str]) -> None:
    host, pid, ticks, machine = identity_of(other).split("/")
    assert is_dead(f"{host}/{pid}/{int(ticks) - 1}/{machine}")


@pytest.mark.parametrize(
    "identity",
    ["", "pod-a_3b7f", "host/1/2", "host/999999999/1/another-boot.4026531836", "a/b/c/d/e", "host/x/1/{machine}"],
)
def test_an_unknown_process_is_not_dead(identity: str) -> None:
    machine = process_identity().rpartition("/")[2]
    assert not is_dead(identity.format(machine=machine))


@pytest.mark.parametrize("missing", ["machine", "process"])
def test_without_proc_an_identity_is_random_and_never_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    if missing == "machine":
        own = tmp_path / str(os.getpid())
        own.mkdir()
        (own / "stat").write_text("1 (a) S" + " 0" * 30)
    else:
        (tmp_path / "sys/kernel/random").mkdir(parents=True)
        (tmp_path / "sys/kernel/random/boot_id").write_text("boot\n")
        (tmp_path / "self/ns").mkdir(parents=True)
        (tmp_path / "self/ns/pid").write_text("")
    monkeypatch.setattr(leader_election, "PROC_DIRECTORY", tmp_path)
    first, second = process_identity(), process_identity()
    host, pid, token = first.split("/")
    assert (host, pid, len(token)) == (socket.gethostname(), str(os.getpid()), 16)
    assert first != second
    assert not is_dead(first)
    assert not is_dead(f"{host}/{pid}/1/boot.1")
