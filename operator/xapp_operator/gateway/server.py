"""The process of the gateway: it serves until it gets a signal."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, cast

import uvicorn

from xapp_operator.common.event_loop import new_event_loop
from xapp_operator.config.settings import Settings
from xapp_operator.errors import XAppError
from xapp_operator.gateway.app import create_app
from xapp_operator.gateway.auth.callers import check_bind_address
from xapp_operator.gateway.http.audit import write_refused_connection
from xapp_operator.gateway.http.connections.connection_limits import ConnectionLimits, available_connections
from xapp_operator.gateway.http.connections.http_connections import BoundedHttpProtocol
from xapp_operator.gateway.http.connections.tls import TlsCertificate
from xapp_operator.gateway.http.connections.tls_connections import BoundedHttpsProtocol, BoundedTlsProtocol
from xapp_operator.gateway.http.connections.websocket_connections import BoundedWebSocketProtocol
from xapp_operator.gateway.http.transport_security import start_warnings
from xapp_operator.gateway.probe_server import GatewayProbeServer
from xapp_operator.gateway.state import Gateway
from xapp_operator.kube.proxy.websocket_client import PING_SECONDS, PONG_SECONDS, WEBSOCKET_MESSAGE_MAX_BYTES
from xapp_operator.telemetry.logs import get_logger
from xapp_operator.telemetry.metrics import METRICS
from xapp_operator.telemetry.metrics_server import MetricsServer

SHUTDOWN_GRACE_SECONDS: Final = 5
KEEP_ALIVE_SECONDS: Final = 75
BACKLOG: Final = 2048

_EXPECTED_ERRORS: Final = frozenset(
    {
        "ASGI callable returned without completing handshake.",
        "ASGI callable returned without completing response.",
        "Invalid HTTP request received.",
        "Invalid UTF-8 sequence received from client.",
    }
)
"""Errors that uvicorn logs about a WebSocket refused with a response, and about a response aborted because its source
failed, which the proxy logs with its cause; and about what is not HTTP or not text, which clients can send."""

_log = get_logger(__name__)


def run(settings: Settings) -> int:
    """Serve until SIGTERM or SIGINT; return the exit status, 1 if the gateway could not start."""
    try:
        check_bind_address(settings)
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(_serve(settings))
    except XAppError as error:
        print(f"xapp-operator gateway: {error.message}", file=sys.stderr)
        return 1


async def _serve(settings: Settings) -> int:
    tls = TlsCertificate.from_settings(settings)
    with listening_socket(settings) as listener:
        async with Gateway.start(settings) as gateway:
            server = Server(gateway, tls=tls)
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, server.stop)
            metrics = MetricsServer(settings, before_render=lambda: _count_xapps(gateway))
            async with metrics, GatewayProbeServer(gateway, settings) as probes:
                host, port = listener.getsockname()[:2]
                _log.info(
                    "gateway started",
                    host=host,
                    port=port,
                    auth=settings.auth,
                    tls=tls is not None,
                    probe_port=probes.port or None,
                )
                for warning in start_warnings(settings):
                    _log.warning(warning)
                await server.serve(sockets=[listener])
    return 0


def _count_xapps(gateway: Gateway) -> None:
    METRICS.set_xapps_by_phase(gateway.store.count_by("phase"))


class AddressUnavailable(XAppError):
    title = "Address not available"


def listening_socket(settings: Settings) -> socket.socket:
    """Open the socket to serve on; port 0 means any free port.

    Raises:
        AddressUnavailable: when it is in use or not an address of this machine.
    """
    address = f"{settings.host}:{settings.port}"
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        return socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise AddressUnavailable(
            f"cannot serve on {address} ({error.strerror}): set XAPP_HOST and XAPP_PORT to an address that is free"
        ) from None


def _is_unexpected(record: logging.LogRecord) -> bool:
    return record.msg not in _EXPECTED_ERRORS


class Server(uvicorn.Server):
    """The HTTP server of one gateway.

    `run` handles signals: uvicorn would raise them again after its shutdown, before the gateway has cleaned up.
    """

    def __init__(self, gateway: Gateway, *, tls: TlsCertificate | None = None) -> None:
        settings = gateway.settings
        self.connection_limits = ConnectionLimits(
            total=available_connections(settings.connections),
            per_address=settings.connections_per_address,
            shared_networks=[ipaddress.ip_network(each) for each in settings.trusted_proxies],
            on_closed=lambda reason: METRICS.record_connection_closed(reason=reason),
        )
        self._feed = gateway.feed
        self._audit = gateway.audit
        self._tls = tls
        super().__init__(
            uvicorn.Config(
                create_app(gateway),
                host=settings.host,
                port=settings.port,
                http=BoundedHttpProtocol,
                ws=cast("Any", partial(BoundedWebSocketProtocol, limits=self.connection_limits)),
                ws_max_size=WEBSOCKET_MESSAGE_MAX_BYTES,
                ws_ping_interval=PING_SECONDS,
                ws_ping_timeout=PONG_SECONDS,
                ws_per_message_deflate=False,
                log_level=logging.WARNING,  # below, it logs the query of each WebSocket, which may hold a secret
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                backlog=BACKLOG,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=SHUTDOWN_GRACE_SECONDS,
            )
        )
        logging.getLogger("uvicorn.error").addFilter(_is_unexpected)

    def _audit_refusal(self, address: str, status: int, reason: str) -> None:
        write_refused_connection(self._audit, address=address, status=status, reason=reason)

    def stop(self) -> None:
        """Stop serving: streams end at once, other requests get SHUTDOWN_GRACE_SECONDS."""
        self.should_exit = True
        self._feed.close()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until `stop`, and follow the files of the certificate meanwhile."""
        if self._tls is None:
            await super().serve(sockets)
            return
        following = asyncio.create_task(self._tls.follow_files())
        try:
            await super().serve(sockets)
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections; uvicorn itself does not bound TLS handshakes."""
        loop, tls, limits = asyncio.get_running_loop(), self._tls, self.connection_limits
        create_http = partial(
            BoundedHttpProtocol if tls is None else BoundedHttpsProtocol,
            self.config,
            self.server_state,
            app_state=self.lifespan.state,
            limits=limits,
            on_refusal=self._audit_refusal,
        )

        def create_protocol() -> asyncio.BaseProtocol:
            http = create_http()
            if tls is None or not isinstance(http, BoundedHttpsProtocol):
                return http
            return BoundedTlsProtocol(loop, http, tls.context, limits=limits)

        self.servers = [await loop.create_server(create_protocol, sock=each, backlog=BACKLOG) for each in sockets or ()]
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close every connection; abort those whose client does not read."""
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            if (transport := getattr(connection, "transport", None)) is not None:
                transport.abort()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do not handle signals."""
        yield
