"""From one xApp to the next of the list, and from an xApp that was installed by hand to its adoption."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

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
    # Also by its address, the page of an upgrade is no failure.
    dashboard.open(f"/xapps/{namespace}/by-hand/upgrade")
    main = page.get_by_role("main")
    expect(main.get_by_text("it cannot be upgraded here. Adopt it first.")).to_be_visible()
    expect(main.get_by_role("link", name="Adopt...").last).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    page.go_back()
    dashboard.heading(re.compile("^by-hand"))
    expect(page.get_by_text("so it cannot be upgraded here")).to_have_count(0)
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


def test_an_xapp_without_a_helm_release_says_what_its_adoption_does(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(labelled_deployment(xapps.namespace))
    before = (xapps.get("deployment", "labelled") or {})["metadata"]["uid"]
    page = dashboard.page
    path = f"/xapps/{xapps.namespace}/labelled"
    dashboard.sign_in(accounts.with_role("admin"), path)
    takes_over = "Its chart is installed, and takes over those of its objects that exist already."
    expect(page.get_by_text("and has no Helm release. Adopt it")).to_contain_text(takes_over)
    tabs = page.get_by_role("navigation", name="Pages of this xApp")
    for tab, what in (("History", "revisions"), ("Manifest", "manifest"), ("Notes", "notes")):
        tabs.get_by_role("link", name=tab).click()
        expect(page.get_by_text(f"It was installed without Helm, so it has no {what}.")).to_be_visible()
    dashboard.check_accessibility()
    tabs.get_by_role("link", name="Values").click()
    expect(page.get_by_text("so it has no values.")).to_contain_text(takes_over)
    page.get_by_role("link", name="Adopt...").last.click()
    dashboard.heading("Deploy an xApp")
    expect(page.get_by_text("labelled has no Helm release.")).to_contain_text(takes_over)
    template = json.dumps(labelled_deployment("{{ .Release.Namespace }}"))
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"
    choose_chart(page, chart_archive({"templates/app.yaml": template, "templates/other.yaml": other}))
    fill_identity(page)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("1 object changes, 1 is new.")).to_be_visible()
    page.get_by_role("button", name="Submit").click()
    dashboard.heading("acme-ran-hello")
    xapps.wait_ready("acme-ran-hello")
    taken = (xapps.get("deployment", "labelled") or {})["metadata"]
    assert (taken["uid"], taken["annotations"]["meta.helm.sh/release-name"]) == (before, "labelled")


def labelled_deployment(namespace: str) -> dict[str, Any]:
    """Return a Deployment that somebody made by hand, with the labels of an xApp."""
    labels = {"drax/role": "xapp", "drax/xapp-name": "labelled"}
    template = {
        "metadata": {"labels": {"app": "labelled"}},
        "spec": {"containers": [{"name": "main", "image": "example.com/none"}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "labelled", "namespace": namespace, "labels": labels},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "labelled"}}, "template": template},
    }
