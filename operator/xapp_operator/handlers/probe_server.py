"""What the cluster asks the operator's pod: is it alive, does it lead, and its metrics.

Lives in `handlers` beside the process it reports on. Alive means that every watch heard from the API server not long
ago; a process whose streams are silently dead is started again.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Final, Self

from aiohttp import web

from xapp_operator.config import Settings
from xapp_operator.reconcile.runtime import OperatorRuntime
from xapp_operator.telemetry.metrics import Metrics

CONTACT_TIMEOUT_SECONDS: Final = 300.0
"""Longer than an outage of the API server that a restart of this process cannot mend is worth a restart for."""


class ProbeServer:
    """A small HTTP server: /healthz, /readyz and /metrics."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics_of_process = metrics
        self._runtime: OperatorRuntime | None = None
        app = web.Application()
        app.add_routes(
            [
                web.get("/healthz", self._healthz),
                web.get("/readyz", self._readyz),
                web.get("/metrics", self._serve_metrics),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None)

    def set_leading(self, runtime: OperatorRuntime) -> None:
        """Say that this process leads, with `runtime`."""
        self._runtime = runtime
        self._metrics_of_process.set_leading(leading=True)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, self._settings.probe_host, self._settings.probe_port).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def _healthz(self, _: web.Request) -> web.Response:
        runtime = self._runtime
        if runtime is None or runtime.has_recent_contact(
            now=time.monotonic(), max_silence_seconds=CONTACT_TIMEOUT_SECONDS
        ):
            return web.Response(text="ok\n")
        return web.Response(status=503, text=f"no word from the API server for {CONTACT_TIMEOUT_SECONDS:g} s\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        return web.Response(text="leads\n" if self._runtime is not None else "waits for the lead\n")

    async def _serve_metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self._metrics_of_process.render(), content_type="text/plain", charset="utf-8")
