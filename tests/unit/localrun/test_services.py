"""Services are restarted and stopped, tested with small programs instead of operator and gateway."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.localcluster.processes import ProcessIdentity, ProcessSpec
from tests.localcluster.waiting import wait_until
from tests.localrun.services import ServiceFailed, Services

DEADLINE_SECONDS = 60.0
PRINT_PID_AND_WAIT = "import os, signal; print(os.getpid(), os.getcwd(), flush=True); signal.pause()"


@contextmanager
def running(program: str, folder: Path, messages: list[str]) -> Iterator[Services]:
    spec = ProcessSpec(name="thing", argv=(sys.executable, "-c", program), environment={})
    services = Services([spec], logs=folder, folder=Path("/"), say=messages.append)
    try:
        yield services
    finally:
        services.stop()


def wait_started(services: Services, log: Path, count: int) -> list[tuple[int, str]]:
    """Wait until the program was started ``count`` times, and return the process id and folder of each start."""

    def probe() -> list[tuple[int, str]] | None:
        services.restart_ended()
        lines = [line.split() for line in log.read_text().splitlines() if line.count(" ") == 1]
        return [(int(pid), folder) for pid, folder in lines] if len(lines) >= count else None

    return wait_until(probe, timeout=DEADLINE_SECONDS, what=f"{count} lives")


def test_a_killed_service_is_restarted_in_the_same_folder(tmp_path: Path) -> None:
    messages: list[str] = []
    with running(PRINT_PID_AND_WAIT, tmp_path, messages) as services:
        services.all_started = True
        (first, _), *_ = wait_started(services, tmp_path / "thing.log", 1)
        os.kill(first, signal.SIGKILL)
        second, folder = wait_started(services, tmp_path / "thing.log", 2)[1]
        assert second != first
        assert folder == "/"
        assert "restarted" in messages[-1]


def test_a_service_that_ignores_sigterm_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.localrun.services._STOP_SECONDS", 0.2)
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + PRINT_PID_AND_WAIT
    with running(deaf, tmp_path, []) as services:
        ((pid, _),) = wait_started(services, tmp_path / "thing.log", 1)
    assert ProcessIdentity.of(pid) is None


def test_a_service_that_never_starts_fails_with_its_last_log_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.localrun.services.RESTART_SECONDS", (0.0,))
    with running("raise SystemExit('no such setting')", tmp_path, []) as services:

        def tend() -> None:
            services.restart_ended()

        with pytest.raises(ServiceFailed, match=r"(?s)thing does not start.*no such setting"):
            wait_until(tend, timeout=DEADLINE_SECONDS, what="the failure")
