"""Uninstalling several xApps in the list."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from playwright.sync_api import Page, Route, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.shell import copied_command, in_shell
from tests.localcluster import Cluster
from tests.localcluster.waiting import wait_until
from tests.support.charts import chart_archive
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

UNINSTALLS: Final = re.compile("/api/deployment/xapp$")


def has_begun(page: Page, held: list[Route], number: int) -> bool:
    """Return whether so many requests are held, once the events of the browser have been handled."""
    page.title()
    return len(held) >= number


def test_what_is_copied_uninstalls_those_that_were_selected(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, cluster: Cluster
) -> None:
    names = ["acme-ran-one", "acme-ran-two", "acme-ran-xyz"]
    manifest = xapps.uploaded_manifest(names[0], chart_archive())
    for name in names:
        xapps.apply({**manifest, "metadata": {**manifest["metadata"], "name": name}})
    page, token = dashboard.page, accounts.with_role("edit")
    dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])
    dashboard.sign_in(token, f"/xapps?namespace={xapps.namespace}")
    expect(page.get_by_role("row")).to_have_count(4)
    page.get_by_role("checkbox", name="Select all rows of this page").press("Space")
    page.get_by_role("button", name="Uninstall...").click()
    copy = page.get_by_role("alertdialog", name="Uninstall 3 xApps?").get_by_role("button", name="Copy as")
    command = copied_command(page, copy, "curl")
    # Others replace one of them meanwhile: that is not the xApp that was selected.
    xapps.kubectl("delete", "xapp", names[1])
    xapps.apply({**manifest, "metadata": {**manifest["metadata"], "name": names[1]}})
    # One that is refused fails, as a script must notice; at a prompt, the others go on.
    answers = in_shell(f"set +e\n{command}\ntrue", cluster, gateway=dashboard.url, token=token)
    assert answers.count('"phase":"Uninstalling"') == 2
    assert answers.count('"status":412') == 1
    for name in (names[0], names[2]):
        xapps.wait_gone("xapp", name)
    assert "deletionTimestamp" not in (xapps.get("xapp", names[1]) or {})["metadata"]


def test_several_xapps_are_uninstalled_and_external_ones_are_left_out(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, cluster: Cluster
) -> None:
    names = [f"acme-ran-{number:02}" for number in range(11)]
    manifest = xapps.uploaded_manifest("acme-ran-00", chart_archive())
    for name in names:
        xapps.apply({**manifest, "metadata": {**manifest["metadata"], "name": name}})
    xapps.kubectl("create", "deployment", "by-hand", "--image=example.com/none", "--replicas=0")
    xapps.kubectl("label", "deployment", "by-hand", "drax/role=xapp", "drax/xapp-name=by-hand")
    page = dashboard.page
    dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    expect(page.get_by_role("row")).to_have_count(13)

    # What can be done with the selected rows is always in view, and does not cover the row with the focus.
    page.get_by_role("checkbox", name="Select acme-ran-01").press("Space")
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 500})
        page.get_by_role("checkbox", name="Select acme-ran-01").focus()
        page.evaluate("scrollTo(0, 0)")
        expect(page.get_by_role("button", name="Uninstall...")).to_be_in_viewport(ratio=1)
        last = page.get_by_role("checkbox", name="Select by-hand")
        last.focus()
        assert last.evaluate(
            "b => document.elementFromPoint(b.getBoundingClientRect().x + 4, b.getBoundingClientRect().y + 4) === b"
        ), f"the bar covers the row with the focus, {width} pixels wide"
    dashboard.screenshots("list-selected")
    page.set_viewport_size({"width": 1280, "height": 720})

    # From 10 on, their number is typed.
    page.get_by_role("checkbox", name="Select all rows of this page").press("Space")
    for number in (0, 1):
        page.get_by_role("checkbox", name=f"Select acme-ran-0{number}").press("Space")
    page.get_by_role("button", name="Uninstall...").click()
    dialog = page.get_by_role("alertdialog", name="Uninstall 9 xApps?")
    expect(dialog.get_by_role("button", name="Uninstall 9 xApps")).not_to_have_attribute("aria-disabled", "true")
    expect(dialog.get_by_role("textbox")).to_have_count(0)
    dialog.get_by_role("button", name="Keep").click()
    page.get_by_role("checkbox", name="Select acme-ran-01").press("Space")
    page.get_by_role("button", name="Uninstall...").click()
    dialog = page.get_by_role("alertdialog", name="Uninstall 10 xApps?")
    expect(dialog.get_by_role("button", name="Uninstall 10 xApps")).to_have_attribute("aria-disabled", "true")
    expect(dialog.get_by_label("Type 10 to confirm")).to_be_visible()
    dialog.get_by_role("button", name="Keep").click()
    page.get_by_role("checkbox", name="Select acme-ran-00").press("Space")

    page.get_by_role("button", name="Uninstall...").click()
    dialog = page.get_by_role("alertdialog", name="Uninstall 11 xApps?")
    expect(dialog.get_by_role("button", name="Keep")).to_be_focused()
    expect(dialog.get_by_text("known by their labels only")).to_be_visible()
    for name in [*names, "by-hand"]:
        expect(dialog.get_by_role("listitem").filter(has_text=f"{xapps.namespace}/{name}")).to_have_count(1)
    dashboard.check_accessibility()
    dashboard.screenshots("uninstall-several")
    # Others replace one of them meanwhile: that is not the xApp that was selected.
    xapps.kubectl("delete", "xapp", "acme-ran-03")
    xapps.apply({**manifest, "metadata": {**manifest["metadata"], "name": "acme-ran-03"}})
    copy = dialog.get_by_role("button", name="Copy as")
    would_go = in_shell(copied_command(page, copy, "kubectl") + " --dry-run=server -oname", cluster).split()
    assert sorted(would_go) == [f"xapp.xapp-operator.io/{name}" for name in names]
    assert copied_command(page, copy, "curl").count("curl -sS --fail-with-body -X DELETE ") == len(names)
    confirm = dialog.get_by_role("button", name="Uninstall 11 xApps")
    expect(confirm).to_have_attribute("aria-disabled", "true")
    dialog.get_by_label("Type 11 to confirm").fill("11")
    # What others have removed is gone, as it was to be.
    xapps.kubectl("delete", "xapp", "acme-ran-04")
    xapps.wait_gone("xapp", "acme-ran-04")
    # Six at a time: another one begins when one ends.
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(UNINSTALLS, hold)
    confirm.click()
    for ended in range(len(names)):
        expect(dialog.get_by_role("button", name=f"{ended} of 11")).to_be_visible()
        begun = min(len(names), ended + 6)
        wait_until(partial(has_begun, page, held, begun), timeout=30, what=f"request {begun}")
        assert len(held) == begun
        held[ended].continue_()
    page.unroute(UNINSTALLS)

    expect(page.get_by_text("Accepted: 9 of 11 are being uninstalled. Already gone: 1")).to_be_visible()
    dialog = page.get_by_role("alertdialog", name="Uninstall acme-ran-03?")
    expect(dialog.get_by_text("1 could not be uninstalled. They stay selected.")).to_be_visible()
    expect(dialog.get_by_role("listitem").first).to_contain_text(
        re.compile("acme-ran-03 .*Somebody else replaced this xApp")
    )
    expect(dialog.get_by_label(re.compile("^Type"))).to_have_count(0)
    dashboard.check_accessibility()
    dashboard.screenshots("uninstall-failed")
    dialog.get_by_role("button", name="Keep").click()
    expect(page.get_by_text("1 selected")).to_be_visible()
    for name in names:
        if name != "acme-ran-03":
            xapps.wait_gone("xapp", name)
    assert xapps.get("xapp", "acme-ran-03") is not None
    # The rows that were uninstalled here go at once, although a row is still selected.
    expect(page.get_by_role("row")).to_have_count(3)
    expect(page.get_by_role("button", name="Show", exact=True)).to_have_count(0)
    assert "by-hand" in xapps.kubectl("get", "deployments", "-o", "name")

    # By keyboard, the focus stays at the end of the table when the buttons there are gone.
    page.reload()
    page.get_by_role("checkbox", name="Select acme-ran-03").press("Space")
    page.get_by_role("button", name="Uninstall...").press("Enter")
    page.get_by_role("alertdialog").get_by_role("button", name="Uninstall acme-ran-03").press("Enter")
    expect(page.get_by_role("alertdialog")).to_have_count(0)
    expect(page.locator("[role=status]:focus")).to_have_count(1)
    xapps.wait_gone("xapp", "acme-ran-03")


def test_several_are_uninstalled_knowing_which_of_them_keep_running(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    for name, policy in (("acme-ran-gone", "Uninstall"), ("acme-ran-left", "Orphan"), ("acme-ran-left-too", "Orphan")):
        xapps.apply(xapps.uploaded_manifest(name, workload_chart(), deletionPolicy=policy))
        xapps.wait_ready(name)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    page.get_by_role("checkbox", name="Select all rows of this page").press("Space")
    page.get_by_role("button", name="Uninstall...").click()
    dialog = page.get_by_role("alertdialog", name="Uninstall 3 xApps?")
    expect(dialog.get_by_text(re.compile(r"^This removes 1 Helm release: \d+ objects, 1 pod\."))).to_be_visible()
    expect(dialog.get_by_text("2 releases keep running; only their XApps go.")).to_be_visible()
    for name, runs_on in (("acme-ran-gone", False), ("acme-ran-left", True), ("acme-ran-left-too", True)):
        row = dialog.get_by_role("listitem").filter(has_text=re.compile(f"/{name}( |$)"))
        expect(row).to_have_text(f"{xapps.namespace}/{name}{' keeps running' if runs_on else ''}")
    dashboard.check_accessibility()
    dashboard.screenshots("uninstall-orphans")
    dialog.get_by_role("button", name="Uninstall 3 xApps").click()
    expect(page.get_by_text("Accepted: 3 of 3 are being uninstalled")).to_be_visible()
    for name in ("acme-ran-gone", "acme-ran-left", "acme-ran-left-too"):
        xapps.wait_gone("xapp", name)
    assert sorted(xapps.names("deployment")) == ["acme-ran-left", "acme-ran-left-too"]
