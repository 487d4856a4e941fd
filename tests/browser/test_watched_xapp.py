"""The page of an xApp that somebody watches: its steps, a step that fails, an image that never comes, many pods."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.support.chart_server import ChartServer
from tests.support.workload import DEPLOYMENT, workload_chart
from tests.support.xapps import XAppClient

NAME: Final = "acme-ran-watched"
SLOW_DEPLOYMENT: Final = DEPLOYMENT.replace("greeting: ", "xapp-operator.io/test-ready-after: 1s\n        greeting: ")
COUNT_ANNOUNCEMENTS: Final = """
announcer => { window.announced = [];
  new MutationObserver(() => window.announced.push(announcer.textContent))
    .observe(announcer, {childList: true, characterData: true, subtree: true}) }
"""

FAILS: Final = ("CrashLoopBackOff", "ImagePullBackOff", "")
MOVED_PIXELS_MAX: Final = 0
"""A line more or less does not move it either."""
NOTE_TOPS: Final = """
region => {
  window.tops = []
  const look = () => {
    const top = Math.min(region.getBoundingClientRect().top, innerHeight)
    if (top !== window.tops.at(-1)) window.tops.push(top)
    requestAnimationFrame(look)
  }
  look()
}
"""
"""Notes where a part of the page begins, as far as it is in view, in each frame."""


@pytest.fixture
def charts() -> Iterator[ChartServer]:
    with ChartServer() as server:
        server.add("workload", "0.1.0", workload_chart(templates__deployment=SLOW_DEPLOYMENT))
        yield server


def step(dashboard: Dashboard, name: str, state: str) -> Locator:
    steps = dashboard.page.get_by_role("listitem").filter(has_text=re.compile(f"^{name}"))
    return steps.filter(has=dashboard.page.get_by_label(state, exact=True))


def test_a_step_that_fails_while_watched_turns_into_its_cause(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, charts: ChartServer
) -> None:
    page = dashboard.page
    dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])
    token = accounts.with_role("edit")
    with charts.holding("/workload-0.1.0.tgz"):
        values = {"fail": "ImagePullBackOff"}
        xapps.apply(xapps.remote_manifest(NAME, url=charts.url, chart="workload", timeout="6s", values=values))
        dashboard.sign_in(token, f"/xapps/{xapps.namespace}/{NAME}")
        expect(step(dashboard, "Chart", "in progress")).to_be_visible()
        expect(step(dashboard, "Accepted", "done")).to_be_visible()
        expect(step(dashboard, "Ready", "waiting")).to_be_visible()
        expect(page.get_by_role("heading", name="What it waits for")).to_be_visible()
        expect(page.get_by_text("the chart is read from its source").first).to_be_visible()
        dashboard.check_accessibility()
        dashboard.screenshots("watched")
    line = page.get_by_role("list").filter(has=step(dashboard, "Accepted", "done"))
    before = line.bounding_box()
    page.locator("main [role=status]").first.evaluate(COUNT_ANNOUNCEMENTS)

    expect(step(dashboard, "Objects", "in progress")).to_be_visible()
    expect(page.get_by_text(re.compile(r"\d s of 6 s"))).to_be_visible()
    expect(step(dashboard, "Objects", "failed")).to_be_visible()
    # From now on the clock stands still.
    clock = page.get_by_text("failed after 6 s of 6 s")
    expect(clock).to_be_visible()
    cause = page.get_by_role("region", name="Why it is not Ready")
    expect(cause.get_by_text("container main: ImagePullBackOff").first).to_be_visible()
    assert before is not None
    assert line.bounding_box() == {**before, "width": line.bounding_box()["width"]}  # type: ignore[index]
    announced = page.evaluate("window.announced")
    assert [words for words in announced if words.startswith("Degraded")] == announced[-1:]
    # The cause is said as soon as it is known, long before it is given up.
    assert len([words for words in announced[:-1] if ", container main: ImagePullBackOff" in words]) == 1

    # The image never comes: what to look at, and what to do.
    expect(cause.get_by_text("Check the name and tag of the image in the values")).to_be_visible()
    expect(cause.get_by_text("Last event")).to_be_visible()
    for name in ("Events", "Edit values", "Upgrade"):
        expect(cause.get_by_role("link", name=name, exact=True)).to_be_visible()
    expect(cause.get_by_role("button", name="Retry")).to_be_visible()
    # It never ran.
    expect(cause.get_by_text("Last words")).to_have_count(0)
    expect(cause.get_by_role("link", name=re.compile("^Log"))).to_have_count(0)
    cause.get_by_role("button", name="Copy report").click()
    report = page.evaluate("navigator.clipboard.readText()")
    assert f"xApp {NAME} in namespace {xapps.namespace}, Degraded, revision 1" in report
    assert "container main: ImagePullBackOff" in report
    dashboard.check_accessibility()
    dashboard.screenshots("image-never-pulls")

    # Also for somebody who opens the page later.
    page.reload()
    expect(clock).to_be_visible()


@pytest.mark.parametrize("outcome", [(fail, width) for fail in FAILS for width in (1280, 768, 360)])
def test_nothing_below_the_steps_jumps_when_one_fails_or_all_are_done(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, charts: ChartServer, outcome: tuple[str, int]
) -> None:
    fail, width = outcome
    page = dashboard.page
    page.set_viewport_size({"width": width, "height": 800})
    token = accounts.with_role("edit")
    with charts.holding("/workload-0.1.0.tgz"):
        manifest = xapps.remote_manifest(NAME, url=charts.url, chart="workload", timeout="6s", values={"fail": fail})
        xapps.apply(manifest)
        dashboard.sign_in(token, f"/xapps/{xapps.namespace}/{NAME}")
        health = page.get_by_role("region", name="Health")
        expect(health).to_be_visible()
        health.evaluate(NOTE_TOPS)
    if fail:
        expect(page.get_by_text("failed after 6 s of 6 s")).to_be_visible()
        cause = page.get_by_role("region", name="Why it is not Ready")
        expect(cause.get_by_text(f"container main: {fail}").first).to_be_visible()
        # The last event of a crash loop says no more than the message.
        details = cause.get_by_text("Last event")
        if fail == "CrashLoopBackOff":
            details = cause.get_by_role("region", name="the last words")
        expect(details).to_be_visible()
    else:
        expect(page.get_by_role("region", name="It is Ready")).to_be_visible()
        expect(step(dashboard, "Ready", "done")).to_be_visible()
    tops = page.evaluate("tops")
    # These change the size of the window.
    dashboard.screenshots(f"watched-{fail or 'ready'}")
    assert max(tops) - min(tops) <= MOVED_PIXELS_MAX, tops


def test_a_chart_that_the_repository_does_not_have_is_looked_for_again(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, charts: ChartServer
) -> None:
    xapps.apply(xapps.remote_manifest(NAME, url=charts.url, chart="workload", version="0.2.0"))
    xapps.wait_stalled(NAME)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps/{xapps.namespace}/{NAME}")

    expect(step(dashboard, "Chart", "failed")).to_be_visible()
    cause = page.get_by_role("region", name="Why it is not Ready")
    expect(cause.get_by_text("0.1.0")).to_be_visible()  # what exists instead
    expect(cause.get_by_role("link", name="Upgrade", exact=True)).to_be_visible()
    expect(cause.get_by_role("button", name="Repositories")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("chart-not-found")

    charts.add("workload", "0.2.0", workload_chart(version="0.2.0"))
    cause.get_by_role("button", name="Look again").click()
    expect(page.get_by_text("Accepted: the operator looks again")).to_be_visible()
    expect(step(dashboard, "Ready", "done")).to_be_visible()
    expect(cause).to_have_count(0)


def test_who_waits_for_another_xapp_has_not_failed(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, charts: ChartServer
) -> None:
    needed = [{"name": "acme-ran-needed"}]
    xapps.apply(xapps.remote_manifest(NAME, url=charts.url, chart="workload", dependsOn=needed))
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps/{xapps.namespace}/{NAME}")

    expect(step(dashboard, "Accepted", "in progress")).to_be_visible()
    waits = page.get_by_role("region", name="What it waits for")
    expect(waits.get_by_text("acme-ran-needed")).to_be_visible()
    expect(waits.get_by_text("It goes on by itself")).to_be_visible()
    expect(waits.get_by_role("button", name="Look again")).to_be_visible()
    expect(page.get_by_role("region", name="Why it is not Ready")).to_have_count(0)
    dashboard.check_accessibility()
    dashboard.screenshots("waits-for-another")
    # What comes with a revision is not missing: there is none yet.
    for tab in ("History", "Manifest", "Notes"):
        page.get_by_role("link", name=tab, exact=True).click()
        expect(page.get_by_role("link", name=tab, exact=True)).to_have_attribute("aria-current", "page")
        expect(page.get_by_text("No revision yet")).to_be_visible()
        expect(page.get_by_role("button", name="Retry")).to_have_count(0)

    xapps.apply(xapps.remote_manifest("acme-ran-needed", url=charts.url, chart="workload"))
    expect(page.get_by_text("The chart has no notes")).to_be_visible()


def test_more_pods_than_a_page_shows_are_counted(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart(), values={"replicas": 105}))
    xapps.wait_ready(NAME)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("view"), f"/xapps/{xapps.namespace}/{NAME}")
    expect(page.get_by_text("100 of 105 pods")).to_be_visible()
    dashboard.screenshots("many-pods")
    dashboard.open(f"/xapps/{xapps.namespace}/{NAME}/logs")
    expect(page.get_by_text("100 of 105 pods")).to_be_visible()
