"""The HTTP server for the metrics of a process, on a port of its own: who may read metrics need not reach the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from aiohttp import web

from xapp_operator.common.bounded_http_server import BoundedHttpServer
from xapp_operator.config.settings import Settings
from xapp_operator.errors import XAppError
from xapp_operator.telemetry.logs import get_logger
from xapp_operator.telemetry.metrics import CONTENT_TYPE, METRICS, Metrics

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
        self.before_render = before_render
        self._server = BoundedHttpServer(
            [web.get("/metrics", self._serve)], host=settings.metrics_host, port=settings.metrics_port
        )

    @property
    def port(self) -> int:
        """Return the port, also when the setting is 0."""
        return self._server.port

    async def __aenter__(self) -> Self:
        try:
            await self._server.__aenter__()
        except OSError as error:
            raise MetricsAddressUnavailable(
                f"cannot serve metrics on {self._host}:{self._port} ({error.strerror}): set XAPP_METRICS_HOST and "
                "XAPP_METRICS_PORT to an address that is free"
            ) from None
        _log.info("metrics served", host=self._host, metrics_port=self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.__aexit__()

    async def _serve(self, _: web.Request) -> web.Response:
        self.before_render()
        return web.Response(body=self._metrics.render(), headers={"Content-Type": CONTENT_TYPE})
