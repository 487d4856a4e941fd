"""Reserves free loopback ports for programs that listen on them later.

Linux lets a second socket listen on a port that is bound but not listened on if both have SO_REUSEADDR, which every Go
program sets. So a port is bound without the option, which makes the kernel choose a port that nothing uses. Then the
option is set, and the socket stays open: no other cluster and no outgoing connection gets the port, and a program that
is restarted finds it free.
"""

import socket
from types import TracebackType
from typing import Self

LOOPBACK = "127.0.0.1"


class PortReservation:
    """A number of loopback ports, reserved until closed."""

    def __init__(self, count: int) -> None:
        self._sockets: list[socket.socket] = []
        for _ in range(count):
            holder = socket.socket()
            self._sockets.append(holder)
            holder.bind((LOOPBACK, 0))
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

    @property
    def ports(self) -> list[int]:
        """The port numbers."""
        return [int(holder.getsockname()[1]) for holder in self._sockets]

    def close(self) -> None:
        """Release the ports."""
        for holder in self._sockets:
            holder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
