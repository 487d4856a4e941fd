"""What the pages say while a rollback holds a revision, and how its values become those of the XApp."""

from __future__ import annotations

import re
from typing import Any, Final

from playwright.sync_api import Locator, Page, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import chart, values_text, write_values
from tests.browser.keyboard import tab_to
from tests.support.xapps import XAppClient

NAME: Final = "acme-ran-hello"
TITLE: Final = "Revision 1 is in force by a rollback"


def roll_back(dashboard: Dashboard, xapps: XAppClient, token: str) -> None:
    """Deploy revision 1, change its values, and roll back on the page of the xApp."""
    xapps.apply(xapps.uploaded_manifest(NAME, chart(), values={"greeting": "first"}))
    xapps.wait_ready(NAME)
    xapps.kubectl("patch", "xapp", NAME, "--type=merge", '--patch={"spec": {"values": {"greeting": "second"}}}')
    xapps.wait_until(lambda: greeting(xapps) == "second", what="the second greeting")
    xapps.wait_ready(NAME)
    dashboard.sign_in(token, f"/xapps/{xapps.namespace}/{NAME}")
    page = dashboard.page
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Roll back to revision 1...").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Roll back to revision 1").click()
    xapps.wait_until(lambda: greeting(xapps) == "first", what="the rollback")


def greeting(xapps: XAppClient) -> str:
    """Return what runs."""
    said: str = (xapps.get("configmap", NAME) or {})["data"]["greeting"]
    return said


def values(xapps: XAppClient) -> dict[str, Any]:
    """Return what the XApp asks for."""
    found: dict[str, Any] = (xapps.get("xapp", NAME) or {})["spec"]["values"]
    return found


def notice(page: Page) -> Locator:
    """Wait for the notice of the rollback, and return what it says."""
    title = page.get_by_text(TITLE, exact=True)
    expect(title).to_be_visible()
    return title.locator("..")


def preview_and_upgrade(region: Locator) -> None:
    region.get_by_role("button", name="Preview").click()
    upgrade = region.get_by_role("button", name="Upgrade", exact=True)
    expect(upgrade).not_to_have_attribute("aria-disabled", "true")
    upgrade.click()


def test_the_values_in_force_are_taken_over_and_undone_on_the_page_of_the_values(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    roll_back(dashboard, xapps, accounts.with_role("admin"))
    page = dashboard.page
    expect(notice(page)).to_contain_text("The operator keeps it until the XApp changes")
    page.get_by_role("link", name="Edit values").last.click()

    panel = page.get_by_role("region", name="Values", exact=True)
    expect(notice(page)).to_contain_text("These are the values of the XApp from before it.")
    assert values_text(page).strip() == "greeting: second"
    dashboard.check_accessibility()
    dashboard.screenshots("values-held")
    write_values(page, "# typed\ngreeting: typed\n")
    start = page.get_by_role("button", name="Start from the values of revision 1")
    start.click()
    expect(notice(page)).to_contain_text("These are the values of revision 1.")
    assert values_text(page).strip() == "greeting: first"
    page.get_by_role("button", name="Undo").click()
    expect(start).to_be_visible()
    assert values_text(page).strip() == "# typed\ngreeting: typed"

    # The revision is applied with a change: the rollback ends, and its notice with it.
    start.click()
    expect(notice(page)).to_contain_text("Applying them ends the rollback.")
    write_values(page, "greeting: first\nreplicas: 1\n")
    preview_and_upgrade(panel)
    dashboard.heading(NAME)
    xapps.wait_until(lambda: xapps.status(NAME)["release"]["revision"] == 4, what="the upgrade", xapp=NAME)
    assert values(xapps) == {"greeting": "first", "replicas": 1}
    assert greeting(xapps) == "first"
    expect(page.get_by_text(TITLE)).to_have_count(0)


def test_an_upgrade_starts_from_the_values_in_force(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    roll_back(dashboard, xapps, accounts.with_role("admin"))
    page = dashboard.page
    notice(page)
    page.get_by_role("link", name="Upgrade", exact=True).click()

    region = page.get_by_role("region", name="Upgrade", exact=True)
    expect(notice(page)).to_contain_text("These are the values of the XApp from before it.")
    assert values_text(page).strip() == "greeting: second"
    preview = region.get_by_role("button", name="Preview")
    expect(preview).to_have_attribute("aria-disabled", "true")
    start = page.get_by_role("button", name="Start from the values of revision 1")
    start.click()
    expect(notice(page)).to_contain_text("These are the values of revision 1.")
    assert values_text(page).strip() == "greeting: first"
    dashboard.check_accessibility()
    dashboard.screenshots("upgrade-held")
    page.get_by_role("button", name="Undo").first.click()
    expect(start).to_be_visible()
    assert values_text(page).strip() == "greeting: second"
    expect(preview).to_have_attribute("aria-disabled", "true")

    start.click()
    assert values_text(page).strip() == "greeting: first"
    preview_and_upgrade(region)
    dashboard.heading(NAME)
    xapps.wait_until(lambda: values(xapps) == {"greeting": "first"}, what="the values of revision 1")
    expect(page.get_by_text(TITLE)).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_contain_text(re.compile("Healthy|Deployed"))


def test_a_reader_sees_the_rollback_and_cannot_start_from_it(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    roll_back(dashboard, xapps, accounts.with_role("admin"))
    dashboard.context.clear_cookies()
    dashboard.sign_in(accounts.with_role("view", name="reader"), f"/xapps/{xapps.namespace}/{NAME}/values")
    page = dashboard.page
    notice(page)
    tab_to(page, page.get_by_role("button", name="Start from the values of revision 1"))
    expect(page.get_by_role("tooltip")).to_contain_text("Needs: ")
