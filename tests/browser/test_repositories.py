"""Chart repositories: add one, look at its charts, change and remove it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import save_repository
from tests.browser.shell import copied_command, in_shell
from tests.localcluster import Cluster
from tests.support.apiserver import JsonObject
from tests.support.chart_server import ChartServer
from tests.support.charts import chart_archive
from tests.support.xapps import XAppClient

PASSWORD: Final = "hunter2-of-the-repository"


@pytest.fixture
def guarded_charts() -> Iterator[ChartServer]:
    """A repository that requires a password."""
    with ChartServer(username="jane", password=PASSWORD) as server:
        server.add("hello", "0.1.0", chart_archive())
        yield server


def repository_manifest(namespace: str) -> JsonObject:
    return {
        "apiVersion": "xapp-operator.io/v1alpha1",
        "kind": "ChartRepository",
        "metadata": {"name": "acme", "namespace": namespace},
        "spec": {"url": "https://charts.example.com", "interval": "1h"},
    }


def fill_address(page: Page, *, name: str, namespace: str, url: str) -> None:
    page.get_by_role("textbox", name="Name", exact=True).fill(name)
    page.get_by_role("combobox", name="Namespace").fill(namespace)
    page.get_by_role("combobox", name="Namespace").press("Escape")
    page.get_by_role("textbox", name="URL").fill(url)


def test_a_repository_is_tested_saved_browsed_and_removed(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, guarded_charts: ChartServer
) -> None:
    page, namespace = dashboard.page, xapps.namespace
    dashboard.sign_in(accounts.with_role("admin"), f"/repositories?namespace={namespace}")
    dashboard.heading("Repositories")
    expect(page.get_by_text("No repository found")).to_be_visible()
    dashboard.screenshots("repositories-none")
    page.get_by_role("link", name="Add", exact=True).click()
    dashboard.heading("Add a repository")
    fill_address(page, name="acme", namespace=namespace, url=guarded_charts.url)

    page.get_by_role("button", name="Test", exact=True).click()
    summary = page.get_by_role("alert")
    expect(summary).to_be_focused()
    summary.get_by_role("link").click()
    expect(page.get_by_role("radio", name="None")).to_be_focused()
    dashboard.check_accessibility()
    dashboard.screenshots("repository-refused")
    page.get_by_text("User and password").click()
    page.get_by_role("textbox", name="User").fill("jane")
    page.get_by_role("textbox", name="Password").fill(PASSWORD)
    page.get_by_text("Send them over http, where others can read them", exact=True).click()
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.get_by_text("The test succeeded")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("repository-new")
    page.get_by_role("button", name="Save", exact=True).click()

    dashboard.heading("acme")
    page.get_by_role("link", name="hello").click()
    dashboard.heading("hello")
    expect(page.get_by_role("heading", name="Version 0.1.0")).to_be_visible()
    page.get_by_role("tab", name="Values").click()
    expect(page.locator(".cm-content")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("chart")
    expect(page.get_by_role("link", name="Deploy", exact=True).last).to_have_attribute(
        "href", re.compile("method=repository.*chart=hello.*version=0.1.0")
    )
    assert PASSWORD not in page.content()

    page.get_by_role("navigation", name="Breadcrumbs").get_by_role("link", name="acme").click()
    dashboard.heading("acme")
    dashboard.check_accessibility()
    dashboard.screenshots("repository")
    page.get_by_role("button", name="Remove acme...").click()
    expect(page.get_by_role("button", name="Keep")).to_be_focused()
    dashboard.check_accessibility()
    dashboard.screenshots("repository-remove")
    page.get_by_role("button", name="Remove acme", exact=True).click()
    dashboard.heading("Repositories")
    xapps.wait_gone("chartrepository", "acme")
    expect(page.get_by_role("link", name="acme")).to_have_count(0)


def test_a_refused_address_stands_at_its_field_and_nothing_typed_is_lost(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    page, namespace = dashboard.page, xapps.namespace
    dashboard.sign_in(accounts.with_role("admin"), "/repositories/new")
    url = page.get_by_role("textbox", name="URL")
    fill_address(page, name="acme", namespace=namespace, url="ftp://charts.example.com")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(url).to_have_accessible_description(re.compile("Must begin with https://"))
    url.fill("http://169.254.169.254/charts")
    page.get_by_role("button", name="Test", exact=True).click()
    page.get_by_role("alert").get_by_role("link", name="URL").click()
    expect(url).to_be_focused()
    expect(url).to_have_attribute("aria-invalid", "true")
    expect(url).to_have_value("http://169.254.169.254/charts")

    page.get_by_role("link", name="Repositories").first.click()
    page.get_by_role("button", name="Leave").click()
    dashboard.heading("Repositories")
    page.go_back()
    expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value("acme")


def test_settings_of_a_repository_are_changed_here_or_in_a_shell(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, guarded_charts: ChartServer, cluster: Cluster
) -> None:
    page, namespace = dashboard.page, xapps.namespace
    xapps.apply(repository_manifest(namespace))
    token = accounts.with_role("admin")
    dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])
    dashboard.sign_in(token, f"/repositories/{namespace}/acme?view=settings")
    url = page.get_by_role("textbox", name="URL")
    expect(url).to_have_value("https://charts.example.com")
    dashboard.check_accessibility()
    dashboard.screenshots("repository-settings")
    url.fill(guarded_charts.url)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("dd").get_by_text(guarded_charts.url, exact=True)).to_be_visible()

    # What is copied does the same as the page.
    url.fill("https://charts.example.com/other")
    copy = page.get_by_role("button", name="Copy as", exact=True)
    in_shell(copied_command(page, copy.last, "curl"), cluster, gateway=dashboard.url, token=token)
    assert (xapps.get("chartrepository", "acme") or {})["spec"]["url"] == "https://charts.example.com/other"
    dashboard.open(f"/repositories?namespace={namespace}")
    dashboard.heading("Repositories")
    listed = in_shell(copied_command(page, copy, "curl"), cluster, gateway=dashboard.url, token=token)
    assert [one["name"] for one in json.loads(listed)["content"]] == ["acme"]
    of_kubectl = in_shell(copied_command(page, copy, "kubectl") + " -o name", cluster)
    assert of_kubectl.split() == ["chartrepository.xapp-operator.io/acme"]
    page.get_by_role("button", name="Remove acme...").click()
    dialog = page.get_by_role("alertdialog")
    copy_removal = dialog.get_by_role("button", name="Copy as")
    of_curl, of_kubectl = (copied_command(page, copy_removal, name) for name in ("curl", "kubectl"))
    assert in_shell(of_curl, cluster, gateway=dashboard.url, token=token) == ""
    xapps.wait_gone("chartrepository", "acme")
    xapps.apply(repository_manifest(namespace))
    in_shell(of_kubectl, cluster)
    xapps.wait_gone("chartrepository", "acme")


def test_more_xapps_than_a_repository_names_are_found_in_the_list(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    with ChartServer() as server:
        server.add("hello", "0.1.0", chart_archive())
        for number in range(12):
            manifest = xapps.remote_manifest(f"acme-ran-n{number:02}", url=server.url, chart="hello", suspend=True)
            manifest["spec"]["repoName"] = "charts-of-acme"
            xapps.apply(manifest)
        page = dashboard.page
        save_repository(xapps, server.url, "charts-of-acme")
        dashboard.sign_in(accounts.with_role("view"), f"/repositories/{xapps.namespace}/charts-of-acme")
        page.get_by_role("link", name="2 more", exact=True).click()
        expect(page).to_have_url(f"{dashboard.url}/xapps?search=charts-of-acme&namespace={xapps.namespace}")
        expect(page.get_by_role("link", name=re.compile("^acme-ran-n"))).to_have_count(12)


def test_a_reader_sees_why_repositories_cannot_be_changed(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    page, namespace = dashboard.page, xapps.namespace
    xapps.apply(repository_manifest(xapps.namespace))
    dashboard.sign_in(accounts.with_role("view"), f"/repositories?namespace={namespace}")
    remove = page.get_by_role("button", name="Remove acme...")
    expect(remove).to_have_attribute("aria-disabled", "true")
    remove.press("Enter")
    expect(page.get_by_text(f"Needs: delete chartrepositories in {namespace}").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Add", exact=True)).to_have_attribute("aria-disabled", "true")
    dashboard.check_accessibility()
    dashboard.screenshots("repositories")


def test_who_may_add_one_in_one_namespace_is_asked_for_it(
    dashboard: Dashboard, accounts: Accounts, namespace: str
) -> None:
    page = dashboard.page
    with page.expect_response(lambda response: "/api/permissions" in response.url):
        dashboard.sign_in(accounts.with_role("edit"), "/repositories/new")
    # Without the right in all namespaces, before one is named.
    field = page.get_by_role("combobox", name="Namespace")
    save = page.get_by_role("button", name="Save", exact=True)
    with page.expect_response(lambda response: "/api/permissions?namespace=kube-system" in response.url):
        field.fill("kube-system")
    # The rest of the page is hidden while the choices are open.
    field.press("Tab")
    expect(save).to_have_attribute("aria-disabled", "true")
    expect(save).to_have_accessible_description("Needs: create chartrepositories in kube-system")
    field.fill("")
    field.press("Tab")
    expect(save).not_to_have_attribute("aria-disabled", "true")
    save.click()
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill(namespace)
    field.press("Tab")
    expect(save).not_to_have_attribute("aria-disabled", "true")


def test_who_may_list_no_repositories_learns_which_right_is_missing(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    page = dashboard.page
    dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])
    xapps.apply(repository_manifest(xapps.namespace))
    dashboard.sign_in(accounts.with_rights(xapps=["list"]), "/repositories")
    needed = "Needs: list chartrepositories in their namespace, or in all namespaces"
    expect(page.get_by_text(f"{needed}.")).to_be_visible()
    expect(page.get_by_text("No repositories yet")).to_have_count(0)
    page.get_by_role("button", name="Copy the missing right").click()
    expect(page.get_by_text("Copied").first).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == needed
    dashboard.check_accessibility()
    dashboard.screenshots("repositories-not-visible")


def test_what_somebody_else_saved_meanwhile_is_not_undone(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    page, namespace = dashboard.page, xapps.namespace
    dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])

    def patch(**spec: str) -> None:
        xapps.kubectl("patch", "chartrepository", "acme", "--type=merge", f"--patch={json.dumps({'spec': spec})}")

    def spec_of_acme() -> JsonObject:
        return {**(xapps.get("chartrepository", "acme") or {})["spec"]}

    xapps.apply(repository_manifest(namespace))
    uid = (xapps.get("chartrepository", "acme") or {})["metadata"]["uid"]
    dashboard.sign_in(accounts.with_role("admin"), f"/repositories/{namespace}/acme?view=settings")
    interval, url = page.get_by_role("textbox", name="Read every"), page.get_by_role("textbox", name="URL")
    save = page.get_by_role("button", name="Save", exact=True)
    bar = page.get_by_text("Changed by somebody else at")
    interval.fill("2h")
    copy = page.get_by_role("button", name="Copy as", exact=True).last
    assert f'If-Match: "{uid}/1"' in copied_command(page, copy, "curl")

    # It changes while somebody types: the page says so, and saves nothing until they decide.
    patch(url="https://charts.example.com/theirs")
    expect(bar).to_be_visible()
    expect(interval).to_have_value("2h")
    expect(url).to_have_value("https://charts.example.com")
    expect(save).to_have_attribute("aria-disabled", "true")
    dashboard.check_accessibility()
    dashboard.screenshots("repository-conflict")
    page.get_by_role("button", name="Compare").click()
    dialog = page.get_by_role("dialog", name="Compare")
    dialog.get_by_role("tab", name="Their changes").click()
    expect(dialog).to_contain_text("https://charts.example.com/theirs")
    dialog.get_by_role("button", name="Take theirs").click()
    expect(bar).to_have_count(0)
    expect(url).to_have_value("https://charts.example.com/theirs")

    # It changes before the page has read that: the gateway refuses, and the comparison opens.
    interval.fill("3h")
    with page.expect_response(lambda answer: answer.request.method == "PUT") as sent:
        page.wait_for_event("response", lambda answer: answer.url.endswith(f"/api/repositories/{namespace}/acme"))
        patch(url="https://charts.example.com/again")
        save.click()
    assert sent.value.status == 412
    expect(page.get_by_text("Somebody else changed this repository").first).to_be_visible()
    assert spec_of_acme() == {"url": "https://charts.example.com/again", "interval": "1h"}
    dialog.get_by_role("button", name="Keep mine").click()
    expect(bar).to_have_count(0)
    save.click()
    expect(page.get_by_text("Saved: acme")).to_be_visible()
    assert spec_of_acme() == {"url": "https://charts.example.com/theirs", "interval": "3h"}


def test_a_repository_that_somebody_else_removed_or_replaced_is_not_touched_unseen(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    page, namespace = dashboard.page, xapps.namespace
    xapps.apply(repository_manifest(namespace))
    dashboard.sign_in(accounts.with_role("admin"), f"/repositories/{namespace}/acme?view=settings")
    interval = page.get_by_role("textbox", name="Read every")
    interval.fill("2h")
    page.get_by_role("button", name="Remove acme...").click()
    dialog = page.get_by_role("alertdialog")
    confirm = dialog.get_by_role("button", name="Remove acme", exact=True)
    expect(confirm).not_to_have_attribute("aria-disabled", "true")
    xapps.kubectl("delete", "chartrepository", "acme")
    expect(dialog.get_by_text("It was removed meanwhile").first).to_be_visible()
    expect(confirm).to_have_attribute("aria-disabled", "true")
    dialog.get_by_role("button", name="Keep").click()
    expect(page.get_by_text("This repository was removed")).to_be_visible()
    expect(interval).to_have_value("2h")
    expect(page.get_by_role("button", name="Save", exact=True)).to_have_attribute("aria-disabled", "true")
    dashboard.check_accessibility()

    xapps.apply(repository_manifest(namespace))
    expect(page.get_by_text("Somebody else replaced this repository at")).to_be_visible()
    expect(page.get_by_text("This repository was removed")).to_have_count(0)
    expect(interval).to_have_value("2h")
    page.get_by_role("button", name="Keep mine").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved: acme")).to_be_visible()
    assert (xapps.get("chartrepository", "acme") or {})["spec"]["interval"] == "2h"
