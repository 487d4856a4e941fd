"""Run a command that the kernel kills when the process that started it dies: ``launch.py PARENT_PID COMMAND…``.

A script of its own, because the request to the kernel must be made between fork and exec, and running Python code
there is not safe in general. Linux only (prctl(2), PR_SET_PDEATHSIG; it lasts through exec).
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask for the signal, make sure that the parent still lives, become the command."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        sys.exit("the kernel refused PR_SET_PDEATHSIG")
    if os.getppid() != parent:
        sys.exit("the parent died during the start")
    os.execv(command[0], command)


main()
