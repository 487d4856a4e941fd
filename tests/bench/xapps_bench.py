"""Measures what 100 XApps take until they are Ready, compared with 8 parallel helm installs of the same chart.

Run with `python -m tests.bench.xapps_bench [COUNT]`. It starts a control plane and asserts nothing. It prints wall
times, requests by client, verb and resource, processor time by process, the same with the finalizer policy, and what a
restart of the operator costs.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

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
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

ROOT = Path(__file__).parents[2]
FINALIZER_POLICY = ROOT / "manifests" / "components" / "finalizer-policy" / "finalizer-policy.yaml"
POOL = 8
DEADLINE_SECONDS = 600.0
QUIET_SECONDS = 2.0
"""Without a request for so long, everything is done: events, and what controllers do about the last write."""
READY_TEMPLATE = (
    '{.metadata.name} {.status.conditions[?(@.type=="Ready")].status} {.metadata.generation} '
    '{.status.observedGeneration}{"\\n"}'
)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as folder:
        local = LocalCluster(Path(folder) / "cluster")
        with local as cluster:
            prepare_cluster(cluster, ROOT)
            for namespace in ("pool", "warm", "xapps", "with-policy", "single"):
                cluster.kubectl("create", "namespace", namespace)
            _compare(local, cluster, Path(folder), count)


def _compare(local: LocalCluster, cluster: Cluster, folder: Path, count: int) -> None:
    chart, meter, costs = folder / "workload.tgz", CostMeter(local, cluster), {}
    chart.write_bytes(workload_chart())
    asyncio.run(_pool(cluster, chart, "warm", 1))
    single = asyncio.run(_pool(cluster, chart, "warm", 1, first=1))
    before, spent = meter.snapshot(), _children_seconds()
    pool = asyncio.run(_pool(cluster, chart, "pool", count))
    cost = meter.cost(before, _settled(meter))
    costs["pool"] = replace(cost, processor={**cost.processor, "helm": _children_seconds() - spent})
    print(f"pool of {POOL} helm installs: {count} releases in {pool:.2f} s; one helm install alone {single:.2f} s")
    operator = OperatorProcess(cluster, folder)
    operator.start()
    try:
        with ChartServer() as charts:
            charts.add("workload", "0.1.0", workload_chart())
            _, one = _xapps(XAppClient(cluster, "single"), charts, 1)
            _settled(meter)
            applied, alone = _xapps(XAppClient(cluster, "single"), charts, 1, first=1)
            before = _settled(meter, operator=operator.pid)
            taken, ready = _xapps(XAppClient(cluster, "xapps"), charts, count)
            costs["XApps"] = meter.cost(before, _settled(meter, operator=operator.pid))
            downloads = charts.requests["/workload-0.1.0.tgz"]
            policed, costs["with policy"] = _with_finalizer_policy(meter, cluster, charts, count, operator=operator.pid)
            after = alone - applied
            print(f"one XApp: first {one:.2f} s, with the start of the operator; then {alone:.2f} s: kubectl")
            print(f"  {applied:.2f} s, from then until Ready {after:.2f} s ({after / single:.2f} x one helm install)")
            print(f"{count} XApps Ready in {ready:.2f} s ({ready / pool:.2f} x the pool), of which apply {taken:.2f} s")
            print(f"  with the finalizer policy: {policed:.2f} s ({policed / pool:.2f} x the pool)")
            print(f"downloads of the chart: {downloads}")
            print_requests(costs, count)
            print_processor_time(costs, count)
            operator.stop()
            before = _settled(meter)
            operator.start()
            _print_restart(meter.cost(before, _settled(meter, operator=operator.pid, quiet=5 * QUIET_SECONDS)), count)
    finally:
        operator.stop()


def _with_finalizer_policy(
    meter: CostMeter, cluster: Cluster, charts: ChartServer, count: int, *, operator: int
) -> tuple[float, Cost]:
    """Measure with the policy that adds the finalizer; return the seconds until all were Ready, and the cost."""
    kit = XAppClient(cluster, "with-policy")
    kit.kubectl("apply", "-f", str(FINALIZER_POLICY))
    probe = json.dumps(kit.remote_manifest("probe", url=charts.url, chart="workload"))
    flags = ("--dry-run=server", "-o", "jsonpath={.metadata.finalizers}", "-f", "-")
    kit.wait_until(lambda: kit.kubectl("create", *flags, input=probe) != "", what="the policy to be in force")
    before = _settled(meter, operator=operator)
    _, ready = _xapps(kit, charts, count)
    return ready, meter.cost(before, _settled(meter, operator=operator))


def _print_restart(cost: Cost, count: int) -> None:
    helm, requests = sum(cost.requests[HELM].values()), sum(cost.requests[OPERATOR].values())
    print(f"\nrestart with {2 * count} deployed XApps: {requests} requests of the operator, {helm} of helm")
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


async def _pool(cluster: Cluster, chart: Path, namespace: str, count: int, *, first: int = 0) -> float:
    slots = asyncio.Semaphore(POOL)
    environment = {**cluster.env, "GOMAXPROCS": "1", "GOGC": "off"}
    flags = ("--server-side=true", "--force-conflicts", "--disable-openapi-validation", "--wait=hookOnly")

    async def install(number: int) -> None:
        async with slots:
            process = await asyncio.create_subprocess_exec(
                *(cluster.helm_path, "install", f"release-{number}", chart, "-n", namespace, *flags, "-o", "json"),
                env=environment,
                stdout=asyncio.subprocess.DEVNULL,
            )
            assert await process.wait() == 0

    began = time.monotonic()
    await asyncio.gather(*(install(number) for number in range(first, first + count)))
    return time.monotonic() - began


def _xapps(kit: XAppClient, charts: ChartServer, count: int, *, first: int = 0) -> tuple[float, float]:
    """Apply XApps at once; return the seconds until kubectl returned, and until all were Ready."""
    names = {f"xapp-{first + number}" for number in range(count)}
    manifests = [json.dumps(kit.remote_manifest(name, url=charts.url, chart="workload")) for name in sorted(names)]
    with _ready_xapps(kit) as ready:
        began = time.monotonic()
        kit.kubectl("apply", "--server-side", "-f", "-", input="\n---\n".join(manifests))
        applied = time.monotonic() - began
        while names:
            names.discard(next(ready))
        return applied, time.monotonic() - began


@contextmanager
def _ready_xapps(kit: XAppClient) -> Iterator[Iterator[str]]:
    """Yield the names of XApps as they become Ready. A watch, because polling would take a good part of the time."""
    arguments = ("get", "xapps", "--watch", "--output", f"jsonpath={READY_TEMPLATE}", "--namespace", kit.namespace)
    with subprocess.Popen(
        [kit.cluster.kubectl_path, *arguments], env=kit.cluster.env, stdout=subprocess.PIPE, text=True
    ) as watch:
        assert watch.stdout is not None
        rows = (line.split() for line in watch.stdout)
        try:
            yield (row[0] for row in rows if len(row) == 4 and row[1] == "True" and row[2] == row[3])
        finally:
            watch.terminate()


if __name__ == "__main__":
    main()
