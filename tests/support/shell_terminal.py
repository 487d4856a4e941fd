"""An interactive shell on a pseudo-terminal, for what only a terminal shows, such as the completion of a command."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.support.command_line import plain

DEADLINE_SECONDS: Final = 60.0
CLEAR_LINE: Final = "\x15"


class ShellTerminal:
    """What was typed into a shell, and what it answered."""

    def __init__(self, control: int) -> None:
        self._control = control

    def type(self, keys: str, *, until: str) -> str:
        """Type the keys, and return what the terminal shows then, once the pattern `until` is in it.

        Raises AssertionError if it does not appear.
        """
        os.write(self._control, keys.encode())
        shown = ""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not re.search(until, plain(shown)):
            assert time.monotonic() < deadline, f"{until!r} does not appear after {keys!r}, but {shown!r}"
            if select.select([self._control], [], [], 0.2)[0]:
                shown += os.read(self._control, 65536).decode(errors="replace")
        return plain(shown)


@contextmanager
def open_shell(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> Iterator[ShellTerminal]:
    """Start a shell on a terminal of its own, and end it afterwards."""
    control, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    shell = subprocess.Popen(
        ["setsid", "--ctty", *command], stdin=terminal, stdout=terminal, stderr=terminal, env=environment, cwd=folder
    )
    os.close(terminal)
    try:
        yield ShellTerminal(control)
    finally:
        os.close(control)  # the terminal hangs up, which ends the shell
        try:
            shell.wait(10)
        except subprocess.TimeoutExpired:
            shell.kill()
            shell.wait()
