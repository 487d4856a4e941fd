"""With the keyboard alone: find an xApp that failed, learn why, and remove it; roll back; remove several."""

from __future__ import annotations

from typing import Final

from playwright.sync_api import expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.keyboard import tab_to
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

NAME: Final = "acme-ran-kpi"


def test_a_failed_xapp_is_found_explained_and_removed_with_the_keyboard(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    for name, values in ((NAME, {"fail": "CrashLoopBackOff"}), ("acme-ran-other", {})):
        xapps.apply(xapps.uploaded_manifest(name, workload_chart(), values=values, timeout="3s"))
    xapps.wait_ready("acme-ran-other")
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), "/services")
    dashboard.heading("Services")
    page.keyboard.press("g")
    page.keyboard.press("x")
    dashboard.heading("xApps Management")
    expect(page.get_by_role("row")).to_have_count(3)
    page.keyboard.press("/")
    page.keyboard.type("kpi")
    expect(page.get_by_role("row")).to_have_count(2)
    link = page.get_by_role("link", name=NAME)
    tab_to(page, link)
    page.keyboard.press("Enter")

    dashboard.heading(NAME)
    cause = page.get_by_role("region", name="Why it is not Ready")
    expect(cause.get_by_text("CrashLoopBackOff").first).to_be_visible()
    page.keyboard.press("l")
    expect(page.get_by_role("checkbox", name="Previous run")).to_be_checked()
    expect(page.get_by_role("log")).to_contain_text("simulated")

    page.keyboard.press("g")
    page.keyboard.press("x")
    expect(page.get_by_role("row")).to_have_count(3)
    page.keyboard.press("j")
    expect(link).to_be_focused()
    page.keyboard.press("x")
    tab_to(page, page.get_by_role("button", name="Uninstall..."))
    page.keyboard.press("Enter")
    dialog = page.get_by_role("alertdialog", name=f"Uninstall {NAME}?")
    expect(dialog.get_by_role("button", name="Keep")).to_be_focused()
    tab_to(page, dialog.get_by_role("button", name=f"Uninstall {NAME}"))
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    xapps.wait_gone("xapp", NAME)
    assert xapps.get("xapp", "acme-ran-other") is not None


def test_an_xapp_is_rolled_back_with_the_keyboard(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart()))
    xapps.wait_ready(NAME)
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart(), values={"replicas": 2}))
    xapps.wait_ready(NAME)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps/{xapps.namespace}/{NAME}")
    dashboard.heading(NAME)
    page.keyboard.press("5")
    expect(page.get_by_role("table", name="Revisions of the release")).to_be_visible()
    tab_to(page, page.get_by_role("button", name="Roll back to revision 1..."))
    page.keyboard.press("Enter")
    dialog = page.get_by_role("alertdialog")
    expect(dialog.get_by_role("button", name="Keep")).to_be_focused()
    tab_to(page, dialog.get_by_role("button", name="Roll back to revision 1"))
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    xapps.wait_until(
        lambda: xapps.status(NAME).get("heldRevision") is not None, what="the rollback to be in force", xapp=NAME
    )


def test_several_xapps_are_removed_with_the_keyboard(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    names = ("acme-ran-one", "acme-ran-three", "acme-ran-two")
    for name in names:
        xapps.apply(xapps.uploaded_manifest(name, workload_chart()))
    for name in names:
        xapps.wait_ready(name)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    expect(page.get_by_role("row")).to_have_count(4)
    for key in "jxjx":
        page.keyboard.press(key)
    expect(page.get_by_text("2 selected")).to_be_visible()
    tab_to(page, page.get_by_role("button", name="Uninstall..."))
    page.keyboard.press("Enter")
    dialog = page.get_by_role("alertdialog", name="Uninstall 2 xApps?")
    tab_to(page, dialog.get_by_role("button", name="Uninstall 2 xApps"))
    page.keyboard.press("Enter")
    for name in names[:2]:
        xapps.wait_gone("xapp", name)
    assert xapps.get("xapp", names[2]) is not None
