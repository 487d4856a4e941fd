"""The HTTP server for probes of the gateway's pod: clients of the API cannot take its connections from the kubelet."""

from __future__ import annotations

from typing import Self

from aiohttp import web

from xapp_operator.common.bounded_http_server import BoundedHttpServer
from xapp_operator.config.settings import Settings
from xapp_operator.errors import NotReady, XAppError
from xapp_operator.gateway.state import Gateway


class ProbeAddressUnavailable(XAppError):
    title = "Address not available"


class GatewayProbeServer:
    """Serves /healthz and /readyz while its block runs, if XAPP_GATEWAY_PROBE_PORT is set."""

    def __init__(self, gateway: Gateway, settings: Settings) -> None:
        self._gateway = gateway
        self._address = f"{settings.probe_host}:{settings.gateway_probe_port}"
        self._server: BoundedHttpServer | None = None
        if settings.gateway_probe_port is not None:
            routes = [web.get("/healthz", self._healthz), web.get("/readyz", self._readyz)]
            self._server = BoundedHttpServer(routes, host=settings.probe_host, port=settings.gateway_probe_port)

    @property
    def port(self) -> int:
        """Return the port, also when the setting is 0; without the setting, return 0."""
        return 0 if self._server is None else self._server.port

    async def __aenter__(self) -> Self:
        if self._server is not None:
            try:
                await self._server.__aenter__()
            except OSError as error:
                raise ProbeAddressUnavailable(
                    f"cannot serve probes on {self._address} ({error.strerror}): set XAPP_PROBE_HOST and "
                    "XAPP_GATEWAY_PROBE_PORT to an address that is free"
                ) from None
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            await self._server.__aexit__()

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        try:
            self._gateway.require_synced()
        except NotReady as error:
            return web.Response(status=503, text=f"{error.message}\n")
        return web.Response(text="ok\n")
