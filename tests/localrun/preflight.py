"""What must be so before anything is started: one run in a checkout, and the gateway's port free."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.localcluster.filelock import Locked, try_lock
from tests.localcluster.ports import LOOPBACK


class PreflightFailed(Exception):
    """It cannot be started as asked; the message says what is in the way and the mend."""


@contextmanager
def run_lock(folder: Path) -> Iterator[None]:
    """Hold the checkout's lock, with our process id in it. Raises RunRefused when another run has it."""
    path = folder / "run.lock"
    try:
        file = try_lock(path)
    except Locked:
        raise PreflightFailed(
            f"`make run` is already running in this checkout (process {path.read_text().strip()}): "
            "stop it there with Ctrl-C first, or use another checkout"
        ) from None
    with file:
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def check_port_free(port: int) -> None:
    """Raises RunRefused when something listens on the gateway's port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            raise PreflightFailed(
                f"port {port} on {LOOPBACK} is taken by another program: end that program "
                f"(`ss -ltnp 'sport = :{port}'` names it), or choose another port with `make run XAPP_PORT=<number>`"
            ) from None
