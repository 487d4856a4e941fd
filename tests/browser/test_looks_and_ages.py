"""Density, motion, the age of data, and who uses a repository that is to be removed."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import save_repository
from tests.browser.gateway import BrowserGateway
from tests.support.chart_server import ChartServer
from tests.support.xapps import XAppClient


def test_rows_are_as_high_as_chosen_and_data_says_how_old_it_is(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, gateway: BrowserGateway
) -> None:
    page = dashboard.page
    with ChartServer() as charts:  # a failure would take a second line in the row
        save_repository(xapps, charts.url)
        xapps.kubectl("wait", "--for=condition=Ready", "chartrepository/acme", "--timeout=60s")
        dashboard.sign_in(accounts.with_role("view"), "/about")
        page.get_by_text("Compact", exact=True).click()
        for rows, height in (("compact", 32), ("normal", 40)):
            dashboard.open(f"/repositories?namespace={xapps.namespace}")
            row = page.locator("tbody tr").first
            expect(row).to_be_visible()
            assert page.evaluate("document.documentElement.dataset.density") == rows
            assert (
                page.evaluate("parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row')) * 16")
                == height
            )
            assert row.evaluate("(row) => getComputedStyle(row.cells[0]).height") == f"{height}px"
            if rows == "compact":
                dashboard.open("/about")
                page.get_by_text("Normal", exact=True).click()

    page.clock.install()
    dashboard.open(f"/repositories/{xapps.namespace}/acme")
    dashboard.heading("acme")
    age = page.get_by_text(re.compile(r"^as of \d\d:\d\d:\d\d$"))
    expect(age).to_have_count(0)
    gateway.stop()
    page.clock.fast_forward(40_000)
    expect(age.first).to_be_visible()
    dashboard.screenshots("repository-stale")


def test_a_row_of_a_failed_repository_has_its_address_and_its_cause(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    page = dashboard.page
    save_repository(xapps, "http://127.0.0.1:9/charts")
    dashboard.sign_in(accounts.with_role("view"), f"/repositories?namespace={xapps.namespace}")
    row = page.get_by_role("row", name=re.compile("acme"))
    expect(row).to_contain_text("Not available: no connection")
    url = row.get_by_title("http://127.0.0.1:9/charts")
    assert url.evaluate("one => [one, ...one.children].every((each) => each.scrollWidth <= each.clientWidth + 1)")
    dashboard.screenshots("repositories-one-failed")


def test_nothing_moves_for_who_wants_no_motion(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    page = dashboard.page
    save_repository(xapps, "http://127.0.0.1:9/charts")
    dashboard.sign_in(accounts.with_role("admin"), f"/repositories/{xapps.namespace}/acme")
    page.evaluate(
        """() => {
            window.moved = []
            for (const kind of ['animationstart', 'transitionrun'])
              document.addEventListener(kind, (event) => window.moved.push(event.propertyName ?? event.animationName))
        }"""
    )
    for motion in ("reduce", "no-preference"):
        page.emulate_media(reduced_motion="reduce" if motion == "reduce" else "no-preference")
        page.get_by_role("button", name="Remove acme...").click()
        expect(page.get_by_role("alertdialog")).to_be_visible()
        page.get_by_role("button", name="Keep").click()
        expect(page.get_by_role("alertdialog")).to_have_count(0)
        moved = page.evaluate("window.moved")
        assert (moved == []) is (motion == "reduce"), moved
        assert "background-color" not in moved  # opacity and transform only


def test_a_dialog_says_who_uses_a_repository(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    page, url = dashboard.page, "http://127.0.0.1:9/charts"
    save_repository(xapps, url)
    dialog = page.get_by_role("alertdialog", name="Remove acme?")
    limited = accounts.with_rights(name="limited", chartrepositories=["get", "list", "delete"])
    dashboard.sign_in(accounts.with_role("admin"), f"/repositories/{xapps.namespace}/acme")
    for count, said in (
        (0, "No xApp uses it."),
        (1, "1 xApp uses it (xapp-00). It keeps running. The operator saves the address again"),
        (12, f"12 xApps use it ({', '.join(f'xapp-{number:02}' for number in range(10))}, ...). They keep running."),
    ):
        for number in range(count):
            spec: dict[str, Any] = {"repoName": "acme", "xAppName": f"n{number}", "suspend": True}
            xapps.apply(xapps.remote_manifest(f"xapp-{number:02}", url=url, chart="hello", **spec))
        dashboard.open(f"/repositories/{xapps.namespace}/acme")
        page.get_by_role("button", name="Remove acme...").click()
        expect(dialog).to_contain_text(said)
        if count == 12:
            dashboard.screenshots("repository-remove")
        page.get_by_role("button", name="Keep").click()
    dashboard.context.clear_cookies()
    page.evaluate("localStorage.clear()")
    dashboard.sign_in(limited, f"/repositories/{xapps.namespace}/acme")
    page.get_by_role("button", name="Remove acme...").click()
    expect(dialog).to_contain_text(f"Which xApps use it is not visible: needs list xapps in {xapps.namespace}.")
