"""More windows of one browser than it has connections: over HTTP/1.1 it opens six to a server."""

from __future__ import annotations

import re
from typing import Final

from playwright.sync_api import Page, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.support.charts import chart_archive
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

NAME: Final = "acme-ran-watched"
TOO_MANY: Final = re.compile("^Not live: this browser has too many windows")


def test_a_window_without_a_place_for_streams_reads_now_and_then_until_it_has_one(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart()))
    xapps.wait_ready(NAME)
    logs = f"/xapps/{xapps.namespace}/{NAME}/logs"
    dashboard.sign_in(accounts.with_role("view"), logs)
    windows = [dashboard.page, *(dashboard.new_page() for _ in range(3))]
    for window in windows:
        window.goto(dashboard.url + logs)
        expect(window.get_by_role("log")).to_contain_text("simulated log line 100")
        expect(window.get_by_role("banner").get_by_text(re.compile("live", re.IGNORECASE))).to_be_visible()
    # Two have both of their streams, which are the four of this browser.
    lists = windows[2:]
    for window in windows[:2]:
        expect(window.get_by_role("banner").get_by_text("Live", exact=True)).to_be_visible()
        expect(window.get_by_role("status").get_by_text(re.compile("^Live"))).to_be_visible()
    for window in lists:
        expect(window.get_by_role("banner").get_by_text(TOO_MANY)).to_be_visible()
        expect(window.get_by_role("status").get_by_text(TOO_MANY)).to_be_visible()

    for window in lists:
        window.goto(f"{dashboard.url}/xapps?namespace={xapps.namespace}")
        expect(window.get_by_role("link", name=NAME)).to_be_visible()
        expect(window.get_by_role("banner").get_by_text(TOO_MANY)).to_be_visible()
    dashboard.page, first = windows[3], windows[0]
    dashboard.check_accessibility()
    dashboard.screenshots("too-many-windows")
    xapps.apply(xapps.uploaded_manifest("acme-ran-new", chart_archive(), suspend=True))
    for window in lists:
        expect(window.get_by_role("link", name="acme-ran-new")).to_be_visible()
        expect(window.get_by_role("banner").get_by_text(TOO_MANY)).to_be_visible()

    first.close()
    for window in lists:
        expect_live(window)


def expect_live(window: Page) -> None:
    expect(window.get_by_role("banner").get_by_text("Live", exact=True)).to_be_visible()
