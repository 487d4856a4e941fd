"""Upgrade an xApp to another version: of an uploaded chart, and of a chart in a repository; two who do it at once."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import BIG_INTEGER, chart, choose_chart, summary_text, write_values
from tests.browser.shell import copied_command, in_shell
from tests.localcluster import Cluster
from tests.support.chart_server import ChartServer
from tests.support.xapps import XAppClient

NAME: Final = "acme-ran-hello"
UPGRADE: Final = re.compile(rf"/api/deployment/xapp/[^/?]+/{NAME}$")
HOSTILE: Final = 'it\'s $HOME `id` \\n "EOF"'


def test_an_uploaded_chart_is_replaced_by_a_newer_one(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, chart(), values={"greeting": "mine"}))
    xapps.wait_ready(NAME)
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}/upgrade")
    page = dashboard.page
    expect(page.get_by_text("version 0.1.0")).to_be_visible()
    expect(page.get_by_text("Without another chart, the one that is there stays.")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("upgrade")
    version = page.get_by_role("textbox", name="Version", exact=True)
    choose_chart(page, chart("0.2.0-rc.1"))
    expect(version).to_have_value("0.2.0")
    expect(version).to_have_accessible_description(re.compile("^From 0.2.0-rc.1: the version of an xApp has only"))
    choose_chart(
        page, chart("0.2.0", **{"templates/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"})
    )
    expect(page.get_by_text("hello 0.2.0", exact=True)).to_be_visible()
    expect(version).to_have_value("0.2.0")
    expect(version).not_to_have_accessible_description(re.compile("From"))
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("1 object is new.")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("upgrade-preview")
    page.get_by_role("region", name="Upgrade").get_by_role("button", name="Upgrade", exact=True).click()

    dashboard.heading(NAME)
    xapps.wait_until(lambda: xapps.status(NAME).get("release", {}).get("chartVersion") == "0.2.0", what="the upgrade")
    spec = (xapps.get("xapp", NAME) or {})["spec"]
    assert (spec["version"], spec["values"]) == ("0.2.0", {"greeting": "mine"})


def test_a_chart_from_a_secret_says_so_and_a_file_takes_its_place(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    manifest = xapps.secret_manifest(NAME, chart(), values={"greeting": "mine"})
    xapps.apply(manifest)
    xapps.wait_ready(NAME)
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}/upgrade")
    page = dashboard.page
    source = manifest["spec"]["archive"]["secretRef"]
    kept = page.get_by_text(f"The chart of this xApp is kept in Secret/{source['name']}, key {source['key']}")
    expect(kept).to_be_visible()
    expect(
        page.get_by_text("Without another file, it stays. A file that you choose here takes its place")
    ).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("upgrade-from-a-secret")
    choose_chart(page, chart("0.2.0"))
    expect(page.get_by_text("hello 0.2.0", exact=True)).to_be_visible()
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("No object changes.")).to_be_visible()
    page.get_by_role("region", name="Upgrade").get_by_role("button", name="Upgrade", exact=True).click()

    page.wait_for_url(f"**/xapps/{xapps.namespace}/{NAME}")
    archive = (xapps.get("xapp", NAME) or {})["spec"]["archive"]
    assert set(archive) == {"chartArchiveRef", "digest"}
    dashboard.open(f"/xapps/{xapps.namespace}/{NAME}/upgrade")
    expect(page.get_by_text("Without another chart, the one that is there stays.")).to_be_visible()
    expect(kept).to_have_count(0)


def test_a_remote_chart_is_upgraded_to_a_version_of_its_repository(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, cluster: Cluster
) -> None:
    with ChartServer() as server:
        server.add("hello", "0.1.0", chart())
        server.add("hello", "0.2.0", chart("0.2.0"))
        xapps.apply(xapps.remote_manifest(NAME, url=server.url, chart="hello", timeout="4m", values={"greeting": "aa"}))
        xapps.wait_ready(NAME)
        dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])
        dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}/upgrade")
        page = dashboard.page
        version = page.get_by_role("combobox", name="Chart version")
        typed = page.get_by_role("textbox", name="Version", exact=True)
        version.fill("0.2.0-rc.1")
        page.keyboard.press("Escape")
        expect(typed).to_have_value("0.2.0")
        expect(typed).to_have_accessible_description(re.compile("^From 0.2.0-rc.1: "))
        # What somebody typed stays with every version of the chart.
        typed.fill("7.1")
        version.click()
        version.fill("")
        page.get_by_role("option", name="0.2.0").click()
        expect(version).to_have_value("0.2.0")
        expect(typed).to_have_value("7.1")
        typed.fill("0.2.0")
        expect(page.get_by_text("hello 0.2.0")).to_be_visible()
        page.get_by_text("More options").click()
        page.get_by_role("textbox", name="Timeout").fill("")
        write_values(page, f"# mine\ngreeting: {json.dumps(HOSTILE)}\ncellId: {BIG_INTEGER}\n")
        command = copied_command(page, page.get_by_role("button", name="Copy as"), "kubectl")
        patched = json.loads(in_shell(command.replace("patch", "patch --dry-run=server --output=json", 1), cluster))
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("heading", name="Preview")).to_be_visible()
        page.keyboard.press("Control+Enter")
        page.wait_for_url(f"**/xapps/{xapps.namespace}/{NAME}")
        # The command that was copied would have stored the same.
        stored: dict[str, Any] = (xapps.get("xapp", NAME) or {})["spec"]
        assert stored == patched["spec"]
        assert stored["values"] == {"greeting": HOSTILE, "cellId": BIG_INTEGER}
        assert "timeout" not in stored
        xapps.wait_until(
            lambda: xapps.status(NAME).get("release", {}).get("chartVersion") == "0.2.0", what="the upgrade"
        )


def test_two_who_upgrade_at_once_lose_nothing(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, cluster: Cluster
) -> None:
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
    buttons = panel.get_by_role("button", name="Discard").locator("..").get_by_role("button")
    expect(buttons).to_have_text(["Copy as", "Discard", "Preview", "Upgrade"])
    page.get_by_role("button", name="Compare").click()
    dialog = page.get_by_role("dialog")
    # What was typed, on top of what is stored now.
    expect(dialog.get_by_role("textbox", name="Theirs")).to_contain_text("timeout: 3m")
    for mine in ("timeout: 3m", "owner: paul", "greeting: mine"):
        expect(dialog.get_by_role("textbox", name="Mine")).to_contain_text(mine)
    dialog.get_by_role("tab", name="Their changes").click()
    expect(dialog.get_by_role("textbox", name="Theirs")).to_contain_text("timeout: 3m")
    expect(dialog.get_by_role("textbox", name="Before")).not_to_contain_text("timeout")
    dashboard.check_accessibility()
    dashboard.screenshots("upgrade-conflict")
    dialog.get_by_role("button", name="Keep mine").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("textbox", name="Owner")).to_have_value("paul")

    # The command that is copied does the same as the button.
    in_shell(copied_command(page, page.get_by_role("button", name="Copy as"), "kubectl"), cluster)
    spec = (xapps.get("xapp", NAME) or {})["spec"]
    assert (spec["owner"], spec["timeout"], spec["values"]) == ("paul", "3m", {"greeting": "mine"})

    # That was a change too. Theirs are taken: nothing is left to send.
    page.get_by_role("button", name="Take theirs").click()
    expect(page.get_by_text("Changed by somebody else")).to_have_count(0)
    panel.get_by_role("button", name="Preview").hover()
    expect(page.get_by_role("tooltip")).to_have_text("You have not changed anything")


def preview_and_upgrade(page: Page) -> None:
    region = page.get_by_role("region", name="Upgrade", exact=True)
    region.get_by_role("button", name="Preview").click()
    upgrade = region.get_by_role("button", name="Upgrade", exact=True)
    expect(upgrade).not_to_have_attribute("aria-disabled", "true")
    upgrade.click()


class HeldRequests:
    """Requests of a page that wait until they are released."""

    def __init__(self, page: Page, url: re.Pattern[str]) -> None:
        self._waiting: list[Route] = []
        self._is_released = False
        page.route(url, self._hold)

    def _hold(self, route: Route) -> None:
        if self._is_released:
            route.continue_()
        else:
            self._waiting.append(route)

    def release(self) -> None:
        """Let those go that have waited, and all later ones."""
        self._is_released = True
        for route in self._waiting:
            route.continue_()


# What the first stored is read in two parts, which may come in either order.
@pytest.mark.parametrize("parts", [("spec", "config"), ("config", "spec")], ids=["spec-first", "config-first"])
def test_the_second_of_two_upgrades_is_compared_with_the_first(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, parts: tuple[str, str]
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, chart(), values={"greeting": "hello"}))
    xapps.wait_ready(NAME)
    path = f"/xapps/{xapps.namespace}/{NAME}/upgrade"
    dashboard.sign_in(accounts.with_role("admin"), path)
    second, first = dashboard.page, dashboard.new_page()
    second.get_by_role("textbox", name="Owner").fill("paul")
    upgrade = HeldRequests(second, UPGRADE)
    preview_and_upgrade(second)
    early, late = (HeldRequests(second, re.compile(rf"/api/xapps/[^/]+/{NAME}/{part}$")) for part in parts)
    first.goto(dashboard.url + path)
    first.get_by_role("textbox", name="Owner").fill("mary")
    write_values(first, "greeting: theirs\n")
    preview_and_upgrade(first)
    expect(first).to_have_url(re.compile(rf"{NAME}$"))

    # 412: the generation that was edited is not the one that is stored.
    upgrade.release()
    expect(second.get_by_text("Changed meanwhile")).to_be_visible()
    early.release()
    seen = {"spec": "Changed by somebody else", "config": "greeting: theirs"}
    expect(second.get_by_text(seen[parts[0]]).first).to_be_attached()
    late.release()

    # The comparison opens.
    expect(second.get_by_text("Changed by somebody else")).to_be_visible()
    dialog = second.get_by_role("dialog", name="Compare")
    for theirs in ("owner: mary", "greeting: theirs"):
        expect(dialog.get_by_role("textbox", name="Theirs")).to_contain_text(theirs)
    # Only the owner was typed here: the values of the first are no loss of the second.
    for mine in ("owner: paul", "greeting: theirs"):
        expect(dialog.get_by_role("textbox", name="Mine")).to_contain_text(mine)
    dialog.get_by_role("button", name="Keep mine").click()
    expect(second.get_by_role("textbox", name="Owner")).to_have_value("paul")
    preview_and_upgrade(second)
    expect(second).to_have_url(re.compile(rf"{NAME}$"))
    spec = (xapps.get("xapp", NAME) or {})["spec"]
    assert (spec["owner"], spec["values"]) == ("paul", {"greeting": "theirs"})


def test_the_schema_of_a_new_chart_refuses_at_the_line_of_the_value(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, chart(), values={"greeting": "hello", "replicas": 3}))
    xapps.wait_ready(NAME)
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}/upgrade")
    page = dashboard.page
    schema = {"properties": {"replicas": {"type": "integer", "maximum": 2}}}
    choose_chart(page, chart("0.2.0", **{"values.schema.json": json.dumps(schema)}))
    expect(page.get_by_role("textbox", name="Version", exact=True)).to_have_value("0.2.0")
    page.get_by_role("region", name="Upgrade", exact=True).get_by_role("button", name="Preview").click()
    assert "Values, replicas" in summary_text(page)
    page.get_by_role("link", name=re.compile("replicas")).click()
    expect(page.get_by_role("textbox", name="Your values, YAML")).to_be_focused()
    expect(page.locator(".cm-activeLine")).to_have_text("replicas: 3")
    assert (xapps.get("xapp", NAME) or {})["spec"]["version"] == "0.1.0"
