"""The log of an xApp that is long, coloured, and followed by a tab that is hidden for a while."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Request, Route, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.localcluster import Cluster
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

NAME: Final = "acme-ran-logs"
LINES: Final = 55_000
LINES_KEPT: Final = 50_000
CPU_THROTTLING: Final = 6
STREAMS: Final = "/api/stream?", "/logs?"
HEIGHT: Final = "log => log.clientHeight"
AT_END: Final = """() => {
  const scroller = document.querySelector('[role=log] .cm-scroller')
  return scroller.scrollTop > 0 && scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight <= 2
}"""
END_IN_WINDOW: Final = """text => {
  const scroller = document.querySelector('[role=log] .cm-scroller')
  const line = [...scroller.querySelectorAll('.cm-line')].at(-1)
  const bottom = Math.min(innerHeight, scroller.getBoundingClientRect().bottom)
  return line.textContent.includes(text) && line.getBoundingClientRect().bottom <= bottom
}"""
"""The last line has this text, and is in the window of the browser."""
FIRST_IN_VIEW: Final = """async () => {
  const scroller = document.querySelector('[role=log] .cm-scroller')
  const frame = () => new Promise((done) => requestAnimationFrame(done))
  // Keys move the text smoothly.
  for (let before = -1, frames = 0; before !== scroller.scrollTop && frames < 200; frames += 2) {
    before = scroller.scrollTop
    await frame()
    await frame()
  }
  const { top } = scroller.getBoundingClientRect()
  const lines = [...scroller.querySelectorAll('.cm-line')]
  return lines.find((line) => line.getBoundingClientRect().bottom > top).textContent
}"""
HIDE: Final = """hidden => {
  Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
  Object.defineProperty(document, 'visibilityState', { value: hidden ? 'hidden' : 'visible', configurable: true })
  document.dispatchEvent(new Event('visibilitychange'))
}"""


@pytest.fixture
def container_log(cluster: Cluster) -> Iterator[Path]:
    """The file that is the log of every simulated container."""
    (path,) = cluster.kubeconfig.parent.rglob("simulated.log")
    before = path.read_text()
    yield path
    path.write_text(before)


def append(log: Path, count: int, *, end: str = "") -> None:
    """Write lines in the format of container runtimes; every hundredth is coloured, the last says so."""
    begin = datetime.now(UTC)
    with log.open("a") as file:
        for number in range(1, count + 1):
            at = begin + timedelta(microseconds=number)
            text = f"\x1b[31mline\x1b[0m {number}" if number % 100 == 0 else f"line {number}"
            file.write(f"{at:%Y-%m-%dT%H:%M:%S.%f}000Z stdout F {text}{' the last' if number == count else ''}{end}\n")


def test_a_long_log_stays_bounded_and_quick(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, container_log: Path
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart()))
    xapps.wait_ready(NAME)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("view"), f"/xapps/{xapps.namespace}/{NAME}/logs")
    log = page.get_by_role("log")
    expect(log).to_contain_text("simulated log line 100")
    expect(page.get_by_role("button", name="Since")).to_have_text(re.compile("The last 2,000 lines"))
    # It is followed: its end stays in view in a smaller window.
    for height in (700, 500):
        page.wait_for_function(AT_END)
        before = log.evaluate(HEIGHT)
        page.set_viewport_size({"width": 1280, "height": height})
        page.wait_for_function(f"before => ({HEIGHT})(document.querySelector('[role=log]')) < before", arg=before)
    page.wait_for_function(AT_END)
    page.set_viewport_size({"width": 1280, "height": 800})
    append(container_log, LINES)

    # The last line is in the window, and so is the line below it: nobody scrolls the page for them.
    page.wait_for_function(END_IN_WINDOW, arg=f"line {LINES} the last")
    expect(page.get_by_text("50,000 lines, older ones are left out")).to_be_in_viewport(ratio=1)
    expect(log.locator(".cm-ansi-red").first).to_have_text("line")
    # Only the lines in view are in the document.
    assert log.locator(".cm-line").count() < 200
    first_kept = LINES - LINES_KEPT + 100
    page.get_by_label("Find", exact=True).fill(f"line {first_kept}")
    expect(log.locator(".cm-searchMatch-selected")).to_have_text(f"line {first_kept}")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save").click()
    saved = download.value.path().read_text().splitlines()
    assert len(saved) == LINES_KEPT
    assert "\x1b" not in "".join(saved)
    dashboard.screenshots("long-log")

    page.get_by_text("Follow", exact=True).click()
    page.wait_for_function(END_IN_WINDOW, arg=f"line {LINES} the last")

    # Long lines are cut, and fewer of them are kept. The editor does not warn of measuring again and again.
    append(container_log, 2_500, end=9_000 * "y")
    page.wait_for_function(END_IN_WINDOW, arg="line 2500 the last")
    kept = page.get_by_text("lines, older ones are left out").inner_text()
    assert int(re.sub(r"\D", "", kept)) < 2_500
    with page.expect_download() as download:
        page.get_by_role("button", name="Save").click()
    saved = download.value.path().read_text().splitlines()
    assert saved[-1].endswith("yyy … the rest of this line is left out")
    assert len("".join(saved)) < 17 * 1024 * 1024

    # More than an answer has room for: the page asks for fewer lines at once, and has the newest.
    append(container_log, 1_100, end=40_000 * "z")
    with page.expect_request(re.compile(r"/logs\?.*tail=[0-9]{1,3}&follow=true")):
        page.reload()
    expect(log).to_contain_text("line 1100 the last")
    expect(page.get_by_text("lines, older ones are left out")).to_be_visible()

    # Followed again, new lines come into view.
    page.get_by_text("Follow", exact=True).click()
    page.get_by_text("Follow", exact=True).click()
    append(container_log, 5)
    expect(log).to_contain_text("line 5 the last")


def test_a_slow_page_follows_to_the_end_until_a_person_looks_at_something_else(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, container_log: Path
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart()))
    xapps.wait_ready(NAME)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("view"), f"/xapps/{xapps.namespace}/{NAME}/logs")
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": CPU_THROTTLING})
    log, follow = page.get_by_role("log"), page.get_by_role("switch", name="Follow")
    expect(log).to_contain_text("simulated log line 100")
    # Many lines, then wide ones, of which fewer are kept, then ones that wrap.
    append(container_log, 20_000)
    page.wait_for_function(END_IN_WINDOW, arg="line 20000 the last")
    append(container_log, 2_500, end=9_000 * "y")
    page.wait_for_function(END_IN_WINDOW, arg="line 2500 the last")
    page.get_by_role("button", name="Clear").click()
    page.get_by_text("Wrap", exact=True).click()
    for count in (101, 102, 103):
        append(container_log, count, end=10 * count * "w")
        page.wait_for_function(END_IN_WINDOW, arg=f"line {count} the last")

    # Who scrolls up, however little, or finds something, reads on while lines come. The end brings them back.
    log.locator(".cm-content").focus()
    log.hover()
    lines = 101 + 102 + 103
    leave: list[Callable[[], None]] = [
        lambda: page.mouse.wheel(0, -8),
        lambda: page.keyboard.press("PageUp"),
        lambda: page.get_by_label("Find", exact=True).fill("line 50"),
    ]
    for way in leave:
        expect(follow).to_be_checked()
        way()
        expect(follow).not_to_be_checked()
        seen = page.evaluate(FIRST_IN_VIEW)
        append(container_log, 200)
        lines += 200
        expect(page.get_by_text(f"{lines:,} lines")).to_be_visible()
        assert page.evaluate(FIRST_IN_VIEW) == seen
        page.mouse.wheel(0, 1_000_000)
        page.wait_for_function(END_IN_WINDOW, arg="line 200 the last")


def test_what_was_typed_does_not_bring_back_a_page_that_was_left(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart()))
    xapps.wait_ready(NAME)
    page = dashboard.page
    events_page = re.compile("/assets/EventsPage-")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(events_page, hold)
    dashboard.sign_in(accounts.with_role("view"), f"/xapps/{xapps.namespace}/{NAME}/logs")
    expect(page.get_by_role("log")).to_contain_text("simulated log line 100")
    page.clock.install()
    page.get_by_label("Find", exact=True).fill("line 7")
    page.get_by_role("link", name="Events", exact=True).click()
    expect(page).to_have_url(re.compile("/events$"))
    # The files of the next page come slowly: this one is still in view.
    page.clock.run_for(1_000)
    expect(page).to_have_url(re.compile("/events$"))
    for route in held:
        route.continue_()
    page.clock.run_for(1_000)
    expect(page.get_by_role("table", name="Events of the xApp")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("log")).to_be_visible()


def test_a_hidden_tab_closes_its_two_streams_and_opens_them_again(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart()))
    xapps.wait_ready(NAME)
    page = dashboard.page
    token = accounts.with_role("view")
    open_streams: set[Request] = set()

    def ended(sent: Request) -> None:
        open_streams.discard(sent)

    page.on("request", lambda sent: open_streams.add(sent) if any(part in sent.url for part in STREAMS) else None)
    page.on("requestfailed", ended)
    page.on("requestfinished", ended)
    page.clock.install()
    dashboard.sign_in(token, f"/xapps/{xapps.namespace}/{NAME}/logs")
    expect(page.get_by_role("log")).to_contain_text("simulated log line 100")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    assert kinds(open_streams) == [*STREAMS]

    page.evaluate(HIDE, arg=True)
    page.clock.fast_forward(9_000)
    assert kinds(open_streams) == [*STREAMS]
    with page.expect_event("requestfailed", lambda sent: STREAMS[0] in sent.url):
        page.clock.fast_forward(2_000)
    expect(page.get_by_role("log")).to_be_visible()
    assert kinds(open_streams) == []
    with (
        page.expect_request(lambda sent: STREAMS[0] in sent.url),
        page.expect_request(lambda sent: STREAMS[1] in sent.url),
    ):
        page.evaluate(HIDE, arg=False)
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    assert kinds(open_streams) == [*STREAMS]


def kinds(requests: set[Request]) -> list[str]:
    return sorted(part for sent in requests for part in STREAMS if part in sent.url)


def test_a_pod_that_an_upgrade_has_replaced_leads_to_its_successor(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart()))
    xapps.wait_ready(NAME)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("view"), f"/xapps/{xapps.namespace}/{NAME}/logs")
    log = page.get_by_role("log")
    expect(log).to_contain_text("simulated log line 100")
    label = log.get_attribute("aria-label") or ""
    replaced = label.split()[-1]

    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart(), values={"greeting": "another"}))
    gone = page.get_by_role("status").filter(has_text=f"Pod {replaced} is gone")
    expect(gone).to_be_visible()
    # What was read stays in view.
    expect(log).to_contain_text("simulated log line 100")
    dashboard.check_accessibility()
    dashboard.screenshots("log-of-a-gone-pod")

    # A link to it says the same, and does not promise its log.
    page.goto(f"{dashboard.url}/xapps/{xapps.namespace}/{NAME}/logs?pod={replaced}&container=main")
    expect(gone).to_be_visible()
    expect(page.get_by_text("it is tried again")).to_have_count(0)
    gone.get_by_role("button", name=re.compile("^Show the log of ")).click()
    expect(gone).to_have_count(0)
    expect(log).to_contain_text("simulated log line 100")
    expect(log).not_to_have_attribute("aria-label", label)
