"""The dashboard with a real container: its log through a restart, its cause of a crash, its own API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.chromium import EXPECT_MILLISECONDS, start_chromium
from tests.browser.conftest import built_dashboard
from tests.browser.dashboard import SCREENSHOTS, Dashboard
from tests.e2e.conftest import gateway_settings
from tests.e2e.sample_xapp import SECONDS, XAPP_NAME, SampleXApp
from tests.localcluster.ports import PortReservation
from tests.support.gateway import GatewayServer, serve_gateway

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

__all__ = ["built_dashboard"]

LINES_MEANWHILE = 50
BUSY = {"periodMilliseconds": 200, "thresholdPercent": 80, "cells": ["cell-1"]}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with start_chromium() as browser:
        yield browser


@pytest.fixture
def dashboard(built_dashboard: None, chromium: Browser, e2e_gateway: GatewayServer) -> Iterator[Dashboard]:
    """A browser at the gateway of the real node, which asks for no token."""
    with open_dashboard(chromium, e2e_gateway.url) as one:
        yield one


@contextmanager
def open_dashboard(chromium: Browser, url: str) -> Iterator[Dashboard]:
    SCREENSHOTS.mkdir(exist_ok=True)
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce", locale="en-GB")
    context.set_default_timeout(EXPECT_MILLISECONDS)
    one = Dashboard(context, url, takes_screenshots=False)
    yield one
    context.close()
    assert one.problems == []


def test_a_log_is_followed_through_a_restart(dashboard: Dashboard, e2e_sample: SampleXApp) -> None:
    e2e_sample.install(config=BUSY)
    e2e_sample.xapps.wait_ready(XAPP_NAME, seconds=SECONDS)
    page = dashboard.page

    dashboard.open(f"/xapps/{e2e_sample.namespace}/{XAPP_NAME}/logs")
    log = page.get_by_role("log")
    expect(log).to_contain_text('"msg":"sample"')
    page.get_by_text("Times", exact=True).click()
    expect(log).to_contain_text(re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \{"))
    dashboard.check_accessibility()

    (pod,) = e2e_sample.pods()
    e2e_sample.inject_fault(pod, "crash")
    page.get_by_label("Find", exact=True).fill("the container has ended; its next run follows")
    expect(log.locator(".cm-searchMatch").first).to_be_visible()
    page.get_by_label("Find", exact=True).fill('"msg":"started"')
    expect(log.locator(".cm-searchMatch").first).to_be_visible()
    expect(page.get_by_text("Live.")).to_be_visible()

    # The run that crashed is one click away from its page, and chosen already.
    dashboard.open(f"/xapps/{e2e_sample.namespace}/{XAPP_NAME}/logs?pod={pod['metadata']['name']}&previous=true")
    expect(page.get_by_text("Complete.")).to_be_visible()
    expect(log).to_contain_text('"msg":"crashed"')


def test_a_log_goes_on_where_it_was_when_the_gateway_comes_back(
    built_dashboard: None, chromium: Browser, e2e_sample: SampleXApp, tmp_path: Path
) -> None:
    e2e_sample.install(config=BUSY)
    e2e_sample.xapps.wait_ready(XAPP_NAME, seconds=SECONDS)
    (pod,) = e2e_sample.pods()

    def written() -> list[str]:
        return e2e_sample.xapps.kubectl("logs", pod["metadata"]["name"], "--all-containers").splitlines()

    with PortReservation(1) as reservation, ExitStack() as stack:
        settings = gateway_settings(e2e_sample.xapps.cluster, tmp_path, port=reservation.ports[0])
        dashboard = stack.enter_context(open_dashboard(chromium, f"http://127.0.0.1:{reservation.ports[0]}"))
        page = dashboard.page
        with serve_gateway(settings):
            dashboard.open(f"/xapps/{e2e_sample.namespace}/{XAPP_NAME}/logs")
            expect(page.get_by_role("log")).to_contain_text('"msg":"sample"')
        expect(page.get_by_text(re.compile("^Not connected. As of"))).to_be_visible()
        expect(page.get_by_text("Interrupted: it goes on by itself.")).to_be_visible()
        before = len(written())
        e2e_sample.xapps.wait_until(lambda: len(written()) >= before + LINES_MEANWHILE, what="lines meanwhile")
        with serve_gateway(settings):
            page.get_by_role("button", name="Now", exact=True).click()
            expect(page.get_by_text("Live.")).to_be_visible()
            newest = len(written())
            count = page.get_by_text(re.compile(r"Live\. [\d,]+ lines"))
            e2e_sample.xapps.wait_until(
                lambda: int(re.sub(r"\D", "", count.inner_text())) > newest, what="lines after the absence"
            )
            with page.expect_download() as download:
                page.get_by_role("button", name="Save").click()
            saved = download.value.path().read_text().splitlines()
    # Each line once, in order.
    assert saved == written()[: len(saved)]
    assert len(saved) > before + LINES_MEANWHILE


def test_the_configuration_of_a_running_xapp_is_changed(dashboard: Dashboard, e2e_sample: SampleXApp) -> None:
    e2e_sample.install(config=BUSY)
    e2e_sample.xapps.wait_ready(XAPP_NAME, seconds=SECONDS)
    e2e_sample.get_via_apiserver("/health/ready")
    page = dashboard.page

    dashboard.open(f"/xapps/{e2e_sample.namespace}/{XAPP_NAME}/own-api")
    editor = page.get_by_role("textbox", name="Run-time configuration")
    expect(editor).to_contain_text('"periodMilliseconds": 200')
    save = page.get_by_role("button", name="Save")
    expect(save).to_have_attribute("aria-disabled", "true")
    dashboard.check_accessibility()

    editor.press("Control+a")
    page.keyboard.insert_text('{"periodMilliseconds": 5, "thresholdPercent": 80, "cells": ["cell-1"]}')
    expect(page.get_by_text(re.compile("^Line 1: .*periodMilliseconds"))).to_be_visible()
    save.click()
    # What the xApp itself refuses stands beside the button, and nothing typed is lost.
    expect(page.get_by_role("alert")).to_contain_text("periodMilliseconds")
    expect(editor).to_contain_text('"periodMilliseconds": 5')

    editor.press("Control+a")
    page.keyboard.insert_text('{"periodMilliseconds": 300, "thresholdPercent": 80, "cells": ["cell-1"]}')
    somebody_else = {**BUSY, "cells": ["cell-9"]}
    base = f"/api/xapps/{e2e_sample.namespace}/{XAPP_NAME}/api/config"
    assert e2e_sample.http.put(base, json=somebody_else).status_code == 200
    save.click()
    expect(page.get_by_text("Changed by somebody else meanwhile")).to_be_visible()
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_text('"cell-9"').first).to_be_visible()
    dashboard.check_accessibility()
    page.get_by_role("button", name="Keep mine").click()
    save.click()
    expect(page.get_by_text("Accepted: the xApp has the new configuration")).to_be_visible()
    assert e2e_sample.http.get(base).json()["periodMilliseconds"] == 300


def test_the_address_of_a_running_xapp_is_copied_in_two_clicks(dashboard: Dashboard, e2e_sample: SampleXApp) -> None:
    e2e_sample.install(service={"type": "NodePort"})
    e2e_sample.xapps.wait_ready(XAPP_NAME, seconds=SECONDS)
    page = dashboard.page
    dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])

    dashboard.open("/xapps")
    page.get_by_role("link", name=XAPP_NAME).click()
    address = page.get_by_role("listitem").filter(has_text="node port").last
    address.get_by_role("button", name="Copy http").click()
    expect(page.get_by_text("Copied", exact=True)).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(f"http://{e2e_sample.xapps.cluster.node_address}:")
    opened = address.get_by_role("link", name="Open")
    expect(opened).to_have_attribute("rel", "noopener noreferrer")
    expect(opened).to_have_attribute("href", re.compile(r"^http://"))
