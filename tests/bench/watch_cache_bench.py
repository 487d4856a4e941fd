"""Measures how long a cache of 10,000 XApps takes to sync, its memory, and the delay of its events.

    python -m tests.bench.watch_cache_bench [--xapps 10000] [--values 3000]

Starts a control plane, fills it, and reads it with a new process for each way of listing: as watch events, which the
cache prefers, and in pages of 500. Asserts nothing. For comparison: kopf takes 10 s and 174 MB for the same objects;
the budget of a whole process is 120 MB + 6 KB per XApp.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import statistics
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.localcluster import LocalCluster
from tests.localrun.cluster_setup import install_crds
from tests.support.xapp_manifest import xapp_manifest
from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.config.settings import Settings
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import XAPPS
from xapp_operator.kube.watch.watch_cache import WatchCache

MEGABYTE: Final = 1_000_000
PAGE_BYTES: Final = 4096
WRITERS: Final = 16
EVENTS: Final = 200
SYNC_SECONDS: Final = 120.0
NAMESPACE: Final = "default"


def kept(body: JsonObject) -> tuple[str, ...]:
    """Keep about as much as a record of the XApp list."""
    metadata, spec = obj(body, "metadata"), obj(body, "spec")
    names = ("xAppName", "organization", "team", "version", "owner", "method", "chartName", "url", "repoName")
    return (text(metadata, "name"), text(metadata, "uid"), *(text(spec, name) for name in names))


def resident() -> float:
    """Return the resident memory of this process in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES / MEGABYTE


async def fill(kubeconfig: Path, *, count: int, size: int) -> None:
    """Create XApps with `size` characters of values each."""
    numbers = iter(range(count))
    async with await KubeClient.connect(Settings(KUBECONFIG=str(kubeconfig))) as client:

        async def write() -> None:
            for number in numbers:
                values: JsonObject = {f"key{each}": "x" * 50 for each in range(size // 50)}
                await client.create(XAPPS, xapp_manifest(f"acme-ran-x{number:05}", namespace=NAMESPACE, values=values))

        await asyncio.gather(*(write() for _ in range(WRITERS)))


async def read(kubeconfig: Path, *, as_events: bool) -> str:
    """Sync a cache, send it events, and return the measurements as text."""
    async with await KubeClient.connect(Settings(KUBECONFIG=str(kubeconfig))) as client:
        await client.server_version()
        before, began, worked = resident(), time.perf_counter(), time.process_time()
        cache = WatchCache(client, XAPPS, transform=kept)
        if not as_events:
            cache._use_streaming_lists = False
        async with cache:
            await cache.wait_synced(timeout_seconds=SYNC_SECONDS)
            seconds, cpu, after = time.perf_counter() - began, time.process_time() - worked, resident()
            delays = await event_delays(client, cache)
            return (
                f"{len(cache)} XApps in sync after {seconds:.2f} s ({cpu:.2f} s CPU), "
                f"resident {before:.0f} -> {after:.0f} MB; event after a write: "
                f"median {statistics.median(delays) * 1000:.1f} ms, slowest {max(delays) * 1000:.1f} ms"
            )


async def event_delays(client: KubeClient, cache: WatchCache[tuple[str, ...]]) -> list[float]:
    """Return the seconds between the response to a write and its event."""
    delays = []
    received = asyncio.Event()
    end = cache.subscribe(lambda *_: received.set())
    for number in range(EVENTS):
        received.clear()
        change: JsonObject = {"metadata": {"annotations": {"bench": str(number)}}}
        await client.patch(XAPPS, "acme-ran-x00000", change, namespace=NAMESPACE)
        answered = time.perf_counter()
        await received.wait()
        delays.append(time.perf_counter() - answered)
    end()
    return delays


def measure(kubeconfig: Path, *, as_events: bool) -> None:
    """Print the figures of one way of listing; runs in a process of its own."""
    way = "list as events   " if as_events else "list in pages    "
    print(way, asyncio.run(read(kubeconfig, as_events=as_events)), flush=True)


def main() -> None:
    """Start a cluster, fill it, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xapps", type=int, default=10_000)
    parser.add_argument("--values", type=int, default=3_000, help="characters of values in each XApp")
    arguments = parser.parse_args()
    processes = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, LocalCluster(Path(folder) / "cluster") as cluster:
        install_crds(cluster)
        asyncio.run(fill(cluster.kubeconfig, count=arguments.xapps, size=arguments.values))
        for as_events in (True, False, True, False):
            process = processes.Process(target=measure, args=(cluster.kubeconfig,), kwargs={"as_events": as_events})
            process.start()
            process.join()


if __name__ == "__main__":
    main()
