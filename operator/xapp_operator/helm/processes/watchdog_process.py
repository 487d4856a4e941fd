"""Ends the helm processes of an operator that may no longer act.

Runs as a script, `python -I -S watchdog_process.py FOLDER DEADLINE GRACE`, and therefore imports the standard library
only.

A process of its own, because an operator that is stopped (SIGSTOP, a debugger, a frozen virtual machine) cannot end
anything. Standard input brings the deadlines, one in each line, in seconds of the monotonic clock, which all processes
of a machine share. While the newest deadline has passed, every process that works in FOLDER gets SIGTERM, and SIGKILL
after GRACE seconds. The end of the input means that the operator has ended: then helm is ended too, and so is this.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Final

POLL_SECONDS: Final = 0.1
READ_BYTES: Final = 64 * 1024
STDIN: Final = 0


class _Ending:
    """Ends what works in a folder: SIGTERM first, SIGKILL after the grace period."""

    def __init__(self, folder: Path, *, grace: float) -> None:
        self._folder = folder
        self._grace = grace
        self._terminated_at: dict[int, float] = {}

    def step(self) -> bool:
        """Send the signals that are due; return whether a process is left."""
        left, now = processes_in(self._folder), time.monotonic()
        self._terminated_at = {pid: at for pid, at in self._terminated_at.items() if pid in left}
        for pid in left:
            since = self._terminated_at.setdefault(pid, now)
            if since == now:
                signal_process_in(self._folder, pid, signal.SIGTERM)
            elif now - since >= self._grace:
                signal_process_in(self._folder, pid, signal.SIGKILL)
        return bool(left)


class _Input:
    """The deadlines on standard input."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.ended = False
        self._partial = b""

    def wait(self, seconds: float) -> None:
        """Take over what arrives within `seconds`."""
        if not select.select([STDIN], [], [], None if math.isinf(seconds) else seconds)[0]:
            return
        chunk = os.read(STDIN, READ_BYTES)
        self.ended = not chunk
        *lines, self._partial = (self._partial + chunk).split(b"\n")
        if lines:
            self.deadline = float(lines[-1])


def main() -> None:
    """Watch until the input ends and nothing works in the folder any more."""
    folder, deadline, grace = sys.argv[1:]
    ending, deadlines = _Ending(Path(folder), grace=float(grace)), _Input(float(deadline))
    while not deadlines.ended:
        left = deadlines.deadline - time.monotonic()
        if left <= 0:
            ending.step()
        deadlines.wait(left if left > 0 else POLL_SECONDS)
    while ending.step():
        time.sleep(POLL_SECONDS)


def processes_in(folder: Path) -> list[int]:
    """Return the ids of the processes whose working directory is in `folder`."""
    numbers = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    return [pid for pid in numbers if _has_working_directory_in(folder, pid)]


def signal_process_in(folder: Path, pid: int, number: signal.Signals) -> bool:
    """Send a signal to a process if it still works in `folder`, and return whether it was sent."""
    with contextlib.suppress(ProcessLookupError):
        # From here on the descriptor pins the process, so the second check rules out a reused process id.
        process = os.pidfd_open(pid)
        try:
            if _has_working_directory_in(folder, pid):
                signal.pidfd_send_signal(process, number)
                return True
        finally:
            os.close(process)
    return False


def _has_working_directory_in(folder: Path, pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cwd").readlink().is_relative_to(folder.resolve())
    except OSError:
        return False


if __name__ == "__main__":
    main()
