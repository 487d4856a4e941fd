"""Restricts this process by Landlock to a few files, without the network, and then becomes another program.

Runs as a script, `python -I -S sandboxed_exec.py '<rules as JSON>' program arguments…`, and therefore imports the
standard library only. Landlock restricts the calling thread and all that it starts, so a process of its own is needed:
code between fork and exec is unsafe in a process with threads.

Numbers and structures: linux/landlock.h, documented in Documentation/userspace-api/landlock.rst of the Linux kernel.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import stat
import struct
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

CANNOT_RESTRICT: Final = 126
"""Exit code when the kernel refuses the restrictions; the program is not started then."""

_CREATE_RULESET: Final = 444  # the same numbers on every architecture
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
_CREATE_RULESET_VERSION: Final = 1
_RULE_PATH_BENEATH: Final = 1
_RULE_NET_PORT: Final = 2
_PR_SET_NO_NEW_PRIVS: Final = 38

_EXECUTE: Final = 1 << 0
_WRITE_FILE: Final = 1 << 1
_READ_FILE: Final = 1 << 2
_READ_DIR: Final = 1 << 3
_TRUNCATE: Final = 1 << 14
_IOCTL_DEV: Final = 1 << 15
_FILE_RIGHTS: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
"""The rights that a rule for a file, which is not a folder, may contain."""
_RIGHTS_BY_ABI: Final = {1: 13, 2: 14, 3: 15, 5: 16}
"""The number of rights on files, which are the lowest bits, since each version of the interface."""
_NETWORK_ABI: Final = 4
_ALL_TCP: Final = 0b11  # bind, connect
_CONNECT_TCP: Final = 0b10
_SCOPE_ABI: Final = 6
_ALL_SCOPES: Final = 0b11  # abstract Unix sockets and signals to processes outside


@functools.cache
def landlock_version() -> int:
    """Return the version of the kernel's Landlock interface, or 0 without Landlock."""
    version = _libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_CREATE_RULESET_VERSION))
    return max(int(version), 0)


def restrict_self(*, read: Sequence[str], write: Sequence[str], connect: Sequence[int] = ()) -> None:
    """Allow this thread only to read and execute what is in `read`, and to do anything with files in `write`.

    Paths that do not exist are left out. With a kernel of at least 6.7, TCP is refused too, except connections to the
    ports `connect`, and with 6.12 signals to processes outside. Files that are already open stay usable.

    Raises:
        OSError: when the kernel refuses.
    """
    libc, version = _libc(), landlock_version()
    rights = (1 << max(bits for since, bits in _RIGHTS_BY_ABI.items() if since <= max(version, 1))) - 1
    attributes = struct.pack(
        "=QQQ", rights, _ALL_TCP if version >= _NETWORK_ABI else 0, _ALL_SCOPES if version >= _SCOPE_ABI else 0
    )
    size = 24 if version >= _SCOPE_ABI else 16 if version >= _NETWORK_ABI else 8
    ruleset = _check(libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0)))
    try:
        for path in read:
            _allow(libc, ruleset, path, (_EXECUTE | _READ_FILE | _READ_DIR) & rights)
        for path in write:
            _allow(libc, ruleset, path, rights & ~_EXECUTE)
        for port in connect if version >= _NETWORK_ABI else ():
            _add_rule(libc, ruleset, _RULE_NET_PORT, struct.pack("=QQ", _CONNECT_TCP, port))
        one, zero = ctypes.c_ulong(1), ctypes.c_ulong(0)
        _check(libc.prctl(_PR_SET_NO_NEW_PRIVS, one, zero, zero, zero))
        _check(libc.syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)))
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _FILE_RIGHTS
        _add_rule(libc, ruleset, _RULE_PATH_BENEATH, struct.pack("=Qi", rights, descriptor))
    finally:
        os.close(descriptor)


def _add_rule(libc: ctypes.CDLL, ruleset: int, kind: int, rule: bytes) -> None:
    _check(libc.syscall(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(kind), rule, ctypes.c_uint32(0)))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _main(rules: str, program: str, *arguments: str) -> NoReturn:
    try:
        restrict_self(**json.loads(rules))
    except OSError as error:
        print(f"the kernel refuses the restrictions of Landlock: {error.strerror}", file=sys.stderr)
        sys.exit(CANNOT_RESTRICT)
    os.execv(program, (program, *arguments))  # noqa: S606 - no shell


if __name__ == "__main__":
    _main(*sys.argv[1:])
