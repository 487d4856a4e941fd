"""The palette, the keys that work on every page, and the page that turns them off."""

from __future__ import annotations

import re

from playwright.sync_api import Route, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.support.charts import chart_archive
from tests.support.xapps import XAppClient


def test_pages_actions_and_xapps_are_found_by_typing(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest("acme-ran-hello", chart_archive()))
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("view"), "/repositories")
    dashboard.heading("Repositories")
    expect(page.get_by_role("button", name="Add", exact=True).first).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Page, action or xApp")
    expect(field).to_be_focused()
    field.fill("serv")
    expect(page.get_by_role("option", name="Services")).to_contain_text("Page")
    field.fill("add")
    expect(page.get_by_role("option", name="Needs: create chartrepositories").first).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("palette")
    page.set_viewport_size({"width": 360, "height": 780})
    field.fill("")
    reason = page.get_by_role("option", name="Needs: create chartrepositories").first
    expect(reason).to_be_visible()
    cut = "all => all.filter((one) => one.scrollHeight > one.clientHeight).map((one) => one.textContent)"
    assert page.get_by_role("option").evaluate_all(cut) == []  # what an entry says lies over no other
    page.set_viewport_size({"width": 1280, "height": 800})
    field.fill("acme-ran")
    expect(page.get_by_role("option", name="acme-ran-hello")).to_be_visible()
    page.keyboard.press("Enter")
    dashboard.heading("acme-ran-hello")


def test_what_the_menus_of_a_page_contain_is_found_too(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest("acme-ran-hello", chart_archive()))
    xapps.wait_ready("acme-ran-hello")
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps/{xapps.namespace}/acme-ran-hello")
    dashboard.heading("acme-ran-hello")
    expect(page.get_by_role("button", name="Uninstall...")).to_be_visible()
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Page, action or xApp")
    for typed, label in (
        ("retry", "Retry"),
        ("roll", "Roll back..."),
        ("copy as", "Copy as..."),
        ("more", "Look again"),
        ("test", "Run tests"),
        ("api", "API"),
    ):
        field.fill(typed)
        expect(page.get_by_role("option", name=label).first).to_be_visible()
    field.fill("roll")
    expect(page.get_by_role("option")).to_have_attribute("aria-disabled", "true")
    expect(page.get_by_role("option")).to_contain_text("There is no other revision that worked before")
    field.fill("suspend")
    expect(page.get_by_role("option")).to_contain_text("In the menu More")
    dashboard.check_accessibility()
    dashboard.screenshots("palette-menu")
    field.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Suspended")


def test_what_the_menus_of_the_header_contain_is_found_on_every_page(dashboard: Dashboard, accounts: Accounts) -> None:
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("view"), "/deploy")
    dashboard.heading("Deploy an xApp")
    field, options = page.get_by_role("combobox", name="Page, action or xApp"), page.get_by_role("option")
    page.keyboard.press("Control+k")
    field.fill("default")  # what a choice of the page shows is no action
    expect(page.get_by_role("status").filter(has_text="Nothing found")).to_be_visible()
    field.fill("theme")
    expect(options).to_have_text(
        ["As the systemIn the menu Theme, chosen", "LightIn the menu Theme", "DarkIn the menu Theme"]
    )
    dashboard.check_accessibility()
    dashboard.screenshots("palette-header")
    field.fill("dark")
    field.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.set_viewport_size({"width": 360, "height": 780})
    page.keyboard.press("Control+k")
    field.fill("repositories")
    expect(options).to_have_count(1)
    field.fill("sign out")
    expect(options).to_have_count(1)
    field.press("Enter")
    expect(page.get_by_label("Bearer token")).to_be_visible()


def test_enter_opens_what_was_typed_while_the_answer_is_on_its_way(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    page = dashboard.page
    for name in ("acme-ran-hello", "acme-ran-other"):
        xapps.apply(xapps.uploaded_manifest(name, chart_archive()))
    dashboard.sign_in(accounts.with_role("view"), "/services")
    page.keyboard.press("Control+k")
    field, options = page.get_by_role("combobox", name="Page, action or xApp"), page.get_by_role("option")

    # The choice stays in view as the keys go through the list.
    page.set_viewport_size({"width": 640, "height": 320})
    field.press("ArrowUp")
    expect(options.last).to_have_attribute("aria-selected", "true")
    expect(options.last).to_be_in_viewport(ratio=0.9)
    expect(options.first).not_to_be_in_viewport()
    field.press("ArrowDown")
    expect(options.first).to_be_in_viewport(ratio=0.9)
    page.set_viewport_size({"width": 1280, "height": 800})

    field.fill("acme-ran")
    expect(page.get_by_role("option", name="acme-ran-hello")).to_be_visible()
    expect(page.get_by_role("option", name="acme-ran-other")).to_be_visible()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/xapps?*search=acme-ran-other*", hold)
    field.fill("acme-ran-other")
    expect(page.get_by_role("option", name="acme-ran-hello")).to_have_count(0)
    field.press("Enter")
    dashboard.heading("acme-ran-other")
    for route in held:
        route.abort()


def test_keys_go_to_pages_until_they_are_turned_off(dashboard: Dashboard, accounts: Accounts) -> None:
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("view"), "/about")
    dashboard.heading("About")
    expect(page.get_by_role("cell", name="uninstall")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^at most \d+$"))).to_be_visible()  # told to those who signed in only
    dashboard.check_accessibility()
    dashboard.screenshots("about")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys").get_by_text("g r")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("keys")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("r")
    dashboard.heading("Repositories")
    page.keyboard.press("g")
    page.keyboard.press("x")
    dashboard.heading("xApps Management")
    page.go_back()
    dashboard.heading("Repositories")
    page.go_back()
    page.get_by_text("Keys (press ? for the list)").click()
    page.get_by_role("heading", name="About", level=1).focus()
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    dashboard.heading("About")
