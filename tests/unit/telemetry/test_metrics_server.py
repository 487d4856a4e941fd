"""The metrics of a process are served on a port of their own."""

from __future__ import annotations

import socket

import aiohttp
import pytest

from xapp_operator.config.settings import Settings
from xapp_operator.telemetry.metrics import Metrics
from xapp_operator.telemetry.metrics_server import MetricsAddressUnavailable, MetricsServer


async def test_metrics_are_rendered_when_they_are_read() -> None:
    metrics = Metrics()
    server = MetricsServer(
        Settings(metrics_port=0), metrics, before_render=lambda: metrics.set_queue(depth=7, oldest_seconds=1)
    )
    async with server, aiohttp.ClientSession(f"http://127.0.0.1:{server.port}") as http:
        answer = await http.get("/metrics")
        text = await answer.text()
        elsewhere = await http.get("/")

    assert (answer.status, elsewhere.status) == (200, 404)
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert "xapp_operator_queue_depth 7.0" in text


async def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(MetricsAddressUnavailable, match=f"127.0.0.1:{port} .*XAPP_METRICS_PORT"):
            async with MetricsServer(Settings(metrics_port=port)):
                pass
