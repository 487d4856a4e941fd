"""The build of the dashboard reports its lines and its failure, and is stopped; tested with small programs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.localcluster.processes import ProcessIdentity
from tests.localcluster.waiting import wait_until
from tests.localrun.dashboard import DashboardBuild, DashboardFailed

DEADLINE_SECONDS = 60.0


@contextmanager
def building(script: str, folder: Path, lines: list[str]) -> Iterator[DashboardBuild]:
    build = DashboardBuild(("/bin/sh", "-c", script), folder=folder, progress=lines.append)
    try:
        yield build
    finally:
        build.stop()


def test_success_is_reported_when_it_has_ended(tmp_path: Path) -> None:
    lines: list[str] = []
    with building("echo; echo building; pwd >&2", tmp_path, lines) as build:
        wait_until(build.check, timeout=DEADLINE_SECONDS, what="the end")
    assert lines == ["dashboard: building", f"dashboard: {tmp_path}", "dashboard: built"]


def test_nothing_is_reported_where_there_is_nothing_to_build(tmp_path: Path) -> None:
    lines: list[str] = []
    with building("exit 0", tmp_path, lines) as build:
        wait_until(build.check, timeout=DEADLINE_SECONDS, what="the end")
    assert lines == []


def test_a_failure_ends_with_the_last_lines_of_the_output(tmp_path: Path) -> None:
    with (
        building("seq 1 30; echo no Node.js >&2; exit 2", tmp_path, []) as build,
        pytest.raises(DashboardFailed) as failure,
    ):
        wait_until(build.check, timeout=DEADLINE_SECONDS, what="the end")
    assert str(failure.value).splitlines() == [
        "the dashboard was not built:",
        *map(str, range(12, 31)),
        "no Node.js",
    ]


def test_a_stop_ends_the_programs_that_it_has_started(tmp_path: Path) -> None:
    lines: list[str] = []
    with building("sleep 60 & echo $!; wait", tmp_path, lines) as build:
        wait_until(lambda: lines, timeout=DEADLINE_SECONDS, what="the pid")
        assert not build.check()
        identity = ProcessIdentity.of(int(lines[0].rpartition(" ")[2]))
        assert identity
        build.stop()
        assert identity.wait(DEADLINE_SECONDS)
