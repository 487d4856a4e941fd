"""What the list says about itself: the right that is missing, and whole names."""

from __future__ import annotations

import re
from typing import Final

from playwright.sync_api import Page, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.keyboard import tab_to
from tests.support.charts import chart_archive
from tests.support.xapps import XAppClient

LONG_NAME: Final = "acme-ran-a-name-that-is-cut-in-its-middle"
OWNER: Final = "the-operations-centre-of-the-north@acme.example"
IS_WHOLE: Final = """(one) => {
  one.scrollIntoView({ block: 'nearest' })
  const range = document.createRange()
  range.selectNodeContents(one)
  const text = range.getBoundingClientRect(), box = one.getBoundingClientRect()
  const end = [...range.getClientRects()].at(-1)
  const isCut = text.right > box.right + 1 || text.bottom > box.bottom + 1
  return !isCut && one.contains(document.elementFromPoint(end.right - 3, (end.top + end.bottom) / 2))
}"""
READABLE: Final = """(one) => {
  const [head, tail] = one.children
  const text = document.createTreeWalker(head, NodeFilter.SHOW_TEXT).nextNode()
  const end = head.getBoundingClientRect().right
  const isSeen = (at) => {
    const range = document.createRange()
    range.setStart(text, at)
    range.setEnd(text, at + 1)
    return range.getBoundingClientRect().right <= end
  }
  return [...text.data].filter((_, at) => isSeen(at)).length + tail.dataset.text.length
}"""
"""How many characters of a name that is cut in its middle have room."""
READABLE_MIN: Final = 15
COPIED: Final = "one => { getSelection().selectAllChildren(one); return getSelection().toString() }"


def links_of_browser(page: Page, name: str) -> int:
    """Return how many links have this name in what the browser tells a screen reader."""
    session = page.context.new_cdp_session(page)
    document = session.send("DOM.getDocument")["root"]
    query = {"nodeId": document["nodeId"], "accessibleName": name, "role": "link"}
    return len(session.send("Accessibility.queryAXTree", query)["nodes"])


def test_who_may_list_no_xapps_is_told_which_right_is_missing(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest("acme-ran-unseen", chart_archive()))
    page = dashboard.page
    dashboard.sign_in(accounts.without_rights())
    expect(page.get_by_text("No xApps that you may see")).to_be_visible()
    expect(page.get_by_text("Needs: list xapps in their namespace, or in all namespaces.")).to_be_visible()
    expect(page.get_by_role("button", name="Copy the missing right")).to_be_visible()
    expect(page.get_by_text("No xApps yet")).to_have_count(0)
    dashboard.check_accessibility()
    dashboard.screenshots("no-right-to-list")

    dashboard.open(f"/xapps?namespace={xapps.namespace}")
    refusal = page.get_by_role("alert")
    expect(refusal).to_contain_text("Needs: list xapps")
    expect(refusal).to_contain_text(xapps.namespace)
    dashboard.screenshots("list-refused")
    expect(page.get_by_text("No xApp found")).to_have_count(0)


def test_who_may_deploy_nowhere_is_told_which_right_is_missing(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest("acme-ran-seen", chart_archive()))
    dashboard.sign_in(accounts.with_role("view"))
    button = dashboard.page.get_by_role("button", name="Deploy xApp")
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_have_accessible_description(re.compile("^Needs: .*create.* xapps"))


def test_who_may_deploy_in_one_namespace_is_led_to_the_form(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    page = dashboard.page
    with page.expect_response(lambda response: "/api/namespaces?" in response.url):
        dashboard.sign_in(accounts.with_role("edit"))
    page.get_by_role("link", name="Deploy xApp").click()
    dashboard.heading("Deploy an xApp")


def test_a_long_owner_is_whole_for_mouse_and_keyboard_and_among_the_facts(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    manifest = xapps.uploaded_manifest("acme-ran-owned", chart_archive())
    xapps.apply({**manifest, "spec": {**manifest["spec"], "owner": OWNER}})
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("view"), f"/xapps?namespace={xapps.namespace}")
    row = page.get_by_role("row", name=re.compile("acme-ran-owned"))
    for width in (1280, 800):
        page.set_viewport_size({"width": width, "height": 720})
        page.mouse.move(0, 0)
        page.get_by_role("heading", level=1).focus()
        owner = row.get_by_text(re.compile(OWNER)).locator("visible=true")
        assert not owner.evaluate(IS_WHOLE), "it needs no more room than there is"
        before = row.bounding_box()
        tab_to(page, row.get_by_role("link"))
        assert owner.evaluate(IS_WHOLE), f"{width} pixels wide"
        assert row.bounding_box() == before
        page.get_by_role("heading", level=1).focus()
        assert not owner.evaluate(IS_WHOLE)
        owner.hover()
        assert owner.evaluate(IS_WHOLE), f"{width} pixels wide"
    page.set_viewport_size({"width": 360, "height": 720})
    assert row.get_by_text(OWNER).locator("visible=true").evaluate(IS_WHOLE)
    dashboard.open(f"/xapps/{xapps.namespace}/acme-ran-owned")
    fact = page.get_by_role("region", name="Facts").get_by_text(OWNER)
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 720})
        expect(fact).to_be_visible()
        assert fact.evaluate(IS_WHOLE), f"{width} pixels wide"


def test_a_long_name_is_whole_when_it_is_read_out_and_copied(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(LONG_NAME, chart_archive()))
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("view"))
    link = page.get_by_role("link", name=LONG_NAME, exact=True)
    expect(link).to_have_text(LONG_NAME)
    assert links_of_browser(page, LONG_NAME) == 1
    assert link.evaluate(COPIED) == LONG_NAME
    dashboard.screenshots("long-name")


def test_a_namespace_is_cut_in_its_middle_and_readable_at_each_width(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(LONG_NAME, chart_archive()))
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("view"))
    cell = page.get_by_role("cell", name=xapps.namespace, exact=True).get_by_title(xapps.namespace)
    for width in (1280, 1440, 1920):
        page.set_viewport_size({"width": width, "height": 720})
        expect(cell).to_be_visible()
        assert cell.evaluate(READABLE) >= READABLE_MIN, f"{width} pixels wide"
