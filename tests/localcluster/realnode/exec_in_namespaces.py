"""Run a command in a node's namespaces: ``exec_in_namespaces.py HOLDER_PID CGROUP:CGROUP… AWAITED COMMAND…``.

A separate script, like exec_bound_to_parent.py. The command runs as a child, because only children enter a pid
namespace. This process forwards SIGTERM, SIGINT and SIGHUP to it and returns its exit status; the kernel kills the
command when this process dies. If AWAITED, a path inside, is not empty, the command starts when it exists.
"""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

_PR_SET_PDEATHSIG = 1
_AWAIT_SECONDS = 60.0
_INTERVAL_SECONDS = 0.02
_NAMESPACES = ("cgroup", "ipc", "uts", "net", "pid_for_children", "mnt")

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Enter the namespaces and start the command."""
    holder, cgroups, awaited, command = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    descriptors = [os.open(f"/proc/{holder}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in _NAMESPACES]
    for folder in cgroups.split(os.pathsep):
        (Path(folder) / "cgroup.procs").write_text(str(os.getpid()))
    for descriptor in descriptors:
        if _libc.setns(descriptor, 0) != 0:
            sys.exit(f"setns: {os.strerror(ctypes.get_errno())}")
    child = os.fork()
    if child == 0:
        _exec_command(command, awaited=awaited)

    def forward(number: int, _frame: FrameType | None) -> None:
        os.kill(child, number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, forward)
    status = os.waitpid(child, 0)[1]
    sys.exit(os.waitstatus_to_exitcode(status) % 256)


def _exec_command(command: list[str], *, awaited: str) -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != 0:
        sys.exit("the parent died during the start")
    os.chdir("/")
    os.umask(0o022)
    deadline = time.monotonic() + _AWAIT_SECONDS
    while awaited and not Path(awaited).exists():
        if time.monotonic() > deadline:
            sys.exit(f"timed out after {_AWAIT_SECONDS:g} s while waiting for {awaited}")
        time.sleep(_INTERVAL_SECONDS)
    os.execvp(command[0], command)


main()
