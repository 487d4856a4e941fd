"""The HTTP server for the metrics of a process, on a port of its own: who may read metrics need not reach the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Self

from aiohttp import web

from xapp_operator.config import Settings
from xapp_operator.errors import XAppError
from xapp_operator.telemetry.logs import get_logger
from xapp_operator.telemetry.metrics import CONTENT_TYPE, METRICS, Metrics

SHUTDOWN_SECONDS: Final = 1.0

_log = get_logger(__name__)


class MetricsAddressUnavailable(XAppError):
    title = "Address not available"


class MetricsServer:
    """Serves GET /metrics while its block runs."""

    def __init__(
        self, settings: Settings, metrics: Metrics = METRICS, *, before_render: Callable[[], None] = lambda: None
    ) -> None:
        """Prepare to serve `metrics`; `before_render` updates those that are only counted on demand."""
        self._host = settings.metrics_host
        self._port = settings.metrics_port
        self._metrics = metrics
        self._before_render = before_render
        app = web.Application()
        app.add_routes([web.get("/metrics", self._serve)])
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)

    @property
    def port(self) -> int:
        """Return the port, also when the setting is 0."""
        port: int = self._runner.addresses[0][1]
        return port

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._port).start()
        except OSError as error:
            await self._runner.cleanup()
            raise MetricsAddressUnavailable(
                f"cannot serve metrics on {self._host}:{self._port} ({error.strerror}): set XAPP_METRICS_HOST and "
                "XAPP_METRICS_PORT to an address that is free"
            ) from None
        _log.info("metrics served", host=self._host, metrics_port=self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _serve(self, _: web.Request) -> web.Response:
        self._before_render()
        return web.Response(body=self._metrics.render(), headers={"Content-Type": CONTENT_TYPE})
