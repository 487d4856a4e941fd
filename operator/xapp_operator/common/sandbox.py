"""Starts a program so that it can read only the files that it needs, and cannot use the network, or one port only.

A program that works on foreign input has no use for the token of the pod, a kubeconfig, other files of this process, or
another process. The kernel enforces that with Landlock (Linux 5.13).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from xapp_operator.common import sandboxed_exec
from xapp_operator.common.bounded_process import Command

SYSTEM_PATHS: Final = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/dev/urandom")
"""Programs, libraries and time zones. They hold no credentials."""
NETWORK_PATHS: Final = (
    *("/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/host.conf"),
    *("/etc/ssl/certs", "/etc/pki/tls", "/etc/pki/ca-trust"),
)
"""What a program reads that connects to a server. They hold no credentials."""
DEVICES: Final = ("/dev/null",)


class Sandbox:
    """Restricts commands where the kernel supports it."""

    def __init__(self, *, landlock_version: int) -> None:
        """Prepare for the kernel's version of Landlock (see `sandboxed_exec`); 0 means that it has none."""
        self.available = landlock_version > 0

    def restrict(
        self,
        command: Command,
        *,
        readable: Iterable[Path] = (),
        writable: Iterable[Path] = (),
        connect_port: int | None = None,
    ) -> Command:
        """Return a command that runs `command` with access to its own folder, the system's programs and `readable`.

        It may write to `writable` too. With `connect_port`, it may connect to that TCP port, of any host, and read how
        names are resolved and which authorities the system trusts.

        Without Landlock it is `command` itself. If the kernel refuses the restrictions, the program is not started, and
        the exit code is `sandboxed_exec.CANNOT_RESTRICT`.
        """
        if not self.available:
            return command
        network = () if connect_port is None else NETWORK_PATHS
        read = (*SYSTEM_PATHS, *network, str(Path(command.program).resolve()), *map(str, readable))
        write = (*DEVICES, str(command.working_folder), *map(str, writable))
        rules = {"read": read, "write": write, "connect": () if connect_port is None else (connect_port,)}
        launcher = ("-I", "-S", str(Path(sandboxed_exec.__file__)), json.dumps(rules))
        return replace(command, program=sys.executable, arguments=(*launcher, command.program, *command.arguments))
