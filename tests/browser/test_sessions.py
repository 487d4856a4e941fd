"""Sessions: the token ends, another person signs in, other tabs, signing out."""

from __future__ import annotations

import re
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import chart
from tests.browser.gateway import BrowserGateway
from tests.localcluster import Cluster
from tests.support.apiserver import ApiServer
from tests.support.xapps import XAppClient


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
    live = page.get_by_text("Live", exact=True)
    expect(live).to_be_visible()
    # A request without an answer would open the dialog before the next text is typed.
    facets, found = re.compile("/facets[?]search=kpi"), re.compile("/api/xapps[?].*search=kpi")
    with page.expect_response(facets), page.expect_response(found):
        page.get_by_label("Search xApps").fill("kpi")
    expect(page.get_by_text("No xApp found")).to_be_visible()
    expect(live).to_be_visible()

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
    token = accounts.with_role("view")
    dashboard.sign_in(token)
    other = dashboard.new_page()
    other.goto(f"{dashboard.url}/repositories/new")
    name = other.get_by_role("textbox", name="Name", exact=True)
    name.fill("draft-of-jane")

    dashboard.page.get_by_role("button", name=re.compile("jane$")).click()
    dashboard.page.get_by_role("menuitem", name="Sign out").click()

    dashboard.heading("Sign in to xApps Management")
    expect(other.get_by_role("heading", level=1, name="Sign in to xApps Management")).to_be_visible()
    assert dashboard.page.evaluate("localStorage.getItem('xapp-session-proof')") is None
    assert dashboard.page.request.get(f"{dashboard.url}/api/session").status == 401

    # The same person goes on with what they typed.
    other.get_by_label("Bearer token").fill(token)
    other.keyboard.press("Enter")
    expect(name).to_have_value("draft-of-jane")


def test_the_sign_in_page_goes_on_for_somebody_who_is_signed_in(dashboard: Dashboard, accounts: Accounts) -> None:
    token = accounts.with_role("view")
    dashboard.sign_in(token, "/about")
    page = dashboard.page
    dashboard.open("/signin?next=/services?search=kpi")
    dashboard.heading("Services")
    expect(page).to_have_url(f"{dashboard.url}/services?search=kpi")
    dashboard.open("/signin")
    expect(page).to_have_url(f"{dashboard.url}/xapps")

    forget_cookie(dashboard)
    dashboard.open("/signin?next=/services")
    expect(page.get_by_label("Bearer token")).to_be_focused()
    page.get_by_label("Bearer token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    dashboard.heading("Services")


def test_who_signs_in_next_sees_nothing_of_the_person_before(dashboard: Dashboard, accounts: Accounts) -> None:
    dashboard.sign_in(accounts.with_role("edit"), "/about")
    dashboard.heading("About")
    other = dashboard.new_page()
    other.goto(f"{dashboard.url}/repositories/new")
    other.get_by_role("textbox", name="Name", exact=True).fill("draft-of-jane")
    dashboard.page.get_by_role("button", name=re.compile("jane$")).click()
    dashboard.page.get_by_role("menuitem", name="Sign out").click()
    expect(other.get_by_role("heading", level=1, name="Sign in to xApps Management")).to_be_visible()

    other.get_by_label("Bearer token").fill(accounts.with_role("view", name="paul"))
    other.keyboard.press("Enter")

    expect(other.get_by_role("heading", level=1, name="Add a repository")).to_be_visible()
    expect(other.get_by_role("textbox", name="Name", exact=True)).to_have_value("")
    for page in (other, dashboard.page):
        expect(page.get_by_role("button", name=re.compile("paul$"))).to_be_visible()
    dashboard.heading("About")
    expect(dashboard.page.get_by_text(re.compile(r"^system:serviceaccount:[^:]+:paul$"))).to_be_visible()
    assert "jane" not in dashboard.page.content()


def test_signing_out_says_when_it_failed_and_ends_what_has_ended(
    dashboard: Dashboard, accounts: Accounts, gateway: BrowserGateway
) -> None:
    page, token = dashboard.page, accounts.with_role("view")
    dashboard.sign_in(token, "/about")
    dashboard.heading("About")
    gateway.stop()
    page.get_by_role("button", name=re.compile("jane$")).click()
    page.get_by_role("menuitem", name="Sign out").click()
    failed = page.get_by_role("alertdialog", name="You are still signed in")
    expect(failed.get_by_text("Not connected", exact=True)).to_be_visible()
    expect(failed.get_by_role("button", name="Stay")).to_be_focused()
    dashboard.check_accessibility()
    gateway.start()
    failed.get_by_role("button", name="Sign out").click()
    dashboard.heading("Sign in to xApps Management")

    dashboard.sign_in(token, "/about")
    forget_cookie(dashboard)
    page.get_by_role("button", name=re.compile("jane$")).click()
    page.get_by_role("menuitem", name="Sign out").click()
    dashboard.heading("Sign in to xApps Management")
    expect(page.get_by_role("alertdialog")).to_have_count(0)


@pytest.mark.parametrize("evil", ["//evil.example/xapps", "/%5Cevil.example", "https://evil.example", "/api/docs"])
def test_next_leads_to_pages_of_ours_only(dashboard: Dashboard, accounts: Accounts, evil: str) -> None:
    dashboard.sign_in(accounts.with_role("view"), f"/signin?next={evil}")
    dashboard.heading("xApps Management")
    assert dashboard.page.url == f"{dashboard.url}/xapps"


def test_the_token_is_in_one_request_and_kept_nowhere(dashboard: Dashboard, accounts: Accounts) -> None:
    token, page = accounts.with_role("view"), dashboard.page
    requests: list[Request] = []

    def note(sent: Request) -> None:
        requests.append(sent)

    page.on("request", note)
    dashboard.sign_in(token, "/signin?next=%2Fservices%3Fsearch%3Dkpi")
    dashboard.heading("Services")
    expect(page).to_have_url(f"{dashboard.url}/services?search=kpi")
    expect(page.get_by_text(re.compile("^Not used"))).to_have_count(0)  # `next` was used, on another page

    page.get_by_role("link", name="Repositories").click()
    dashboard.heading("Repositories")
    with_token = [sent for sent in requests if token in f"{sent.url} {sent.headers} {sent.post_data}"]
    assert [(sent.method, sent.url) for sent in with_token] == [("POST", f"{dashboard.url}/api/session")]
    assert token not in with_token[0].url
    proofs = {sent.headers.get("x-session-proof") for sent in requests if "/api/repositories" in sent.url}
    assert proofs == {page.evaluate("localStorage.getItem('xapp-session-proof')")}
    kept = page.evaluate(
        "[Object.entries(localStorage), Object.entries(sessionStorage), document.cookie, location.href]"
    )
    assert {key for key, _ in kept[0]} <= {"xapp-session-proof", "xapp-preferences"}
    assert kept[2] == ""
    assert token not in str(kept)
    assert token not in page.content()
    assert page.evaluate("indexedDB.databases()") == []


def test_who_signs_in_over_plain_http_is_warned(
    dashboard: Dashboard, cluster: Cluster, api: ApiServer, tmp_path: Path
) -> None:
    with closing(BrowserGateway(cluster, api, tmp_path, insecure_sessions=True)) as insecure:
        insecure.start()
        dashboard.page.goto(f"{insecure.url}/signin")
        expect(dashboard.page.get_by_text("Others can read along")).to_be_visible()
        expect(dashboard.page.get_by_text("where others can steal them: turn it off")).to_be_visible()
        dashboard.check_accessibility()
        dashboard.screenshots("sign-in-insecure")


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
    dashboard.sign_in(token, "/xapps?search=kpi")
    other = dashboard.new_page()
    other.goto(f"{dashboard.url}/xapps")
    expect(other.get_by_role("heading", level=1, name="xApps Management")).to_be_visible()
    forget_cookie(dashboard)
    for page in (dashboard.page, other):
        page.reload()
        expect(page.get_by_role("dialog", name="Your sign-in has ended")).to_be_visible()

    sign_in_again(other, token)

    expect(dashboard.page.get_by_role("dialog")).to_have_count(0)
    expect(dashboard.page.get_by_text("No xApp found")).to_be_visible()


def test_changes_are_asked_for_once_until_somebody_signs_in_again(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest("acme-ran-hello", chart()))
    xapps.wait_ready("acme-ran-hello")
    page, token = dashboard.page, accounts.with_role("view")
    page.clock.install()
    dashboard.sign_in(token, f"/xapps?namespace={xapps.namespace}")  # where nothing else changes
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda sent: asked.append(sent.url) if "/api/stream" in sent.url else None)
    page.get_by_role("searchbox").focus()
    forget_cookie(dashboard)
    page.keyboard.type("hello")  # another filter, so another stream
    again = page.get_by_role("dialog", name="Your sign-in has ended")
    expect(again).to_be_visible()
    for _ in range(6):
        page.clock.run_for(10_000)
    assert len(asked) <= 1
    again.get_by_label("Bearer token").fill(token)
    again.get_by_role("button", name="Sign in").click()
    expect(again).to_have_count(0)
    expect(page.get_by_text("Live", exact=True)).to_be_visible()


def test_another_person_sees_the_same_list_with_their_rights(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest("acme-ran-hello", chart(), suspend=True))
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("view"))
    row = page.get_by_role("link", name="acme-ran-hello")
    expect(row).to_be_visible()
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    forget_cookie(dashboard)
    # A read from the start of the page may have opened the dialog above the button already.
    page.get_by_role("button", name="Age", exact=True).dispatch_event("click")
    sign_in_again(page, accounts.without_rights(name="paul"))

    expect(page).to_have_url(f"{dashboard.url}/xapps")
    expect(row).to_have_count(0)
    expect(page.get_by_text("No xApps that you may see")).to_be_visible()
    expect(page.get_by_text("Live", exact=True)).to_be_visible()


def test_what_was_not_sent_is_said_in_the_words_of_the_page(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest("acme-ran-hello", chart()))
    xapps.wait_ready("acme-ran-hello")
    token = accounts.with_role("admin")
    dashboard.sign_in(token, f"/xapps/{xapps.namespace}/acme-ran-hello/upgrade")
    page = dashboard.page
    page.get_by_role("textbox", name="Owner").fill("paul")
    forget_cookie(dashboard)
    preview = page.get_by_role("region", name="Upgrade", exact=True).get_by_role("button", name="Preview")
    preview.click()
    sign_in_again(page, token)

    summary = page.get_by_role("alert").inner_text()
    assert "Your sign-in had ended, so nothing was changed. Once you are signed in, do it again." in summary
    assert not re.search("bearer|Authorization|send", summary, re.IGNORECASE)
    expect(page.get_by_role("textbox", name="Owner")).to_have_value("paul")
    preview.click()
    expect(page.get_by_role("heading", name="Preview")).to_be_visible()
    expect(page.get_by_text("Your sign-in had ended")).to_have_count(0)
