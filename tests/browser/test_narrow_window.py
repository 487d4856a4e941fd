"""One xApp in a window of 360 px: what has no room beside the rest is scrolled or moved, and stays readable."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from playwright.sync_api import Route, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import chart, choose_chart, fill_identity
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

NAME = "acme-ran-narrow"

LONG = "acme-ran-" + "long-" * 8 + "x"
"""As long as the name of an xApp may be, nearly."""


def test_a_long_name_breaks_no_button_and_widens_no_page(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    repository: dict[str, Any] = {
        "apiVersion": "xapp-operator.io/v1alpha1",
        "kind": "ChartRepository",
        "metadata": {"name": "acme"},
        "spec": {"url": "https://charts.example.com", "interval": "1h"},
    }
    xapps.kubectl("apply", "-f", "-", input=json.dumps(repository))
    url = repository["spec"]["url"]
    xapps.apply(xapps.remote_manifest(LONG, url=url, chart="hello-world", repoName="acme", suspend=True))
    page = dashboard.page
    page.set_viewport_size({"width": 360, "height": 780})
    dashboard.sign_in(accounts.with_role("admin"), f"/repositories/{xapps.namespace}/acme")
    expect(page.get_by_role("link", name=LONG)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    dashboard.screenshots("repository-of-a-long-name")

    dashboard.open(f"/xapps/{xapps.namespace}/{LONG}")
    name_and_version = page.get_by_title("hello-world 0.1.0")
    assert name_and_version.evaluate(LOST_PIXELS) == pytest.approx(0, abs=1), "the space between them is lost"
    page.get_by_role("button", name="Uninstall...").click()
    button = page.get_by_role("alertdialog").get_by_role("button", name=f"Uninstall {LONG}")
    expect(button).to_be_visible()
    assert button.evaluate(BESIDE) == 0, "the text runs out of the button"
    dashboard.check_accessibility([360])
    dashboard.screenshots("uninstall-a-long-name")


ENDS_OUTSIDE: Final = """[...document.querySelectorAll('td [data-text]')].filter((end) => end.checkVisibility())
  .filter((end) => end.getBoundingClientRect().right > end.parentElement.getBoundingClientRect().right + 0.5)
  .map((end) => `${end.parentElement.title} in ${end.parentElement.clientWidth} px`)"""
"""The names of which the end is cut off."""


def test_narrow_columns_show_the_ends_of_names(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    url = "http://127.0.0.1:9/charts"
    names = {"organization": "organization-of-5407", "team": "traffic-team-5407"}
    xapps.apply(xapps.remote_manifest(LONG, url=url, chart="hello-world", suspend=True, **names))
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps?namespace={xapps.namespace}")
    expect(page.get_by_role("link", name=LONG)).to_be_visible()
    for width in (360, 720, 768, 900, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(AFTER_FRAMES) == 0
        assert page.evaluate(ENDS_OUTSIDE) == [], f"{width} px"


LOST_PIXELS: Final = """name => {
  const plain = document.createElement('span')
  plain.textContent = name.title
  plain.style.cssText = 'position: absolute; white-space: pre'
  name.parentElement.append(plain)
  const lost = plain.getBoundingClientRect().width - name.getBoundingClientRect().width
  plain.remove()
  return lost
}"""
"""By how much a name is narrower than its text in one piece."""

BESIDE: Final = """button => {
  const range = document.createRange()
  range.selectNodeContents(button)
  const [text, box] = [range.getBoundingClientRect(), button.getBoundingClientRect()]
  return Math.max(0, box.left - text.left, text.right - box.right)
}"""
"""By how much the text of a button is wider than the button."""


def test_the_tab_row_and_commands_fit_a_narrow_window(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart()))
    xapps.wait_ready(NAME)
    page = dashboard.page
    page.set_viewport_size({"width": 360, "height": 780})
    dashboard.sign_in(accounts.with_role("view"), f"/xapps/{xapps.namespace}/{NAME}")
    row = page.get_by_role("navigation", name="Pages of this xApp")
    own_api = row.get_by_role("link", name="Own API")
    overview = row.get_by_role("link", name="Overview")
    expect(overview).to_be_in_viewport(ratio=0.9)
    # Until then, the head grows and moves the row away from below the pointer.
    expect(page.get_by_role("heading", name="Conditions")).to_be_visible()

    # A person scrolls the row to its end. With Back, the page that is open is in view again.
    row.hover()
    page.mouse.wheel(2_000, 0)
    expect(own_api).to_be_in_viewport(ratio=0.9)
    own_api.click()
    expect(own_api).to_have_attribute("aria-current", "page")
    page.go_back()
    expect(overview).to_have_attribute("aria-current", "page")
    expect(overview).to_be_in_viewport(ratio=0.9)

    row.get_by_role("link", name="Logs").click()
    page.get_by_role("button", name="Copy as").last.click()
    page.get_by_role("menuitem", name="Show both").click()
    text = page.get_by_role("region", name="the curl command")
    copy = page.get_by_role("button", name="Copy the curl command")
    text.evaluate("element => { element.scrollLeft = element.scrollWidth }")
    text_box, copy_box = text.bounding_box(), copy.bounding_box()
    assert text_box is not None
    assert copy_box is not None
    assert text_box["x"] + text_box["width"] <= copy_box["x"]
    dashboard.screenshots("copy-as-narrow")


def test_a_tab_row_that_was_scrolled_stays_so_when_the_xapp_is_there(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    url = "http://127.0.0.1:9/charts"
    xapps.apply(xapps.remote_manifest(NAME, url=url, chart="hello-world", suspend=True))
    page = dashboard.page
    page.set_viewport_size({"width": 360, "height": 780})
    dashboard.sign_in(accounts.with_role("view"), "/about")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(f"**/api/xapps/{xapps.namespace}/{NAME}", hold)
    dashboard.open(f"/xapps/{xapps.namespace}/{NAME}")
    row = page.get_by_role("navigation", name="Pages of this xApp")
    own_api = row.get_by_role("link", name="Own API")
    expect(row.get_by_role("link", name="Overview")).to_be_in_viewport(ratio=0.9)
    row.hover()
    page.mouse.wheel(2_000, 0)
    expect(own_api).to_be_in_viewport(ratio=0.9)

    for route in held:
        route.continue_()
    page.unroute_all()
    expect(page.get_by_role("heading", name="Conditions")).to_be_visible()
    expect(own_api).to_be_in_viewport(ratio=0.9)


def test_what_goes_into_the_address_leaves_the_page_where_it_is(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart()))
    xapps.wait_ready(NAME)
    page = dashboard.page
    page.set_viewport_size({"width": 360, "height": 500})
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}/values")
    tab = page.get_by_role("tab", name="Defaults")
    expect(tab).to_be_visible()
    page.evaluate("scrollTo(0, 60)")
    tab.click()
    page.wait_for_url("**/values?view=defaults")
    expect(tab).to_have_attribute("aria-selected", "true")
    assert page.evaluate(AFTER_FRAMES) == 60

    # Another page begins at its top.
    row = page.get_by_role("navigation", name="Pages of this xApp")
    row.get_by_role("link", name="Logs").click()
    find = page.get_by_role("searchbox", name="Find")
    expect(find).to_be_visible()
    assert page.evaluate(AFTER_FRAMES) == 0
    find.focus()
    page.evaluate("scrollTo(0, 120)")
    page.keyboard.type("main")
    page.wait_for_url("**/logs?find=main")
    assert page.evaluate(AFTER_FRAMES) == 120


AFTER_FRAMES: Final = """async () => {
  for (let count = 0; count < 3; count += 1) await new Promise((done) => requestAnimationFrame(done))
  return scrollY
}"""
"""How far the page is scrolled, once it has been drawn."""

LINES: Final = """(cell) => {
  const range = document.createRange()
  range.selectNodeContents(cell)
  return new Set([...range.getClientRects()].map(({ bottom }) => Math.round(bottom / 4))).size
}"""
"""In how many lines the text of a cell stands."""


def test_a_preview_breaks_no_words_in_a_narrow_window(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    page = dashboard.page
    page.set_viewport_size({"width": 360, "height": 780})
    dashboard.sign_in(accounts.with_role("admin"), f"/deploy?namespace={xapps.namespace}")
    choose_chart(page, chart())
    fill_identity(page)
    page.get_by_role("button", name="Preview").click()
    row = page.get_by_label("Objects of the release").locator("tbody tr").first
    expect(row).to_contain_text("ConfigMap")
    assert [row.locator("td").nth(column).evaluate(LINES) for column in (0, 1)] == [1, 1]
    dashboard.check_accessibility()
    dashboard.screenshots("preview-narrow")


def test_an_address_that_leaves_its_path_has_no_page_and_asks_for_nothing(
    dashboard: Dashboard, accounts: Accounts
) -> None:
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("view"), "/about")
    dashboard.heading("About")
    asked: list[str] = []
    page.on("request", lambda sent: asked.append(sent.url))
    for address in ("/repositories/ns/x/..%2f..", "/xapps/ns/a%5cb/logs", "/repositories/..%2fapi/x"):
        dashboard.open(address)
        dashboard.heading("Page not found")
        expect(page.get_by_text("There is no page at this address")).to_be_visible()
    assert [url for url in asked if "/api/repositories/" in url or "/api/xapps/" in url] == []
