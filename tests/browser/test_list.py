"""The list of xApps: filters, changes while it is watched, and uninstalling several."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.support.charts import chart_archive
from tests.support.xapps import XAppClient

HOSTILE = "jane <img src=x onerror=alert(1)>"
"""The API server refuses control characters and marks of text direction in this field, but not HTML."""


def test_the_list_is_filtered_by_its_values_and_back_restores_it(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    for name in ("acme-ran-one", "acme-ran-two"):
        xapps.apply(xapps.uploaded_manifest(name, chart_archive()))
    xapps.wait_ready("acme-ran-one")
    xapps.wait_ready("acme-ran-two")
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    dashboard.heading("xApps Management")
    expect(page.get_by_role("link", name=re.compile("^acme-ran-"))).to_have_count(2)
    expect(page.get_by_role("button", name=re.compile("^Healthy 2"))).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("list")

    page.get_by_role("button", name=re.compile("^Degraded 0")).click()
    expect(page.get_by_text("No xApp found")).to_be_visible()
    assert "health=Degraded" in page.url
    page.go_back()
    expect(page.get_by_role("link", name=re.compile("^acme-ran-"))).to_have_count(2)

    page.get_by_role("button", name="Phase").first.click()
    page.get_by_role("option", name=re.compile("Deployed")).click()
    page.keyboard.press("Escape")
    expect(page.get_by_text("Phase: Deployed")).to_be_visible()
    page.get_by_role("button", name="Remove the filter Phase: Deployed").click()
    expect(page.get_by_text("Phase: Deployed")).to_have_count(0)
    assert "phase=" not in page.url
    page.get_by_role("searchbox", name="Search xApps").fill("two")
    expect(page.get_by_role("link", name="acme-ran-two")).to_be_visible()
    expect(page.get_by_role("link", name="acme-ran-one")).to_have_count(0)


def test_a_change_shows_in_its_row_and_new_rows_wait(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest("acme-ran-seen", chart_archive()))
    xapps.wait_ready("acme-ran-seen")
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    row = page.get_by_role("row", name=re.compile("acme-ran-seen"))
    expect(row).to_contain_text("Deployed")
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="acme-ran-seen")).to_be_focused()
    page.keyboard.press("x")
    expect(page.get_by_text("1 selected")).to_be_visible()

    before = row.bounding_box()
    xapps.kubectl("patch", "xapp", "acme-ran-seen", "--type=merge", '-p={"spec":{"suspend":true}}')
    expect(row).to_contain_text("Suspended")
    xapps.apply(xapps.uploaded_manifest("acme-ran-new", chart_archive()))
    expect(page.get_by_text("1 new.")).to_be_visible()
    expect(page.get_by_role("link", name="acme-ran-new")).to_have_count(0)
    after = row.bounding_box()
    assert before is not None
    assert after is not None
    assert (after["x"], after["y"]) == (before["x"], before["y"]), "the row moved"
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_role("link", name="acme-ran-new")).to_be_visible()

    # The rows are sorted by name: the first one is new.
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    dashboard.heading(re.compile("^acme-ran-new"))


def test_several_xapps_are_uninstalled_and_external_ones_are_left_out(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    names = [f"acme-ran-{number:02}" for number in range(11)]
    manifest = xapps.uploaded_manifest("acme-ran-00", chart_archive())
    for name in names:
        xapps.apply({**manifest, "metadata": {**manifest["metadata"], "name": name}})
    xapps.kubectl("create", "deployment", "by-hand", "--image=example.com/none", "--replicas=0")
    xapps.kubectl("label", "deployment", "by-hand", "drax/role=xapp", "drax/xapp-name=by-hand")
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    expect(page.get_by_role("row")).to_have_count(13)

    page.get_by_role("checkbox", name="Select all rows of this page").press("Space")
    page.get_by_role("button", name="Uninstall...").click()
    dialog = page.get_by_role("alertdialog", name="Uninstall 11 xApps?")
    expect(dialog.get_by_role("button", name="Keep")).to_be_focused()
    expect(dialog.get_by_text("known by their labels only")).to_be_visible()
    confirm = dialog.get_by_role("button", name="Uninstall 11 xApps")
    expect(confirm).to_have_attribute("aria-disabled", "true")
    dialog.get_by_label("Type 11 to confirm").fill("11")
    confirm.click()

    for name in names:
        xapps.wait_gone("xapp", name)
    expect(dialog).to_have_count(0)
    assert "by-hand" in xapps.kubectl("get", "deployments", "-o", "name")


def test_who_may_only_read_is_told_which_right_is_missing(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    manifest = xapps.uploaded_manifest("acme-ran-kept", chart_archive())
    xapps.apply({**manifest, "spec": {**manifest["spec"], "owner": HOSTILE}})
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("view"), f"/xapps?namespace={xapps.namespace}")
    page.get_by_role("checkbox", name="Select acme-ran-kept").press("Space")
    row = page.get_by_role("row", name=re.compile("acme-ran-kept"))
    expect(row).to_contain_text(HOSTILE)
    uninstall = page.get_by_role("button", name="Uninstall...")
    expect(uninstall).to_have_attribute("aria-disabled", "true")
    uninstall.focus()
    expect(page.get_by_text(re.compile("Needs: .*delete.* xapps"))).to_be_visible()
