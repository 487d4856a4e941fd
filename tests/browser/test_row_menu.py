"""The menu at the end of each row of the list: what can be done with one xApp without opening its page."""

from __future__ import annotations

import json
import re
from typing import Final

from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.support.charts import chart_archive
from tests.support.xapps import XAppClient

NAME: Final = "acme-ran-hello"
EXTERNAL: Final = "by-hand"
HOLD: Final = "example.com/hold"
NARROW: Final = 360
WAITS_FOR_ADOPTION: Final = "It is known by its labels only: adopt it, and then it can be changed here"


def open_menu(page: Page, name: str = NAME) -> Locator:
    page.get_by_role("button", name=f"Actions of {name}", exact=True).click()
    menu = page.get_by_role("menu", name=f"Actions of {name}")
    expect(menu).to_be_visible()
    return menu


def finalizers(xapps: XAppClient) -> list[str]:
    found: list[str] = (xapps.get("xapp", NAME) or {})["metadata"]["finalizers"]
    return found


def make_external(xapps: XAppClient) -> None:
    xapps.kubectl("create", "deployment", EXTERNAL, "--image=example.com/none", "--replicas=0")
    xapps.kubectl("label", "deployment", EXTERNAL, "drax/role=xapp", f"drax/xapp-name={EXTERNAL}")


def test_the_menu_of_a_row_opens_the_pages_of_its_xapp(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, chart_archive()))
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    for item, path in (("Open", ""), ("Logs", "/logs"), ("Edit values", "/values"), ("Upgrade", "/upgrade")):
        open_menu(page).get_by_role("menuitem", name=item).click()
        dashboard.heading(re.compile(f"^{NAME}"))
        expect(page).to_have_url(f"{dashboard.url}/xapps/{xapps.namespace}/{NAME}{path}")
        page.go_back()


def test_the_menu_of_a_row_works_by_keyboard_and_uninstalls(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest("acme-ran-kept", chart_archive()))
    xapps.apply(xapps.uploaded_manifest(NAME, chart_archive()))
    xapps.wait_ready(NAME)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    page.get_by_role("checkbox", name="Select acme-ran-kept").press("Space")
    button = page.get_by_role("button", name=f"Actions of {NAME}", exact=True)
    button.focus()
    page.keyboard.press("Enter")
    menu = page.get_by_role("menu", name=f"Actions of {NAME}")
    expect(menu.get_by_role("menuitem", name="Open")).to_be_focused()
    expect(page.locator("[aria-haspopup=menu][aria-expanded=true]")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    expect(button).to_be_focused()
    expect(page.locator("tbody [aria-expanded]")).to_have_count(0)

    page.keyboard.press("Space")
    expect(menu.get_by_role("menuitem", name="Open")).to_be_focused()
    page.keyboard.type("un")
    expect(menu.get_by_role("menuitem", name="Uninstall...")).to_be_focused()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("alertdialog", name=f"Uninstall {NAME}?")
    expect(dialog.get_by_role("button", name="Keep")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()

    open_menu(page).get_by_role("menuitem", name="Uninstall...").click()
    dialog.get_by_role("button", name=f"Uninstall {NAME}").click()
    xapps.wait_gone("xapp", NAME)
    expect(page.get_by_role("link", name=NAME)).to_have_count(0)
    # What was selected stays so, and the focus near by.
    expect(page.get_by_text("1 selected")).to_be_visible()
    expect(page.locator("[role=status]:focus")).to_have_count(1)


def test_an_uninstall_that_fails_selects_its_row(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, chart_archive()))
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")

    def refuse(route: Route) -> None:
        route.fulfill(status=409, content_type="application/problem+json", body='{"title":"No","detail":"Not now"}')

    page.route("**/api/deployment/xapp", refuse)
    open_menu(page).get_by_role("menuitem", name="Uninstall...").click()
    dialog = page.get_by_role("alertdialog", name=f"Uninstall {NAME}?")
    dialog.get_by_role("button", name=f"Uninstall {NAME}").click()
    expect(dialog).to_contain_text("Not now")
    dialog.get_by_role("button", name="Keep").click()
    expect(page.get_by_text("1 selected")).to_be_visible()


def test_rows_wait_while_their_menu_is_open(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, chart_archive()))
    xapps.wait_ready(NAME)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    menu = open_menu(page)
    xapps.apply(xapps.uploaded_manifest("acme-ran-first", chart_archive()))
    expect(page.get_by_text("1 new.")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(1)
    # Its own news change its items.
    upgrade = menu.get_by_role("menuitem", name="Upgrade")
    expect(upgrade).not_to_have_attribute("aria-disabled", "true")
    held = [{"op": "add", "path": "/metadata/finalizers/-", "value": HOLD}]
    xapps.kubectl("patch", "xapp", NAME, "--type=json", "-p", json.dumps(held))
    xapps.kubectl("delete", "xapp", NAME, "--wait=false")
    expect(page.get_by_role("row", name=NAME, include_hidden=True)).to_contain_text("Uninstalling")
    expect(upgrade).to_contain_text("It is being uninstalled")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(2)
    xapps.wait_until(lambda: finalizers(xapps) == [HOLD], what="the uninstall")
    xapps.kubectl("patch", "xapp", NAME, "--type=merge", '-p={"metadata": {"finalizers": null}}')


def test_what_is_off_in_the_menu_of_a_row_says_why(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, chart_archive()))
    make_external(xapps)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("view"), f"/xapps?namespace={xapps.namespace}")
    menu = open_menu(page)
    for item, right in (("Edit values", "xapps"), ("Upgrade", "xapps"), ("Uninstall...", "delete xapps")):
        off = menu.get_by_role("menuitem", name=item)
        expect(off).to_have_attribute("aria-disabled", "true")
        expect(off).to_contain_text(re.compile(f"Needs: .*{right}"))
    expect(menu.get_by_role("menuitem", name="Adopt...")).to_have_count(0)
    dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])
    menu.get_by_role("menuitem", name="Upgrade").press("Enter")
    expect(page.get_by_text("Copied the reason")).to_be_visible()
    assert "Needs: " in page.evaluate("navigator.clipboard.readText()")
    expect(page).to_have_url(f"{dashboard.url}/xapps?namespace={xapps.namespace}")
    menu = open_menu(page, EXTERNAL)
    expect(menu.get_by_role("menuitem", name="Adopt...")).to_contain_text("Needs: ")
    expect(menu.get_by_role("menuitem", name="Upgrade")).to_contain_text(WAITS_FOR_ADOPTION)


def test_the_menu_of_an_external_xapp_leads_to_its_adoption_and_copies_commands(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, chart_archive()))
    make_external(xapps)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    menu = open_menu(page, EXTERNAL)
    expect(menu.get_by_role("menuitem", name="Uninstall...")).to_contain_text(WAITS_FOR_ADOPTION)
    dashboard.check_accessibility()
    dashboard.screenshots("row-menu")
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": NARROW, "height": 780})
    menu = open_menu(page)
    expect(menu).to_be_in_viewport(ratio=1)
    dashboard.screenshots("row-menu-of-a-card")
    menu.get_by_role("menuitem", name="Copy as...").click()
    dialog = page.get_by_role("dialog", name="Copy as")
    expect(dialog).to_contain_text(f"/api/xapps/{xapps.namespace}/{NAME}")
    expect(dialog).to_contain_text(f"kubectl get xapp {NAME}")
    dialog.get_by_role("button", name="Action").click()
    page.get_by_role("option", name="Uninstall").click()
    expect(dialog).to_contain_text(f"kubectl delete xapp {NAME}")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name=f"Actions of {NAME}", exact=True)).to_be_focused()
    open_menu(page, EXTERNAL).get_by_role("menuitem", name="Adopt...").click()
    expect(page).to_have_url(re.compile(rf"/deploy\?namespace={xapps.namespace}&releaseName={EXTERNAL}&adopt=true$"))
