"""An xApp from a chart file that somebody uninstalls is deployed again, with its file as long as that is stored."""

from __future__ import annotations

from typing import Any, Final

from playwright.sync_api import Page, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import chart, choose_chart, summary_text, values_text
from tests.support.xapps import XAppClient

NAME: Final = "acme-ran-hello"
OTHER: Final = "acme-ran-other"
SPEC: Final[dict[str, Any]] = {"xAppName": "hello", "organization": "acme", "values": {"greeting": "theirs"}}


def open_xapp(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> Page:
    """Open the page of the xApp, which keeps what it needs to deploy it again."""
    xapps.wait_ready(NAME)
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}/values")
    assert values_text(dashboard.page).strip() == "greeting: theirs"
    return dashboard.page


def test_the_stored_chart_file_is_used_again(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest(NAME, chart(), **SPEC)
    xapps.apply(manifest)
    # A stored chart stays as long as one xApp uses it.
    xapps.apply(xapps.uploaded_manifest(OTHER, chart()))
    page = open_xapp(dashboard, accounts, xapps)
    xapps.kubectl("delete", "xapp", NAME)
    page.get_by_role("button", name="Deploy again with these values").click()

    dashboard.heading("Deploy an xApp")
    expect(page.get_by_text("hello 0.1.0", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Choose a file")).to_have_count(0)
    assert values_text(page).strip() == "greeting: theirs"
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-again-upload")
    page.get_by_role("tab", name="Defaults").click()
    expect(page.get_by_role("textbox", name="Default values of the chart")).to_contain_text("# What the xApp says.")
    page.get_by_role("button", name="Submit").click()
    dashboard.heading(NAME)
    xapps.wait_ready(NAME)
    spec = (xapps.get("xapp", NAME) or {})["spec"]
    assert spec["archive"] == manifest["spec"]["archive"]
    assert spec["values"] == {"greeting": "theirs"}


def test_a_chart_file_that_is_gone_is_asked_for(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, chart(), **SPEC))
    page = open_xapp(dashboard, accounts, xapps)
    xapps.kubectl("delete", "xapp", NAME)
    xapps.kubectl("delete", "chartarchives", "--all")
    page.get_by_role("button", name="Deploy again with these values").click()

    dashboard.heading("Deploy an xApp")
    gone = page.get_by_text("The chart file that it had is not stored any more")
    expect(gone).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-again-upload-gone")
    page.get_by_role("button", name="Submit").click()
    assert "Drop a packed chart" in summary_text(page)
    choose_chart(page, chart())
    expect(gone).to_have_count(0)
    expect(page.get_by_text("hello 0.1.0", exact=True)).to_be_visible()
    page.get_by_role("button", name="Submit").click()
    dashboard.heading(NAME)
    xapps.wait_ready(NAME)
    assert (xapps.get("xapp", NAME) or {})["spec"]["values"] == {"greeting": "theirs"}
