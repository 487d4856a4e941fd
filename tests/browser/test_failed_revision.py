"""What the history shows of one revision: what it is, and why it failed."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

NAME = "acme-ran-failed"
SERVICE = f"apiVersion: v1\nkind: Service\nmetadata: {{name: {NAME}}}\nspec: {{ports: [{{name: http, port: 99999}}]}}\n"


def test_a_revision_shows_its_chart_its_action_and_its_error(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart()))
    xapps.wait_ready(NAME)
    chart = workload_chart(version="0.2.0", templates__service=SERVICE)
    xapps.apply(xapps.uploaded_manifest(NAME, chart, version="0.2.0"))
    xapps.wait_stalled(NAME)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps/{xapps.namespace}/{NAME}/history")
    page.get_by_role("link", name="Show revision 2").click()
    facts = page.get_by_label("Facts of revision 2")
    for fact in ("Failed", "Upgrade", "workload 0.2.0", "spec.ports[0].port"):
        expect(facts).to_contain_text(fact)
    error = facts.get_by_role("button", name="Copy Error")
    expect(error).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("history-failed-revision")
    page.set_viewport_size({"width": 360, "height": 780})
    expect(error).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 360

    page.get_by_role("link", name="Show revision 1").click()
    facts = page.get_by_label("Facts of revision 1")
    for fact in ("Superseded", "Install", "workload 0.1.0", "Install complete"):
        expect(facts).to_contain_text(fact)
    expect(error).to_have_count(0)
