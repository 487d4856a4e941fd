"""Upgrade an xApp to another version: of an uploaded chart, and of a chart in a repository."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import chart, choose_chart, write_values
from tests.support.chart_server import ChartServer
from tests.support.xapps import XAppClient

NAME = "acme-ran-hello"


def test_an_uploaded_chart_is_replaced_by_a_newer_one(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, chart(), values={"greeting": "mine"}))
    xapps.wait_ready(NAME)
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}/upgrade")
    page = dashboard.page
    expect(page.get_by_text("version 0.1.0")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("upgrade")
    choose_chart(
        page, chart("0.2.0", **{"templates/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"})
    )
    expect(page.get_by_role("textbox", name="Version", exact=True)).to_have_value("0.2.0")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("1 object is new.")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("upgrade-preview")
    page.get_by_role("region", name="Upgrade").get_by_role("button", name="Upgrade", exact=True).click()

    dashboard.heading(NAME)
    xapps.wait_until(lambda: xapps.status(NAME).get("release", {}).get("chartVersion") == "0.2.0", what="the upgrade")
    spec = (xapps.get("xapp", NAME) or {})["spec"]
    assert (spec["version"], spec["values"]) == ("0.2.0", {"greeting": "mine"})


def test_a_remote_chart_is_upgraded_to_a_version_of_its_repository(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    with ChartServer() as server:
        server.add("hello", "0.1.0", chart())
        server.add("hello", "0.2.0", chart("0.2.0"))
        xapps.apply(xapps.remote_manifest(NAME, url=server.url, chart="hello"))
        xapps.wait_ready(NAME)
        dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}/upgrade")
        page = dashboard.page
        version = page.get_by_role("combobox", name="Chart version")
        version.click()
        version.fill("")
        page.get_by_role("option", name="0.2.0").click()
        expect(page.get_by_role("textbox", name="Version", exact=True)).to_have_value("0.2.0")
        expect(page.get_by_text("hello 0.2.0")).to_be_visible()
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("heading", name="Preview")).to_be_visible()
        page.keyboard.press("Control+Enter")
        dashboard.heading(NAME)
        xapps.wait_until(
            lambda: xapps.status(NAME).get("release", {}).get("chartVersion") == "0.2.0", what="the upgrade"
        )


def test_two_who_upgrade_at_once_lose_nothing(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, chart(), values={"greeting": "hello"}))
    xapps.wait_ready(NAME)
    dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}/upgrade")
    page = dashboard.page
    page.get_by_role("textbox", name="Owner").fill("paul")
    write_values(page, "greeting: mine\n")
    xapps.kubectl("patch", "xapp", NAME, "--type=merge", '--patch={"spec": {"timeout": "3m"}}')

    expect(page.get_by_text("Changed by somebody else")).to_be_visible()
    panel = page.get_by_role("region", name="Upgrade")
    expect(panel.get_by_role("button", name="Preview")).to_have_attribute("aria-disabled", "true")
    page.get_by_role("button", name="Compare").click()
    dialog = page.get_by_role("dialog")
    # What was typed, on top of what is stored now.
    expect(dialog.get_by_role("textbox", name="Theirs")).to_contain_text("timeout: 3m")
    for mine in ("timeout: 3m", "owner: paul", "greeting: mine"):
        expect(dialog.get_by_role("textbox", name="Mine")).to_contain_text(mine)
    dialog.get_by_role("tab", name="What they changed").click()
    expect(dialog.get_by_role("textbox", name="Theirs")).to_contain_text("timeout: 3m")
    expect(dialog.get_by_role("textbox", name="Before")).not_to_contain_text("timeout")
    dashboard.check_accessibility()
    dashboard.screenshots("upgrade-conflict")
    dialog.get_by_role("button", name="Keep mine").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("textbox", name="Owner")).to_have_value("paul")

    # The command that is copied does the same as the button.
    page.get_by_role("button", name="Copy as").click()
    page.get_by_role("menuitem", name="kubectl").click()
    expect(page.get_by_text("Copied as kubectl")).to_be_visible()
    command, _, patch = page.evaluate("navigator.clipboard.readText()").partition(" <<'EOF'\n")
    assert command == f"kubectl patch xapp {NAME} -n {xapps.namespace} --type json --patch-file /dev/stdin"
    xapps.kubectl("patch", "xapp", NAME, "--type=json", "--patch-file=/dev/stdin", input=patch.removesuffix("EOF"))
    spec = (xapps.get("xapp", NAME) or {})["spec"]
    assert (spec["owner"], spec["timeout"], spec["values"]) == ("paul", "3m", {"greeting": "mine"})

    # That was a change too. Theirs are taken: nothing is left to send.
    page.get_by_role("button", name="Take theirs").click()
    expect(page.get_by_text("Changed by somebody else")).to_have_count(0)
    panel.get_by_role("button", name="Preview").hover()
    expect(page.get_by_role("tooltip")).to_have_text("You have not changed anything")
