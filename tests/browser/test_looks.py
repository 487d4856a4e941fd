"""The layout of the pages: tables fit into the window, and nothing jumps while a page loads or a tab changes."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import save_repository
from tests.browser.loaded_pages import TABS, fit_into, wait_for
from tests.localcluster.waiting import DeadlineExceeded, wait_until
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

NAME: Final = "acme-ran-hello"
LONG_NAME: Final = "acme-ran-traffic-steering-of-the-cells-in-the-north"
SHIFT_MAX: Final = 0.1
"""The bound of a good cumulative layout shift: https://web.dev/articles/cls."""
LATENCY_MILLISECONDS: Final = 250
"""Of each request, so that the skeletons are seen."""

OBSERVE_SHIFTS: Final = """
window.layoutShifts = []
new PerformanceObserver((list) => {
  for (const { value, sources } of list.getEntries())
    window.layoutShifts.push([value, sources.map(({ node }) => node?.outerHTML?.slice(0, 120) ?? '')])
}).observe({ type: 'layout-shift', buffered: true })
"""
TAKE_SHIFTS: Final = "window.layoutShifts.splice(0)"
TOO_WIDE: Final = """[...document.querySelectorAll('table')].map((table) => table.parentElement)
    .concat([...document.querySelectorAll('th, td')])
    .filter((box) => box.scrollWidth > box.clientWidth)
    .map((box) => `${box.scrollWidth} in ${box.clientWidth}: ${box.textContent.slice(0, 80)}`)"""
"""The tables, and cells of them, that are narrower than what they show."""
GROUND: Final = "element => getComputedStyle(element).backgroundColor"
TABLE_MAX: Final = 1920
"""A row of a wider table is hard to follow with the eye."""
RAGGED: Final = """(main) => {
  const page = main.querySelector('h1').closest('header').parentElement
  const left = page.querySelector('h1').closest('header').getBoundingClientRect().left
  return [...page.children].filter((child) => child.getBoundingClientRect().width > 1)
    .map((child) => child.getBoundingClientRect().left - left).filter((indent) => indent !== 0)
}"""
"""The parts of a page that do not begin at its left edge."""

HELD: Final = re.compile(r"/api/(xapps/[^/]+/[^/]+|xapps|repositories|discovery/services)(\?|/health|/config|$)")
"""What a page shows in its main part."""

PAGES: Final = {
    "/xapps": "heading:xApps Management",
    "/deploy": "textbox:Your values, YAML",
    "/repositories": "heading:Repositories",
    "/services": "table:Services",
    "/about": "table:Rights",
}
"""What each page shows once it is read: a role and a name."""


@pytest.fixture
def hello(xapps: XAppClient) -> XAppClient:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart()))
    xapps.wait_ready(NAME)
    return xapps


def width_of(part: Locator) -> float:
    box = part.bounding_box()
    assert box is not None
    return box["width"]


def shifts_of(page: Page) -> tuple[float, list[Any]]:
    """Return how much the layout shifted since the last call, and which elements moved."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    entries: list[Any] = page.evaluate(TAKE_SHIFTS)
    return sum(value for value, _ in entries), entries


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_jumps_while_a_page_loads_or_a_tab_changes(
    dashboard: Dashboard, accounts: Accounts, hello: XAppClient, width: int
) -> None:
    page = dashboard.page
    page.set_viewport_size({"width": width, "height": 800})
    base = f"/xapps/{hello.namespace}/{NAME}"
    dashboard.sign_in(accounts.with_role("admin"))
    page.add_init_script(OBSERVE_SHIFTS)
    network = dashboard.context.new_cdp_session(page)
    network.send("Network.enable")
    conditions = {"latency": LATENCY_MILLISECONDS, "downloadThroughput": -1, "uploadThroughput": -1}
    network.send("Network.emulateNetworkConditions", {"offline": False, **conditions})
    found = {}
    for path, content in [*PAGES.items(), (f"{base}/upgrade", "button:Preview"), (base, TABS[""])]:
        dashboard.open(path)
        wait_for(page, content)
        found[path] = shifts_of(page)
    tabs = page.get_by_role("navigation", name="Pages of this xApp")
    for path, content in TABS.items():
        tabs.locator(f"a[href='{base}{path}']").click()
        wait_for(page, content)
        found[f"tab {path}"] = shifts_of(page)
    jumps = {path: entries for path, (total, entries) in found.items() if total >= SHIFT_MAX}
    assert jumps == {}


def test_no_table_scrolls_sideways(dashboard: Dashboard, accounts: Accounts, hello: XAppClient) -> None:
    manifest = hello.uploaded_manifest(LONG_NAME, workload_chart(), values={"fail": "ImagePullBackOff"}, timeout="3s")
    hello.apply(manifest)
    hello.wait_until(lambda: hello.current_condition(LONG_NAME, "Ready") is not None, what="its state", xapp=LONG_NAME)
    save_repository(hello, "http://127.0.0.1:9/charts")
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("admin"))
    rows = {
        f"/xapps?namespace={hello.namespace}": page.get_by_title(LONG_NAME),
        f"/services?namespace={hello.namespace}": page.get_by_role("row", name=re.compile(NAME)),
        f"/repositories?namespace={hello.namespace}": page.get_by_role("button", name="Remove acme..."),
        f"/xapps/{hello.namespace}/{NAME}/history": page.get_by_role("button", name="Roll back to revision 1..."),
        f"/xapps/{hello.namespace}/{LONG_NAME}/events": page.get_by_role("table"),
    }
    for path, row in rows.items():
        dashboard.open(path)
        expect(row.first).to_be_visible()
        for width in (720, 768, 1024, 1280, 1920):
            page.set_viewport_size({"width": width, "height": 800})
            try:
                wait_until(lambda: page.evaluate(TOO_WIDE) == [], timeout=5, what=f"{path} to fit into {width} px")
            except DeadlineExceeded as exceeded:
                exceeded.add_note(str(page.evaluate(TOO_WIDE)))
                raise


def test_no_page_of_an_xapp_scrolls_sideways(dashboard: Dashboard, accounts: Accounts, hello: XAppClient) -> None:
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("admin"))
    for path, content in {**TABS, "/upgrade": "button:Preview", "/values?view=form": "textbox:greeting"}.items():
        dashboard.open(f"/xapps/{hello.namespace}/{NAME}{path}")
        wait_for(page, content)
        for width in (320, 719, 720, 1279):
            fit_into(page, width, what=path or "the page")


def test_a_very_wide_window_keeps_tabs_in_place_and_tables_readable(
    dashboard: Dashboard, accounts: Accounts, hello: XAppClient
) -> None:
    page = dashboard.page
    page.set_viewport_size({"width": 3840, "height": 2160})
    base = f"/xapps/{hello.namespace}/{NAME}"
    dashboard.sign_in(accounts.with_role("admin"), base)
    tabs = page.get_by_role("navigation", name="Pages of this xApp")
    still = (page.get_by_role("heading", level=1), page.get_by_role("button", name="Uninstall..."), tabs)
    places = {}
    for path, content in TABS.items():
        tabs.locator(f"a[href='{base}{path}']").click()
        wait_for(page, content)
        places[path] = [each.bounding_box() for each in still]
        widths = page.locator("table").evaluate_all("tables => tables.map((table) => table.offsetWidth)")
        assert all(width <= TABLE_MAX for width in widths), f"{path}: {widths}"
        assert page.locator("main").evaluate(RAGGED) == [], path
    assert all(place == places[""] for place in places.values()), places

    # Texts may be as wide as the window, forms and places to drop a file on may not.
    dashboard.open(f"{base}/upgrade")
    for part in (page.get_by_role("group", name="Chart file"), page.get_by_role("textbox", name="Version")):
        expect(part).to_be_visible()
        assert width_of(part) <= TABLE_MAX
    assert width_of(page.get_by_role("textbox", name="Your values, YAML")) > TABLE_MAX
    dashboard.open(f"{base}/values?view=form")
    expect(page.get_by_role("textbox", name="greeting")).to_be_visible()
    assert width_of(page.get_by_role("group", name="extra")) <= TABLE_MAX
    dashboard.screenshots("form")


def test_what_is_chosen_is_marked_in_forced_colours(
    dashboard: Dashboard, accounts: Accounts, hello: XAppClient
) -> None:
    page = dashboard.page
    base = f"/xapps/{hello.namespace}/{NAME}"
    dashboard.sign_in(accounts.with_role("admin"), f"{base}/history?revision=1")
    page.emulate_media(forced_colors="active")
    row = page.get_by_role("table", name="Revisions of the release").locator("tr[data-current]")
    expect(row).to_be_visible()
    assert row.evaluate("row => getComputedStyle(row).outline").endswith("solid 2px")
    dashboard.screenshots("forced-colours-history")

    dashboard.open(f"{base}/manifest")
    chosen = page.locator("[aria-current=true]")
    expect(chosen).to_have_count(1)
    edges = chosen.locator("xpath=..").evaluate(
        "list => [...list.children].map((each) => getComputedStyle(each).borderLeftColor)"
    )
    assert len(edges) > 1
    ground = page.locator(".cm-editor").evaluate(GROUND)
    assert [edge != ground for edge in edges] == [True, *[False] * (len(edges) - 1)], "only the chosen one has an edge"
    dashboard.screenshots("forced-colours-manifest")

    dashboard.open(f"{base}/values")
    editor = page.get_by_role("textbox", name="Your values, YAML")
    editor.click()
    page.keyboard.insert_text("greeting: hello")
    page.keyboard.press("ControlOrMeta+a")
    selected = page.locator(".cm-selectionBackground").first
    expect(selected).to_be_visible()
    assert selected.evaluate(GROUND) != page.locator(".cm-editor").first.evaluate(GROUND)
    assert editor.evaluate("text => getComputedStyle(text).forcedColorAdjust") == "none", "no plate hides the selection"
    dashboard.screenshots("forced-colours-selection")
    page.get_by_role("button", name="Discard").click()

    dashboard.open("/xapps?health=Healthy")
    chips = page.get_by_role("group", name="Health").get_by_role("button")
    expect(chips.first).to_be_visible()
    grounds = chips.evaluate_all("all => all.map((each) => getComputedStyle(each).backgroundColor)")
    assert sorted(map(grounds.count, set(grounds))) == [1, len(grounds) - 1], "the one that is on"
    dashboard.screenshots("forced-colours-chips")


def test_a_page_that_loads_shows_its_layout(dashboard: Dashboard, accounts: Accounts, hello: XAppClient) -> None:
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("admin"))
    base = f"/xapps/{hello.namespace}/{NAME}"
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    for path in ("/xapps", "/repositories", "/services", base):
        page.route(HELD, hold)
        dashboard.open(path)
        expect(page.get_by_label("Loading").first).to_be_visible()
        dashboard.screenshots(f"loading-{'one' if path == base else path[1:]}")
        tabs = page.get_by_role("navigation", name="Pages of this xApp").bounding_box() if path == base else None
        while held:
            held.pop().continue_()
        page.unroute(HELD)
        wait_for(page, TABS[""] if path == base else PAGES[path])
        if path == base:
            assert tabs is not None  # from the beginning, and in their place
            assert page.get_by_role("navigation", name="Pages of this xApp").bounding_box() == tabs
