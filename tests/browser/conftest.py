"""A control plane, an operator, a gateway and a browser for the tests of this folder, one of each per worker."""

from __future__ import annotations

import subprocess
from collections.abc import Generator, Iterator, Mapping

import pytest
from playwright.sync_api import Browser

from tests.browser.accounts import Accounts
from tests.browser.chromium import EXPECT_MILLISECONDS, start_chromium
from tests.browser.dashboard import SCREENSHOTS, Dashboard
from tests.browser.gateway import BrowserGateway
from tests.localcluster import Cluster
from tests.localcluster.cluster import ROOT
from tests.support.apiserver import ApiServer
from tests.support.own_cluster import api, cluster, operator, prepared_cluster, xapps

__all__ = ["api", "cluster", "operator", "prepared_cluster", "xapps"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--screenshots", action="store_true", help="save screenshots of the pages in tests/browser")


@pytest.fixture(scope="package")
def built_dashboard() -> None:
    """The built files of the dashboard, before a gateway reads them."""
    done = subprocess.run([ROOT / "hack" / "dashboard", "build"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="package")
def operator_settings(cluster: Cluster) -> Mapping[str, str]:
    """The addresses of Services that pages show."""
    return {"XAPP_CLUSTER_ADVERTISE_ADDRESS": cluster.node_address or ""}


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
