"""Repositories that are slow or fail, and charts on hosts that get no credentials, on the pages that read them."""

from __future__ import annotations

import json
import re
from http import HTTPStatus

from playwright.sync_api import Page, Route, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import save_repository
from tests.browser.gateway import BrowserGateway
from tests.browser.shell import copied_command, in_shell
from tests.localcluster import Cluster
from tests.support.chart_server import ChartServer
from tests.support.charts import chart_archive
from tests.support.xapps import XAppClient

READS_INDEX = re.compile(r"The gateway reads the index of the repository: [2-9] s of at most 50 s")
READS_CHART = re.compile(r"The gateway reads the chart: [2-9] s of at most 50 s")


def choose_repository(page: Page, name: str = "acme") -> None:
    page.locator("#field-repository").click()
    page.get_by_role("option", name=name).click()


def test_a_slow_repository_is_waited_for_and_the_page_says_for_what(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, gateway: BrowserGateway
) -> None:
    gateway.start(fetch_timeout_seconds=50.0)
    page = dashboard.page
    where = f"/repositories/{xapps.namespace}/acme"
    with ChartServer() as server:
        server.add("hello", "0.1.0", chart_archive())
        save_repository(xapps, server.url)
        with server.holding("/index.yaml"):
            dashboard.sign_in(accounts.with_role("admin"), where)
            expect(page.get_by_text(READS_INDEX)).to_be_visible()
            dashboard.check_accessibility()
            dashboard.screenshots("repository-slow")
            dashboard.open(f"/deploy?method=repository&namespace={xapps.namespace}")
            choose_repository(page)
            expect(page.get_by_text(READS_INDEX)).to_be_visible()
        expect(page.get_by_text(READS_INDEX)).to_have_count(0)
        with server.holding("/hello-0.1.0.tgz"):
            page.get_by_role("combobox", name="Chart", exact=True).fill("hello")
            page.keyboard.press("Escape")
            page.get_by_role("combobox", name="Chart version").fill("0.1.0")
            page.keyboard.press("Escape")
            expect(page.get_by_text(READS_CHART)).to_be_visible()
            submit = page.get_by_role("button", name="Submit")
            expect(submit).to_have_attribute("data-reason", "The gateway is reading the chart")
        expect(page.get_by_text("hello 0.1.0")).to_be_visible()


def test_a_repository_that_never_answers_or_fails_says_so_with_a_next_step(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, gateway: BrowserGateway
) -> None:
    page = dashboard.page
    with ChartServer() as server:
        server.add("hello", "0.1.0", chart_archive())
        save_repository(xapps, server.url)
        gateway.start(fetch_timeout_seconds=2.0)
        failed = page.get_by_role("alert")
        with server.holding("/index.yaml"):
            dashboard.sign_in(accounts.with_role("admin"), f"/repositories/{xapps.namespace}/acme")
            expect(failed).to_contain_text("took longer than 2 s")
            retry = failed.get_by_role("button", name="Retry")
            expect(retry).to_be_visible()
        # The gateway remembers the failure for as long as it took. Who asks again gets another answer.
        with page.expect_request(lambda request: "/charts?" in request.url and "retry=true" in request.url):
            retry.click()
        expect(page.get_by_role("link", name="hello", exact=True)).to_be_visible()
        server.files["/broken/index.yaml"] = b"entries: {}"
        server.statuses["/broken/index.yaml"] = HTTPStatus.SERVICE_UNAVAILABLE
        save_repository(xapps, f"{server.url}/broken", "broken")
        dashboard.open(f"/repositories/{xapps.namespace}/broken")
        expect(failed).to_contain_text("returned status 503: it is unavailable now. This may be temporary.")
        dashboard.open(f"/deploy?method=repository&namespace={xapps.namespace}")
        choose_repository(page, "broken")
        chart = page.get_by_role("combobox", name="Chart", exact=True)
        expect(chart).to_have_accessible_description(re.compile("returned status 503"))
        # It works again: the next step is a button.
        dashboard.open(f"/repositories/{xapps.namespace}/acme")
        page.get_by_role("button", name="Refresh acme").click()
        expect(page.get_by_role("link", name="hello", exact=True)).to_be_visible()


def test_credentials_stay_with_their_repository_when_its_charts_are_elsewhere(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    page = dashboard.page
    with ChartServer(username="jane", password="secret") as home, ChartServer() as elsewhere:
        entry = {"name": "hello", "version": "0.1.0", "urls": [f"{elsewhere.url}/hello-0.1.0.tgz"]}
        home.files["/far/index.yaml"] = json.dumps({"apiVersion": "v1", "entries": {"hello": [entry]}}).encode()
        elsewhere.add("hello", "0.1.0", chart_archive())
        elsewhere.statuses["/hello-0.1.0.tgz"] = HTTPStatus.UNAUTHORIZED
        dashboard.sign_in(accounts.with_role("admin"), f"/repositories/new?namespace={xapps.namespace}")
        page.get_by_role("textbox", name="Name", exact=True).fill("acme")
        page.get_by_role("textbox", name="URL").fill(f"{home.url}/far")
        page.get_by_text("User and password").click()
        page.get_by_role("textbox", name="User").fill("jane")
        page.get_by_role("textbox", name="Password").fill("secret")
        page.get_by_text("Send them over http, where others can read them", exact=True).click()
        page.get_by_role("button", name="Save", exact=True).click()
        dashboard.heading("acme")

        where = f"/repositories/{xapps.namespace}/acme/hello"
        dashboard.open(where)
        said = f"The credentials of the repository are sent to {home.url} only."
        expect(page.get_by_role("alert").first).to_contain_text(said)
        dashboard.open(f"/deploy?method=repository&namespace={xapps.namespace}&chart=hello&version=0.1.0")
        choose_repository(page)
        expect(page.get_by_text(said)).to_be_visible()
        # Anybody may read it by now: it is used, still without the credentials.
        del elsewhere.statuses["/hello-0.1.0.tgz"]
        dashboard.open(where)
        expect(page.get_by_role("heading", name="Version 0.1.0")).to_be_visible()
        expect(page.locator(".cm-content").or_(page.get_by_text("no README")).first).to_be_visible()
        assert elsewhere.requests["/hello-0.1.0.tgz"] >= 2
        assert elsewhere.authorizations == []


def test_a_slow_gateway_is_waited_for_when_somebody_signs_in_or_changes_repositories(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    save_repository(xapps, "http://127.0.0.1:9/charts")
    page = dashboard.page
    held: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method == "POST":
            held.append(route)
        else:
            route.continue_()

    def waits_for(what: str) -> None:
        expect(page.get_by_text(re.compile(rf"^{what}: [2-9] s$"))).to_be_visible()
        held.pop().continue_()

    page.route(re.compile("/api/(session|repositories)"), hold)
    dashboard.open(f"/repositories?namespace={xapps.namespace}")
    page.get_by_label("Bearer token").fill(accounts.with_role("admin"))
    page.get_by_role("button", name="Sign in").click()
    waits_for("The cluster checks the token")
    page.get_by_role("button", name="Refresh acme", exact=True).click()
    waits_for("Waiting for the gateway")
    expect(page.get_by_role("row", name="acme").get_by_text("is not available").first).to_be_visible()
    dashboard.open(f"/repositories/new?namespace={xapps.namespace}")
    page.get_by_role("textbox", name="Name").fill("other")
    page.get_by_role("textbox", name="URL").fill("http://127.0.0.1:9/other")
    page.get_by_role("button", name="Save").click()
    waits_for("The gateway saves the repository")
    dashboard.heading("other")


def test_refresh_of_a_row_is_copied_as_a_command(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, cluster: Cluster
) -> None:
    save_repository(xapps, "http://127.0.0.1:9/charts")
    page = dashboard.page
    dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])
    dashboard.sign_in(accounts.with_role("admin"), f"/repositories?namespace={xapps.namespace}")
    copy = page.get_by_role("button", name="Copy as: Refresh acme")
    in_shell(copied_command(page, copy, "kubectl"), cluster)
    annotations = (xapps.get("chartrepository", "acme") or {})["metadata"]["annotations"]
    assert "xapp-operator.io/reconcile-at" in annotations
    assert f"/api/repositories/{xapps.namespace}/acme/refresh" in copied_command(page, copy, "curl")
    dashboard.check_accessibility()
    dashboard.screenshots("repositories-rows")
