"""Measures the proxy: requests per second and latency of small responses, throughput of large ones.

    python -m tests.bench.proxy_bench

Caller, gateway and xApp are threads of one process, so the figures are for one core.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final

import httpx

from tests.support.proxied_xapp import proxy_to_service
from tests.support.xapp_server import serve_xapp

REQUESTS: Final = 500
LARGE: Final = 200 * 1024 * 1024


def milliseconds(ask: Callable[[], object]) -> float:
    """Return the median time of a request."""
    taken = []
    for _ in range(REQUESTS):
        begin = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - begin) * 1000)
    return median(taken)


def megabytes(http: httpx.Client) -> float:
    """Return how many MB of a download pass in a second."""
    begin = time.perf_counter()
    with http.stream("GET", f"/bytes/{LARGE}") as answer:
        for _ in answer.iter_raw():
            pass
    return LARGE / 1e6 / (time.perf_counter() - begin)


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder, serve_xapp() as api, proxy_to_service(api, Path(folder)) as behind:
        direct = httpx.Client(base_url=f"http://{api.host}:{api.port}", trust_env=False)
        with direct, behind.client() as through:
            for name, http in (("the xApp itself", direct), ("through the gateway", through)):
                once = milliseconds(lambda http=http: http.get("/json"))  # type: ignore[misc]
                print(f"{name}: {once:.2f} ms, {1000 / once:.0f} requests/s, {megabytes(http):.0f} MB/s")


if __name__ == "__main__":
    main()
