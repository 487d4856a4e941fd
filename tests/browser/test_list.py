"""The list of xApps: filters, cards, and changes while it is watched."""

from __future__ import annotations

import re
import time

from playwright.sync_api import expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.support.charts import chart_archive
from tests.support.xapps import XAppClient

LONG = "acme-ran-kept" + "-kept" * 8
"""As long as the name of a Helm release may be."""
HOSTILE = "jane <img src=x onerror=alert(1)>"
"""The API server refuses control characters and marks of text direction in this field, but not HTML."""
ROOM_ABOVE_PIXELS = 24
_ROOM_ABOVE = """
table => {
  let box = table
  while (box.previousElementSibling === null) box = box.parentElement
  return table.getBoundingClientRect().top - box.previousElementSibling.getBoundingClientRect().bottom
}
"""
_HIDDEN_FOCUS = """
(() => {
  const focused = document.activeElement
  for (let box = focused; box !== null; box = box.parentElement)
    if (getComputedStyle(box).clipPath !== 'none') return focused.outerHTML
  return null
})()
"""
"""The element with the focus if it is clipped: then only screen readers meet it."""


def test_the_list_is_filtered_by_its_values_and_back_restores_it(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    for name in ("acme-ran-one", "acme-ran-two"):
        xapps.apply(xapps.uploaded_manifest(name, chart_archive()))
    xapps.wait_ready("acme-ran-one")
    xapps.wait_ready("acme-ran-two")
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    dashboard.heading("xApps Management")
    expect(page.get_by_role("link", name=re.compile("^acme-ran-"))).to_have_count(2)
    expect(page.get_by_role("button", name=re.compile("^Healthy 2"))).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("list")

    page.get_by_role("button", name=re.compile("^Degraded 0")).click()
    expect(page.get_by_text("No xApp found")).to_be_visible()
    dashboard.screenshots("list-none-found")
    assert "health=Degraded" in page.url
    page.get_by_role("button", name="Clear filters").last.click()
    expect(page).to_have_url(f"{dashboard.url}/xapps")
    page.go_back()
    expect(page.get_by_text("No xApp found")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("link", name=re.compile("^acme-ran-"))).to_have_count(2)

    page.get_by_role("button", name="Phase").first.click()
    page.get_by_role("option", name=re.compile("Deployed")).click()
    page.keyboard.press("Escape")
    expect(page.get_by_text("Phase: Deployed")).to_be_visible()
    page.get_by_role("button", name="Remove the filter Phase: Deployed").click()
    expect(page.get_by_text("Phase: Deployed")).to_have_count(0)
    assert "phase=" not in page.url
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Search xApps")).to_be_focused()
    page.keyboard.type("two")
    expect(page.get_by_role("link", name="acme-ran-two")).to_be_visible()
    expect(page.get_by_role("link", name="acme-ran-one")).to_have_count(0)
    page.get_by_role("searchbox", name="Search xApps").blur()
    page.keyboard.press("/")  # for another search
    page.keyboard.type("one")
    expect(page.get_by_role("link", name="acme-ran-one")).to_be_visible()

    # With Shift a click selects a range, and the arrows change its end.
    page.get_by_role("searchbox", name="Search xApps").fill("")
    page.get_by_role("checkbox", name="Select acme-ran-one").click()
    page.get_by_role("checkbox", name="Select acme-ran-two").click(modifiers=["Shift"])
    expect(page.get_by_text("2 selected")).to_be_visible()
    dashboard.check_accessibility()
    page.keyboard.press("Shift+ArrowUp")
    expect(page.get_by_role("checkbox", name="Select acme-ran-one")).to_be_focused()
    expect(page.get_by_text("1 selected")).to_be_visible()
    assert page.evaluate("getSelection().toString()") == ""
    page.get_by_role("searchbox", name="Search xApps").fill("two")
    expect(page.get_by_text("1 selected, 1 not on this page")).to_be_visible()
    page.get_by_role("searchbox", name="Search xApps").fill("")
    expect(page.get_by_text("not on this page")).to_have_count(0)

    # When the last row of the last page is gone, the page before follows; a page that never was leads to the first one.
    dashboard.open(f"/xapps?namespace={xapps.namespace}&page=2&per_page=1")
    page.get_by_role("checkbox", name="Select acme-ran-two").press("Space")
    xapps.kubectl("delete", "xapp", "acme-ran-two")
    expect(page.get_by_text("1 gone.")).to_be_visible()
    expect(page.get_by_text("1 selected")).to_have_count(0)
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_text("There is no page 2. This is page 1.")).to_be_visible()
    expect(page.get_by_role("row")).to_have_count(2)
    dashboard.open(f"/xapps/{xapps.namespace}/acme-ran-one/events?page=900")
    expect(page.get_by_text("There is no page 900. This is page 1.")).to_be_visible()


def test_the_number_of_rows_is_in_the_address(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("acme-ran-00", chart_archive(), suspend=True)
    for number in range(11):
        xapps.apply({**manifest, "metadata": {**manifest["metadata"], "name": f"acme-ran-{number:02}"}})
    page = dashboard.page
    whole = f"/xapps?namespace={xapps.namespace}"
    dashboard.sign_in(accounts.with_role("view"), whole)
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(11)
    page.get_by_role("button", name="Rows on a page").click()
    page.get_by_role("option", name="10", exact=True).click()
    expect(page).to_have_url(f"{dashboard.url}{whole}&per_page=10")
    expect(rows).to_have_count(10)
    page.go_back()
    expect(page).to_have_url(f"{dashboard.url}{whole}")
    expect(rows).to_have_count(11)
    page.go_forward()
    expect(rows).to_have_count(10)
    for bad in ("0", "101", "many"):
        dashboard.open(f"{whole}&per_page={bad}")
        expect(page.get_by_text("Not used, because")).to_contain_text("per_page")
        expect(rows).to_have_count(11)
        expect(page).to_have_url(f"{dashboard.url}{whole}")


def test_cards_are_sorted_and_selected_and_the_keyboard_meets_nothing_that_is_not_visible(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest("acme-ran-one", chart_archive(), suspend=True))
    applied = int(time.time())
    xapps.wait_until(lambda: time.time() >= applied + 1, what="the next second, which is the unit of ages")
    xapps.apply(xapps.uploaded_manifest("acme-ran-two", chart_archive(), suspend=True))
    page = dashboard.page
    page.set_viewport_size({"width": 360, "height": 780})
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    names = page.get_by_role("link", name=re.compile("^acme-ran-"))
    expect(names).to_have_text(["acme-ran-one", "acme-ran-two"])
    page.get_by_role("button", name="Sort descending").click()
    expect(names).to_have_text(["acme-ran-two", "acme-ran-one"])
    page.get_by_role("button", name="Sort by").click()
    page.get_by_role("option", name="Age").click()
    expect(page).to_have_url(f"{dashboard.url}/xapps?namespace={xapps.namespace}&sort=created")
    expect(names).to_have_text(["acme-ran-one", "acme-ran-two"])
    page.get_by_text("Select all", exact=True).click()
    expect(page.get_by_text("2 selected")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("list-cards")

    page.get_by_role("button", name="Filters, 1 set").click()
    sheet = page.get_by_role("dialog", name="Filters")
    dashboard.check_accessibility([360])
    sheet.get_by_role("button", name="Phase").click()
    expect(page.get_by_role("option", name="Suspended")).to_be_visible()
    dashboard.check_accessibility([360])
    page.keyboard.press("Escape")
    sheet.get_by_role("button", name="Done").click()

    page.evaluate("scrollTo(0, 0)")
    page.get_by_role("link", name="Skip to the content").focus()
    met = []
    while page.evaluate("document.activeElement !== document.body"):
        met.append(page.evaluate(_HIDDEN_FOCUS))
        assert len(met) < 100
        page.keyboard.press("Tab")
    assert len(met) > 10
    assert [hidden for hidden in met if hidden is not None] == []


def test_a_change_shows_in_its_row_and_new_rows_wait(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest("acme-ran-seen", chart_archive()))
    xapps.wait_ready("acme-ran-seen")
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    row = page.get_by_role("row", name=re.compile("acme-ran-seen"))
    expect(row).to_contain_text("Deployed")
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="acme-ran-seen")).to_be_focused()
    page.keyboard.press("x")
    expect(page.get_by_text("1 selected")).to_be_visible()

    before = row.bounding_box()
    gap = page.get_by_role("table").evaluate(_ROOM_ABOVE)
    assert gap <= ROOM_ABOVE_PIXELS, "the page keeps room free for what is not there"
    xapps.kubectl("patch", "xapp", "acme-ran-seen", "--type=merge", '-p={"spec":{"suspend":true}}')
    expect(row).to_contain_text("Suspended")
    xapps.apply(xapps.uploaded_manifest("acme-ran-new", chart_archive()))
    expect(page.get_by_text("1 new.")).to_be_visible()
    dashboard.screenshots("list-changed")
    expect(page.get_by_role("link", name="acme-ran-new")).to_have_count(0)
    after = row.bounding_box()
    assert before is not None
    assert after is not None
    assert (after["x"], after["y"]) == (before["x"], before["y"]), "the row moved"
    page.get_by_role("button", name="Show", exact=True).press("Enter")
    expect(page.get_by_role("link", name="acme-ran-new")).to_be_visible()
    expect(page.locator("[role=status]:focus")).to_have_count(1)

    # What does not move a row, or is on another page, does not wait.
    xapps.apply(xapps.uploaded_manifest("acme-ran-z", chart_archive()))
    expect(page.get_by_role("link", name="acme-ran-z")).to_be_visible()
    expect(page.get_by_text("1 selected")).to_be_visible()
    expect(page.get_by_role("button", name="Show", exact=True)).to_have_count(0)

    # The rows are sorted by name: the first one is new.
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    dashboard.heading(re.compile("^acme-ran-new"))


def test_who_may_only_read_is_told_which_right_is_missing(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    manifest = xapps.uploaded_manifest(LONG, chart_archive())
    xapps.apply({**manifest, "spec": {**manifest["spec"], "owner": HOSTILE}})
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("view"), f"/xapps?namespace={xapps.namespace}")
    page.get_by_role("checkbox", name=f"Select {LONG}").press("Space")
    row = page.get_by_role("row", name=re.compile(LONG))
    expect(row).to_contain_text(HOSTILE)
    uninstall = page.get_by_role("button", name="Uninstall...")
    expect(uninstall).to_have_attribute("aria-disabled", "true")
    uninstall.focus()
    expect(page.get_by_text(re.compile("Needs: .*delete.* xapps"))).to_be_visible()
    for width in (1280, 800):
        page.set_viewport_size({"width": width, "height": 720})
        hidden = page.get_by_role("table").evaluate("table => table.parentElement.scrollWidth - table.clientWidth")
        assert hidden <= 0, f"long texts push columns out of the table, {width} pixels wide"
        link = row.get_by_role("link").bounding_box()
        following = row.get_by_role("cell").nth(2).bounding_box()
        assert link is not None
        assert following is not None
        assert link["x"] + link["width"] <= following["x"], "the name covers the next column"
