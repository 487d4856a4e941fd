"""Files of the dashboard that do not come, and come later: only the part that needs them waits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import chart as chart_with_schema
from tests.browser.deploy_steps import choose_chart, editor, fill_identity
from tests.support.charts import chart_archive
from tests.support.xapps import XAppClient


@contextmanager
def lost(page: Page, *names: str) -> Iterator[list[str]]:
    """Lose the requests for these files. Gives the addresses of those that were lost."""
    asked: list[str] = []
    files = re.compile(rf"/assets/(?:{'|'.join(names)})-[^/]*\.js")

    def lose(route: Route) -> None:
        asked.append(route.request.url)
        route.abort()

    page.route(files, lose)
    yield asked
    page.unroute(files, lose)


def failure(place: Page | Locator) -> Locator:
    """Return the error in place of a part."""
    return place.get_by_role("alert").filter(has_text="The gateway did not send the files of")


def retry(place: Page | Locator) -> Locator:
    return failure(place).get_by_role("button", name="Retry")


def test_the_palette_and_the_keys_ask_again_over_the_page(dashboard: Dashboard, accounts: Accounts) -> None:
    page = dashboard.page
    with lost(page, "PaletteDialog", "KeyMapDialog"):
        dashboard.sign_in(accounts.with_role("edit"), "/repositories/new")
        name = page.get_by_role("textbox", name="Name", exact=True)
        name.fill("draft-of-jane")
        page.keyboard.press("Control+k")
        dialog = page.get_by_role("dialog", name="Search or jump")
        expect(retry(dialog)).to_be_visible()
        dashboard.check_accessibility()
        dashboard.screenshots("part-not-loaded")
        retry(dialog).click()
        expect(dialog.get_by_role("button", name="Load the dashboard again")).to_be_visible()
        expect(dialog).to_contain_text("What you have typed and not sent is lost then")
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(name).to_have_value("draft-of-jane")
        page.get_by_role("heading", level=1).click()
        page.keyboard.press("?")
        keys = page.get_by_role("dialog", name="Keys")
        expect(retry(keys)).to_be_visible()
    retry(keys).click()
    expect(keys.get_by_text("g r")).to_be_visible()
    page.keyboard.press("Escape")
    expect(keys).to_have_count(0)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Page, action or xApp")).to_be_focused()
    page.keyboard.press("Escape")
    expect(name).to_have_value("draft-of-jane")


def test_uninstalling_waits_for_its_dialog_and_keeps_the_selection(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest("acme-ran-hello", chart_archive()))
    page = dashboard.page
    with lost(page, "UninstallDialog"):
        dashboard.sign_in(accounts.with_role("edit"))
        page.get_by_role("checkbox", name="acme-ran-hello").click()
        page.get_by_role("button", name="Uninstall...").click()
        dialog = page.get_by_role("dialog", name="Uninstall")
        expect(retry(dialog)).to_be_visible()
    retry(dialog).click()
    question = page.get_by_role("alertdialog")
    expect(question).to_contain_text("acme-ran-hello")
    expect(question.get_by_role("button", name="Keep")).to_be_focused()
    question.get_by_role("button", name="Keep").click()
    expect(page.get_by_text("1 selected")).to_be_visible()


@pytest.mark.parametrize("files", [("TextEditor",), ("setup", "useEditorView")], ids=["its own file", "a shared file"])
def test_the_form_goes_on_without_its_editor(
    dashboard: Dashboard, accounts: Accounts, namespace: str, files: tuple[str, ...]
) -> None:
    page = dashboard.page
    with lost(page, *files) as asked:
        dashboard.sign_in(accounts.with_role("edit"), "/deploy")
        choose_chart(page, chart_with_schema())
        fill_identity(page, namespace=namespace)
        expect(retry(page)).to_be_visible()
        assert asked
        dashboard.heading("Deploy an xApp")
    retry(page).click()
    expect(editor(page)).to_be_visible()
    expect(failure(page)).to_have_count(0)
    expect(page.get_by_role("textbox", name="Organization")).to_have_value("acme")
    expect(page.get_by_text("hello 0.1.0", exact=True)).to_be_visible()


def test_the_form_to_sign_in_again_comes_later(dashboard: Dashboard, accounts: Accounts) -> None:
    token = accounts.with_role("edit")
    page = dashboard.page
    dashboard.sign_in(token)
    with lost(page, "SignInForm"):
        # The page that signed in has the form already.
        dashboard.open("/services?search=mine")
        dashboard.heading("Services")
        dashboard.context.clear_cookies()
        # A request that began before may open the dialog, so a click could find the link behind it.
        page.get_by_role("link", name="Repositories").dispatch_event("click")
        dialog = page.get_by_role("dialog", name="Your sign-in has ended")
        expect(retry(dialog)).to_be_visible()
    retry(dialog).click()
    dialog.get_by_label("Bearer token").fill(token)
    dialog.get_by_role("button", name="Sign in").click()
    expect(dialog).to_have_count(0)
    dashboard.heading("Repositories")
