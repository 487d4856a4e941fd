"""Measures how long 100 XApps take to become Ready, compared with 8 parallel helm installs of the same chart.

Run with `python -m tests.bench.xapps_bench [COUNT]`. It starts a control plane and asserts nothing.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

from tests.localcluster import Cluster, LocalCluster
from tests.localrun.cluster_setup import prepare_cluster
from tests.support.chart_server import ChartServer
from tests.support.operator import OperatorProcess
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

ROOT = Path(__file__).parents[2]
POOL = 8
DEADLINE_SECONDS = 300.0


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as folder, LocalCluster(Path(folder) / "cluster") as cluster:
        prepare_cluster(cluster, ROOT)
        for namespace in ("pool", "warm", "xapps", "single"):
            cluster.kubectl("create", "namespace", namespace)
        chart = Path(folder) / "workload.tgz"
        chart.write_bytes(workload_chart())
        single = asyncio.run(_pool(cluster, chart, "warm", 1))
        pool = asyncio.run(_pool(cluster, chart, "pool", count))
        print(f"pool of {POOL} helm installs: {count} releases in {pool:.2f} s; one alone {single:.2f} s")
        operator = OperatorProcess(cluster, Path(folder))
        operator.start()
        try:
            with ChartServer() as charts:
                charts.add("workload", "0.1.0", workload_chart())
                _, one = _xapps(XAppClient(cluster, "single"), charts, 1)
                _, alone = _xapps(XAppClient(cluster, "single"), charts, 1, first=1)
                taken, ready = _xapps(XAppClient(cluster, "xapps"), charts, count)
                downloads = charts.requests["/workload-0.1.0.tgz"]
            print(f"one XApp: first {one:.2f} s, then {alone:.2f} s ({alone / single:.2f} x one helm install)")
            print(f"{count} XApps Ready in {ready:.2f} s ({ready / pool:.2f} x the pool), of which apply {taken:.2f} s")
            print(f"downloads of the chart: {downloads}")
        finally:
            operator.stop()


async def _pool(cluster: Cluster, chart: Path, namespace: str, count: int) -> float:
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
    await asyncio.gather(*(install(number) for number in range(count)))
    return time.monotonic() - began


def _xapps(kit: XAppClient, charts: ChartServer, count: int, *, first: int = 0) -> tuple[float, float]:
    """Apply XApps at once; return the seconds until kubectl returned, and until all were Ready."""
    names = [f"xapp-{first + number}" for number in range(count)]
    manifests = [json.dumps(kit.remote_manifest(name, url=charts.url, chart="workload")) for name in names]
    began = time.monotonic()
    kit.kubectl("apply", "--server-side", "-f", "-", input="\n---\n".join(manifests))
    applied = time.monotonic() - began
    # `kubectl wait` takes a tenth of a second for each object, one after the other.
    kit.wait_until(lambda: _ready(kit) >= set(names), what="all XApps to be Ready", seconds=DEADLINE_SECONDS)
    return applied, time.monotonic() - began


def _ready(kit: XAppClient) -> set[str]:
    found: set[str] = set()
    for item in json.loads(kit.kubectl("get", "xapps", "-o", "json"))["items"]:
        for condition in item.get("status", {}).get("conditions", []):
            if (condition["type"], condition["status"]) == ("Ready", "True"):
                found.add(item["metadata"]["name"])
    return found


if __name__ == "__main__":
    main()
