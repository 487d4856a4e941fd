"""The background process reports its end, is stopped, and runs at the lowest priority; tested with small programs."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.localcluster.cluster import ROOT
from tests.localcluster.processes import ProcessIdentity, ProcessSpec
from tests.localcluster.waiting import wait_until
from tests.localrun.background import BackgroundFailed, BackgroundProcess, join_real_node_process

DEADLINE_SECONDS = 60.0


@contextmanager
def running(program: str, folder: Path) -> Iterator[BackgroundProcess]:
    spec = ProcessSpec(name="thing", argv=(sys.executable, "-c", program), environment={})
    process = BackgroundProcess(spec, logs=folder, folder=folder)
    try:
        yield process
    finally:
        process.stop()


def test_success_is_reported_when_it_has_ended(tmp_path: Path) -> None:
    with running("import os; os.read(os.open('gate', os.O_RDONLY), 1)", tmp_path_with_gate(tmp_path)) as process:
        assert not process.succeeded()
        (tmp_path / "gate").write_text("x")
        wait_until(process.succeeded, timeout=DEADLINE_SECONDS, what="the end")


def test_the_last_line_of_the_log_is_the_reason_of_a_failure(tmp_path: Path) -> None:
    with (
        running("print('much output'); raise SystemExit('the reason')", tmp_path) as process,
        pytest.raises(BackgroundFailed, match=r"^the reason$"),
    ):
        wait_until(process.succeeded, timeout=DEADLINE_SECONDS, what="the end")


def test_a_failure_without_output_is_told_by_its_code(tmp_path: Path) -> None:
    with running("raise SystemExit(3)", tmp_path) as process, pytest.raises(BackgroundFailed, match="with code 3"):
        wait_until(process.succeeded, timeout=DEADLINE_SECONDS, what="the end")


def test_it_is_stopped_while_it_runs_and_after_its_end(tmp_path: Path) -> None:
    with running("import os, signal; print(os.getpid(), flush=True); signal.pause()", tmp_path) as process:
        pid = int(wait_until(process.log.read_text, timeout=DEADLINE_SECONDS, what="the start"))
        process.stop()
        assert ProcessIdentity.of(pid) is None
        process.stop()


def test_programs_are_built_at_the_lowest_priority_and_a_failed_build_ends_with_the_reason(tmp_path: Path) -> None:
    go = tmp_path / "go"
    go.write_text('#!/bin/sh\nif [ "$1" = env ]; then echo go1.99.0; else echo "niceness $(nice)" >&2; exit 1; fi\n')
    go.chmod(0o755)
    spec = join_real_node_process(tmp_path / "cluster")

    ended = subprocess.run(
        spec.argv,
        cwd=ROOT,
        env={
            **os.environ,
            **spec.environment,
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 1
    assert "niceness 19" in ended.stderr
    assert ended.stderr.splitlines()[-1] == "go build of kpi-monitor failed:"


def tmp_path_with_gate(folder: Path) -> Path:
    """Make a named pipe in the folder, from which a program can read once somebody writes."""
    os.mkfifo(folder / "gate")
    return folder
