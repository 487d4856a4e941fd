"""Run a command that the kernel kills when its parent dies: ``exec_bound_to_parent.py PARENT_PID COMMAND…``.

A separate script, because prctl(2) with PR_SET_PDEATHSIG must run between fork and exec, where running Python code is
not safe in general. Linux only; the setting persists through exec.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Request the signal, check that the parent still runs, and exec the command."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        sys.exit("the kernel refused PR_SET_PDEATHSIG")
    if os.getppid() != parent:
        sys.exit("the parent died during the start")
    os.execv(command[0], command)


main()
