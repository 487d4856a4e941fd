"""How many connections may be open, in all and from one address, and how much memory they may take.

When a limit is reached, a connection that waits for its client is closed in favour of the new one: the one that has
waited longest, of strangers first (idle, an unfinished head, an unfinished body or an unread response), then of the
authenticated callers who have most of those. So a client that opens connections and neither sends nor reads displaces
its own, and a client that sends its request at once gets an answer. A new connection is refused only if all others are
being served. The same connections are closed when unfinished requests, or unread responses, take too much memory.
"""

from __future__ import annotations

import asyncio
import ipaddress
import resource
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from xapp_operator.gateway.http.requests.client_addresses import client_key, parse_address
from xapp_operator.telemetry.logs import get_logger

HEADS_MAX_BYTES: Final = 16 * 1024 * 1024
"""Maximum of all unfinished heads, unfinished requests without authentication, and requests that wait for the response
to an earlier one, together."""

UNSENT_MAX_BYTES: Final = 32 * 1024 * 1024
"""Maximum of all responses together that clients have not read yet."""

RESERVED_FILES: Final = 512
"""Open files that connections leave to requests to the cluster and to xApps, and to logs."""

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_log = get_logger(__name__)


@dataclass(slots=True, eq=False)
class _Connection:
    client: str
    transport: asyncio.WriteTransport
    request_bytes: int = 0
    unsent_bytes: int = 0


class _Waiting:
    """Connections that wait for their client, by group of callers; each group in the order in which they began."""

    def __init__(self) -> None:
        self._groups: dict[str | None, dict[_Connection, None]] = {}
        self._group_of: dict[_Connection, str | None] = {}

    def add(self, connection: _Connection, group: str | None) -> None:
        """Add a connection, if it does not wait already; `group` is None for strangers."""
        if connection in self._group_of:
            if self._group_of[connection] == group:
                return
            self.discard(connection)
        self._group_of[connection] = group
        self._groups.setdefault(group, {})[connection] = None

    def discard(self, connection: _Connection) -> None:
        if connection not in self._group_of:
            return
        group = self._group_of.pop(connection)
        del self._groups[group][connection]
        if not self._groups[group]:
            del self._groups[group]

    def first(self) -> _Connection | None:
        """Return the one to close first: the oldest of strangers, or else of the group that has most."""
        connections = self._groups.get(None)
        if connections is None:
            connections = max(self._groups.values(), key=len, default={})
        return next(iter(connections), None)


@dataclass(slots=True)
class _Client:
    """The connections of one address."""

    open: int = 0
    waiting: _Waiting = field(default_factory=_Waiting)


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
        self._waiting = _Waiting()
        self._unfinished = _Waiting()
        self._unread = _Waiting()
        self._request_bytes = 0
        self._unsent_bytes = 0

    @property
    def open(self) -> int:
        return len(self._connections)

    @property
    def unfinished_bytes(self) -> int:
        """Return the size of all unfinished requests."""
        return self._request_bytes

    @property
    def unsent_bytes(self) -> int:
        """Return the size of all unread responses, as far as they were known when they stalled."""
        return self._unsent_bytes

    def admit(self, transport: asyncio.WriteTransport, address: str) -> bool:
        """Count a new connection, which waits for a request; return whether it may stay open."""
        key = self._client_key(address)
        client = self._clients.setdefault(key, _Client())
        if key and client.open >= self._per_address and not self._close_first(client.waiting, "connections_of_address"):
            self._on_closed("connections_of_address")
            return False
        if self.open >= self._total and not self._close_first(self._waiting, "connections"):
            self._on_closed("connections")
            self._forget_if_unused(key)
            return False
        connection = _Connection(key, transport)
        self._connections[transport] = connection
        client = self._clients.setdefault(key, client)
        client.open += 1
        self._waiting.add(connection, None)
        client.waiting.add(connection, None)
        return True

    def remove(self, transport: asyncio.WriteTransport) -> None:
        """Forget a connection that is closed."""
        connection = self._connections.pop(transport, None)
        if connection is None:
            return
        self._stop_waiting(connection)
        self._set_request_bytes(connection, 0)
        self._clients[connection.client].open -= 1
        self._forget_if_unused(connection.client)

    def set_busy(self, transport: asyncio.WriteTransport) -> None:
        """Note that a request is being served."""
        if (connection := self._connections.get(transport)) is not None:
            self._stop_waiting(connection)

    def set_waiting(
        self, transport: asyncio.WriteTransport, *, group: str | None = None, unsent_bytes: int = 0
    ) -> None:
        """Note that the connection waits for its client; it may be closed for the bytes that its client does not read.

        Args:
            transport: the connection.
            group: whose share an authenticated caller takes (`group_of_user`); None for strangers, and if idle.
            unsent_bytes: the part of responses that the client has not read.
        """
        connection = self._connections.get(transport)
        if connection is None:
            return
        self._waiting.add(connection, group)
        self._clients[connection.client].waiting.add(connection, group)
        self._set_unsent_bytes(connection, unsent_bytes)
        if unsent_bytes:
            self._unread.add(connection, group)
        while self._unsent_bytes > UNSENT_MAX_BYTES:
            self._close_first(self._unread, "unsent_bytes")

    def set_request_bytes(self, transport: asyncio.WriteTransport, count: int) -> None:
        """Note how many bytes of unfinished or waiting requests a connection has; it may be closed for that."""
        connection = self._connections.get(transport)
        if connection is None:
            return
        self._set_request_bytes(connection, count)
        while self._request_bytes > HEADS_MAX_BYTES:
            self._close_first(self._unfinished, "head_bytes")

    def _client_key(self, address: str) -> str:
        """Return the key of the client at an address; it is empty for a proxy."""
        parsed = parse_address(address)
        if parsed is None or any(parsed in network for network in self._shared_networks):
            return ""
        return client_key(parsed)

    def _close_first(self, connections: _Waiting, reason: str) -> bool:
        connection = connections.first()
        if connection is None:
            return False
        self._on_closed(reason)
        self.remove(connection.transport)
        connection.transport.abort()  # `close` would wait for the client: to read the rest, to confirm the end of TLS
        return True

    def _stop_waiting(self, connection: _Connection) -> None:
        self._waiting.discard(connection)
        self._clients[connection.client].waiting.discard(connection)
        if connection.unsent_bytes:
            self._set_unsent_bytes(connection, 0)

    def _set_unsent_bytes(self, connection: _Connection, count: int) -> None:
        self._unsent_bytes += count - connection.unsent_bytes
        connection.unsent_bytes = count
        if not count:
            self._unread.discard(connection)

    def _set_request_bytes(self, connection: _Connection, count: int) -> None:
        self._request_bytes += count - connection.request_bytes
        connection.request_bytes = count
        if count:
            self._unfinished.add(connection, None)
        else:
            self._unfinished.discard(connection)

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
