"""Change the values of an xApp: edit, look at the difference by object, upgrade; and two who edit at once."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import BIG_INTEGER, chart, editor, values_text, write_values
from tests.browser.shell import copied_command, in_shell
from tests.localcluster import Cluster
from tests.support.xapps import XAppClient

NAME = "acme-ran-hello"


def _deploy(xapps: XAppClient, values: dict[str, object]) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, chart(), values=values))
    xapps.wait_ready(NAME)


def _open(dashboard: Dashboard, token: str, xapps: XAppClient, search: str = "") -> Page:
    dashboard.sign_in(token, f"/xapps/{xapps.namespace}/{NAME}/values{search}")
    expect(dashboard.page.get_by_role("heading", name="Values")).to_be_visible()
    return dashboard.page


def _panel(page: Page) -> Locator:
    """Return the panel of the values: the head of the page has an Upgrade button too."""
    return page.get_by_role("region", name="Values", exact=True)


def _values(xapps: XAppClient) -> dict[str, Any]:
    xapp = xapps.get("xapp", NAME)
    assert xapp is not None
    values: dict[str, Any] = xapp["spec"]["values"]
    return values


def _greeting(xapps: XAppClient) -> str:
    configmap = xapps.get("configmap", NAME)
    assert configmap is not None
    greeting: str = configmap["data"]["greeting"]
    return greeting


def test_a_value_is_changed_after_its_difference_was_shown(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    _deploy(xapps, {"greeting": "hello", "cellId": BIG_INTEGER})
    page = _open(dashboard, accounts.with_role("admin"), xapps)
    expect(page.get_by_text("Based on revision 1")).to_be_visible()
    assert str(BIG_INTEGER) in values_text(page)
    upgrade = _panel(page).get_by_role("button", name="Upgrade", exact=True)
    expect(upgrade).to_have_attribute("aria-disabled", "true")
    dashboard.check_accessibility()
    dashboard.screenshots("values")

    write_values(page, f"# changed\ncellId: {BIG_INTEGER}\ngreeting: good morning\n")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("1 object changes.")).to_be_visible()
    expect(page.get_by_text('greeting: "good morning"')).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("values-preview")
    upgrade.click()

    dashboard.heading(NAME)
    xapps.wait_until(lambda: _greeting(xapps) == "good morning", what="the new greeting")
    xapps.wait_ready(NAME)
    dashboard.open(f"/xapps/{xapps.namespace}/{NAME}/values")
    expect(page.get_by_text("Based on revision 2")).to_be_visible()
    assert values_text(page) == f"# changed\ncellId: {BIG_INTEGER}\ngreeting: good morning\n"


def test_values_of_comments_only_are_no_values(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    _deploy(xapps, {"greeting": "mine"})
    page = _open(dashboard, accounts.with_role("admin"), xapps)
    write_values(page, "# greeting: later\n")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("1 object changes.")).to_be_visible()
    _panel(page).get_by_role("button", name="Upgrade", exact=True).click()
    dashboard.heading(NAME)
    xapps.wait_until(lambda: _greeting(xapps) == "hello", what="the greeting of the chart")
    assert (xapps.get("xapp", NAME) or {})["spec"].get("values", {}) == {}
    dashboard.open(f"/xapps/{xapps.namespace}/{NAME}/values")
    assert values_text(page) == "# greeting: later\n{}\n"


def test_defaults_and_the_result_show_where_values_come_from(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    _deploy(xapps, {"greeting": "mine"})
    page = _open(dashboard, accounts.with_role("admin"), xapps, "?view=result")
    result = page.get_by_role("textbox", name=re.compile("^Result"))
    expect(result).to_contain_text(f"cellId: {BIG_INTEGER - 1}")
    expect(page.get_by_text(f"chart, helm rounds {BIG_INTEGER}")).to_be_visible()
    expect(page.get_by_text("yours", exact=True)).to_have_count(1)
    dashboard.check_accessibility()
    dashboard.screenshots("values-result")
    page.get_by_role("tab", name="Defaults").click()
    expect(page.get_by_role("textbox", name="Default values of the chart")).to_contain_text("# What the xApp says.")
    assert page.url.endswith("?view=defaults")
    load_file = page.get_by_role("button", name="Load file")
    expect(load_file).to_have_count(0)
    dashboard.check_accessibility()
    dashboard.screenshots("values-defaults")
    page.get_by_role("tab", name="Form").click()
    expect(page.get_by_role("textbox", name="greeting")).to_have_value("mine")
    dashboard.check_accessibility()
    dashboard.screenshots("values-form")
    page.get_by_role("textbox", name="replicas").fill("3")
    page.get_by_role("tab", name="YAML").click()
    assert values_text(page) == "greeting: mine\nreplicas: 3\n"
    expect(load_file).to_be_visible()


def test_copied_commands_send_the_values_that_were_typed(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, cluster: Cluster
) -> None:
    _deploy(xapps, {"greeting": "hello", "password": "of-the-owner"})
    token = accounts.with_role("admin")
    dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = _open(dashboard, token, xapps)
    shown = values_text(page)
    assert "of-the-owner" not in shown
    text = shown.replace("hello", "it's 'new'") + "# a comment\n"
    write_values(page, text)
    in_shell(
        copied_command(page, _panel(page).get_by_role("button", name="Copy as"), "curl"),
        cluster,
        gateway=dashboard.url,
        token=token,
    )
    assert _values(xapps) == {"greeting": "it's 'new'", "password": "of-the-owner"}
    xapps.wait_until(lambda: _greeting(xapps) == "it's 'new'", what="the new greeting")

    # An upgrade does too.
    dashboard.open(f"/xapps/{xapps.namespace}/{NAME}/upgrade")
    write_values(page, "greeting: newer\n")
    in_shell(
        copied_command(page, page.locator("main").get_by_role("button", name="Copy as").last, "curl"),
        cluster,
        gateway=dashboard.url,
        token=token,
    )
    assert _values(xapps) == {"greeting": "newer"}


def test_two_who_edit_at_once_lose_nothing(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    _deploy(xapps, {"greeting": "hello"})
    page = _open(dashboard, accounts.with_role("admin"), xapps)
    write_values(page, "greeting: mine\n")
    patch = '{"spec": {"values": {"greeting": "theirs"}}}'
    xapps.kubectl("patch", "xapp", NAME, "--type=merge", f"--patch={patch}")

    expect(page.get_by_text("Changed by somebody else")).to_be_visible()
    expect(page.get_by_role("button", name="Preview")).to_have_attribute("aria-disabled", "true")
    assert values_text(page) == "greeting: mine\n"
    dashboard.screenshots("values-changed-meanwhile")
    page.get_by_role("button", name="Compare").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("textbox", name="Theirs")).to_contain_text("greeting: theirs")
    expect(dialog.get_by_role("textbox", name="Mine")).to_contain_text("greeting: mine")
    dashboard.check_accessibility()
    dashboard.screenshots("values-conflict")
    dialog.get_by_role("button", name="Keep mine").click()

    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text('greeting: "mine"')).to_be_visible()
    page.get_by_role("button", name="Upgrade", exact=True).focus()
    page.keyboard.press("Control+Enter")
    dashboard.heading(NAME)
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    xapps.wait_until(lambda: _greeting(xapps) == "mine", what="the greeting that was kept")


def test_theirs_can_be_taken(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    _deploy(xapps, {"greeting": "hello"})
    page = _open(dashboard, accounts.with_role("admin"), xapps)
    write_values(page, "greeting: mine\n")
    xapps.kubectl("patch", "xapp", NAME, "--type=merge", '--patch={"spec": {"values": {"greeting": "theirs"}}}')
    page.get_by_role("button", name="Take theirs").click()
    expect(editor(page)).to_contain_text("greeting: theirs")
    expect(page.get_by_text("Changed by somebody else")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(editor(page)).to_contain_text("greeting: mine")
    expect(page.get_by_text("Changed by somebody else")).to_be_visible()


def test_a_draft_is_kept_when_the_page_is_left(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    _deploy(xapps, {"greeting": "hello"})
    page = _open(dashboard, accounts.with_role("admin"), xapps)
    discard = page.get_by_role("button", name="Discard")
    expect(discard).to_have_attribute("data-reason", "You have not changed anything")
    expect(discard.locator("..").get_by_role("button")).to_have_text(["Copy as", "Discard", "Preview", "Upgrade"])
    write_values(page, "greeting: draft\n")
    expect(discard).not_to_have_attribute("aria-disabled", "true")
    page.get_by_role("link", name="Services").click()
    dialog = page.get_by_role("alertdialog")
    expect(dialog.get_by_role("button", name="Stay")).to_be_focused()
    dialog.get_by_role("button", name="Leave").click()
    dashboard.heading("Services")
    page.go_back()
    expect(editor(page)).to_contain_text("greeting: draft")
    page.get_by_role("button", name="Discard").click()
    expect(editor(page)).to_contain_text("greeting: hello")
    page.get_by_role("button", name="Undo").click()
    expect(editor(page)).to_contain_text("greeting: draft")


def test_a_reader_cannot_edit_and_sees_why(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    _deploy(xapps, {"greeting": "hello"})
    page = _open(dashboard, accounts.with_role("view"), xapps)
    expect(page.get_by_role("textbox", name="Your values")).to_contain_text("greeting: hello")
    _panel(page).get_by_role("button", name="Upgrade", exact=True).focus()
    expect(page.get_by_role("tooltip")).to_contain_text("Needs: ")
    page.get_by_role("tab", name="Result").click()
    expect(page.get_by_role("textbox", name=re.compile("^Result"))).to_contain_text("greeting: hello")
