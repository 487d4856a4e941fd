"""Checks before the start: no other run in the checkout, and a free port for the gateway."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.localcluster.filelock import Locked, try_lock
from tests.localcluster.ports import LOOPBACK


class PreflightFailed(Exception):
    """`make run` cannot start; the message names the obstacle and what to do."""


@contextmanager
def run_lock(folder: Path) -> Iterator[None]:
    """Hold the checkout's lock, which contains this process's id. Raises PreflightFailed if another run holds it."""
    path = folder / "run.lock"
    try:
        file = try_lock(path)
    except Locked:
        raise PreflightFailed(
            f"`make run` is already running in this checkout (process {path.read_text().strip()}): "
            "stop it with Ctrl-C first, or use another checkout"
        ) from None
    with file:
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def check_port_free(port: int) -> None:
    """Raise PreflightFailed if a program listens on the gateway's port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            raise PreflightFailed(
                f"port {port} on {LOOPBACK} is in use by another program: stop that program "
                f"(`ss -ltnp 'sport = :{port}'` names it), or choose another port with `make run XAPP_PORT=<number>`"
            ) from None
