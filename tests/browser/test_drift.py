"""Drift in the list and on the page of an xApp: a Ready one that somebody has changed by hand looks different."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

NAME = "acme-ran-drifting"
MESSAGE = f"Deployment {NAME} (/spec/replicas, changed by kubectl)"
TITLE = "Objects differ from the manifest of the release"


def test_an_xapp_that_has_drifted_is_marked_while_it_is_watched(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart()))
    xapps.wait_ready(NAME)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("view"), f"/xapps?namespace={xapps.namespace}")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=NAME))
    expect(row).to_contain_text("Healthy")
    mark = row.get_by_text("Drifted", exact=True)
    expect(mark).to_have_count(0)

    xapps.kubectl("scale", "deployment", NAME, "--replicas=2")
    expect(mark).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("list-drifted")

    page.get_by_role("link", name=NAME).click()
    dashboard.heading(NAME)
    head = page.get_by_role("heading", level=1)
    expect(head.get_by_text("Drifted", exact=True)).to_be_visible()
    notice = page.get_by_text(TITLE).locator("..")
    expect(notice).to_contain_text(MESSAGE)
    dashboard.check_accessibility()
    dashboard.screenshots("xapp-drifted")
    page.set_viewport_size({"width": 360, "height": 780})
    expect(head.get_by_text("Drifted", exact=True)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 360

    xapps.kubectl("scale", "deployment", NAME, "--replicas=1")
    expect(page.get_by_text(TITLE)).to_have_count(0)
    expect(head).not_to_contain_text("Drifted")
