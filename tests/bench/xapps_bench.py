"""Measures what 100 XApps take until they are Ready, compared with 8 parallel helm installs of the same chart.

Run with `python -m tests.bench.xapps_bench [COUNT [ROUNDS]] [--replicas N] [--no-configmap]`. It starts a control plane
and asserts nothing. It prints wall times, requests by client, verb and resource, processor time by process, the same
with the finalizer policy, and what a restart of the operator costs. With 0 replicas there are no pods, so that
controllers, scheduler and nodes have little to do. The budget of requests was set for a chart without a ConfigMap.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench.release_cost import (
    CLIENTS,
    HELM,
    OPERATOR,
    Cost,
    CostMeter,
    Snapshot,
    print_processor_time,
    print_requests,
)
from tests.localcluster import Cluster, LocalCluster
from tests.localrun.cluster_setup import prepare_cluster
from tests.support.chart_server import ChartServer
from tests.support.operator import OperatorProcess
from tests.support.work_folder import work_folder
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

ROOT = Path(__file__).parents[2]
FINALIZER_POLICY = ROOT / "manifests" / "components" / "finalizer-policy" / "finalizer-policy.yaml"
POOL = 8
POOL_TITLE = f"pool of {POOL}"
AVAILABLE_TITLE = f"{POOL_TITLE}, until the Deployments are available"
NAMESPACES = ("pool", "xapps", "policed")
DEADLINE_SECONDS = 600.0
QUIET_SECONDS = 2.0
"""Without a request for so long, everything is done: events, and what controllers do about the last write."""
AVAILABLE_TEMPLATE = '{.metadata.name} {.status.conditions[?(@.type=="Available")].status}{"\\n"}'
READY_TEMPLATE = (
    '{.metadata.name} {.status.conditions[?(@.type=="Ready")].status} {.metadata.generation} '
    '{.status.observedGeneration}{"\\n"}'
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.xapps_bench", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=100)
    parser.add_argument("rounds", nargs="?", type=int, default=1)
    parser.add_argument("--replicas", type=int, default=1, help="of the Deployment of each release")
    parser.add_argument("--no-configmap", action="store_true", help="deploy a Deployment and a Service only")
    options = parser.parse_args()
    archive = workload_chart(templates__configmap="") if options.no_configmap else workload_chart()
    values = {"replicas": options.replicas} if options.replicas != 1 else {}
    with tempfile.TemporaryDirectory() as folder:
        local = LocalCluster(Path(folder) / "cluster")
        with local as cluster, ChartServer() as charts, work_folder(Path(folder)) as work:
            charts.add("workload", "0.1.0", archive)
            prepare_cluster(cluster, ROOT)
            chart = Path(folder) / "workload.tgz"
            chart.write_bytes(archive)
            benchmark = _ReleaseBenchmark(
                local, cluster, charts, folder=Path(folder), work=work, chart=chart, count=options.count, values=values
            )
            benchmark.run(options.rounds)


class _ReleaseBenchmark:
    """Measures the ways to release in turns, so that a slower minute of the machine does not decide."""

    def __init__(
        self,
        local: LocalCluster,
        cluster: Cluster,
        charts: ChartServer,
        *,
        folder: Path,
        work: Path,
        chart: Path,
        count: int,
        values: dict[str, int],
    ) -> None:
        self._cluster = cluster
        self._charts = charts
        self._count = count
        self._values = values
        self._work = work
        self._chart = chart
        self._meter = CostMeter(local, cluster)
        self._operator = OperatorProcess(cluster, folder, {"XAPP_WORK_DIR": str(work)})
        self._seconds: defaultdict[str, list[float]] = defaultdict(list)
        self._costs: dict[str, Cost] = {}

    def run(self, rounds: int) -> None:
        for namespace in ("warm", "single", *(f"{name}-{number}" for number in range(rounds) for name in NAMESPACES)):
            self._cluster.kubectl("create", "namespace", namespace)
        asyncio.run(self._install("warm", 1))
        single = asyncio.run(self._install("warm", 1, first=1))
        try:
            for number in range(rounds):
                self._run_round(number, single)
            self._print(rounds)
            self._operator.stop()
            before = _settled(self._meter)
            self._operator.start()
            after = _settled(self._meter, operator=self._operator.pid, quiet=5 * QUIET_SECONDS)
            _print_restart(self._meter.cost(before, after), rounds * 2 * self._count)
        finally:
            self._operator.stop()

    def _run_round(self, number: int, single: float) -> None:
        self._operator.stop()
        before, spent = self._meter.snapshot(), _children_seconds()
        with _available_deployments(XAppClient(self._cluster, f"pool-{number}")) as available:
            began = time.monotonic()
            pool = asyncio.run(self._install(f"pool-{number}", self._count))
            spent = _children_seconds() - spent
            _take_all(available, {f"release-{each}" for each in range(self._count)})
            self._seconds[AVAILABLE_TITLE].append(time.monotonic() - began)
        self._note(POOL_TITLE, pool, self._meter.cost(before, _settled(self._meter)), helm=spent)
        self._operator.start()
        one = XAppClient(self._cluster, "single")
        started, _ = self._apply(one, 1, first=2 * number)
        _settled(self._meter)
        alone, applied = self._apply(one, 1, first=2 * number + 1)
        print(f"one XApp: first {started:.2f} s, with the start of the operator; then {alone:.2f} s: kubectl")
        print(f"  {applied:.2f} s, from then until Ready {alone - applied:.2f} s; one helm install {single:.2f} s")
        ways = (self._release_plain, self._release_policed)
        for release in ways if number % 2 == 0 else reversed(ways):  # the second finds a fuller cluster
            release(number)

    def _release_plain(self, number: int) -> None:
        self._release_xapps("XApps", XAppClient(self._cluster, f"xapps-{number}"))

    def _release_policed(self, number: int) -> None:
        policed = XAppClient(self._cluster, f"policed-{number}")
        policed.kubectl("apply", "-f", str(FINALIZER_POLICY))
        self._wait_for_policy(policed, in_force=True)
        self._release_xapps("with policy", policed)
        policed.kubectl("delete", "-f", str(FINALIZER_POLICY))
        self._wait_for_policy(policed, in_force=False)

    def _release_xapps(self, title: str, kit: XAppClient) -> None:
        before, spent = _settled(self._meter, operator=self._operator.pid), _children_seconds()
        ready, _ = self._apply(kit, self._count)
        spent = _children_seconds() - spent
        after = _settled(self._meter, operator=self._operator.pid)
        self._note(title, ready, self._meter.cost(before, after), kubectl=spent)

    def _note(self, title: str, seconds: float, cost: Cost, **processor: float) -> None:
        print(f"{title}: {self._count} releases in {seconds:.2f} s", flush=True)
        cost = replace(cost, processor={**cost.processor, **processor})
        self._seconds[title].append(seconds)
        self._costs[title] = self._costs[title] + cost if title in self._costs else cost

    def _wait_for_policy(self, kit: XAppClient, *, in_force: bool) -> None:
        probe = json.dumps(kit.remote_manifest("probe", url=self._charts.url, chart="workload"))
        flags = ("--dry-run=server", "-o", "jsonpath={.metadata.finalizers}", "-f", "-")
        kit.wait_until(lambda: (kit.kubectl("create", *flags, input=probe) != "") is in_force, what="the policy")

    def _apply(self, kit: XAppClient, count: int, *, first: int = 0) -> tuple[float, float]:
        """Apply XApps at once; return the seconds until all were Ready, and until kubectl returned."""
        names = {f"xapp-{first + number}" for number in range(count)}
        spec: dict[str, Any] = {"values": self._values} if self._values else {}
        manifests = [
            json.dumps(kit.remote_manifest(name, url=self._charts.url, chart="workload", **spec))
            for name in sorted(names)
        ]
        with _ready_xapps(kit) as ready:
            began = time.monotonic()
            kit.kubectl("apply", "--server-side", "-f", "-", input="\n---\n".join(manifests))
            applied = time.monotonic() - began
            _take_all(ready, names)
            return time.monotonic() - began, applied

    async def _install(self, namespace: str, count: int, *, first: int = 0) -> float:
        """Install releases with a pool of helm processes; return the seconds until all have ended."""
        slots = asyncio.Semaphore(POOL)
        environment = {**self._cluster.env, "GOMAXPROCS": "1", "GOGC": "off", "KUBECACHEDIR": str(self._work / "pool")}
        flags = ["--server-side=true", "--force-conflicts", "--disable-openapi-validation", "--wait=hookOnly"]
        flags += [f"--set={name}={value}" for name, value in self._values.items()]

        async def install(number: int) -> None:
            release = (f"release-{number}", str(self._chart), "-n", namespace)
            async with slots:
                process = await asyncio.create_subprocess_exec(
                    str(self._cluster.helm_path),
                    *("install", *release, *flags, "-o", "json"),
                    env=environment,
                    stdout=asyncio.subprocess.DEVNULL,
                )
                assert await process.wait() == 0

        began = time.monotonic()
        await asyncio.gather(*(install(number) for number in range(first, first + count)))
        return time.monotonic() - began

    def _print(self, rounds: int) -> None:
        pool = median(self._seconds[POOL_TITLE])
        for title, seconds in self._seconds.items():
            each = ", ".join(f"{one:.2f}" for one in seconds)
            print(f"{title}: median {median(seconds):.2f} s, {median(seconds) / pool:.2f} x the pool ({each})")
        print(f"downloads of the chart: {self._charts.requests['/workload-0.1.0.tgz']}, in {rounds} starts")
        print_requests(self._costs, rounds * self._count)
        print_processor_time(self._costs, rounds * self._count)


def _print_restart(cost: Cost, count: int) -> None:
    helm, requests = sum(cost.requests[HELM].values()), sum(cost.requests[OPERATOR].values())
    print(f"\nrestart with {count} deployed XApps: {requests} requests of the operator, {helm} of helm")
    print(f"  writes of the operator: {cost.writes(OPERATOR)}; processor {cost.processor['operator']:.2f} s")
    for (verb, target), number in cost.requests[OPERATOR].most_common(5):
        print(f"    {number:6} {verb:6} {target}")


def _settled(meter: CostMeter, *, operator: int | None = None, quiet: float = QUIET_SECONDS) -> Snapshot:
    """Return the counters once nobody has sent a request for a while."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    before = meter.snapshot(operator=operator)
    while time.monotonic() < deadline:
        time.sleep(quiet)  # nothing to wait for: the condition is that nothing happens
        after = meter.snapshot(operator=operator)
        if not any(sum(meter.cost(before, after).requests[client].values()) for client in CLIENTS):
            return after
        before = after
    raise TimeoutError("the cluster does not come to rest")


def _children_seconds() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _take_all(names: Iterator[str], expected: set[str]) -> None:
    """Wait until each expected name has come."""
    missing = set(expected)
    while missing:
        missing.discard(next(names))


@contextmanager
def _ready_xapps(kit: XAppClient) -> Iterator[Iterator[str]]:
    """Yield the names of XApps as they become Ready."""
    with _rows(kit, "xapps", READY_TEMPLATE) as rows:
        yield (row[0] for row in rows if len(row) == 4 and row[1] == "True" and row[2] == row[3])


@contextmanager
def _available_deployments(kit: XAppClient) -> Iterator[Iterator[str]]:
    """Yield the names of Deployments as they become available."""
    with _rows(kit, "deployments", AVAILABLE_TEMPLATE) as rows:
        yield (row[0] for row in rows if row[1:] == ["True"])


@contextmanager
def _rows(kit: XAppClient, kind: str, template: str) -> Iterator[Iterator[list[str]]]:
    """Yield the words of each line of a watch. Polling would take a good part of the time."""
    arguments = ("get", kind, "--watch", "--output", f"jsonpath={template}", "--namespace", kit.namespace)
    with subprocess.Popen(
        [kit.cluster.kubectl_path, *arguments], env=kit.cluster.env, stdout=subprocess.PIPE, text=True
    ) as watch:
        assert watch.stdout is not None
        try:
            yield (line.split() for line in watch.stdout)
        finally:
            watch.terminate()


if __name__ == "__main__":
    main()
