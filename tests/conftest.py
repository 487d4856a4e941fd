"""The cluster of a test run, shared by all workers, and the fixtures for it.

``CLUSTER`` selects the provider: ``local`` (default), ``kind`` or ``current``.
"""

import gc
import os
import re
import secrets
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests.localcluster import Binaries, Cluster, LocalCluster
from tests.localcluster.processes import ProcessIdentity
from tests.localcluster.providers import choose_provider
from tests.localcluster.shared import SharedCluster
from tests.localcluster.tools import TOOLS

# No deadline for an example: it would measure the machine. `repeatable` runs the same examples every time, so that a
# failure is about the change; `deep` (`make test-deep`) runs many random ones, to find unexpected failures.
_property_tests = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", _property_tests, derandomize=True)
settings.register_profile("deep", _property_tests, max_examples=2000, print_blob=True)
settings.load_profile("repeatable")

# By default, structlog prints the variables of each frame of a traceback, which takes seconds where they are large.
*_processors, _ = structlog.get_config()["processors"]
_renderer = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
structlog.configure(processors=[*_processors, _renderer])

_SHARED = pytest.StashKey[SharedCluster]()
_FAILED = pytest.StashKey[bool]()
_FIXTURES_WITH_TOOLS = {"cluster", "namespace", "private_cluster", "binaries"}


class WorkerNode(Protocol):
    """The attributes of a pytest-xdist worker that the controller uses here."""

    config: pytest.Config
    workerinput: dict[str, object]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--retry-cluster-tests", action="store_true", help="run tests of a real cluster or browser once more on failure"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose the folder and the owner of this run's cluster: the owner is the process that the user started."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell ignores SIGINT for background jobs. Programs that tests start and interrupt would inherit that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.import_plugin("tests.support.skip_guard")
    config.pluginmanager.import_plugin("tests.support.retries")
    given = getattr(config, "workerinput", None)
    if given is None:
        folder = Path(tempfile.gettempdir()) / f"xapp-operator-tests-{secrets.token_hex(8)}"
        owner = ProcessIdentity.current()
    else:
        folder, owner = Path(given["cluster_folder"]), ProcessIdentity(**given["cluster_owner"])
    try:
        provider = choose_provider(os.environ.get("CLUSTER", "local"))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error
    config.stash[_SHARED] = SharedCluster(provider=provider, folder=folder, owner=owner)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerNode) -> None:
    """Pass the folder and the owner of the cluster to a worker."""
    shared = node.config.stash[_SHARED]
    node.workerinput["cluster_folder"] = str(shared.folder)
    node.workerinput["cluster_owner"] = {"pid": shared.owner.pid, "started": shared.owner.started}


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build missing programs before the first test: on a new machine that takes longer than a test's timeout."""
    needed = any(_FIXTURES_WITH_TOOLS & set(getattr(item, "fixturenames", ())) for item in session.items)
    if needed and not session.config.option.collectonly:
        Binaries().resolve(TOOLS)
    # The garbage collector would look through all modules and tests again and again: half a second each time.
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Record whether the run failed, so that the logs of the cluster are kept."""
    session.config.stash[_FAILED] = exitstatus not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the cluster, also after Ctrl-C; only the controller does."""
    shared = config.stash.get(_SHARED, None)
    if shared is None or hasattr(config, "workerinput"):
        return
    logs = config.rootpath / ".local" / "test-cluster" if config.stash.get(_FAILED, True) else None
    if shared.stop(logs_to=logs):
        print(f"logs of the cluster: {logs}", file=sys.stderr)


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """The run's cluster, as its administrator."""
    return request.config.stash[_SHARED].get()


@pytest.fixture
def namespace(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A new namespace in which pods can run. It is deleted after the test, without waiting for the end."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")
    name = f"{words[:40].strip('-')}-{secrets.token_hex(3)}"
    cluster.kubectl("create", "namespace", name)
    try:
        cluster.kubectl("wait", "--for=create", "serviceaccount/default", "-n", name, "--timeout=60s")
        yield name
    finally:
        cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def private_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], LocalCluster]]:
    """Start local clusters for one test only, such as a test that breaks the control plane."""
    started: list[LocalCluster] = []

    def start() -> LocalCluster:
        one = LocalCluster(tmp_path_factory.mktemp("cluster"))
        started.append(one)
        one.start()
        return one

    yield start
    for one in started:
        one.stop()


@pytest.fixture(scope="session")
def binaries() -> Binaries:
    """The programs that tests run directly, such as helm and registry."""
    return Binaries()
