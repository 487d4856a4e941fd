"""From one xApp to the next of the list, and from an xApp that was installed by hand to its adoption."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import choose_chart, fill_identity
from tests.localcluster import Cluster
from tests.support.charts import chart_archive
from tests.support.helm_user import HelmUser
from tests.support.vendor_charts import drax_chart
from tests.support.xapps import XAppClient


def test_the_next_xapp_of_the_list_is_one_key_away_also_on_the_next_page(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    names = ["acme-a", "acme-b", "acme-c"]
    for name in names:
        xapps.apply(xapps.uploaded_manifest(name, chart_archive()))
    for name in names:
        xapps.wait_ready(name)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("view"), f"/xapps?namespace={xapps.namespace}&per_page=2")
    page.get_by_role("link", name="acme-b").click()
    dashboard.heading(re.compile("^acme-b"))
    expect(page.get_by_role("button", name="Next: acme-c")).to_be_visible()

    page.keyboard.press("]")
    dashboard.heading(re.compile("^acme-c"))
    expect(page.get_by_role("button", name="Next xApp of the list")).to_have_attribute("aria-disabled", "true")
    page.get_by_role("button", name="Previous: acme-b").click()
    dashboard.heading(re.compile("^acme-b"))
    page.keyboard.press("[")
    dashboard.heading(re.compile("^acme-a"))
    page.get_by_role("navigation", name="Breadcrumbs").get_by_role("link", name="xApps Management").click()
    expect(page).to_have_url(re.compile(rf"/xapps\?namespace={xapps.namespace}&per_page=2$"))


def test_an_xapp_that_was_installed_by_hand_offers_its_adoption(
    dashboard: Dashboard, accounts: Accounts, cluster: Cluster, xapps: XAppClient, tmp_path: Path
) -> None:
    namespace = xapps.namespace
    by_hand = HelmUser(cluster, namespace, tmp_path)
    by_hand.install("by-hand", drax_chart())
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={namespace}")
    page.get_by_role("link", name="by-hand").click()
    dashboard.heading(re.compile("^by-hand"))
    expect(page.get_by_text("Installed by other means")).to_be_visible()
    expect(page.get_by_role("button", name="Uninstall...")).to_have_count(0)
    dashboard.check_accessibility()
    dashboard.screenshots("installed-by-hand")
    page.get_by_role("link", name="Adopt...").click()
    expect(page).to_have_url(re.compile(rf"/deploy\?namespace={namespace}&releaseName=by-hand&adopt=true$"))
    # What its labels tell is filled in.
    expect(page.get_by_role("textbox", name="Version", exact=True)).to_have_value("0.2.1")
    choose_chart(page, drax_chart())
    expect(page.get_by_text("hello-world 0.2.1", exact=True)).to_be_visible()
    fill_identity(page)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("No object changes.")).to_be_visible()
    page.get_by_role("button", name="Submit").click()
    dashboard.heading("acme-ran-hello-world")
    xapps.wait_ready("acme-ran-hello-world")
    assert by_hand.releases() == {"by-hand"}
    assert len(by_hand.history("by-hand")) == xapps.status("acme-ran-hello-world")["release"]["revision"]
