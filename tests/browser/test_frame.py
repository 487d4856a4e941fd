"""What surrounds every page: addresses, looks, keyboard, errors of pages, the policy of the browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.loaded_pages import FITS, fit_into
from tests.support.charts import chart_archive
from tests.support.xapps import XAppClient

PAGES = ("/xapps", "/deploy", "/repositories", "/repositories/new", "/services", "/about")


@pytest.fixture
def signed_in(dashboard: Dashboard, accounts: Accounts) -> Dashboard:
    dashboard.sign_in(accounts.with_role("edit"))
    return dashboard


def test_every_page_opens_at_its_address_with_a_title_of_its_own(signed_in: Dashboard) -> None:
    titles = set()
    for path in PAGES:
        signed_in.open(path)
        expect(signed_in.page.get_by_role("heading", level=1)).to_be_visible()
        titles.add(signed_in.page.title())
    assert len(titles) == len(PAGES)


def test_the_root_leads_to_the_list_and_unknown_addresses_say_so(signed_in: Dashboard) -> None:
    signed_in.open("/")
    expect(signed_in.page).to_have_url(f"{signed_in.url}/xapps")
    signed_in.open("/no/such/page")
    signed_in.heading("Page not found")
    signed_in.screenshots("page-not-found")
    signed_in.page.get_by_role("link", name="All xApps").click()
    signed_in.heading("xApps Management")


def test_a_bad_parameter_is_dropped_with_a_note(signed_in: Dashboard) -> None:
    page = signed_in.page
    signed_in.open("/xapps?page=abc&search=kpi&colour=red&order=desc")
    note = page.get_by_text(re.compile("^Not used, .*: colour, page$"))
    expect(note).to_be_visible()
    expect(page).to_have_url(f"{signed_in.url}/xapps?search=kpi&order=desc")
    signed_in.check_accessibility()
    signed_in.screenshots("dropped-parameters")
    page.get_by_role("button", name="Dismiss").click()
    expect(note).to_have_count(0)
    # Also by a page without any parameter.
    signed_in.open("/about?bogus=1")
    expect(signed_in.page.get_by_text("Not used, because")).to_contain_text("bogus")
    expect(signed_in.page).to_have_url(f"{signed_in.url}/about")


def test_what_an_xapp_does_not_have_is_dropped_from_the_address_with_a_note(
    signed_in: Dashboard, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest("acme-ran-hello", chart_archive()))
    xapps.wait_ready("acme-ran-hello")
    page, address = signed_in.page, f"/xapps/{xapps.namespace}/acme-ran-hello"
    for path, query, note in (
        ("manifest", "object=ConfigMap/none", "Not in the manifest: ConfigMap/none. This is its first object."),
        ("history", "revision=99", "Not in the history: revision 99."),
        ("events", "page=900", "There is no page 900. This is page 1."),
    ):
        signed_in.open(f"{address}/{path}?{query}")
        expect(page.get_by_text(note)).to_be_visible()
        expect(page).to_have_url(f"{signed_in.url}{address}/{path}")
    signed_in.open(f"{address}/manifest?object=ConfigMap/none")
    dropped = page.get_by_text("Not in the manifest")
    expect(dropped).to_be_visible()
    signed_in.check_accessibility()
    page.get_by_role("navigation", name="Objects of the manifest").get_by_role("link").first.click()
    expect(dropped).to_have_count(0)


def test_only_pages_that_listen_to_changes_are_called_live(signed_in: Dashboard) -> None:
    page = signed_in.page
    live = page.get_by_text("Live", exact=True)
    expect(live).to_be_visible()
    for name, title in (("Deploy", "Deploy an xApp"), ("Services", "Services"), ("Repositories", "Repositories")):
        page.get_by_role("navigation", name="Main").get_by_role("link", name=name).click()
        signed_in.heading(re.compile(title))
        expect(live).to_have_count(0)
    page.get_by_role("link", name="xApps Management").click()
    expect(live).to_be_visible()


def test_back_restores_the_view(signed_in: Dashboard) -> None:
    page = signed_in.page
    signed_in.open("/xapps?search=a&order=desc")
    page.get_by_role("link", name="Services").click()
    signed_in.heading("Services")
    page.go_back()
    expect(page).to_have_url(f"{signed_in.url}/xapps?search=a&order=desc")
    expect(page.get_by_label("Search xApps")).to_have_value("a")


def test_the_theme_follows_the_choice_and_is_remembered(signed_in: Dashboard) -> None:
    page = signed_in.page
    background = "getComputedStyle(document.documentElement).backgroundColor"
    light, dark = "rgb(245, 247, 250)", "rgb(14, 19, 25)"
    assert page.evaluate(background) == light
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(background) == dark
    page.get_by_role("button", name="Theme", exact=True).click()
    signed_in.check_accessibility()
    page.emulate_media(color_scheme="dark")
    expect(page.get_by_role("menuitemradio", name="As the system")).to_be_checked()
    page.get_by_role("menuitemradio", name="Light").click()
    page.wait_for_function(f"{background} === '{light}'")
    page.reload()
    signed_in.heading("xApps Management")
    assert page.evaluate(background) == light


def test_the_keyboard_reaches_the_content_first_and_focus_follows_navigation(signed_in: Dashboard) -> None:
    page = signed_in.page
    signed_in.open("/about")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.get_by_role("link", name="Services").press("Enter")
    expect(page.get_by_role("heading", level=1, name="Services")).to_be_focused()


def test_the_browser_refuses_scripts_and_html_from_strings(signed_in: Dashboard) -> None:
    """The policy is in force: code that an attacker could bring onto the page is refused."""
    page = signed_in.page
    attempts = """() => {
        const refusal = (action) => { try { action(); return 'done' } catch (error) { return error.name } }
        const script = document.createElement('script')
        script.append(document.createTextNode('window.ran = true'))
        return [
          refusal(() => document.head.append(script)) + (window.ran === true ? ' and ran' : ''),
          refusal(() => { document.createElement('div').innerHTML = '<b>x</b>' }),
        ]
    }"""
    assert page.evaluate(attempts) == ["done", "TypeError"]
    page.evaluate("0")  # what the console said before has arrived then
    assert [problem for problem in signed_in.problems if "policy violation" in problem] != []
    signed_in.problems.clear()


def test_no_page_scrolls_sideways(signed_in: Dashboard) -> None:
    for path in PAGES:
        signed_in.open(path)
        expect(signed_in.page.get_by_role("heading", level=1)).to_be_visible()
        for width in (320, 360, 719, 720, 1279, 1280, 3840):
            fit_into(signed_in.page, width, what=path)


def test_a_long_name_of_a_user_leaves_room_for_the_others(dashboard: Dashboard, accounts: Accounts) -> None:
    page, name = dashboard.page, "operator-of-the-night-shift-" + "x" * 150 + "-in-the-north"
    dashboard.sign_in(accounts.with_role("view", name=name), "/about")
    dashboard.heading("About")
    account = page.get_by_role("banner").get_by_role("button").last
    for width in (320, 360, 1024, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        outside = page.evaluate(
            """button => [...button.querySelectorAll('svg, bdi')].filter((each) => each.clientWidth > 0)
                .filter((each) => each.getBoundingClientRect().right > button.getBoundingClientRect().right)
                .map((each) => each.outerHTML)""",
            account.element_handle(),
        )
        assert outside == []
        expect(account.locator("bdi").first).to_be_in_viewport(ratio=1)
        assert page.evaluate(FITS)
    account.click()
    expect(page.get_by_role("menuitem", name="Sign out")).to_contain_text(name)
    dashboard.check_accessibility()
    dashboard.screenshots("account-menu")


COLOURS_OF_TEXT = """button => {
  const { color, backgroundColor, forcedColorAdjust } = getComputedStyle(button)
  return { isTold: color !== backgroundColor, hasPlate: forcedColorAdjust !== 'none' }
}"""
"""Whether text and ground differ, and whether the browser draws a plate of its own behind the text."""
PLACEHOLDER_IS_DIMMED = "field => getComputedStyle(field, '::placeholder').color !== getComputedStyle(field).color"


def test_main_buttons_and_placeholders_can_be_told_in_forced_colours(signed_in: Dashboard) -> None:
    page = signed_in.page
    page.emulate_media(forced_colors="active")
    signed_in.open("/deploy")
    submit = page.get_by_role("button", name="Submit")
    expect(submit).to_be_visible()
    for _ in ("as it is", "under the pointer"):
        assert submit.evaluate(COLOURS_OF_TEXT) == {"isTold": True, "hasPlate": False}
        submit.hover()
    assert page.get_by_role("textbox", name="Version").evaluate(PLACEHOLDER_IS_DIMMED)
    signed_in.open("/xapps")
    assert page.get_by_role("searchbox").first.evaluate(PLACEHOLDER_IS_DIMMED)
    signed_in.screenshots("forced-colours-main-button")


def test_pages_keep_their_meaning_in_forced_colours_and_at_200_percent(signed_in: Dashboard) -> None:
    page = signed_in.page
    page.emulate_media(forced_colors="active")
    for path in PAGES:
        signed_in.open(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
    signed_in.screenshots("forced-colours")
    # A window of 1280 px shows 640 px at 200 %.
    page.emulate_media(forced_colors="none")
    page.set_viewport_size({"width": 640, "height": 400})
    page.get_by_role("button", name="Pages").click()
    page.get_by_role("menuitem", name="Services").click()
    signed_in.heading("Services")


def test_an_action_without_the_right_says_which_one_is_missing(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest("acme-ran-hello", chart_archive()))
    dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])
    dashboard.sign_in(accounts.with_role("view"), f"/xapps/{xapps.namespace}/acme-ran-hello")
    page = dashboard.page
    uninstall = page.get_by_role("button", name="Uninstall...")
    expect(uninstall).to_have_attribute("aria-disabled", "true")
    reason = f"Needs: delete xapps in {xapps.namespace}"
    uninstall.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_role("tooltip")).to_have_text(reason)
    # Also when the focus comes back from far below, and scrolls the page.
    page.set_viewport_size({"width": 1280, "height": 300})
    page.keyboard.press("Shift+Tab")
    page.mouse.move(640, 200)
    page.mouse.wheel(0, 5_000)
    expect(uninstall).not_to_be_in_viewport()
    page.keyboard.press("Tab")
    expect(uninstall).to_be_in_viewport()
    expect(uninstall).to_have_accessible_description(reason)
    expect(page.get_by_role("tooltip")).to_have_text(reason)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.keyboard.press("Enter")
    why = page.get_by_role("dialog", name="Why this is not possible")
    expect(why).to_contain_text(reason)
    dashboard.check_accessibility()
    why.get_by_role("button", name="Copy the reason").click()
    expect(page.get_by_text("Copied", exact=True)).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == reason
