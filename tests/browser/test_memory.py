"""What pages keep in memory after they are left."""

from __future__ import annotations

from typing import Final

from playwright.sync_api import CDPSession, Page, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

NAME: Final = "acme-ran-hello"
ROUNDS: Final = 8


def test_a_page_that_is_left_leaves_no_listener_and_no_element(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart()))
    xapps.wait_ready(NAME)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("view"), f"/services?namespace={xapps.namespace}")
    main = page.get_by_role("navigation", name="Main")
    tabs = page.get_by_role("navigation", name="Pages of this xApp")
    devtools = dashboard.context.new_cdp_session(page)

    def visit(rounds: int) -> tuple[int, int]:
        for _ in range(rounds):
            main.get_by_role("link", name="xApps Management").click()
            page.get_by_role("link", name=NAME, exact=True).click()
            expect(page.get_by_role("heading", name="Health")).to_be_visible()
            tabs.get_by_role("link", name="History").click()
            expect(page.get_by_role("table", name="Revisions of the release")).to_be_visible()
            main.get_by_role("link", name="Repositories").click()
            dashboard.heading("Repositories")
            main.get_by_role("link", name="Services").click()
            expect(page.get_by_role("table", name="Services")).to_be_visible()
        return left_by(devtools, page)

    nodes, listeners = visit(3)
    nodes_now, listeners_now = visit(ROUNDS)
    assert nodes_now - nodes < ROUNDS
    assert listeners_now - listeners < ROUNDS


def left_by(devtools: CDPSession, page: Page) -> tuple[int, int]:
    """Collect the garbage, and return how many DOM nodes and event listeners are left.

    The links that load the code of other pages are not counted. There is one for each file, and they come when the
    browser is idle, which can be between two counts.
    """
    for _ in range(3):  # what one collection frees can hold more of the DOM
        devtools.send("HeapProfiler.collectGarbage")
    counters = devtools.send("Memory.getDOMCounters")
    return counters["nodes"] - page.locator("link[rel=modulepreload]").count(), counters["jsEventListeners"]
