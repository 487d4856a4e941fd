"""The log of an xApp that is long, coloured, and followed by a tab that is hidden for a while."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Request, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.localcluster import Cluster
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

NAME: Final = "acme-ran-logs"
LINES: Final = 55_000
LINES_KEPT: Final = 50_000
STREAMS: Final = "/api/stream?", "/logs?"
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


def append(log: Path, count: int) -> None:
    """Write lines in the format of container runtimes; every hundredth is coloured, the last says so."""
    begin = datetime.now(UTC)
    with log.open("a") as file:
        for number in range(1, count + 1):
            at = begin + timedelta(microseconds=number)
            text = f"\x1b[31mline\x1b[0m {number}" if number % 100 == 0 else f"line {number}"
            file.write(f"{at:%Y-%m-%dT%H:%M:%S.%f}000Z stdout F {text}{' the last' if number == count else ''}\n")


def test_a_long_log_stays_bounded_and_quick(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, container_log: Path
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart()))
    xapps.wait_ready(NAME)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("view"), f"/xapps/{xapps.namespace}/{NAME}/logs")
    log = page.get_by_role("log")
    expect(log).to_contain_text("simulated log line 100")
    append(container_log, LINES)

    expect(log).to_contain_text(f"line {LINES} the last")
    expect(page.get_by_text("50,000 lines, older ones are left out")).to_be_visible()
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

    # Followed again, new lines come into view.
    page.get_by_text("Follow", exact=True).click()
    page.get_by_text("Follow", exact=True).click()
    append(container_log, 5)
    expect(log).to_contain_text("line 5 the last")


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
