"""The gateway goes away and comes back while a page is open."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Request, Route, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.gateway import BrowserGateway, GatewayProcess, serve_gateway_process
from tests.localcluster import Cluster
from tests.support.apiserver import ApiServer
from tests.support.charts import chart_archive
from tests.support.xapps import XAppClient

OLD_MILLISECONDS: Final = 30_000
"""Data that is older says so."""
MAX_PAUSE_MILLISECONDS: Final = 31_000
"""The longest pause before a page asks again."""
NARROW_WIDTHS: Final = (360, 768)
_COUNT_BARS: Final = """
window.bars = 0
addEventListener('DOMContentLoaded', () =>
  new MutationObserver(() => { if (document.body.innerText.includes('Not connected')) window.bars += 1 })
    .observe(document.body, { childList: true, subtree: true }))
"""


def _cut(route: Route) -> None:
    route.abort()


def _end_at_once(route: Route) -> None:
    route.fulfill(status=200, content_type="text/event-stream", body=": hi\n\n")


@pytest.fixture
def gateway_process(
    built_dashboard: None, cluster: Cluster, api: ApiServer, tmp_path: Path
) -> Iterator[GatewayProcess]:
    with serve_gateway_process(cluster, api, tmp_path) as process:
        yield process


def test_a_page_outlives_a_restart_of_the_gateway(
    dashboard: Dashboard, gateway: BrowserGateway, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest("acme-ran-before", chart_archive()))
    dashboard.sign_in(accounts.with_role("edit"))
    page = dashboard.page
    row = page.get_by_role("link", name="acme-ran-before")
    row.click()
    uninstall = page.get_by_role("button", name="Uninstall...")
    expect(uninstall).to_be_visible()
    page.go_back()
    expect(row).to_be_visible()

    place = row.bounding_box()
    gateway.stop()
    bar = page.get_by_text(re.compile(r"Not connected\. As of \d\d:\d\d:\d\d\. Trying"))
    expect(bar).to_be_visible()
    assert row.bounding_box() == place, "the bar moves the page"
    expect(row).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("not-connected")
    for width in NARROW_WIDTHS:
        page.set_viewport_size({"width": width, "height": 500})
        shown = bar.bounding_box()
        title = page.get_by_role("heading", level=1).bounding_box()
        assert shown is not None
        assert title is not None
        assert shown["y"] > title["y"] + title["height"], f"the bar covers the title at {width} px"
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        end = page.get_by_role("navigation", name="Pages", exact=True).bounding_box()
        assert end is not None
        assert shown["y"] > end["y"] + end["height"], f"the bar covers the end of the list at {width} px"
        page.evaluate("scrollTo(0, 0)")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_role("button", name="Now", exact=True).click()
    row.click()
    expect(uninstall).to_have_attribute("aria-disabled", "true")
    uninstall.hover()
    expect(page.get_by_role("tooltip")).to_have_text(re.compile("^Not connected"))
    # The bar says it for the whole page: no panel repeats it.
    expect(page.get_by_text("The gateway does not answer")).to_have_count(0)
    dashboard.screenshots("not-connected-xapp")

    xapps.apply(xapps.uploaded_manifest("acme-ran-after", chart_archive()))
    gateway.start()
    expect(page.get_by_text(re.compile("Not connected"))).to_have_count(0)
    expect(uninstall).not_to_have_attribute("aria-disabled", "true")
    page.get_by_role("link", name="xApps Management").first.click()
    expect(page.get_by_role("link", name="acme-ran-after")).to_be_visible()
    expect(page.get_by_text("Live", exact=True)).to_be_visible()


def test_a_gateway_that_is_frozen_is_noticed_before_what_is_shown_is_old(
    dashboard: Dashboard, gateway_process: GatewayProcess, accounts: Accounts, xapps: XAppClient
) -> None:
    """Its connections stay open: only the silence tells."""
    xapps.apply(xapps.uploaded_manifest("acme-ran-before", chart_archive()))
    page, token = dashboard.page, accounts.with_role("edit")
    page.clock.install()
    dashboard.url = gateway_process.url
    dashboard.sign_in(token)
    row = page.get_by_role("link", name="acme-ran-before")
    expect(row).to_be_visible()
    expect(page.get_by_text("Live", exact=True)).to_be_visible()

    gateway_process.freeze()
    page.clock.fast_forward(OLD_MILLISECONDS)
    expect(page.get_by_text(re.compile(r"^Not connected\. As of \d\d:\d\d:\d\d\."))).to_be_visible()
    expect(row).to_be_visible()
    row.click()
    uninstall = page.get_by_role("button", name="Uninstall...")

    xapps.apply(xapps.uploaded_manifest("acme-ran-after", chart_archive()))
    gateway_process.thaw()
    page.clock.fast_forward(MAX_PAUSE_MILLISECONDS)
    expect(page.get_by_text(re.compile("Not connected"))).to_have_count(0)
    expect(uninstall).not_to_have_attribute("aria-disabled", "true")
    page.get_by_role("link", name="xApps Management").first.click()
    expect(page.get_by_role("link", name="acme-ran-after")).to_be_visible()
    expect(page.get_by_text("Live", exact=True)).to_be_visible()


def test_pages_without_a_stream_notice_the_gateway_and_go_on_by_themselves(
    dashboard: Dashboard, gateway: BrowserGateway, accounts: Accounts, xapps: XAppClient
) -> None:
    page = dashboard.page
    xapps.kubectl("create", "service", "clusterip", "before", "--tcp=80")
    page.clock.install()
    dashboard.sign_in(accounts.with_role("view"), f"/services?namespace={xapps.namespace}")
    expect(page.get_by_role("cell", name=re.compile("^before "))).to_be_visible()
    bar = page.get_by_text(re.compile(r"^Not connected\. As of \d\d:\d\d:\d\d\. "))
    age = page.get_by_text(re.compile(r"^as of \d\d:\d\d:\d\d$"))
    expect(age).to_have_count(0)
    gateway.stop()
    page.clock.fast_forward(OLD_MILLISECONDS)
    expect(bar).to_be_visible()
    page.clock.fast_forward(MAX_PAUSE_MILLISECONDS)
    expect(age).to_be_visible()
    dashboard.screenshots("not-connected-services")
    xapps.kubectl("create", "service", "clusterip", "after", "--tcp=80")
    gateway.start()
    page.clock.fast_forward(MAX_PAUSE_MILLISECONDS)
    expect(page.get_by_role("cell", name=re.compile("^after "))).to_be_visible()
    expect(bar).to_have_count(0)
    expect(age).to_have_count(0)

    # A page that reads nothing again asks whether the gateway is there.
    dashboard.open("/about")
    expect(page.get_by_role("table", name="Rights")).to_be_visible()
    gateway.stop()
    page.clock.fast_forward(OLD_MILLISECONDS)
    expect(bar).to_be_visible()
    gateway.start()
    page.clock.fast_forward(MAX_PAUSE_MILLISECONDS)
    expect(bar).to_have_count(0)


def test_changes_show_by_themselves(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    dashboard.sign_in(accounts.with_role("edit"))
    expect(dashboard.page.get_by_text("Live", exact=True)).to_be_visible()
    xapps.apply(xapps.uploaded_manifest("acme-ran-new", chart_archive()))
    expect(dashboard.page.get_by_role("link", name="acme-ran-new")).to_be_visible()


def test_a_page_whose_files_do_not_come_is_loaded_later(
    dashboard: Dashboard, gateway: BrowserGateway, accounts: Accounts
) -> None:
    page = dashboard.page
    page.route("**/assets/AboutPage*", lambda route: route.abort())
    dashboard.sign_in(accounts.with_role("view"))
    page.get_by_role("button", name="jane").click()
    page.get_by_role("menuitem", name="About").click()
    dashboard.heading("This page could not be loaded")
    dashboard.check_accessibility()
    dashboard.screenshots("page-not-loaded")
    page.unroute("**/assets/AboutPage*")
    page.get_by_role("button", name="Retry").click()
    dashboard.heading("About")


@pytest.mark.parametrize("fail", [_cut, _end_at_once])
def test_a_stream_that_alone_fails_comes_back_with_growing_pauses(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, fail: Callable[[Route], None]
) -> None:
    xapps.apply(xapps.uploaded_manifest("acme-ran-hello", chart_archive()))
    page, stream = dashboard.page, "**/api/stream*"
    page.add_init_script(_COUNT_BARS)
    dashboard.sign_in(accounts.with_role("edit"))
    page.route(stream, fail)
    sent: Counter[str] = Counter()

    def count(request: Request) -> None:
        sent.update([request.url.removeprefix(dashboard.url).partition("?")[0]])

    page.on("request", count)
    name, details = "acme-ran-hello", f"/api/xapps/{xapps.namespace}/acme-ran-hello"
    for path, reads in (
        (f"/xapps?namespace={xapps.namespace}", {"/api/xapps": 1, "/api/xapps/facets": 2}),
        (f"/xapps/{xapps.namespace}/{name}", {details: 2, f"{details}/config": 2, f"{details}/health": 6}),
    ):
        dashboard.open(path)
        expect(page.get_by_text("Not live", exact=True)).to_be_visible()
        page.wait_for_load_state("networkidle")
        sent.clear()
        # About 1, 2 and 4 seconds after each other, or later ones.
        for _ in range(3):
            with page.expect_request(stream):
                pass
        # A stream that opens may have missed changes: then what it tells of is read once.
        repeats = 0 if fail is _cut else 3
        assert sent["/api/session"] == sent["/api/permissions"] == 0, sent
        assert sent["/readyz"] <= 4, sent
        for read, most in reads.items():
            assert sent[read] <= most * (1 + repeats), sent
        assert page.evaluate("window.bars") == 0
        expect(page.get_by_text("Not live", exact=True)).to_be_visible()
    page.unroute(stream)
    expect(page.get_by_text("Live", exact=True)).to_be_visible()


def test_a_page_is_back_after_a_lost_request_where_a_proxy_passes_on_the_api_only(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest("acme-ran-hello", chart_archive()))
    page = dashboard.page
    page.route("**/readyz", _cut)
    page.add_init_script(_COUNT_BARS)
    dashboard.sign_in(accounts.with_role("view"))
    row = page.get_by_role("link", name="acme-ran-hello")
    expect(row).to_be_visible()
    page.route("**/api/xapps?*", _cut, times=1)
    page.reload()
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    expect(row).to_be_visible()
    expect(page.get_by_text("Not connected")).to_have_count(0)
    assert page.evaluate("window.bars") > 0


def test_a_list_that_hears_of_no_changes_says_how_old_it_is(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest("acme-ran-hello", chart_archive()))
    page, stream = dashboard.page, "**/api/stream*"
    page.clock.install()
    page.route(stream, _cut)
    dashboard.sign_in(accounts.with_role("view"))
    expect(page.get_by_role("link", name="acme-ran-hello")).to_be_visible()
    age = page.get_by_role("heading", level=1).get_by_text(re.compile(r"^as of \d\d:\d\d:\d\d$"))
    expect(age).to_have_count(0)
    page.clock.fast_forward(OLD_MILLISECONDS + 5000)
    expect(age).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("list-stale")
    page.unroute(stream)
    page.clock.fast_forward(MAX_PAUSE_MILLISECONDS)
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    page.clock.fast_forward(5000)
    expect(age).to_have_count(0)
