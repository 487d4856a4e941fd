"""The lists of a cluster without anything in them, for somebody who may see everything."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.gateway import BrowserGateway
from tests.support.xapps import XAppClient


def test_an_empty_list_says_that_there_is_none_yet_and_what_to_do(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, gateway: BrowserGateway
) -> None:
    page = dashboard.page
    gateway.start(namespaces=(xapps.namespace,))  # as if the cluster had no other one
    with accounts.in_all_namespaces("admin") as token:
        dashboard.sign_in(token, "/repositories")
        expect(page.get_by_text("No repositories yet", exact=True)).to_be_visible()
        dashboard.check_accessibility()
        dashboard.screenshots("repositories-none-yet")
        empty = page.get_by_role("main").get_by_role("link", name="Add", exact=True).last
        empty.click()
        dashboard.heading("Add a repository")

        dashboard.open("/services")
        expect(page.get_by_text("No Services yet", exact=True)).to_be_visible()
        expect(page.get_by_text("Needs:")).to_have_count(0)
        dashboard.screenshots("services-none-yet")
        page.get_by_role("link", name="All xApps", exact=True).click()

        expect(page.get_by_text("No xApps yet", exact=True)).to_be_visible()
        expect(page.get_by_text("Needs:")).to_have_count(0)
        dashboard.check_accessibility()
        dashboard.screenshots("list-none-yet")
        page.get_by_role("link", name="Deploy the first xApp", exact=True).click()
        dashboard.heading("Deploy an xApp")
