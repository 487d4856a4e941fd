"""What was typed and not sent is kept, or the browser asks before it is lost. It does not ask for nothing."""

from __future__ import annotations

import re

from playwright.sync_api import Dialog, Page, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import editor, write_values
from tests.support.charts import chart_archive
from tests.support.xapps import XAppClient


class Questions:
    """Answers the questions of the browser before a document is left: it stays."""

    def __init__(self, page: Page) -> None:
        self.count = 0
        page.on("dialog", self._stay)

    def _stay(self, dialog: Dialog) -> None:
        assert dialog.type == "beforeunload"
        self.count += 1
        dialog.dismiss()


def reload(page: Page) -> None:
    """Reload as a person does: it does not wait for a page that may stay."""
    page.evaluate("setTimeout(() => location.reload())")


def test_the_browser_asks_before_a_draft_is_lost_from_whatever_page(dashboard: Dashboard, accounts: Accounts) -> None:
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), "/repositories/new")
    questions = Questions(page)
    name = page.get_by_role("textbox", name="Name", exact=True)
    name.fill("draft-of-jane")

    with page.expect_event("dialog"):
        page.get_by_role("link", name="API", exact=True).click(no_wait_after=True)
    expect(name).to_have_value("draft-of-jane")

    page.get_by_role("link", name="Services").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Leave").click()
    dashboard.heading("Services")
    with page.expect_event("dialog"):
        reload(page)
    with page.expect_event("dialog"):
        page.get_by_role("link", name="API", exact=True).click(no_wait_after=True)
    page.go_back()
    expect(name).to_have_value("draft-of-jane")
    assert questions.count == 3

    page.get_by_role("button", name="Discard").click()
    expect(name).to_have_value("")
    with page.expect_navigation():
        reload(page)
    dashboard.heading("Add a repository")
    page.get_by_role("link", name="API", exact=True).click()
    page.wait_for_url("**/api/docs")
    assert questions.count == 3


def test_a_text_that_is_again_as_it_was_is_no_draft(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest("acme-ran-hello", chart_archive(), values={"greeting": "hello"}))
    xapps.wait_ready("acme-ran-hello")
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps/{xapps.namespace}/acme-ran-hello/values")
    questions = Questions(page)
    expect(editor(page)).to_contain_text("greeting: hello")
    write_values(page, "greeting: draft\n")
    with page.expect_event("dialog"):
        reload(page)
    write_values(page, "greeting: hello\n")
    expect(page.get_by_role("button", name="Discard")).to_have_attribute("aria-disabled", "true")
    with page.expect_navigation():
        reload(page)
    expect(editor(page)).to_contain_text("greeting: hello")
    assert questions.count == 1


def test_the_browser_asks_on_the_sign_in_page_too(dashboard: Dashboard, accounts: Accounts) -> None:
    token = accounts.with_role("edit")
    dashboard.sign_in(token, "/repositories/new")
    page = dashboard.page
    questions = Questions(page)
    name = page.get_by_role("textbox", name="Name", exact=True)
    name.fill("draft-of-jane")
    page.get_by_role("button", name=re.compile("jane$")).click()
    page.get_by_role("menuitem", name="Sign out").click()
    dashboard.heading("Sign in to xApps Management")
    with page.expect_event("dialog"):
        reload(page)
    page.get_by_label("Bearer token").fill(token)
    page.keyboard.press("Enter")
    expect(name).to_have_value("draft-of-jane")
    assert questions.count == 1
