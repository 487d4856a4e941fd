"""The identity of this process in a Lease; others on the same machine can check whether the process still runs."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path
from typing import Final

PROC_DIRECTORY: Final = Path("/proc")
_STATE_FIELD: Final = 0
_START_TICKS_FIELD: Final = 19
_ENDED_STATES: Final = frozenset("ZXx")


def process_identity() -> str:
    """Return `<hostname>/<pid>/<process start ticks>/<machine>`.

    `machine` is the boot id and the PID namespace. Only where both match does a PID mean the same process: two pods may
    share a hostname, and in a pod the process may have PID 1.
    """
    stat = _process_stat(os.getpid())
    machine = _machine_id()
    if stat is None or machine is None:
        return f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(8)}"
    return f"{socket.gethostname()}/{os.getpid()}/{stat[_START_TICKS_FIELD]}/{machine}"


def is_dead(identity: str) -> bool:
    """Return whether the process of that identity ran here and has ended; False when this is unknown."""
    parts = identity.split("/")
    machine = _machine_id()
    if machine is None or parts[3:] != [machine] or not parts[1].isdecimal():
        return False
    stat = _process_stat(int(parts[1]))
    return stat is None or stat[_START_TICKS_FIELD] != parts[2] or stat[_STATE_FIELD] in _ENDED_STATES


def _machine_id() -> str | None:
    try:
        boot = (PROC_DIRECTORY / "sys/kernel/random/boot_id").read_text().strip()
        namespace = (PROC_DIRECTORY / "self/ns/pid").stat().st_ino
    except OSError:
        return None
    return f"{boot}.{namespace}"


def _process_stat(pid: int) -> list[str] | None:
    # proc(5): the second field, the command in parentheses, may contain anything; we read what follows it.
    try:
        return (PROC_DIRECTORY / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
