"""A control plane, an operator, a gateway and a browser for the tests of this folder, one of each per worker."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator, Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.accounts import Accounts
from tests.browser.chromium import EXPECT_MILLISECONDS, start_chromium
from tests.browser.dashboard import SCREENSHOTS, Dashboard
from tests.browser.gateway import BrowserGateway
from tests.integration.gateway.conftest import BASE, MANIFESTS
from tests.localcluster import Binaries, Cluster
from tests.localcluster.cluster import ROOT
from tests.localcluster.processes import ProcessIdentity
from tests.localcluster.providers import choose_provider
from tests.localcluster.waiting import wait_until
from tests.localrun.cluster_setup import prepare_cluster
from tests.support.apiserver import ARCHIVES, REPOSITORIES, XAPPS, ApiServer
from tests.support.operator import OperatorProcess
from tests.support.xapps import XAppClient


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--screenshots", action="store_true", help="save screenshots of the pages in tests/browser")


@pytest.fixture(scope="package")
def built_dashboard() -> None:
    """The built files of the dashboard, before a gateway reads them."""
    done = subprocess.run([ROOT / "hack" / "dashboard", "build"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory, binaries: Binaries) -> Iterator[Cluster]:
    """A cluster for this folder: the pages show all of its xApps."""
    assert binaries
    folder = tmp_path_factory.mktemp("cluster")
    provider = choose_provider(os.environ.get("CLUSTER", "local"))
    try:
        yield provider.start(folder, owner=ProcessIdentity.current())
    finally:
        provider.stop(folder)


@pytest.fixture(scope="package")
def api(cluster: Cluster) -> Iterator[ApiServer]:
    """The API server as the administrator, with definitions and roles."""
    prepare_cluster(cluster, ROOT)
    files = [f"--filename={BASE / name}" for name in MANIFESTS]
    cluster.kubectl("apply", "--server-side", "--force-conflicts", *files)
    with ApiServer(cluster) as server:
        served = [path.format("default") for path in (XAPPS, REPOSITORIES, ARCHIVES)]
        wait_until(lambda: all(map(server.is_served, served)), timeout=60, what="new kinds to be served")
        yield server


@pytest.fixture(scope="package")
def operator(cluster: Cluster, api: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    assert api
    advertise = {"XAPP_CLUSTER_ADVERTISE_ADDRESS": cluster.node_address or ""}
    process = OperatorProcess(cluster, tmp_path_factory.mktemp("operator"), advertise)
    process.start()
    yield process
    process.stop()
    errors = process.error_lines()
    sys.stderr.write("\n".join(errors[-20:]))
    assert not errors, "the operator logged errors"


@pytest.fixture(scope="package")
def running_gateway(
    built_dashboard: None, cluster: Cluster, api: ApiServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrowserGateway]:
    one = BrowserGateway(cluster, api, tmp_path_factory.mktemp("gateway"))
    one.start()
    yield one
    one.close()


@pytest.fixture
def gateway(running_gateway: BrowserGateway) -> Iterator[BrowserGateway]:
    """The gateway. A test that stops it need not start it again."""
    yield running_gateway
    running_gateway.start()


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    with start_chromium() as browser:
        yield browser


@pytest.fixture
def accounts(api: ApiServer, namespace: str) -> Accounts:
    """Callers with rights in the test's namespace."""
    return Accounts(api, namespace)


@pytest.fixture
def xapps(operator: OperatorProcess, cluster: Cluster, namespace: str) -> Iterator[XAppClient]:
    """The XApps in the test's namespace, with a running operator."""
    assert operator.running
    kit = XAppClient(cluster, namespace)
    yield kit
    kit.kubectl("delete", "xapps", "--all", "--wait=false")


@pytest.fixture
def dashboard(chromium: Browser, gateway: BrowserGateway, request: pytest.FixtureRequest) -> Iterator[Dashboard]:
    """A new browser, signed out. The test fails if a page reports a problem."""
    SCREENSHOTS.mkdir(exist_ok=True)
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce", locale="en-GB")
    context.set_default_timeout(EXPECT_MILLISECONDS)
    one = Dashboard(context, gateway.url, takes_screenshots=request.config.getoption("--screenshots", default=False))
    yield one
    if any(report.failed for report in _reports(request)):
        one.page.screenshot(path=SCREENSHOTS / f"failed-{request.node.name}.png")
        print("failed requests:", *one.failed_requests, sep="\n")
    context.close()
    assert one.problems == []


_REPORTS = pytest.StashKey[list[pytest.TestReport]]()


def _reports(request: pytest.FixtureRequest) -> list[pytest.TestReport]:
    node: pytest.Item = request.node
    return node.stash.get(_REPORTS, [])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash.setdefault(_REPORTS, []).append(report)
    return report
