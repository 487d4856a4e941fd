"""The API of an xApp, which answers more than a page wants to read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import pytest
from playwright.sync_api import Route, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.keyboard import tab_to
from tests.integration.gateway.proxy.conftest import create_service, non_loopback_address
from tests.support.apiserver import ApiServer
from tests.support.charts import chart_archive
from tests.support.proxied_xapp import NAME
from tests.support.xapp_server import XAppServer, serve_xapp
from tests.support.xapps import XAppClient

LIMIT: Final = 1024 * 1024
JSON: Final = "application/json"


@pytest.fixture
def own_api() -> Iterator[XAppServer]:
    """The API of an xApp, with a configuration and nothing else."""
    with serve_xapp(non_loopback_address()) as server:
        server.answers = {"/config": (200, JSON), "/config/schema": (404, JSON), "/metadata": (404, JSON)}
        yield server


def text_of(size: int) -> str:
    """Return a configuration of this many bytes."""
    return '{"a":"' + (size - len('{"a":""}')) * "x" + '"}'


def test_an_xapp_is_reached_and_tuned_with_the_keyboard(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, api: ApiServer, own_api: XAppServer
) -> None:
    own_api.bodies["/config"] = '{"a": 1}'
    xapps.apply(xapps.uploaded_manifest(NAME, chart_archive()))
    xapps.wait_ready(NAME)
    create_service(api, xapps.namespace, address=own_api.host, port=own_api.port)
    dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps?namespace={xapps.namespace}")
    page = dashboard.page
    tab_to(page, page.get_by_role("link", name=NAME))
    page.keyboard.press("Enter")
    dashboard.heading(re.compile(f"^{NAME}"))
    reach = page.get_by_role("region", name="Reach")
    expect(reach.get_by_text("inside the cluster")).to_be_visible()
    tab_to(page, reach.get_by_role("button", name="Copy").first)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == f"http://hello.{xapps.namespace}.svc:80"

    page.keyboard.press("8")
    config = page.get_by_role("region", name="Run-time configuration")
    text = config.get_by_role("textbox", name="Run-time configuration")
    expect(text).to_contain_text('"a": 1')
    tab_to(page, text)
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text('{"a": 2}')
    # In the editor Tab indents; Escape, then Tab leaves.
    page.keyboard.press("Escape")
    tab_to(page, config.get_by_role("button", name="Save"))
    with page.expect_request(lambda request: request.method == "PUT") as sent:
        page.keyboard.press("Enter")
    expect(page.get_by_text("Accepted: the xApp has the new configuration")).to_be_visible()
    assert sent.value.post_data == '{"a": 2}'
    assert [received.method for received in own_api.requests if received.target == "/config"].count("PUT") == 1


def test_an_answer_beyond_one_mebibyte_is_not_shown(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, api: ApiServer, own_api: XAppServer
) -> None:
    own_api.bodies["/config"] = text_of(LIMIT + 1)
    xapps.apply(xapps.uploaded_manifest(NAME, chart_archive()))
    xapps.wait_ready(NAME)
    create_service(api, xapps.namespace, address=own_api.host, port=own_api.port)
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}/own-api")
    page = dashboard.page
    config = page.get_by_role("region", name="Run-time configuration")
    expect(config.get_by_text("The answer is larger than 1024 KiB.")).to_be_visible()
    expect(config.get_by_role("textbox")).to_have_count(0)
    dashboard.check_accessibility()
    dashboard.screenshots("own-api-too-large")

    own_api.bodies["/config"] = text_of(LIMIT)
    config.get_by_role("button", name="Retry").click()
    editor = config.get_by_role("textbox", name="Run-time configuration")
    expect(editor).to_contain_text('"a": "xxx')

    # Nobody reads what it says to a change: it has taken it, however much it says.
    own_api.bodies["/config"] = '{"a": 1}'
    page.reload()
    expect(editor).to_contain_text('"a": 1')
    editor.click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text('{"a": 2}')

    def answer_too_much(route: Route) -> None:
        if route.request.method == "PUT":
            own_api.bodies["/config"] = text_of(LIMIT + 1)
        route.continue_()

    page.route(re.compile("/config$"), answer_too_much)
    config.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Accepted: the xApp has the new configuration")).to_be_visible()
    assert [sent.method for sent in own_api.requests if sent.target == "/config"].count("PUT") == 1
