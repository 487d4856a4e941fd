"""Rows that stay where they are under the pointer, cards, and where the focus goes with the last row."""

from __future__ import annotations

from typing import Final

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

ABOVE: Final = "acme-ran-a"
BELOW: Final = "acme-ran-b"
CARD_PIXELS: Final = 240
IS_WHOLE: Final = "name => [...name.querySelectorAll('span')].every((part) => part.scrollWidth <= part.clientWidth)"
TOPS: Final = """card => Object.fromEntries([...card.querySelectorAll('[data-label]')].map((cell) =>
  [cell.dataset.label, cell.getBoundingClientRect().top]))"""
"""Where each field of a card stands."""


def row_of(dashboard: Dashboard, name: str) -> Locator:
    return dashboard.page.get_by_role("row").filter(has=dashboard.page.get_by_role("link", name=name, exact=True))


def height_of(row: Locator) -> float:
    height: float = row.evaluate("row => row.getBoundingClientRect().height")
    return height


@pytest.mark.parametrize("width", [1280, 768, 360])
def test_a_row_that_gets_a_reason_moves_no_row_under_the_pointer(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, width: int
) -> None:
    manifest = xapps.uploaded_manifest(ABOVE, workload_chart(), timeout="3s")
    for name in (ABOVE, BELOW):
        xapps.apply({**manifest, "metadata": {**manifest["metadata"], "name": name}})
        xapps.wait_ready(name)
    page = dashboard.page
    page.set_viewport_size({"width": width, "height": 900})
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    above = row_of(dashboard, ABOVE)
    box = page.get_by_role("checkbox", name=f"Select {BELOW}")
    expect(above).to_contain_text("Healthy")
    box.hover()
    place, height = box.bounding_box(), height_of(above)
    xapps.kubectl("patch", "xapp", ABOVE, "--type=merge", '-p={"spec":{"values":{"fail":"ImagePullBackOff"}}}')
    expect(above).to_contain_text("ImagePullBackOff")
    assert height_of(above) == pytest.approx(height, abs=0.5)
    assert box.bounding_box() == place, "the row moved under the pointer"
    dashboard.check_accessibility([width])

    # Whoever leaves the table sees the reason in all its lines.
    page.get_by_role("heading", level=1).hover()
    expect(page.locator("tr[data-held]")).to_have_count(0)
    assert height_of(above) > height


def test_a_card_has_its_name_whole_and_says_its_health_first(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    name = "acme-ran-kpi-store-two"
    xapps.apply(xapps.uploaded_manifest(name, workload_chart(), values={"fail": "ImagePullBackOff"}, timeout="3s"))
    xapps.apply(xapps.uploaded_manifest(BELOW, workload_chart()))
    xapps.wait_ready(BELOW)
    page = dashboard.page
    page.set_viewport_size({"width": 360, "height": 780})
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    card = row_of(dashboard, name)
    expect(card).to_contain_text("ImagePullBackOff")
    assert card.get_by_role("link", name=name).evaluate(IS_WHOLE), "the name is cut"
    assert height_of(row_of(dashboard, BELOW)) < CARD_PIXELS
    tops = card.evaluate(TOPS)
    assert sorted(tops, key=tops.__getitem__)[:2] == ["Name", "Health, reason"]
    dashboard.check_accessibility([360])
    dashboard.screenshots("list-cards-failed")


def test_the_focus_stays_on_the_page_when_all_rows_go(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(ABOVE, workload_chart()))
    xapps.wait_ready(ABOVE)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    page.get_by_role("checkbox", name=f"Select {ABOVE}").press("Space")
    page.get_by_role("button", name="Uninstall...").press("Enter")
    page.get_by_role("button", name=f"Uninstall {ABOVE}", exact=True).press("Enter")
    expect(page.get_by_text("No xApp found")).to_be_visible()
    expect(page.get_by_role("dialog").or_(page.get_by_role("alertdialog"))).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_be_focused()


def test_name_and_reason_of_a_row_are_copied_from_its_menu(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(ABOVE, workload_chart(), suspend=True))
    page = dashboard.page
    dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    expect(row_of(dashboard, ABOVE)).to_contain_text("suspended by spec.suspend")
    for item, text in (("Copy the name", ABOVE), ("Copy the reason", "suspended by spec.suspend")):
        page.get_by_role("button", name=f"Actions of {ABOVE}", exact=True).click()
        page.get_by_role("menuitem", name=item).click()
        expect(page.get_by_text("Copied", exact=True).first).to_be_visible()
        page.wait_for_function(
            "text => navigator.clipboard.readText().then((copied) => copied.startsWith(text))", arg=text
        )

    # Also on its page, beside the heading.
    page.get_by_role("link", name=ABOVE).click()
    button = page.get_by_role("button", name="Copy the name")
    button.focus()
    button.press("Enter")
    page.wait_for_function("text => navigator.clipboard.readText().then((copied) => copied === text)", arg=ABOVE)
