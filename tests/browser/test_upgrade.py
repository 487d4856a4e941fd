"""Upgrade an xApp to another version: of an uploaded chart, and of a chart in a repository."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import chart, choose_chart
from tests.support.chart_server import ChartServer
from tests.support.xapps import XAppClient

NAME = "acme-ran-hello"


def test_an_uploaded_chart_is_replaced_by_a_newer_one(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, chart(), values={"greeting": "mine"}))
    xapps.wait_ready(NAME)
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}/upgrade")
    page = dashboard.page
    expect(page.get_by_text("version 0.1.0")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("upgrade")
    choose_chart(
        page, chart("0.2.0", **{"templates/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"})
    )
    expect(page.get_by_role("textbox", name="Version", exact=True)).to_have_value("0.2.0")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("1 object is new.")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("upgrade-preview")
    page.get_by_role("region", name="Upgrade").get_by_role("button", name="Upgrade", exact=True).click()

    dashboard.heading(NAME)
    xapps.wait_until(lambda: xapps.status(NAME).get("release", {}).get("chartVersion") == "0.2.0", what="the upgrade")
    spec = (xapps.get("xapp", NAME) or {})["spec"]
    assert (spec["version"], spec["values"]) == ("0.2.0", {"greeting": "mine"})


def test_a_remote_chart_is_upgraded_to_a_version_of_its_repository(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    with ChartServer() as server:
        server.add("hello", "0.1.0", chart())
        server.add("hello", "0.2.0", chart("0.2.0"))
        xapps.apply(xapps.remote_manifest(NAME, url=server.url, chart="hello"))
        xapps.wait_ready(NAME)
        dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}/upgrade")
        page = dashboard.page
        version = page.get_by_role("combobox", name="Chart version")
        version.click()
        version.fill("")
        page.get_by_role("option", name="0.2.0").click()
        expect(page.get_by_role("textbox", name="Version", exact=True)).to_have_value("0.2.0")
        expect(page.get_by_text("hello 0.2.0")).to_be_visible()
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("heading", name="Preview")).to_be_visible()
        page.keyboard.press("Control+Enter")
        dashboard.heading(NAME)
        xapps.wait_until(
            lambda: xapps.status(NAME).get("release", {}).get("chartVersion") == "0.2.0", what="the upgrade"
        )
