"""The Services of the cluster: found by namespace, label, port and name, with their addresses and xApps."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import pytest
from playwright.sync_api import Route, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.shell import copied_command
from tests.support.charts import chart_archive
from tests.support.xapps import XAppClient

LONG_NAME: Final = "s" * 63
PORTS: Final = [{"name": f"port-{number}", "port": 1000 + number, "targetPort": "metrics"} for number in range(12)]
SERVICE_TEMPLATE: Final = """\
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}-http
spec:
  ports: [{name: http, port: 8080}]
"""


def service(name: str, *ports: dict[str, Any], tier: str = "prod", **spec: Any) -> dict[str, Any]:
    labels = {"app": "ric", "tier": tier}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": labels},
        "spec": {"ports": list(ports) or [{"port": 80}], **spec},
    }


@pytest.fixture
def services(xapps: XAppClient) -> XAppClient:
    """60 Services, one with the longest name and many ports, one that leads out of the cluster, and one of an xApp."""
    names = [f"svc-{number:02}" for number in range(58)]
    made = [service(name, tier="test" if name.endswith("7") else "prod") for name in names]
    made.append(service(LONG_NAME, *PORTS, type="NodePort"))
    outside = {"type": "ExternalName", "externalName": "charts.example.com", "ports": [{"name": "web", "port": 443}]}
    made.append(service("outside") | {"spec": outside})
    xapps.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": made}))
    xapps.apply(xapps.uploaded_manifest("acme-ran-hello", chart_archive({"templates/service.yaml": SERVICE_TEMPLATE})))
    xapps.wait_ready("acme-ran-hello")
    return xapps


def test_services_are_found_and_lead_to_their_xapp(
    dashboard: Dashboard, accounts: Accounts, services: XAppClient
) -> None:
    page, namespace = dashboard.page, services.namespace
    dashboard.sign_in(accounts.with_role("view"), f"/services?namespace={namespace}")
    dashboard.heading("Services")
    rows = page.locator("tbody tr")
    pages = page.get_by_role("navigation", name="Pages")
    expect(pages).to_contain_text("1-50 of 61")
    dashboard.check_accessibility()
    dashboard.screenshots("services")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/discovery/services?*page=2*", hold)
    with page.expect_request("**/discovery/services?*page=2*"):
        page.get_by_role("button", name="Next page").click()
    # The old rows stay while the new ones come.
    expect(rows).to_have_count(50)
    expect(rows.first).to_be_visible()
    held.pop().continue_()
    page.unroute("**/discovery/services?*page=2*")
    expect(pages).to_contain_text("51-61 of 61")
    expect(rows).to_have_count(11)

    # Each key counts, a blank between words too, and the search begins on the first page.
    search = page.get_by_role("searchbox", name="Search Services")
    search.press_sequentially("svc 0")
    expect(search).to_have_value("svc 0")
    expect(page.get_by_text("No Service found")).to_be_visible()
    search.fill("svc-")
    search.press("Home")
    search.press_sequentially("ex")
    expect(search).to_have_value("exsvc-")
    page.get_by_role("button", name="Clear filters").first.click()
    expect(search).to_be_focused()
    expect(search).to_have_value("")

    # Filters apply with Enter and with Tab, which goes on to the next field.
    filter_namespace = page.get_by_role("combobox", name="Namespace")
    expect(filter_namespace).to_have_attribute("placeholder", "all, or a name")
    filter_namespace.fill(namespace)
    filter_namespace.press("Escape")
    filter_namespace.press("Tab")
    label, port = page.get_by_role("textbox", name="Labels"), page.get_by_role("textbox", name="Port")
    expect(page).to_have_url(f"{dashboard.url}/services?namespace={namespace}")
    expect(label).to_be_focused()
    label.fill("tier=test, app in (ric)")
    label.press("Enter")
    expect(rows).to_have_count(6)
    expect(label).to_be_focused()
    label.fill("")
    port.fill("port-11")
    port.press("Enter")
    expect(rows).to_have_count(1)
    expect(rows.get_by_text("port-11", exact=True)).to_be_visible()
    expect(rows.get_by_role("button", name=f"Copy {LONG_NAME}.{namespace}.svc:1011")).to_be_visible()
    expect(page).to_have_url(f"{dashboard.url}/services?namespace={namespace}&port=port-11")
    port.fill("web")
    port.press("Enter")
    expect(rows.get_by_text("ExternalName").last).to_be_visible()
    # It leads out of the cluster, so its port has no address inside.
    expect(rows.get_by_role("button", name=re.compile(":443$"))).to_have_count(0)
    port.fill("8080")
    port.press("Enter")
    rows.get_by_role("link", name="acme-ran-hello").click()
    dashboard.heading("acme-ran-hello")
    page.go_back()
    expect(port).to_have_value("8080")


def test_the_services_that_are_shown_are_copied_as_a_command(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    page = dashboard.page
    dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])
    dashboard.sign_in(accounts.with_role("view"), f"/services?namespace={xapps.namespace}")
    copy = page.get_by_role("button", name="Copy as")
    assert copied_command(page, copy, "kubectl") == f"kubectl get services -n {xapps.namespace}"


def test_refused_filters_stand_at_their_fields(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    page, namespace = dashboard.page, xapps.namespace
    dashboard.sign_in(accounts.with_role("view"), f"/services?namespace={namespace}&label=app%3D(ric&page=7")
    label, port = page.get_by_role("textbox", name="Labels"), page.get_by_role("textbox", name="Port")
    expect(label).to_have_accessible_description(re.compile(r"app=\(ric"))
    expect(label).to_have_attribute("aria-invalid", "true")
    dashboard.check_accessibility()
    dashboard.screenshots("services-refused")
    label.fill("")
    port.fill("<b>80")
    port.press("Enter")
    expect(port).to_have_accessible_description(re.compile(r"must be the name.*, not \"<b>80\""))
    expect(label).not_to_have_attribute("aria-invalid", "true")
    port.fill("")
    port.press("Enter")
    expect(page.get_by_text("No Service found")).to_be_visible()

    # On a narrow page the filters are a sheet, which stays open.
    page.set_viewport_size({"width": 360, "height": 780})
    page.get_by_role("button", name="Filters, 1 set").click()
    sheet = page.get_by_role("dialog", name="Filters")
    sheet.get_by_role("textbox", name="Port").fill("80")
    sheet.get_by_role("textbox", name="Port").press("Enter")
    expect(page).to_have_url(f"{dashboard.url}/services?namespace={namespace}&port=80")
    dashboard.check_accessibility()
    dashboard.screenshots("services-filters")
    sheet.get_by_role("button", name="Clear filters").click()
    sheet.get_by_role("button", name="Done").click()
    expect(page).to_have_url(f"{dashboard.url}/services")

    # A page that is not there leads to the first one; a namespace that may not be read says what is missing.
    dashboard.open("/services?page=900")
    expect(page.get_by_text("There is no page 900. This is page 1.")).to_be_visible()
    expect(page).to_have_url(f"{dashboard.url}/services")
    dashboard.open("/services?namespace=kube-system")
    expect(page.get_by_text("Needs: list services")).to_be_visible()


def test_who_may_list_no_services_learns_which_right_is_missing(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    dashboard.sign_in(accounts.with_rights(xapps=["list"]), "/services")
    expect(dashboard.page.get_by_text("Needs: list services in their namespace")).to_be_visible()
    expect(dashboard.page.get_by_text("No Services yet")).to_have_count(0)
    dashboard.check_accessibility()
    dashboard.screenshots("services-none")
