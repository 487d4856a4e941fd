"""Writes the pictures of the dashboard in README.md and docs/ (`make screenshots`).

Not part of a test run: no test depends on a picture. The xApps run on a real node, so that their logs, their addresses
and the cause of a crash are those of containers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.accounts import Accounts
from tests.browser.chromium import EXPECT_MILLISECONDS, start_chromium
from tests.browser.conftest import built_dashboard
from tests.browser.dashboard import SCREENSHOTS, Dashboard
from tests.browser.deploy_steps import choose_chart, fill_identity, write_values
from tests.browser.gateway import BrowserGateway
from tests.browser.vector_screenshot import vector_screenshot
from tests.localcluster import Cluster
from tests.localcluster.cluster import ROOT
from tests.localcluster.waiting import wait_until
from tests.localrun.charts import pack_chart
from tests.localrun.samples import NAMESPACE, REAL_NODE_VALUES
from tests.support.apiserver import ApiServer
from tests.support.operator import OperatorProcess
from tests.support.own_cluster import BASE, MANIFESTS
from tests.support.xapps import XAppClient

__all__ = ["built_dashboard"]

IMAGES: Final = ROOT / "docs" / "images"
MAX_BYTES: Final = 60_000
WIDTH: Final = 1280
CHART: Final = pack_chart(ROOT / "manifests" / "samples" / "charts" / "hello-world")
HELLO: Final = "acme-ran-hello-world"
FAILED: Final = "acme-ran-kpi-monitor"
CRASH: Final = {"afterMilliseconds": 200, "exitCode": 42, "reason": "E2 setup refused by gNB 001-01-4711: unknown PLMN"}
BY_HAND: Final[dict[str, Any]] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "bouncer",
        "labels": {"drax/role": "xapp", "drax/xapp-name": "bouncer", "app.kubernetes.io/version": "2.0.0"},
    },
    "spec": {
        "selector": {"matchLabels": {"app": "bouncer"}},
        "template": {
            "metadata": {"labels": {"app": "bouncer"}},
            "spec": {
                "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [
                    {
                        "name": "bouncer",
                        "image": "registry.example/bouncer:2.0.0",
                        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                    }
                ],
            },
        },
    },
}


@pytest.fixture(scope="module")
def api(e2e_cluster: Cluster) -> Iterator[ApiServer]:
    e2e_cluster.kubectl("apply", "--server-side", *[f"--filename={BASE / name}" for name in MANIFESTS])
    with ApiServer(e2e_cluster) as server:
        yield server


@pytest.fixture(scope="module")
def gateway(
    built_dashboard: None, e2e_cluster: Cluster, api: ApiServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrowserGateway]:
    one = BrowserGateway(e2e_cluster, api, tmp_path_factory.mktemp("pictures"))
    one.start()
    yield one
    one.close()


@pytest.fixture(scope="module")
def token(api: ApiServer) -> str:
    """The token of a person who may change xApps."""
    return Accounts(api, NAMESPACE).with_role("edit", name="jane")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with start_chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def deployed(
    gateway: BrowserGateway, e2e_cluster: Cluster, e2e_operator: OperatorProcess, sample_image: str, token: str
) -> None:
    """xApps of several teams: most are healthy, one crashes after an upgrade, one has a wrong value."""
    assert e2e_operator.running
    assert sample_image
    xapps = XAppClient(e2e_cluster, NAMESPACE)
    assert gateway.server is not None
    with gateway.server.client(headers={"Authorization": f"Bearer {token}"}) as http:
        real = dict(REAL_NODE_VALUES)
        deploy(http, "hello-world", values={**real, "service": {"type": "NodePort"}})
        deploy(http, "kpi-monitor", values=real)
        deploy(http, "traffic-steering", version="2.1.0", owner="omar")
        deploy(http, "qoe-predictor", team="lab", version="0.9.3", owner="li", suspend=True)
        deploy(http, "load-balancer", organization="northern", version="3.0.1", owner="omar")
        refused = xapps.uploaded_manifest("acme-lab-anomaly-detection", CHART.data, values={"replicas": "two"})
        identity = {"xAppName": "anomaly-detection", "organization": "acme", "team": "lab", "version": "1.4.0"}
        xapps.apply({**refused, "spec": {**refused["spec"], **identity, "owner": "li"}})
        xapps.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(BY_HAND))
        for name in (HELLO, FAILED, "acme-ran-traffic-steering", "northern-ran-load-balancer"):
            xapps.wait_ready(name)
        xapps.wait_stalled("acme-lab-anomaly-detection")
        failing = {**real, "faults": {"crash": CRASH}}
        deploy(http, "kpi-monitor", change=True, values=failing, timeout="20s", upgrade={"onFailure": "none"})
        xapps.wait_stalled(FAILED)
        wait_until(lambda: crash_loops(http), timeout=60, what="the crash loop", interval=0.5)


def deploy(
    http: httpx.Client, name: str, *, change: bool = False, values: dict[str, Any] | None = None, **form: Any
) -> None:
    """Deploy the sample chart under another name, or change what was deployed."""
    identity = {"xAppName": name, "organization": "acme", "team": "ran", "version": CHART.version, "owner": "jane"}
    whole = {**identity, "method": "Upload Chart", "namespace": NAMESPACE, **form}
    parts: dict[str, tuple[str | None, str | bytes]] = {
        "xAppForm": (None, json.dumps(whole)),
        "file": (CHART.file_name, CHART.data),
        "values": (None, json.dumps(values or {})),
    }
    path = f"/api/deployment/xapp/{NAMESPACE}/acme-ran-{name}" if change else "/api/deployment/xapp"
    answer = http.request("PUT" if change else "POST", path, files=parts)
    assert answer.is_success, answer.text


def crash_loops(http: httpx.Client) -> bool:
    health = http.get(f"/api/xapps/{NAMESPACE}/{FAILED}/health").raise_for_status().json()
    return any(each["reason"] == "CrashLoopBackOff" for pod in health["pods"] for each in pod["containers"])


@pytest.fixture
def dashboard(chromium: Browser, gateway: BrowserGateway, deployed: None, token: str) -> Iterator[Dashboard]:
    """A browser that is signed in."""
    SCREENSHOTS.mkdir(exist_ok=True)
    IMAGES.mkdir(exist_ok=True)
    context = chromium.new_context(
        viewport={"width": WIDTH, "height": 800}, reduced_motion="reduce", locale="en-GB", color_scheme="light"
    )
    context.set_default_timeout(EXPECT_MILLISECONDS)
    one = Dashboard(context, gateway.url, takes_screenshots=False)
    one.sign_in(token)
    yield one
    context.close()
    assert one.problems == []


def save(dashboard: Dashboard, name: str, *, height: int, has_dark_one: bool = False) -> None:
    """Write the picture, and beside the other screenshots what it must look like."""
    page = dashboard.page
    page.set_viewport_size({"width": WIDTH, "height": height})
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    page.mouse.move(0, height - 1)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    write(page, name)
    if has_dark_one:
        page.emulate_media(color_scheme="dark")
        write(page, f"{name}-dark")
        page.emulate_media(color_scheme="light")


def write(page: Page, name: str) -> None:
    """Write what the page shows now, as SVG and as PNG."""
    page.screenshot(path=SCREENSHOTS / f"picture-{name}.png", animations="disabled")
    picture = vector_screenshot(page)
    assert len(picture.encode()) <= MAX_BYTES
    Path(IMAGES / f"{name}.svg").write_text(picture, encoding="utf-8")


def test_list_of_xapps(dashboard: Dashboard) -> None:
    expect(dashboard.page.get_by_role("link", name="bouncer")).to_be_visible()
    expect(dashboard.page.get_by_role("row").filter(has_text="bouncer").get_by_text("Healthy")).to_be_visible()
    save(dashboard, "xapps", height=740, has_dark_one=True)


def test_failed_xapp(dashboard: Dashboard) -> None:
    dashboard.open(f"/xapps/{NAMESPACE}/{FAILED}")
    cause = dashboard.page.get_by_role("region", name="Why it is not Ready")
    expect(cause.get_by_role("region", name="the last words")).to_contain_text("crashed")
    expect(cause.get_by_text("Last event")).to_be_visible()
    save(dashboard, "failed-xapp", height=860, has_dark_one=True)


def test_log_of_the_failed_run(dashboard: Dashboard) -> None:
    dashboard.open(f"/xapps/{NAMESPACE}/{FAILED}/logs")
    expect(dashboard.page.get_by_role("log")).to_contain_text("crashed")
    save(dashboard, "log", height=640)


def test_deploy_page(dashboard: Dashboard) -> None:
    page = dashboard.page
    dashboard.open(f"/deploy?namespace={NAMESPACE}")
    choose_chart(page, CHART.data, CHART.file_name)
    expect(page.get_by_text(CHART.digest[:12])).to_be_visible()
    fill_identity(page, team="lab")
    write_values(page, "replicas: 2\nconfig:\n  cells: [cell-7, cell-8]\n")
    expect(page.get_by_text("free", exact=True)).to_be_visible()
    save(dashboard, "deploy", height=1100)


def test_changed_values(dashboard: Dashboard) -> None:
    page = dashboard.page
    dashboard.open(f"/xapps/{NAMESPACE}/acme-ran-traffic-steering/values")
    write_values(page, "# Two more pods for the new cells.\nreplicas: 3\nconfig:\n  thresholdPercent: 70\n")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("2 objects change")).to_be_visible()
    expect(page.get_by_text('"thresholdPercent": 70')).to_be_visible()
    save(dashboard, "values", height=1240)


def test_configuration_of_the_running_xapp(dashboard: Dashboard) -> None:
    page = dashboard.page
    dashboard.open(f"/xapps/{NAMESPACE}/{HELLO}/own-api")
    expect(page.get_by_role("textbox", name="Run-time configuration")).to_contain_text("periodMilliseconds")
    save(dashboard, "own-api", height=720)
