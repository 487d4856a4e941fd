"""Measures the list of xApps in Chromium, with a gateway that knows 10,000 XApps.

    python -m tests.bench.dashboard_bench [--xapps 10000] [--churn 200] [--seconds 60]

Needs the built dashboard and chromium-headless-shell. Targets: first page < 1 s; a key in the search field to its
paint < 100 ms at p95, also while 200 XApps change each second; a sort or a page < 300 ms with a CPU of a quarter of the
speed; and a heap that does not grow while the list is watched.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable
from typing import Final

from playwright.sync_api import CDPSession, Page

from tests.bench.list_bench import serve
from tests.browser.chromium import start_chromium

ROUNDS: Final = 10
CLICKS: Final = 20
READING_MILLISECONDS: Final = 500
"""Between two clicks, as a person looks at the rows."""
PAUSE_MILLISECONDS: Final = 120
"""Between two keys, as a person types."""
FIRST_ROW: Final = "document.querySelector('tbody tr a') !== null"
WATCH_CLICKS: Final = """() => {
  window.clickMilliseconds = []
  const names = (rows) => rows.map((row) => row.querySelector('a').textContent)
  const rows = () => [...document.querySelectorAll('tbody tr')]
  const isInView = (row) => {
    const { top, bottom } = row.getBoundingClientRect()
    return bottom > 0 && top < innerHeight
  }
  addEventListener('click', (event) => {
    const before = new Set(names(rows()))
    const look = () => {
      const shown = names(rows().filter(isInView))
      if (shown.length === 0 || shown.some((name) => before.has(name))) requestAnimationFrame(look)
      // The next frame begins after this one is painted.
      else requestAnimationFrame(() => window.clickMilliseconds.push(performance.now() - event.timeStamp))
    }
    look()
  }, true)
}"""
"""A click counts until all rows in view are new ones, and painted."""
OBSERVE_EVENTS: Final = """() => {
  window.eventMilliseconds = []
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (entry.name === 'keydown') window.eventMilliseconds.push(entry.duration)
  }).observe({ type: 'event', durationThreshold: 16, buffered: false })
}"""
SLOW_CPU: Final = 4
ROWS: Final = (50, 100)
"""Of a page: the default, and the most."""


def first_page(page: Page, url: str) -> float:
    """Return the seconds until the first row is shown, with an empty cache."""
    started = time.perf_counter()
    page.goto(url)
    wait_until(page, lambda: bool(page.evaluate(FIRST_ROW)))
    return time.perf_counter() - started


def typing(page: Page) -> list[float]:
    """Return the milliseconds from each key to its paint; those below 16 ms count as 16."""
    page.evaluate(OBSERVE_EVENTS)
    field = page.get_by_role("searchbox", name="Search xApps")
    keys = 0
    for round_ in range(ROUNDS):
        field.fill("")
        text = f"hello-{round_}99"
        field.press_sequentially(text, delay=PAUSE_MILLISECONDS)
        keys += len(text)
    field.fill("")
    page.wait_for_timeout(500)
    slow: list[float] = page.evaluate("window.eventMilliseconds")
    return sorted(slow + [16.0] * max(0, keys - len(slow)))


def clicking(page: Page, button: str) -> list[float]:
    """Return the milliseconds from each click on a button to the paint of other rows in the whole window."""
    page.evaluate("window.clickMilliseconds.length = 0")
    wanted = page.get_by_role("button", name=button, exact=True)
    for round_ in range(CLICKS):
        wanted.click()
        wait_until(page, lambda round_=round_: clicks_seen(page) > round_, pause_milliseconds=50)  # type: ignore[misc]
        page.wait_for_timeout(READING_MILLISECONDS)
    took: list[float] = page.evaluate("window.clickMilliseconds")
    return sorted(took)


def clicks_seen(page: Page) -> int:
    """Return how many clicks have shown other rows."""
    count: int = page.evaluate("window.clickMilliseconds.length")
    return count


def heap_megabytes(devtools: CDPSession) -> float:
    """Return the memory of the page's scripts after a garbage collection."""
    devtools.send("HeapProfiler.collectGarbage")
    used: float = devtools.send("Runtime.getHeapUsage")["usedSize"]
    return used / 1e6


def wait_until(page: Page, is_true: Callable[[], bool], *, pause_milliseconds: int = 5, seconds: float = 30) -> None:
    """Ask until it is true. The pause limits how exact a figure is that is taken outside of the page."""
    deadline = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > deadline:
            raise TimeoutError(page.url)
        page.wait_for_timeout(pause_milliseconds)


def percentiles(milliseconds: list[float]) -> str:
    """Return p50 and p95 as text."""
    p50, p95 = (milliseconds[int(len(milliseconds) * share)] for share in (0.5, 0.95))
    return f"p50 {p50:4.0f} ms   p95 {p95:4.0f} ms"


def main() -> None:
    """Run all measurements and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--xapps", type=int, default=10_000)
    parser.add_argument("--churn", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=60)
    given = parser.parse_args()
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(given.xapps, there), daemon=True)
    server.start()
    port, *_ = here.recv()
    url = f"http://127.0.0.1:{port}/xapps?per_page=100"
    with start_chromium() as browser:
        firsts = []
        for _ in range(3):
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            page = context.new_page()
            firsts.append(f"{first_page(page, url):.2f}")
        print(f"first page of {given.xapps} xApps, 100 rows: {', '.join(firsts)} s")
        devtools = context.new_cdp_session(page)
        print(f"a key in the search field to its paint:          {percentiles(typing(page))}")
        for rows in ROWS:
            devtools.send("Emulation.setCPUThrottlingRate", {"rate": 1})
            first_page(page, f"http://127.0.0.1:{port}/xapps?per_page={rows}")
            page.evaluate(WATCH_CLICKS)
            devtools.send("Emulation.setCPUThrottlingRate", {"rate": SLOW_CPU})
            for what, button in (("to the next page", "Next page"), ("sorted by name", "Name")):
                print(f"{f'{what}, {rows} rows, CPU/{SLOW_CPU}:':48} {percentiles(clicking(page, button))}")
        devtools.send("Emulation.setCPUThrottlingRate", {"rate": 1})
        here.send(given.churn)
        here.recv()
        page.wait_for_timeout(2000)
        print(f"a key to its paint, {given.churn} changes each second:    {percentiles(typing(page))}")
        before = heap_megabytes(devtools)
        page.wait_for_timeout(given.seconds * 1000)
        print(f"heap {before:.1f} MB, after {given.seconds} s of changes {heap_megabytes(devtools):.1f} MB")
    here.send("stop")
    server.join()


if __name__ == "__main__":
    main()
