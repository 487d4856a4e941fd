"""Sessions: the token ends, another person signs in, other tabs, signing out."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from playwright.sync_api import Page, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard


def forget_cookie(dashboard: Dashboard) -> None:
    """End the session of this browser, as its expiry would."""
    dashboard.context.clear_cookies()


def sign_in_again(page: Page, token: str) -> None:
    dialog = page.get_by_role("dialog", name="Your sign-in has ended")
    dialog.get_by_label("Bearer token").fill(token)
    dialog.get_by_role("button", name="Sign in").click()
    expect(dialog).to_have_count(0)


def test_a_session_that_ends_asks_over_the_page_and_nothing_is_lost(dashboard: Dashboard, accounts: Accounts) -> None:
    token = accounts.with_role("edit")
    dashboard.sign_in(token)
    page = dashboard.page
    page.get_by_label("Search xApps").fill("kpi")
    expect(page).to_have_url(re.compile(r"search=kpi"))

    forget_cookie(dashboard)
    page.get_by_label("Search xApps").fill("kpi-store")
    expect(page.get_by_role("dialog", name="Your sign-in has ended")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("session-ended")
    sign_in_again(page, token)

    dashboard.heading("xApps Management")
    expect(page.get_by_label("Search xApps")).to_have_value("kpi-store")
    expect(page).to_have_url(re.compile(r"search=kpi-store"))
    expect(page.get_by_text("No xApp found")).to_be_visible()


def test_another_person_begins_on_the_first_page(dashboard: Dashboard, accounts: Accounts) -> None:
    dashboard.sign_in(accounts.with_role("edit"), "/services?search=mine")
    forget_cookie(dashboard)
    dashboard.page.get_by_role("link", name="xApps Management").click()
    sign_in_again(dashboard.page, accounts.with_role("view", name="paul"))

    expect(dashboard.page).to_have_url(f"{dashboard.url}/xapps")
    expect(dashboard.page.get_by_role("button", name=re.compile("paul$"))).to_be_visible()


def test_signing_in_and_out_holds_for_all_tabs(dashboard: Dashboard, accounts: Accounts) -> None:
    dashboard.sign_in(accounts.with_role("view"))
    other = dashboard.new_page()
    other.goto(f"{dashboard.url}/services")
    expect(other.get_by_role("heading", level=1, name="Services")).to_be_visible()

    dashboard.page.get_by_role("button", name=re.compile("jane$")).click()
    dashboard.page.get_by_role("menuitem", name="Sign out").click()

    dashboard.heading("Sign in to xApps Management")
    expect(other.get_by_role("heading", level=1, name="Sign in to xApps Management")).to_be_visible()
    assert dashboard.page.evaluate("localStorage.getItem('xapp-session-proof')") is None
    assert dashboard.page.request.get(f"{dashboard.url}/api/session").status == 401


def test_next_leads_to_pages_of_ours_only(dashboard: Dashboard, accounts: Accounts) -> None:
    dashboard.sign_in(accounts.with_role("view"), "/signin?next=//evil.example/xapps")
    dashboard.heading("xApps Management")
    assert dashboard.page.url == f"{dashboard.url}/xapps"


def test_the_end_of_a_session_is_announced_five_minutes_before(dashboard: Dashboard, accounts: Accounts) -> None:
    token = accounts.with_role("edit")
    dashboard.sign_in(token, "/services?search=kpi")
    page = dashboard.page
    warning = page.get_by_text(re.compile(r"^Your sign-in ends at \d\d:\d\d:\d\d\.$"))
    expires_at = page.evaluate(
        """async () => {
            const headers = { 'X-Session-Proof': localStorage.getItem('xapp-session-proof') }
            const session = await (await fetch('/api/session', { headers })).json()
            return session.expiresAt
        }"""
    )
    ends = datetime.fromisoformat(expires_at)
    page.clock.install(time=ends - timedelta(minutes=6))
    page.reload()
    dashboard.heading("Services")
    expect(warning).to_have_count(0)
    page.clock.fast_forward(timedelta(minutes=1, seconds=20) // timedelta(milliseconds=1))
    expect(warning).to_be_visible()
    dashboard.check_accessibility()

    page.get_by_role("button", name="Sign in again").click()
    dialog = page.get_by_role("dialog", name="Sign in again")
    dialog.get_by_label("Bearer token").fill(token)
    dialog.get_by_role("button", name="Sign in").click()
    expect(dialog).to_have_count(0)
    expect(page).to_have_url(f"{dashboard.url}/services?search=kpi")


def test_signing_in_again_in_one_tab_lets_the_others_go_on(dashboard: Dashboard, accounts: Accounts) -> None:
    token = accounts.with_role("view")
    dashboard.sign_in(token)
    other = dashboard.new_page()
    other.goto(f"{dashboard.url}/xapps")
    expect(other.get_by_role("heading", level=1, name="xApps Management")).to_be_visible()
    forget_cookie(dashboard)
    for page in (dashboard.page, other):
        page.get_by_label("Search xApps").fill("kpi")
        expect(page.get_by_role("dialog", name="Your sign-in has ended")).to_be_visible()

    sign_in_again(other, token)

    expect(dashboard.page.get_by_role("dialog")).to_have_count(0)
    expect(dashboard.page.get_by_text("No xApp found")).to_be_visible()
