"""How many connections may be open, in all and from one address, and how much memory their unfinished heads may take.

When a limit is reached, the connection that has waited longest for its client is closed in favour of the new one: an
idle one, one whose head is not complete, or one whose unauthenticated client does not read the response. So a client
that opens connections and neither sends nor reads displaces its own, and a client that sends its request at once gets
an answer. A new connection is refused only if all others are being served.
"""

from __future__ import annotations

import asyncio
import ipaddress
import resource
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from xapp_operator.gateway.http.client_addresses import client_key, parse_address
from xapp_operator.telemetry.logs import get_logger

HEADS_MAX_BYTES: Final = 16 * 1024 * 1024
"""Maximum of all unfinished heads together."""

RESERVED_FILES: Final = 512
"""Open files that connections leave to requests to the cluster and to xApps, and to logs."""

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_log = get_logger(__name__)


@dataclass(slots=True, eq=False)
class _Connection:
    client: str
    transport: asyncio.WriteTransport
    head_bytes: int = 0


@dataclass(slots=True)
class _Client:
    """The connections of one address; those that wait for their client are in the order in which they began to wait."""

    open: int = 0
    waiting: dict[_Connection, None] = field(default_factory=dict)


class ConnectionLimits:
    """The open connections of one server."""

    def __init__(
        self,
        *,
        total: int,
        per_address: int,
        shared_networks: Collection[Network] = (),
        on_closed: Callable[[str], None] = lambda reason: None,
    ) -> None:
        """Set the limits.

        Args:
            total: connections at the same time.
            per_address: connections at the same time from one address (IPv6: from one /64 network).
            shared_networks: addresses of proxies, behind which there are many clients: only `total` applies to them.
            on_closed: called with the reason when a connection is closed or refused.
        """
        self._total = total
        self._per_address = per_address
        self._shared_networks = shared_networks
        self._on_closed = on_closed
        self._connections: dict[asyncio.WriteTransport, _Connection] = {}
        self._clients: dict[str, _Client] = {}
        self._waiting: dict[_Connection, None] = {}
        self._unfinished_heads: dict[_Connection, None] = {}  # in the order of their first bytes
        self._head_bytes = 0

    @property
    def open(self) -> int:
        return len(self._connections)

    @property
    def unfinished_bytes(self) -> int:
        """Return the size of all unfinished heads."""
        return self._head_bytes

    def admit(self, transport: asyncio.WriteTransport, address: str) -> bool:
        """Count a new connection, which waits for a request; return whether it may stay open."""
        key = self._client_key(address)
        client = self._clients.setdefault(key, _Client())
        if (
            key
            and client.open >= self._per_address
            and not self._close_oldest(client.waiting, "connections_of_address")
        ):
            self._on_closed("connections_of_address")
            return False
        if self.open >= self._total and not self._close_oldest(self._waiting, "connections"):
            self._on_closed("connections")
            self._forget_if_unused(key)
            return False
        connection = _Connection(key, transport)
        self._connections[transport] = connection
        client = self._clients.setdefault(key, client)
        client.open += 1
        self._waiting[connection] = client.waiting[connection] = None
        return True

    def remove(self, transport: asyncio.WriteTransport) -> None:
        """Forget a connection that is closed."""
        connection = self._connections.pop(transport, None)
        if connection is None:
            return
        self._stop_waiting(connection)
        self._clients[connection.client].open -= 1
        self._forget_if_unused(connection.client)

    def set_busy(self, transport: asyncio.WriteTransport) -> None:
        """Note that a request is being served."""
        if (connection := self._connections.get(transport)) is not None:
            self._stop_waiting(connection)

    def set_waiting(self, transport: asyncio.WriteTransport) -> None:
        """Note that the connection waits for its client: to send a request, or to read a response."""
        if (connection := self._connections.get(transport)) is not None:
            self._waiting[connection] = self._clients[connection.client].waiting[connection] = None

    def set_head_bytes(self, transport: asyncio.WriteTransport, count: int) -> None:
        """Note how many bytes of an unfinished head a connection has sent; it may be closed for that."""
        connection = self._connections.get(transport)
        if connection is None or connection.head_bytes == count:
            return
        self._set_head_bytes(connection, count)
        while self._head_bytes > HEADS_MAX_BYTES:
            self._close_oldest(self._unfinished_heads, "head_bytes")

    def _client_key(self, address: str) -> str:
        """Return the key of the client at an address; it is empty for a proxy."""
        parsed = parse_address(address)
        if parsed is None or any(
            parsed.version == network.version and parsed in network for network in self._shared_networks
        ):
            return ""
        return client_key(parsed)

    def _close_oldest(self, connections: dict[_Connection, None], reason: str) -> bool:
        connection = next(iter(connections), None)
        if connection is None:
            return False
        self._on_closed(reason)
        self.remove(connection.transport)
        if connection.transport.get_write_buffer_size():  # `close` would wait until the client has read it
            connection.transport.abort()
        else:
            connection.transport.close()
        return True

    def _stop_waiting(self, connection: _Connection) -> None:
        self._set_head_bytes(connection, 0)
        self._waiting.pop(connection, None)
        self._clients[connection.client].waiting.pop(connection, None)

    def _set_head_bytes(self, connection: _Connection, count: int) -> None:
        self._head_bytes += count - connection.head_bytes
        connection.head_bytes = count
        if count:
            self._unfinished_heads[connection] = None
        else:
            self._unfinished_heads.pop(connection, None)

    def _forget_if_unused(self, key: str) -> None:
        if not self._clients[key].open:
            del self._clients[key]


def available_connections(wanted: int) -> int:
    """Return how many connections the limit of open files allows, at most `wanted`; raise the soft limit if needed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + RESERVED_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    available = wanted if soft == resource.RLIM_INFINITY else max(1, min(wanted, soft - RESERVED_FILES))
    if available < wanted:
        _log.warning("fewer connections than configured: raise the limit of open files", connections=available)
    return available
