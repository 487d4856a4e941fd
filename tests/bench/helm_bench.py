"""Compares helm installs: 8 plain helm processes, 8 tuned ones, and the engine, on the same control plane.

Run with `python -m tests.bench.helm_bench [COUNT]`. It starts a control plane and asserts nothing. For each variant it
prints the wall time of COUNT installs and the processor time of one, without the control plane.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.localcluster import Cluster, LocalCluster
from tests.support.charts import chart_archive
from tests.support.helm_requests import no_secrets
from xapp_operator.config.settings import Settings
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.requests import ReleaseRequest, UninstallRequest

POOL = 8
TUNED = {"GOMAXPROCS": "1", "GOGC": "off"}
FLAGS = ("--server-side=true", "--force-conflicts", "--disable-openapi-validation", "--wait=hookOnly")

WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec: {containers: [{name: main, image: example.com/xapp:1}]}
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}}
spec: {selector: {app: {{ .Release.Name }}}, ports: [{name: http, port: 80}]}
"""

Install = Callable[[str, str], Awaitable[None]]
"""Installs a release, by namespace and name."""


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as folder, LocalCluster(Path(folder) / "cluster") as cluster:
        chart = Path(folder) / "workload.tgz"
        chart.write_bytes(chart_archive({"templates/workload.yaml": WORKLOAD}))
        asyncio.run(_compare(cluster, chart, Path(folder) / "cache", count))


async def _compare(cluster: Cluster, chart: Path, cache: Path, count: int) -> None:
    engine = HelmEngine(
        Settings(helm=str(cluster.helm_path), helm_concurrency=POOL, cache_dir=cache),
        kubeconfig=str(cluster.kubeconfig),
    )

    async def by_engine(namespace: str, name: str) -> None:
        await engine.install(ReleaseRequest(name=name, namespace=namespace, chart=chart, values=b"{}"))

    async def removed(namespace: str, name: str) -> None:
        await engine.uninstall(UninstallRequest(name=name, namespace=namespace, read_secrets=no_secrets))

    plain = _helm(cluster, chart, flags=(), environment={})
    tuned = _helm(cluster, chart, flags=FLAGS, environment=TUNED)
    await _measure(cluster, "warm-up", tuned, POOL)
    await _measure(cluster, "plain", plain, count)
    await _measure(cluster, "tuned", tuned, count)
    await _measure(cluster, "engine", by_engine, count)
    await _measure(cluster, "engine", removed, count, what="uninstalls")
    engine.close()


def _helm(cluster: Cluster, chart: Path, *, flags: tuple[str, ...], environment: dict[str, str]) -> Install:
    slots = asyncio.Semaphore(POOL)

    async def install(namespace: str, name: str) -> None:
        async with slots:
            process = await asyncio.create_subprocess_exec(
                *(
                    str(cluster.helm_path),
                    "install",
                    name,
                    str(chart),
                    f"--namespace={namespace}",
                    *flags,
                    "--output=json",
                ),
                env={**cluster.env, **environment},
                stdout=asyncio.subprocess.DEVNULL,
            )
            if await process.wait() != 0:
                raise RuntimeError(f"helm install {name} failed")

    return install


async def _measure(cluster: Cluster, name: str, step: Install, count: int, *, what: str = "installs") -> None:
    if what == "installs":
        cluster.kubectl("create", "namespace", name)
    before, started = _processor_seconds(), time.monotonic()
    await asyncio.gather(*(step(name, f"release-{number}") for number in range(count)))
    wall, spent = time.monotonic() - started, (_processor_seconds() - before) / count
    print(f"{name:8} {count} {what} in {wall:6.2f} s, {spent:.3f} s of processor time each", flush=True)


def _processor_seconds() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


if __name__ == "__main__":
    main()
