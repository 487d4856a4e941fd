"""A small HTTP server for metrics and probes, which anyone who reaches its port may use.

A connection serves one request and has CONNECTION_SECONDS for all of it, so that half-sent requests and clients that do
not read cost little. When CONNECTIONS_MAX are open, the oldest one of the address with the most is closed in favour of
a new one. So a client that opens many displaces its own, and the probes of a kubelet are served.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, Self, cast

from aiohttp import web
from aiohttp.http import HttpProcessingError

CONNECTIONS_MAX: Final = 32
CONNECTION_SECONDS: Final = 5.0
"""From the opening of a connection to the end of the response."""

BACKLOG: Final = 128
SHUTDOWN_SECONDS: Final = 1.0

LINE_MAX_BYTES: Final = 4096
HEADERS_MAX: Final = 32


class BoundedHttpServer:
    """Serves `routes` while its block runs."""

    def __init__(self, routes: Iterable[web.RouteDef], *, host: str, port: int) -> None:
        """Prepare to serve; port 0 means any free port."""
        self._host = host
        self._port = port
        app = web.Application()
        app.add_routes(routes)
        app.on_response_prepare.append(_end_connection)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
        self._connections = _Connections()
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """Return the port, also when the setting is 0."""
        if self._server is None:
            return self._port
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    async def __aenter__(self) -> Self:
        """Start to serve.

        Raises:
            OSError: when the address is in use or not one of this machine.
        """
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(self._new_connection, self._host, self._port, backlog=BACKLOG)
        except OSError:
            await self._runner.cleanup()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        await self._runner.cleanup()

    def _new_connection(self) -> asyncio.Protocol:
        return _Connection(
            cast("web.Server", self._runner.server),  # it exists from `setup` to `cleanup`
            loop=asyncio.get_running_loop(),
            connections=self._connections,
            access_log=None,
            lingering_time=0,
            max_line_size=LINE_MAX_BYTES,
            max_field_size=LINE_MAX_BYTES,
            max_headers=HEADERS_MAX,
        )


class _Connections:
    """The open connections, oldest first."""

    def __init__(self) -> None:
        self._open: dict[_Connection, None] = {}
        self._by_address: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: _Connection) -> None:
        self._open[connection] = None
        self._by_address[connection.address] += 1
        if len(self._open) > CONNECTIONS_MAX:
            busiest = max(self._by_address, key=self._by_address.__getitem__)
            oldest = next(each for each in self._open if each.address == busiest)
            self.remove(oldest)
            oldest.abort()

    def remove(self, connection: _Connection) -> None:
        if connection not in self._open:
            return
        del self._open[connection]
        self._by_address[connection.address] -= 1
        if not self._by_address[connection.address]:
            del self._by_address[connection.address]


class _Connection(web.RequestHandler):
    """One connection, which ends after one response or CONNECTION_SECONDS."""

    address = ""
    _deadline: asyncio.TimerHandle | None = None
    _opened: asyncio.Transport | None = None

    def __init__(self, manager: web.Server, *, connections: _Connections, **options: Any) -> None:
        super().__init__(manager, **options)
        self._connections = connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._opened = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        self.address = peer[0] if peer else ""
        self._deadline = asyncio.get_running_loop().call_later(CONNECTION_SECONDS, self.abort)
        self._connections.add(self)

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._connections.remove(self)
        super().connection_lost(exc)

    def log_exception(self, *arguments: Any, **options: Any) -> None:
        """Log an error of the server, but no traceback for what is not HTTP, which anyone can send."""
        if not isinstance(options.get("exc_info"), HttpProcessingError):
            super().log_exception(*arguments, **options)

    def abort(self) -> None:
        """Close the connection at once, also if its client does not read."""
        if self._opened is not None:
            self._opened.abort()


async def _end_connection(_: web.Request, response: web.StreamResponse) -> None:
    response.headers["Connection"] = "close"
    response.force_close()
