"""What somebody sees of an xApp who may only read, and not everything."""

from __future__ import annotations

from typing import Final

from playwright.sync_api import expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

NAME: Final = "acme-ran-hello"


def test_who_may_only_read_sees_why_actions_are_off(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart()))
    xapps.wait_ready(NAME)
    page = dashboard.page
    # `view` of Kubernetes leaves Secrets out.
    dashboard.sign_in(accounts.with_role("view"), f"/xapps/{xapps.namespace}/{NAME}")

    for name in ("Upgrade", "Edit values", "Uninstall..."):
        expect(page.get_by_role("button", name=name)).to_have_attribute("aria-disabled", "true")
    uninstall = page.get_by_role("button", name="Uninstall...")
    uninstall.focus()
    reason = f"Needs: delete xapps in {xapps.namespace}"
    expect(page.get_by_role("tooltip")).to_have_text(reason)
    uninstall.press("Enter")
    expect(page.get_by_role("dialog", name="Why this is not possible").get_by_text(reason)).to_be_visible()
    expect(page.get_by_role("button", name="Copy the reason")).to_be_visible()
    page.keyboard.press("Escape")
    dashboard.check_accessibility()
    dashboard.screenshots("read-only")

    for rest in ("manifest", "notes"):
        dashboard.open(f"/xapps/{xapps.namespace}/{NAME}/{rest}")
        expect(page.get_by_text("Not visible")).to_be_visible()
        expect(page.get_by_text(f"Needs: get, list secrets in {xapps.namespace}")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("not-visible")

    dashboard.open(f"/xapps/{xapps.namespace}/{NAME}/history")
    show = page.get_by_role("button", name="Show revision 1")
    expect(show).to_have_attribute("aria-disabled", "true")
    dashboard.open(f"/xapps/{xapps.namespace}/{NAME}/history?revision=1")
    expect(page.get_by_text("Not visible")).to_be_visible()
    expect(page.get_by_text(f"Needs: get, list secrets in {xapps.namespace}")).to_be_visible()
    dashboard.open(f"/xapps/{xapps.namespace}/{NAME}/own-api")
    expect(page.get_by_text(f"Needs: get services/proxy in {xapps.namespace}")).to_be_visible()
    dashboard.screenshots("own-api-not-visible")


def test_what_is_not_visible_is_said_and_not_left_out(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart()))
    xapps.wait_ready(NAME)
    page = dashboard.page
    token = accounts.with_rights(xapps=["get", "list", "delete"])
    dashboard.sign_in(token, f"/xapps/{xapps.namespace}/{NAME}")

    expect(page.get_by_text(f"Pods: Not visible: needs list pods in {xapps.namespace}")).to_be_visible()
    page.get_by_role("button", name="Uninstall...").click()
    dialog = page.get_by_role("alertdialog")
    expect(dialog.get_by_text(f"This removes its Helm release from {xapps.namespace}.")).to_be_visible()
    expect(dialog.get_by_text(f"Objects: Not visible: needs list, get secrets in {xapps.namespace}")).to_be_visible()
    dashboard.screenshots("uninstall-not-visible")
    page.keyboard.press("Escape")
    for rest in ("logs", "events"):
        dashboard.open(f"/xapps/{xapps.namespace}/{NAME}/{rest}")
        expect(page.get_by_text("Not visible")).to_be_visible()
    for view in ("form", "defaults"):
        dashboard.open(f"/xapps/{xapps.namespace}/{NAME}/values?view={view}")
        expect(page.get_by_text("Not visible: needs get secrets.")).to_be_visible()
    dashboard.screenshots("values-not-visible")


def test_the_cause_says_which_of_its_parts_are_not_visible(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart(), values={"fail": "CrashLoopBackOff"}, timeout="3s"))
    xapps.wait_until(
        lambda: (xapps.current_condition(NAME, "Ready") or {}).get("reason") == "HealthCheckFailed",
        what="the end of its timeout",
        xapp=NAME,
    )
    page = dashboard.page
    dashboard.sign_in(accounts.with_rights(xapps=["get", "list"]), f"/xapps/{xapps.namespace}/{NAME}")
    cause = page.get_by_role("region", name="Why it is not Ready")
    expect(cause.get_by_text(f"Not visible. Needs: list pods in {xapps.namespace}")).to_be_visible()
    expect(cause.get_by_text(f"Not visible. Needs: list events in {xapps.namespace}")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("cause-not-visible")


def test_a_form_says_which_right_it_needs_to_know_the_chart(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart()))
    xapps.wait_ready(NAME)
    page = dashboard.page
    token = accounts.with_rights(xapps=["get", "list", "update", "patch"])
    dashboard.sign_in(token, f"/xapps/{xapps.namespace}/{NAME}/values?view=form")
    expect(page.get_by_text("Not visible: needs get secrets.")).to_be_visible()
    dashboard.open(f"/xapps/{xapps.namespace}/{NAME}/upgrade")
    page.get_by_role("tab", name="Form").click()
    expect(page.get_by_text("Not visible. Needs: ")).to_be_visible()
