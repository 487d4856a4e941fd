"""One `make run` for the tests of a module."""

import os
from collections.abc import Iterator

import pytest

from tests.integration.localrun.make_run import MakeRun, start_make_run
from tests.localcluster import Binaries
from tests.localcluster.node_choice import NODE_VARIABLE
from tests.localcluster.tools import KPI_MONITOR
from tests.support.realnode import build_real_node_tools, real_node_unavailable
from tests.support.tools import build_tools


def pytest_collection_finish(session: pytest.Session) -> None:
    build_real_node_tools(session, for_fixtures=("run", "joining_node_supported"))
    build_tools(session, [KPI_MONITOR.name], for_fixtures=("run", "private_cluster"))


@pytest.fixture
def joining_node_supported(pytestconfig: pytest.Config) -> None:
    """Skips the test where the machine cannot run a real node."""
    reason = real_node_unavailable(pytestconfig)
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, binaries: Binaries) -> Iterator[MakeRun]:
    """A run with a real node where the machine can have one, and both samples Ready."""
    assert binaries
    with start_make_run(tmp_path_factory.mktemp("run")) as one:
        yield one


@pytest.fixture(scope="module")
def simulated_run(tmp_path_factory: pytest.TempPathFactory, binaries: Binaries) -> Iterator[MakeRun]:
    """A run on simulated nodes, as for an unprivileged user, with both samples Ready."""
    assert binaries
    with start_make_run(tmp_path_factory.mktemp("run"), environment={**os.environ, NODE_VARIABLE: "simulated"}) as one:
        yield one
