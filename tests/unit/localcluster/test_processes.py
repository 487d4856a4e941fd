"""Reserved ports, file locks, and processes that are identified reliably."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.localcluster.filelock import Locked, is_locked, try_lock
from tests.localcluster.ports import LOOPBACK, PortReservation
from tests.localcluster.processes import ChildProcess, ProcessIdentity, ProcessSpec, kill_orphans, stop_all
from tests.localcluster.waiting import DeadlineExceeded, wait_until

SLEEP = "/bin/sleep"


def spec(*argv: str, **environment: str) -> ProcessSpec:
    return ProcessSpec(name="test", argv=argv, environment=environment)


def identity_of(child: ChildProcess) -> ProcessIdentity:
    identity = child.identity
    assert identity is not None
    return identity


def test_two_reservations_never_share_a_port() -> None:
    with PortReservation(50) as one, PortReservation(50) as other:
        assert len({*one.ports, *other.ports}) == 100


def test_a_reserved_port_can_be_listened_on_only_by_a_program_that_reuses_addresses() -> None:
    with PortReservation(1) as reservation, socket.socket() as server, socket.socket() as stranger:
        address = (LOOPBACK, reservation.ports[0])
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(address)
        server.listen()

        with pytest.raises(OSError, match="in use"):
            stranger.bind(address)
        socket.create_connection(address, timeout=5).close()


def test_a_reserved_port_is_free_again_afterwards() -> None:
    with PortReservation(1) as reservation:
        address = (LOOPBACK, reservation.ports[0])

    with socket.socket() as stranger:
        stranger.bind(address)


def test_a_lock_excludes_a_second_holder_until_it_is_released(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    assert not is_locked(path)

    with try_lock(path):
        assert is_locked(path)
        with pytest.raises(Locked):
            try_lock(path)

    assert not is_locked(path)


def test_waiting_ends_at_its_deadline_and_names_the_condition() -> None:
    with pytest.raises(DeadlineExceeded, match="while waiting for a miracle"):
        wait_until(lambda: None, timeout=0.05, what="a miracle")


def test_a_child_runs_in_its_own_group_and_writes_to_its_log(tmp_path: Path) -> None:
    child = ChildProcess(spec("/bin/sh", "-c", "echo $GREETING; exec sleep 60", GREETING="hello"), log=tmp_path / "log")

    wait_until(lambda: child.tail() == "hello\n", timeout=60, what="the greeting")
    assert os.getpgid(identity_of(child).pid) == identity_of(child).pid
    stop_all([child], timeout=10.0)

    assert child.ended


def test_a_child_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    child = ChildProcess(spec("/bin/sh", "-c", "trap '' TERM; echo up; sleep 60 & wait; wait"), log=tmp_path / "log")
    wait_until(lambda: child.tail() == "up\n", timeout=60, what="the trap")
    identity = identity_of(child)

    stop_all([child], timeout=0.2)

    assert child.ended
    assert not identity.alive
    os.killpg(identity.pid, signal.SIGKILL)


def test_a_child_dies_with_its_parent(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path\n"
        "from tests.localcluster.processes import ChildProcess, ProcessSpec\n"
        f"child = ChildProcess(ProcessSpec(name='c', argv=({SLEEP!r}, '60'), environment={{}}), "
        f"log=Path({str(tmp_path / 'log')!r}))\n"
        "print(child.identity.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = ProcessIdentity.of(int(parent.stdout.readline()))
        assert child is not None
        became = Path(f"/proc/{child.pid}/comm")
        wait_until(lambda: became.read_text() == "sleep\n", timeout=60, what="the launcher to exec")

        parent.kill()

    assert child.wait(20.0)


def test_an_identity_is_not_that_of_a_later_process_with_the_same_pid(tmp_path: Path) -> None:
    child = ChildProcess(spec(SLEEP, "60"), log=tmp_path / "log")
    identity = identity_of(child)
    stranger = ProcessIdentity(identity.pid, "another boot/123")

    assert kill_orphans([stranger]) == []
    assert identity.alive
    assert kill_orphans([identity]) == [identity]
    assert identity.wait(0.0)
    stop_all([child], timeout=1.0)


def test_a_process_that_has_ended_has_no_identity(tmp_path: Path) -> None:
    child = ChildProcess(spec("/bin/true"), log=tmp_path / "log")
    wait_until(lambda: child.ended, timeout=60, what="the end")

    assert child.identity is None
