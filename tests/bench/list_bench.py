"""Measures how fast one gateway process answers `GET /api/xapps`, and how much memory it uses.

    python -m tests.bench.list_bench [--xapps 10000] [--requests 20000] [--connections 16]

The gateway runs in a separate process without an API server. Its store contains realistic XApps (three revisions,
three conditions, a Service). This process sends one request at a time on each keep-alive connection. Targets: 3,000
requests/s at per_page=10, p99 ≤ 15 ms, the last page as fast as the first; memory ≤ 120 MB + 6 KB per XApp.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import multiprocessing
import tempfile
import time
import urllib.request
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final, cast

import orjson
import uvloop

from tests.support.gateway import offline_gateway, serve_gateway
from tests.unit.gateway.xapp_objects import raw_xapp, ready_status
from xapp_operator.api.json import JsonObject
from xapp_operator.gateway.catalog.records import build_xapp_entry
from xapp_operator.gateway.http.responses.dashboard_files import DashboardFiles
from xapp_operator.gateway.state import Gateway

MEGABYTE: Final = 1_000_000
PAGE_BYTES: Final = 4096
CHURN_PER_SECOND: Final = 100


def deployed(at: int) -> bytes:
    """Return the JSON of one deployed XApp."""
    status = ready_status()
    status["conditions"] = [
        {
            "type": kind,
            "status": "True",
            "reason": "InstallSucceeded",
            "message": "Helm install succeeded: release acme-ran-hello, revision 3, chart hello 0.2.1; all is healthy",
            "lastTransitionTime": "2026-11-20T08:01:00Z",
            "observedGeneration": 1,
        }
        for kind in ("Ready", "Released", "Drifted")
    ]
    status["history"] = [
        {
            "revision": revision,
            "status": "superseded",
            "chart": "hello",
            "chartVersion": "0.2.1",
            "appVersion": "1.0",
            "chartDigest": "a" * 40,
            "valuesDigest": "b" * 40,
            "action": "Upgrade",
            "deployedAt": "2026-11-20T08:00:30Z",
            "description": "Upgrade complete",
        }
        for revision in (3, 2, 1)
    ]
    xapp = raw_xapp(
        f"acme-{at % 7}-ran-hello-{at}",
        namespace=f"ric-{at % 20}",
        uid=f"{at:08x}-6d1b-4b43-9f0f-2f8f0a6f6d1b",
        spec={"organization": f"acme-{at % 7}", "xAppName": f"hello-{at}", "version": f"0.{at % 50}.{at % 9}"},
        metadata={"creationTimestamp": f"2026-11-20T{at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}Z"},
        status=status,
    )
    return orjson.dumps(xapp)


def fill(count: int) -> Callable[[Gateway], float]:
    """Return a function that fills a store with `count` XApps and returns the seconds it took."""

    def filled(gateway: Gateway) -> float:
        started = time.perf_counter()
        for at in range(count):
            gateway.store.put(build_xapp_entry(orjson.loads(deployed(at))))
        return time.perf_counter() - started

    return filled


def churn(rate: int) -> Callable[[Gateway], None]:
    """Return a function that changes `rate` XApps each second, until the loop ends."""

    def begin(gateway: Gateway) -> None:
        loop = asyncio.get_running_loop()

        def change(at: int) -> None:
            xapp: JsonObject = orjson.loads(deployed(at))
            status = ready_status(phase=("Deployed", "Degraded")[at % 2])
            gateway.store.put(build_xapp_entry(xapp | {"status": status}))
            loop.call_later(1 / rate, change, (at + 7) % len(gateway.store))

        change(0)

    return begin


def serve(count: int, pipe: Connection) -> None:
    """Serve in this process until `stop`, and send the port, the seconds of filling, and the memory.

    Orders: `cpu` and `memory` send these figures; a number begins so many changes a second, and sends the memory.
    """
    with tempfile.TemporaryDirectory() as folder:
        settings, opened = offline_gateway(Path(folder), dashboard=DashboardFiles.load())
        with serve_gateway(settings, opened, wait_synced=False) as gateway:
            empty = resident_megabytes()
            seconds = gateway.run_in_loop(fill(count))
            gc.collect()
            pipe.send((gateway.port, seconds, empty))
            while (order := pipe.recv()) != "stop":
                if isinstance(order, int):
                    gateway.run_in_loop(churn(order))
                pipe.send(time.process_time() if order == "cpu" else resident_megabytes())


def cpu_seconds(pipe: Connection) -> float:
    """Return the CPU seconds of the server so far."""
    pipe.send("cpu")
    seconds: float = pipe.recv()
    return seconds


def resident_megabytes() -> float:
    """Return the memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES / MEGABYTE


class Load(asyncio.Protocol):
    """One connection, which sends the next request after each response."""

    def __init__(self, path: str, left: list[int], took: list[float], done: asyncio.Future[None]) -> None:
        self._request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        self._left, self._took, self._done = left, took, done
        self._answer = bytearray()
        self._length = 0
        self._sent = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        self._transport = cast("asyncio.Transport", transport)
        self._ask()

    def data_received(self, data: bytes) -> None:
        """Receive a part of a response, and send the next request at its end."""
        self._answer += data
        if not self._length:
            head, separator, _ = bytes(self._answer).partition(b"\r\n\r\n")
            if not separator:
                return
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(head.decode())
            self._length = len(head) + 4 + int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        if len(self._answer) >= self._length:
            self._took.append(time.perf_counter() - self._sent)
            self._answer.clear()
            self._length = 0
            self._ask()

    def _ask(self) -> None:
        if not self._left[0]:
            self._transport.close()
            self._done.set_result(None)
            return
        self._left[0] -= 1
        self._sent = time.perf_counter()
        self._transport.write(self._request)


def measure(pipe: Connection, port: int, path: str, *, requests: int, connections: int) -> str:
    """Return the request rate, the latency and the CPU time of one request of `path` as text."""
    if path.endswith("snapshot="):
        path += begin_walk(port)
    before = cpu_seconds(pipe)
    text = uvloop.run(send_requests(port, path, requests=requests, connections=connections))
    return f"{text}   CPU {(cpu_seconds(pipe) - before) / requests * 1e6:4.0f} µs   {path}"


async def send_requests(port: int, path: str, *, requests: int, connections: int) -> str:
    """Return the request rate and latency of `path` as text."""
    loop = asyncio.get_running_loop()
    left, took = [requests], list[float]()
    ends = [loop.create_future() for _ in range(connections)]
    started = time.perf_counter()
    for end in ends:
        await loop.create_connection(lambda end=end: Load(path, left, took, end), "127.0.0.1", port)  # type: ignore[misc]
    await asyncio.gather(*ends)
    seconds = time.perf_counter() - started
    took.sort()
    p50, p99 = (took[int(len(took) * share)] * 1000 for share in (0.5, 0.99))
    return f"{requests / seconds:6.0f} requests/s   p50 {p50:5.2f} ms   p99 {p99:5.2f} ms"


def begin_walk(port: int) -> str:
    """Return the token of a new walk."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/xapps?snapshot=new") as answer:
        token: str = answer.headers["Snapshot"]
    return token


def main() -> None:
    """Run all measurements and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--xapps", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--connections", type=int, default=16)
    given = parser.parse_args()
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(given.xapps, there), daemon=True)
    server.start()
    port, seconds, empty = here.recv()
    print(f"filled with {given.xapps} XApps in {seconds:.2f} s")
    last = -(-given.xapps // 10)
    paths = [
        "/api/xapps?per_page=10",
        f"/api/xapps?per_page=10&page={last}",
        f"/api/xapps?per_page=10&page={last // 2}&sort=name&order=desc",
        "/api/xapps?per_page=10&search=hello-99",
        "/api/xapps?per_page=100&namespace=ric-7",
        "/api/xapps/ric-1/acme-1-ran-hello-1",
        "/api/xapps?per_page=10&attention=true",
        "/api/xapps/facets?facet=health,attention,organization",
        "/api/xapps/facets?facet=health&search=hello-99",
        "/api/xapps?per_page=10&snapshot=new",
        f"/api/xapps?per_page=10&page={last // 2}&snapshot=",
    ]
    for path in paths:
        print(measure(here, port, path, requests=given.requests, connections=given.connections))
    here.send(CHURN_PER_SECOND)
    here.recv()
    print(f"and while {CHURN_PER_SECOND} XApps change each second:")
    for path in (*paths[:4], *paths[6:]):
        print(measure(here, port, path, requests=given.requests, connections=given.connections))
    here.send("memory")
    full = here.recv()
    each = (full - empty) * 1000 / given.xapps
    print(f"memory {full:.0f} MB, {empty:.0f} MB of them without an XApp, {each:.1f} KB for each XApp")
    here.send("stop")
    server.join()


if __name__ == "__main__":
    main()
