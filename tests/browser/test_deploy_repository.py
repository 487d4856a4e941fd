"""Deploy a chart of a repository: a saved one, a new one, and one that is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import chart, fill_identity, summary_text, values_text, write_values
from tests.support.chart_server import ChartServer
from tests.support.xapps import XAppClient


@pytest.fixture
def charts() -> Iterator[ChartServer]:
    with ChartServer() as server:
        server.add("hello", "0.1.0", chart())
        server.add("hello", "0.2.0", chart("0.2.0"))
        yield server


def _save(xapps: XAppClient, url: str) -> None:
    xapps.apply(
        {
            "apiVersion": "xapp-operator.io/v1alpha1",
            "kind": "ChartRepository",
            "metadata": {"name": "charts", "namespace": xapps.namespace},
            "spec": {"url": url},
        }
    )


def test_a_chart_of_a_saved_repository(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, charts: ChartServer
) -> None:
    _save(xapps, charts.url)
    # A notice on the page tells of a repository that is not ready, and moves what is below it.
    xapps.kubectl("wait", "--for=condition=Ready", "chartrepository/charts", "--timeout=60s")
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("admin"), f"/deploy?method=repository&namespace={xapps.namespace}")
    page.locator("#field-repository").click()
    page.get_by_role("option", name="charts").click()
    page.get_by_role("combobox", name="Chart", exact=True).click()
    page.get_by_role("option", name="hello").click()
    page.get_by_role("combobox", name="Chart version").click()
    page.get_by_role("option", name="0.2.0").click()
    expect(page.get_by_text("hello 0.2.0")).to_be_visible()
    expect(page.get_by_role("textbox", name="Version", exact=True)).to_have_value("0.2.0")
    fill_identity(page)
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-repository")
    assert "chart=hello" in page.url
    assert "version=0.2.0" in page.url
    page.get_by_role("button", name="Submit").click()
    dashboard.heading("acme-ran-hello")
    xapps.wait_ready("acme-ran-hello")


def test_a_chart_of_a_new_repository(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("admin"), f"/deploy?method=repository&namespace={xapps.namespace}")
    page.locator("#field-repository").click()
    page.get_by_role("option", name="A new repository").click()
    page.get_by_role("textbox", name="Repository name").fill("mine")
    with ChartServer() as server:
        server.add("hello", "0.1.0", chart())
        page.get_by_role("textbox", name="URL").fill(server.url)
        dashboard.check_accessibility()
        dashboard.screenshots("deploy-new-repository")
        save = page.get_by_role("button", name="Save and browse")
        expect(save.locator("..").get_by_role("button", name="Copy as")).to_be_visible()
        save.click()
        expect(page.locator("#field-repository")).to_contain_text("mine")
        page.get_by_role("combobox", name="Chart", exact=True).click()
        page.get_by_role("option", name="hello").click()
        page.get_by_role("combobox", name="Chart version").click()
        page.get_by_role("option", name="0.1.0").click()
        fill_identity(page)
        page.get_by_role("button", name="Submit").click()
        dashboard.heading("acme-ran-hello")
        xapps.wait_ready("acme-ran-hello")


def test_a_chart_that_is_not_there_is_found_by_the_preview(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, charts: ChartServer
) -> None:
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("admin"), f"/deploy?method=repository&namespace={xapps.namespace}")
    page.locator("#field-repository").click()
    page.get_by_role("option", name="A new repository").click()
    page.get_by_role("textbox", name="Repository name").fill("charts")
    page.get_by_role("textbox", name="URL").fill(charts.url)
    page.get_by_role("combobox", name="Chart", exact=True).fill("missing")
    page.keyboard.press("Escape")
    page.get_by_role("combobox", name="Chart version").fill("9.9.9")
    page.keyboard.press("Escape")
    page.get_by_role("textbox", name="xApp name").fill("missing")
    fill_identity(page)
    page.get_by_role("button", name="Preview").click()
    summary = page.get_by_role("alert").filter(has=page.get_by_role("button", name="Copy report"))
    expect(summary).to_contain_text("missing")
    expect(page.get_by_role("textbox", name="URL")).to_have_value(charts.url)


def test_credentials_that_were_refused_are_corrected_in_place(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    page = dashboard.page
    dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])
    dashboard.sign_in(accounts.with_role("admin"), f"/deploy?method=repository&namespace={xapps.namespace}")
    with ChartServer(username="jane", password="right-secret") as server:
        server.add("hello", "0.1.0", chart())
        page.locator("#field-repository").click()
        page.get_by_role("option", name="A new repository").click()
        page.get_by_role("textbox", name="Repository name").fill("Not a name")
        page.get_by_role("textbox", name="URL").fill(server.url)
        page.get_by_role("radio", name="User and password").check(force=True)
        page.get_by_role("textbox", name="User").fill("jane")
        password = page.get_by_label("Password", exact=True)
        password.fill("wrong-secret")
        page.get_by_role("combobox", name="Chart", exact=True).fill("hello")
        page.keyboard.press("Escape")
        page.get_by_role("combobox", name="Chart version").fill("0.1.0")
        page.keyboard.press("Escape")
        page.get_by_role("textbox", name="xApp name").fill("hello")
        fill_identity(page)
        dashboard.check_accessibility()
        dashboard.screenshots("deploy-credentials")

        # What http means for the credentials is said in the words of the page: the checkbox has this name.
        page.get_by_role("button", name="Preview").click()
        assert 'select "Send them over http, where others can read them"' in summary_text(page)
        page.get_by_role("alert").get_by_role("link", name="URL").click()
        url = page.get_by_role("textbox", name="URL")
        expect(url).to_be_focused()
        expect(url).to_have_accessible_description(re.compile("Use https, or select"))
        page.get_by_role("button", name="Save and browse").hover()
        tooltip = page.get_by_role("tooltip")
        expect(tooltip).to_have_text(re.compile("Others can read credentials"))
        # It does not cover the checkbox that it names.
        over_http = page.get_by_text("Send them over http, where others can read them", exact=True)
        named, said = over_http.bounding_box(), tooltip.bounding_box()
        assert named is not None
        assert said is not None
        assert named["y"] + named["height"] <= said["y"]
        over_http.click()

        # The refusal of the repository stands at the fields of this form.
        page.get_by_role("button", name="Preview").click()
        expect(page.get_by_role("link", name="Repository name")).to_be_visible()
        page.get_by_role("link", name="Repository name").click()
        expect(page.get_by_role("textbox", name="Repository name")).to_be_focused()
        page.keyboard.press("Control+a")
        page.keyboard.type("mine")
        page.get_by_role("button", name="Preview").click()
        page.get_by_role("alert").get_by_role("link", name="Password").click()
        expect(password).to_be_focused()
        expect(password).to_have_accessible_description(re.compile("refused by the repository"))
        expect(page.get_by_role("textbox", name="Repository name")).to_have_value("mine")
        password.fill("right-secret")
        page.get_by_role("button", name="Preview").click()
        expect(page.get_by_role("tab", name="Objects 1")).to_be_visible()
        # A preview used the credentials, and stored nothing.
        assert xapps.get("chartrepository", "mine") is None

        page.get_by_role("button", name="Copy as").last.click()
        expect(page.get_by_text("The gateway creates the Secret of the credentials too: use curl.")).to_be_visible()
        page.get_by_role("menuitem", name="curl", exact=True).click()
        expect(page.get_by_text("Copied as curl")).to_be_visible()
        command = page.evaluate("navigator.clipboard.readText()")
        assert '{"username":"<username>","password":"<password>","allowPlainHTTP":true}' in command
        assert "-secret" not in command
        assert "-secret" not in page.evaluate("JSON.stringify([localStorage, sessionStorage]) + location.href")
        page.get_by_role("button", name="Submit").click()
        dashboard.heading("acme-ran-hello")
        xapps.wait_ready("acme-ran-hello")
        spec = (xapps.get("chartrepository", "mine") or {})["spec"]
        assert "-secret" not in str(spec)


def test_an_xapp_that_others_uninstall_is_deployed_again_with_what_was_typed(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, charts: ChartServer
) -> None:
    spec: dict[str, Any] = {
        "xAppName": "hello",
        "organization": "acme",
        "values": {"greeting": "theirs"},
        "timeout": "4m",
    }
    xapps.apply(xapps.remote_manifest("acme-ran-hello", url=charts.url, chart="hello", **spec))
    xapps.wait_ready("acme-ran-hello")
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/acme-ran-hello/values")
    page = dashboard.page
    write_values(page, "# typed\ngreeting: mine\n")
    xapps.kubectl("delete", "xapp", "acme-ran-hello")
    page.get_by_role("button", name="Deploy again with these values").click()

    dashboard.heading("Deploy an xApp")
    assert values_text(page) == "# typed\ngreeting: mine\n"
    expect(page.get_by_role("radio", name="Remote Chart Repository")).to_be_checked()
    # The operator has saved the repository: it is chosen by its URL.
    expect(page.get_by_role("button", name=re.compile(rf"charts \({xapps.namespace}\)"))).to_be_visible()
    expect(page.get_by_role("textbox", name="URL")).to_have_count(0)
    expect(page.get_by_text("free", exact=True)).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-again")
    page.get_by_role("button", name="Submit").click()
    dashboard.heading("acme-ran-hello")
    xapps.wait_ready("acme-ran-hello")
    found = xapps.get("xapp", "acme-ran-hello") or {}
    assert found["spec"]["values"] == {"greeting": "mine"}
    assert found["spec"]["timeout"] == "4m"


def test_an_upgrade_of_an_xapp_that_others_uninstall_becomes_a_deployment(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, charts: ChartServer
) -> None:
    spec: dict[str, Any] = {"xAppName": "hello", "organization": "acme", "values": {"greeting": "theirs"}}
    xapps.apply(xapps.remote_manifest("acme-ran-hello", url=charts.url, chart="hello", **spec, timeout="4m"))
    xapps.wait_ready("acme-ran-hello")
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/acme-ran-hello/upgrade")
    page = dashboard.page
    page.get_by_role("textbox", name="Owner").fill("paul")
    page.get_by_text("More options").click()
    page.get_by_role("textbox", name="Timeout").fill("7m")
    write_values(page, "# typed\ngreeting: mine\n")
    xapps.kubectl("delete", "xapp", "acme-ran-hello")
    page.get_by_role("button", name="Deploy again with these values").click()

    dashboard.heading("Deploy an xApp")
    assert values_text(page) == "# typed\ngreeting: mine\n"
    expect(page.get_by_role("textbox", name="Owner")).to_have_value("paul")
    expect(page.get_by_text("free", exact=True)).to_be_visible()
    page.get_by_role("button", name="Submit").click()
    dashboard.heading("acme-ran-hello")
    found = (xapps.get("xapp", "acme-ran-hello") or {})["spec"]
    assert (found["owner"], found["timeout"], found["values"]) == ("paul", "7m", {"greeting": "mine"})
