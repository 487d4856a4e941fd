"""Measures whether the dashboard keeps memory: a short run with the page visits and changes of a long shift.

    python -m tests.bench.dashboard_memory_bench [--visits 500] [--changes 20000] [--xapps 2000]

One tab of Chromium, which never reloads, goes round the list, one xApp, its log, its values and the deploy page, while
the XApps of the list change. Before and after, the bench counts what is left after a garbage collection: heap, DOM
nodes, event listeners. Target: no growth with the number of visits or changes. V8 compiles no code meanwhile: that
would count as heap, several kilobytes a visit for hundreds of visits. It starts a control plane with an
operator and a gateway, and asserts nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson
from playwright.sync_api import CDPSession, Page, expect

from tests.bench.list_bench import deployed
from tests.browser.accounts import Accounts
from tests.browser.chromium import EXPECT_MILLISECONDS, WITHOUT_COMPILED_CODE, start_chromium
from tests.browser.dashboard import Dashboard
from tests.browser.gateway import BrowserGateway
from tests.localcluster import LocalCluster
from tests.localcluster.cluster import ROOT
from tests.localrun.cluster_setup import prepare_cluster
from tests.support.apiserver import ApiServer
from tests.support.operator import OperatorProcess
from tests.support.own_cluster import BASE, MANIFESTS
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient
from tests.unit.gateway.xapp_objects import ready_status
from xapp_operator.api.json import JsonObject
from xapp_operator.gateway.catalog.records import build_xapp_entry
from xapp_operator.gateway.state import Gateway

NAMESPACE: Final = "default"
NAME: Final = "a-ran-memory"
"""The first of the list, which is sorted by name."""
PAGES_OF_A_ROUND: Final = 5
WARM_UP_ROUNDS: Final = 8
"""Until each page, each chunk and each query has been there some times."""
CHANGES_PER_SECOND: Final = 100
REPORTS: Final = 5


@dataclass(frozen=True)
class Left:
    """What is alive in the tab after a garbage collection."""

    megabytes: float
    nodes: int
    listeners: int

    def __str__(self) -> str:
        return f"heap {self.megabytes:5.1f} MB   {self.nodes:6} DOM nodes   {self.listeners:5} event listeners"


def count(devtools: CDPSession) -> Left:
    """Collect the garbage, and count what is left."""
    for _ in range(3):  # what one collection frees can hold more of the DOM
        devtools.send("HeapProfiler.collectGarbage")
    counters = devtools.send("Memory.getDOMCounters")
    used = devtools.send("Runtime.getHeapUsage")["usedSize"] / 1e6
    return Left(used, counters["nodes"], counters["jsEventListeners"])


def go_round(page: Page) -> None:
    """Visit the list, one xApp, its log, its values and the deploy page by their links."""
    main = page.get_by_role("navigation", name="Main")
    tabs = page.get_by_role("navigation", name="Pages of this xApp")
    main.get_by_role("link", name="xApps Management").click()
    expect(page.get_by_role("link", name=NAME, exact=True)).to_be_visible()
    page.get_by_role("link", name=NAME, exact=True).click()
    expect(page.get_by_role("heading", name="Health")).to_be_visible()
    tabs.get_by_role("link", name="Logs").click()
    expect(page.get_by_role("log")).to_be_visible()
    tabs.get_by_role("link", name="Values").click()
    expect(page.locator(".cm-content").first).to_be_visible()
    main.get_by_role("link", name="Deploy").click()
    expect(page.get_by_role("heading", level=1, name="Deploy an xApp")).to_be_visible()


def put(gateway: Gateway, at: int, change: int) -> None:
    """Put one XApp into the store of the gateway, as its watch does."""
    xapp: JsonObject = orjson.loads(deployed(at))
    metadata, spec = xapp["metadata"], xapp["spec"]
    assert isinstance(metadata, dict)
    assert isinstance(spec, dict)
    whole = {
        **xapp,
        "metadata": {**metadata, "namespace": NAMESPACE, "resourceVersion": str(change)},
        "spec": {**spec, "namespace": NAMESPACE},
        "status": ready_status(phase=("Deployed", "Degraded")[change % 2]),
    }
    gateway.store.put(build_xapp_entry(whole))


def fill(xapps: int) -> Callable[[Gateway], None]:
    """Return a function that adds so many XApps."""

    def begin(gateway: Gateway) -> None:
        for at in range(xapps):
            put(gateway, at, 0)

    return begin


def change(number: int, xapps: int, done: list[int]) -> Callable[[Gateway], None]:
    """Return a function that begins `number` changes, one after the other. `done[0]` says how many there were."""

    def begin(gateway: Gateway) -> None:
        loop = asyncio.get_running_loop()

        def one(at: int) -> None:
            put(gateway, at * 7 % xapps, at)
            done[0] = at
            if at < number:
                loop.call_later(1 / CHANGES_PER_SECOND, one, at + 1)

        one(1)

    return begin


def serve(stack: ExitStack, folder: Path) -> tuple[BrowserGateway, str]:
    """Start all that a page needs, with one xApp that is Ready. Return the gateway and a token for it."""
    cluster = stack.enter_context(LocalCluster(folder / "cluster"))
    prepare_cluster(cluster, ROOT)
    cluster.kubectl("apply", "--server-side", "--force-conflicts", *[f"--filename={BASE / name}" for name in MANIFESTS])
    operator = OperatorProcess(cluster, folder)
    operator.start()
    stack.callback(operator.stop)
    api = stack.enter_context(ApiServer(cluster))
    gateway = BrowserGateway(cluster, api, folder)
    gateway.start()
    stack.callback(gateway.close)
    xapps = XAppClient(cluster, NAMESPACE)
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart()))
    xapps.wait_ready(NAME)
    return gateway, Accounts(api, NAMESPACE).with_role("edit")


def main() -> None:
    """Run the visits and the changes, and print what they left."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--visits", type=int, default=500)
    parser.add_argument("--changes", type=int, default=20_000)
    parser.add_argument("--xapps", type=int, default=2_000)
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        gateway, token = serve(stack, folder)
        assert gateway.server is not None
        gateway.server.run_in_loop(fill(given.xapps))
        chromium = stack.enter_context(start_chromium(WITHOUT_COMPILED_CODE))
        context = chromium.new_context(viewport={"width": 1280, "height": 800})
        context.set_default_timeout(EXPECT_MILLISECONDS)
        dashboard = Dashboard(context, gateway.url, takes_screenshots=False)
        dashboard.sign_in(token)
        devtools = context.new_cdp_session(dashboard.page)
        for _ in range(WARM_UP_ROUNDS):
            go_round(dashboard.page)
        print(f"after {WARM_UP_ROUNDS * PAGES_OF_A_ROUND:6} visits, {0:6} changes: {count(devtools)}")
        done = [0]
        gateway.server.run_in_loop(change(given.changes, given.xapps, done))
        rounds = max(1, given.visits // PAGES_OF_A_ROUND)
        for at in range(1, rounds + 1):
            go_round(dashboard.page)
            if at % max(1, rounds // REPORTS) == 0:
                print(f"after {at * PAGES_OF_A_ROUND:6} visits, {done[0]:6} changes: {count(devtools)}", flush=True)
        while done[0] < given.changes:  # on the list, which shows them
            dashboard.page.wait_for_timeout(100)
        print(f"after {rounds * PAGES_OF_A_ROUND:6} visits, {done[0]:6} changes: {count(devtools)}")


if __name__ == "__main__":
    main()
