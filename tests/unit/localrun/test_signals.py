"""Signals stop `make run`, tested with a separate process."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.localcluster.cluster import ROOT

PROGRAM = """
import time
from tests.localrun.signals import ParentMake, StopRequested, handle_stop_signals

make = ParentMake()
with handle_stop_signals() as signals:
    try:
        print("up", flush=True)
        while True:
            make.raise_if_interrupted()
            time.sleep(0.02)
    except StopRequested:
        print("cleaning up", flush=True)
        for _ in range(15):
            time.sleep(0.02)
        print("clean", flush=True)
"""


def run_and_signal(command: list[str], folder: Path, send: Callable[[int], None], *, times: int = 1) -> str:
    """Start a command, signal it when it is up and ``times - 1`` times while it cleans up, return its output."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        output = [process.stdout.readline()]
        for _ in range(times):
            send(process.pid)
            output.append(process.stdout.readline())
        output.extend(process.stdout)
    return "".join(output)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_starts_the_cleanup(tmp_path: Path, number: signal.Signals) -> None:
    output = run_and_signal([sys.executable, "-c", PROGRAM], tmp_path, lambda pid: os.kill(pid, number))
    assert output.splitlines() == ["up", "cleaning up", "clean"]


def test_a_second_signal_does_not_interrupt_the_cleanup(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM]
    output = run_and_signal(command, tmp_path, lambda pid: os.kill(pid, signal.SIGINT), times=2)
    assert output.splitlines() == ["up", "cleaning up", "clean"]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_sent_only_to_make_reaches_its_program(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "Makefile").write_text(f"run:\n\t@{sys.executable} program.py\n")
    output = run_and_signal(["make", "run"], tmp_path, lambda pid: os.kill(pid, number))
    assert "cleaning up\nclean" in output
