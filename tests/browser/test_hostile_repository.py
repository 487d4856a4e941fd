"""Repositories that are hostile, refused or away: what their index and charts say is shown as text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.support.chart_server import ChartServer
from tests.support.charts import chart_archive
from tests.support.xapps import XAppClient

HOSTILE: Final = "\u202egpj.exe <img src=x onerror=alert(1)>\u0007\u001b[31m"
SHOWN: Final = "[U+202E]gpj.exe <img src=x onerror=alert(1)>␇␛[31m"
LONG_NAME: Final = "c" * 200


def entry(name: str, version: str, **changes: str) -> dict[str, Any]:
    common = {"apiVersion": "v2", "urls": ["hello-0.1.0.tgz"], "icon": "https://icons.example.com/x.svg"}
    texts = {"description": HOSTILE + "word " * 1000, "appVersion": "<i>" + "9" * 5000}
    return {**common, **texts, "name": name, "version": version, **changes}


@pytest.fixture
def hostile_charts() -> Iterator[ChartServer]:
    """A repository whose index and chart try to look like something else, one that is a web page, and no other."""
    files = {
        "README.md": f"# <script>alert(1)</script>\n{HOSTILE}\n" + "long " * 1000,
        "values.yaml": "count: 9007199254740993 # a comment\n",
        "values.schema.json": json.dumps({"type": "object", "title": HOSTILE}),
        "templates/nothing.yaml": "",
    }
    with ChartServer() as server:
        server.add("hello", "0.1.0", chart_archive(files))
        versions = [f"0.0.{number}-alpha.{'a' * 40}" for number in range(60)]
        entries = {name: [entry(name, "0.1.0")] for name in ("..", "a/b", "<b>bold", LONG_NAME, HOSTILE)}
        entries["hello"] = [
            entry("hello", "0.1.0"),
            *(entry("hello", version, description="d") for version in versions),
        ]
        server.files["/index.yaml"] = b""
        server.files["/hostile/index.yaml"] = json.dumps({"apiVersion": "v1", "entries": entries}).encode()
        server.files["/hostile/hello-0.1.0.tgz"] = chart_archive(files)
        server.files["/page/index.yaml"] = b"<!doctype html><script>alert(1)</script><h1>Sign in</h1>"
        yield server


def save(xapps: XAppClient, name: str, url: str) -> None:
    xapps.apply(
        {
            "apiVersion": "xapp-operator.io/v1alpha1",
            "kind": "ChartRepository",
            "metadata": {"name": name, "namespace": xapps.namespace},
            "spec": {"url": url, "interval": "1h"},
        }
    )


def test_a_hostile_index_and_chart_are_shown_as_text(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, hostile_charts: ChartServer
) -> None:
    page, namespace = dashboard.page, xapps.namespace
    save(xapps, "hostile", f"{hostile_charts.url}/hostile")
    requested: set[str] = set()

    def note(request: Any) -> None:
        requested.add(request.url)

    page.on("request", note)
    dashboard.sign_in(accounts.with_role("admin"), f"/repositories/{namespace}/hostile")
    table = page.get_by_role("table", name="Charts")
    expect(table.get_by_text(SHOWN).first).to_be_visible()
    # A long name or version takes no room of the others, and no row grows with it.
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("[...document.querySelectorAll('tbody tr')].every((row) => row.clientHeight < 70)")
    assert page.evaluate(
        "document.querySelector('table').scrollWidth <= document.querySelector('table').parentNode.clientWidth"
    )
    # Names that are no segment of a path lead nowhere.
    expect(table.get_by_role("link")).to_have_count(4)
    dashboard.check_accessibility()
    dashboard.screenshots("repository-hostile")
    page.get_by_role("searchbox", name="Search charts").fill("hell")
    expect(table.get_by_role("row")).to_have_count(2)
    table.get_by_role("link", name="hello").click()

    dashboard.heading("hello")
    expect(page.get_by_role("heading", name="Version 0.1.0")).to_be_visible()
    expect(page.locator(".cm-content")).to_contain_text("<script>alert(1)</script>")
    assert page.evaluate(
        "document.querySelector('.cm-scroller').scrollWidth <= document.querySelector('.cm-scroller').clientWidth"
    )
    dashboard.screenshots("chart-hostile")
    page.get_by_role("tab", name="Values").click()
    expect(page.locator(".cm-content")).to_contain_text("9007199254740993 # a comment")
    page.get_by_role("tab", name="Schema").click()
    expect(page.locator(".cm-content")).to_contain_text("<img src=x")
    page.get_by_role("tab", name="Versions 61").click()
    versions = page.get_by_role("table", name="Versions of hello")
    expect(versions.get_by_role("row")).to_have_count(51)
    dashboard.check_accessibility()
    dashboard.screenshots("chart-versions")
    page.get_by_role("button", name="Next page").click()
    expect(versions.get_by_role("row")).to_have_count(12)
    versions.get_by_role("link").first.click()
    dashboard.heading("hello")
    expect(page.get_by_role("heading", name=re.compile("^Version 0.0.*alpha"))).to_be_visible()
    expect(page).to_have_url(re.compile("version=0.0.*alpha"))
    dashboard.open(f"/repositories/{namespace}/hostile/hello?version=9.9.9")
    expect(page.get_by_text(re.compile('has no version "9.9.9"'))).to_be_visible()
    expect(page.get_by_text("The README could not be read")).to_be_visible()
    # What to do next is a link to a page, not a request of the API.
    refused = page.get_by_role("alert").filter(has_text="9.9.9")
    expect(refused).not_to_contain_text(re.compile("GET|/api/"))
    refused.get_by_role("link", name="Versions", exact=True).click()
    expect(page).to_have_url(re.compile("/hostile/hello$"))
    dashboard.open(f"/repositories/{namespace}/absent")
    refused = page.get_by_role("alert").filter(has_text='There is no repository "absent"')
    refused.first.get_by_role("link", name="All repositories", exact=True).click()
    dashboard.heading("Repositories")
    assert {url for url in requested if not url.startswith(dashboard.url)} == set()


def test_repositories_that_fail_say_why_and_go_on(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, hostile_charts: ChartServer
) -> None:
    page, namespace = dashboard.page, xapps.namespace
    save(xapps, "page", f"{hostile_charts.url}/page")
    save(xapps, "missing", f"{hostile_charts.url}/missing")
    save(xapps, "away", "http://127.0.0.1:9/charts")
    dashboard.sign_in(accounts.with_role("admin"), "/repositories")
    rows = page.locator("tbody tr").filter(has_text=namespace)
    expect(rows.get_by_text("Failed", exact=True)).to_have_count(3)
    expect(rows.filter(has_text="away").get_by_text(re.compile("no connection"))).to_be_visible()
    # The right in one namespace is enough to add one: the form asks for the namespace.
    expect(page.get_by_role("link", name="Add", exact=True)).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("repositories-failed")

    rows.get_by_role("link", name="missing", exact=True).click()
    dashboard.heading("missing")
    failed = page.get_by_role("alert")
    expect(failed).to_contain_text("is not the URL of a chart repository")
    dashboard.screenshots("repository-failed")
    dashboard.open(f"/repositories/{namespace}/page/hello")
    expect(failed).to_contain_text("it is not an object")
    expect(page.get_by_role("tab")).to_have_count(0)

    # It is there by now: the next step is a button.
    hostile_charts.files["/missing/index.yaml"] = hostile_charts.files["/hostile/index.yaml"]
    dashboard.open(f"/repositories/{namespace}/missing")
    page.get_by_role("button", name="Refresh missing").click()
    expect(page.get_by_text("Accepted: the operator reads missing again")).to_be_visible()
    expect(page.get_by_text("the index lists 6 charts")).to_be_visible()
    expect(page.get_by_role("link", name="hello", exact=True)).to_be_visible()
    dashboard.open(f"/repositories/{namespace}/nobody")
    expect(failed).to_contain_text('there is no repository "nobody"')
    dashboard.open("/repositories?namespace=kube-system")
    expect(failed).to_contain_text("Needs: list chartrepositories")
