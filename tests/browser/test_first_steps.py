"""Sign in, find an xApp in the list, open it, uninstall it, sign out."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.support.charts import chart_archive
from tests.support.xapps import XAppClient


def test_an_xapp_is_found_and_uninstalled(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("acme-ran-hello", chart_archive()))
    xapps.wait_ready("acme-ran-hello")
    page = dashboard.page

    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    dashboard.heading("xApps Management")
    page.get_by_role("link", name="acme-ran-hello").click()
    dashboard.heading("acme-ran-hello")
    health = page.get_by_role("region", name="Health")
    expect(health.get_by_text("Healthy").first).to_be_visible()
    page.get_by_role("button", name="Uninstall...").click()
    expect(page.get_by_role("button", name="Keep")).to_be_focused()
    page.get_by_role("button", name="Uninstall acme-ran-hello").click()

    xapps.wait_gone("xapp", "acme-ran-hello")
    expect(page.get_by_text(re.compile("^Uninstalled at .* This is its last state"))).to_be_visible()
    expect(health.get_by_text("Its objects as they were last seen.")).to_be_visible()
    page.get_by_role("link", name="All xApps").click()
    dashboard.heading("xApps Management")
    expect(page.get_by_role("link", name="acme-ran-hello")).to_have_count(0)


def test_who_is_not_signed_in_comes_back_to_the_page_that_was_asked_for(
    dashboard: Dashboard, accounts: Accounts
) -> None:
    dashboard.open("/services?search=kpi")
    dashboard.heading("Sign in to xApps Management")
    dashboard.check_accessibility()
    dashboard.screenshots("sign-in")
    dashboard.page.get_by_label("Bearer token").fill("no-token")
    dashboard.page.get_by_role("button", name="Sign in").click()
    expect(dashboard.page.get_by_text("The cluster does not accept this token.")).to_be_visible()
    dashboard.screenshots("sign-in-refused")

    dashboard.page.get_by_label("Bearer token").fill(f"Bearer {accounts.with_role('view')}")
    dashboard.page.keyboard.press("Enter")

    dashboard.heading("Services")
    assert dashboard.page.url == f"{dashboard.url}/services?search=kpi"
    assert dashboard.page.evaluate("JSON.stringify(localStorage) + document.cookie").count("eyJ") == 0
