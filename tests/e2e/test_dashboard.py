"""The dashboard with a real container: its log through a restart, its cause of a crash, its own API."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.chromium import EXPECT_MILLISECONDS, start_chromium
from tests.browser.conftest import built_dashboard
from tests.browser.dashboard import SCREENSHOTS, Dashboard
from tests.e2e.sample_xapp import SECONDS, XAPP_NAME, SampleXApp
from tests.support.gateway import GatewayServer

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

__all__ = ["built_dashboard"]

BUSY = {"periodMilliseconds": 200, "thresholdPercent": 80, "cells": ["cell-1"]}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with start_chromium() as browser:
        yield browser


@pytest.fixture
def dashboard(built_dashboard: None, chromium: Browser, e2e_gateway: GatewayServer) -> Iterator[Dashboard]:
    """A browser at the gateway of the real node, which asks for no token."""
    SCREENSHOTS.mkdir(exist_ok=True)
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce", locale="en-GB")
    context.set_default_timeout(EXPECT_MILLISECONDS)
    one = Dashboard(context, e2e_gateway.url, takes_screenshots=False)
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
