"""The tests of a chart: started from the page of an xApp, which shows how each ended and what it wrote."""

from __future__ import annotations

from typing import Final

from playwright.sync_api import expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

NAME: Final = "acme-ran-hello"
TEST_POD: Final = """\
apiVersion: v1
kind: Pod
metadata:
  name: {{ .Release.Name }}-%(name)s
  labels: {%(labels)s}
  annotations: {helm.sh/hook: test, helm.sh/hook-weight: "%(weight)d"}
spec:
  restartPolicy: Never
  containers: [{name: probe, image: registry.example.com/probe:1}]
"""
PASSES: Final = TEST_POD % {"name": "ping", "labels": "role: test", "weight": 1}
FAILS: Final = TEST_POD % {"name": "load", "labels": "xapp-operator.io/test-fail: Error", "weight": 2}


def test_tests_are_run_and_the_one_that_fails_is_shown_with_its_log(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    manifest = xapps.uploaded_manifest(NAME, workload_chart(templates__ping=PASSES))
    xapps.apply(manifest)
    xapps.wait_ready(NAME)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}")
    expect(page.get_by_role("heading", name="Conditions")).to_be_visible()
    panel = page.get_by_role("region", name="Tests")
    expect(panel).to_have_count(0)

    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Run tests").click()
    expect(page.get_by_text("Accepted: the tests run")).to_be_visible()
    expect(panel.get_by_text(f"Pod {NAME}-ping")).to_be_visible()
    expect(panel.get_by_text("Succeeded")).to_be_visible()
    expect(page.get_by_text("1 test of revision 1 passed")).to_be_visible()

    archive = workload_chart(version="0.2.0", templates__ping=PASSES, templates__load=FAILS)
    upgraded = xapps.uploaded_manifest(NAME, archive, version="0.2.0", test={"enabled": True})
    xapps.apply(upgraded)
    expect(panel.get_by_text("Failed")).to_be_visible()
    expect(panel.get_by_role("region", name=f"the log of {NAME}-load")).to_be_visible()
    expect(page.get_by_text(f"test Pod {NAME}-load failed: container probe, exit code 1")).to_be_visible()
    expect(page.get_by_text("Ready", exact=True).first).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("tests")


def test_who_may_not_read_the_release_is_told_so(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart(templates__ping=PASSES), test={"enabled": True}))
    xapps.wait_until(
        lambda: xapps.status(NAME).get("lastTest", {}).get("outcome") == "Succeeded", what="the tests", xapp=NAME
    )
    dashboard.sign_in(accounts.with_role("view"), f"/xapps/{xapps.namespace}/{NAME}")
    panel = dashboard.page.get_by_role("region", name="Tests")
    expect(panel.get_by_text("Needs")).to_be_visible()
    dashboard.page.get_by_role("button", name="More").click()
    run = dashboard.page.get_by_role("menuitem", name="Run tests")
    expect(run).to_have_attribute("aria-disabled", "true")
