"""The program of the sample xApps: one shared process, and processes that a test may stop."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.integration.samples.monitor_process import MonitorProcess, run_monitor
from tests.localcluster.tools import KPI_MONITOR
from tests.support.tools import build_tools

Start = Callable[..., MonitorProcess]


def pytest_collection_finish(session: pytest.Session) -> None:
    build_tools(session, [KPI_MONITOR.name], for_fixtures=("binaries", "http", "start_monitor"))


@pytest.fixture(scope="module")
def monitor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MonitorProcess]:
    """A ready process, shared by the tests of a module, which must not stop it."""
    with run_monitor(tmp_path_factory.mktemp("monitor"), name="demo", greeting="Hello", cluster="192.0.2.1") as one:
        with one.http() as http:
            one.wait_ready(http)
        yield one


@pytest.fixture
def http(monitor: MonitorProcess) -> Iterator[httpx.Client]:
    """A client of the shared process."""
    with monitor.http() as client:
        yield client


@pytest.fixture
def start_monitor(tmp_path: Path) -> Iterator[Start]:
    """Start processes with the test's settings; they are stopped after the test."""
    with ExitStack() as stack:

        def start_one(**settings: object) -> MonitorProcess:
            return stack.enter_context(run_monitor(tmp_path, **settings))

        yield start_one
