"""One `make run` for the tests of a module."""

import os
from collections.abc import Iterator

import pytest

from tests.integration.localrun.runs import Run, run_samples
from tests.localcluster import Binaries
from tests.localcluster.choice import VARIABLE
from tests.localcluster.tools import KPI_MONITOR
from tests.support.programs import build_programs
from tests.support.realnode import have_programs


def pytest_collection_finish(session: pytest.Session) -> None:
    have_programs(session, for_fixtures=("run",))
    build_programs(session, [KPI_MONITOR.name], for_fixtures=("run", "private_cluster"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, binaries: Binaries) -> Iterator[Run]:
    """Everything running on the nodes that the machine can have, both samples Ready."""
    assert binaries
    with run_samples(tmp_path_factory.mktemp("run")) as one:
        yield one


@pytest.fixture(scope="module")
def simulated_run(tmp_path_factory: pytest.TempPathFactory, binaries: Binaries) -> Iterator[Run]:
    """Everything running on simulated nodes, as for somebody without rights, both samples Ready."""
    assert binaries
    with run_samples(tmp_path_factory.mktemp("run"), environment={**os.environ, VARIABLE: "simulated"}) as one:
        yield one
