"""The HTTP server for probes of the operator's pod.

/healthz fails when no watch has received anything for a while, so that a process whose streams are dead is restarted.
"""

from __future__ import annotations

import time
from typing import Final, Self

from aiohttp import web

from xapp_operator.common.bounded_http_server import BoundedHttpServer
from xapp_operator.config.settings import Settings
from xapp_operator.reconcile.runtime import OperatorRuntime
from xapp_operator.telemetry.metrics import Metrics

CONTACT_TIMEOUT_SECONDS: Final = 300.0
"""Watches reconnect by themselves. After this long without contact, a restart may help."""


class ProbeServer:
    """Serves /healthz and /readyz."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._metrics = metrics
        self._runtime: OperatorRuntime | None = None
        routes = [web.get("/healthz", self._healthz), web.get("/readyz", self._readyz)]
        self._server = BoundedHttpServer(routes, host=settings.probe_host, port=settings.probe_port)

    @property
    def port(self) -> int:
        """Return the port, also when the setting is 0."""
        return self._server.port

    def set_leading(self, runtime: OperatorRuntime) -> None:
        """Report that this process is the leader and has started `runtime`."""
        self._runtime = runtime
        self._metrics.set_leading(leading=True)

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.__aexit__()

    async def _healthz(self, _: web.Request) -> web.Response:
        runtime = self._runtime
        if runtime is None or time.monotonic() - runtime.last_contact <= CONTACT_TIMEOUT_SECONDS:
            return web.Response(text="ok\n")
        return web.Response(status=503, text=f"no contact with the API server for {CONTACT_TIMEOUT_SECONDS:g} s\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        return web.Response(text="leading\n" if self._runtime is not None else "waiting for the lease\n")
