"""Free ports on loopback that stay ours until the program meant for them listens, and after.

Linux lets a second socket listen on a port that is bound but not listened on when both carry SO_REUSEADDR, which
every Go program sets. So a port is taken without that option (which fails when anybody has it, and makes the kernel
choose another), gets the option afterwards, and is kept: no other cluster can get it, nor an outgoing connection,
and a program that is started again finds its port free.
"""

import socket
from types import TracebackType
from typing import Self

LOOPBACK = "127.0.0.1"


class PortReservation:
    """A number of ports on loopback, ours until closed."""

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
        """Give the ports back."""
        for holder in self._sockets:
            holder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
