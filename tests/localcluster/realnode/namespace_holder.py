"""Hold a node's namespaces: ``namespace_holder.py CGROUP:CGROUP…``. Other processes enter them by its pid.

A separate script, which runs without the packages of the project. It enters the control groups, leaves the machine's
namespaces, and forks the init process of the new pid namespace, which only reaps. When this process dies, the init
process dies, and the kernel kills everything in the namespace.
"""

import ctypes
import os
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_MS_REC_PRIVATE = 0x4000 | 0x40000
_NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x20000000 | 0x40000000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWPID, NEWNET of unshare(2)."""

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Enter the control groups, create the namespaces, and wait for their init process."""
    for folder in sys.argv[1].split(os.pathsep):
        (Path(folder) / "cgroup.procs").write_text(str(os.getpid()))
    _check(_libc.unshare(_NAMESPACES), "unshare")
    # later mounts must not propagate to the machine
    _check(_libc.mount(b"none", b"/", None, ctypes.c_ulong(_MS_REC_PRIVATE), None), "making mounts private")
    first = os.fork()
    if first == 0:
        _run_init()
    os.waitpid(first, 0)
    sys.exit("the init process of the node has ended")


def _run_init() -> None:
    """Reap orphans until killed."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while True:
        signal.sigwait({signal.SIGCHLD})
        _reap()


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0] > 0:
            pass
    except ChildProcessError:
        return


def _check(result: int, what: str) -> None:
    if result != 0:
        sys.exit(f"{what}: {os.strerror(ctypes.get_errno())}")


main()
