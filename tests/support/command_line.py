"""Runs `xapp` in this process or, where a terminal is needed, in one of its own."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROGRAM: Final = "import sys; from xapp_operator.cli.main import main; sys.argv[0] = 'xapp'; sys.exit(main())"
ON_TERMINAL: Final = f"import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); {PROGRAM}"
"""The terminal becomes the one whose keys reach the program as signals."""
INTERRUPT: Final = "\x03"
"""What Ctrl-C types."""
END_OF_INPUT: Final = "\x04"
"""What Ctrl-D types."""
TIMEOUT_SECONDS: Final = 120.0
_ESCAPE_SEQUENCE: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Finished:
    """One finished run."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class CommandLine:
    """Runs `xapp` with a home folder of its own, so that no login and no kubeconfig of the machine counts."""

    home: Path
    environment: Mapping[str, str]

    def run(self, *arguments: str, stdin: str = "", **environment: str) -> Finished:
        """Run one command without a terminal."""
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_SECONDS,
            env=self._environment(environment),
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def run_on_terminal(
        self, *arguments: str, answers: Mapping[str, str] | None = None, columns: int = 100, **environment: str
    ) -> Finished:
        """Run one command on a pseudo-terminal. `answers` are typed when the text before them has appeared."""
        control, terminal = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-c", ON_TERMINAL, *arguments],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
            env={**self._environment(environment), "TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": "50"},
        )
        os.close(terminal)
        seen = _converse(control, dict(answers or {}))
        os.close(control)
        return Finished(process.wait(TIMEOUT_SECONDS), seen, "")

    def environment_of_shell(self, programs: Path) -> dict[str, str]:
        """Return what an interactive shell needs to run `xapp`, which becomes a program in the folder `programs`."""
        programs.mkdir(exist_ok=True)
        (programs / "xapp").write_text(f"#!{sys.executable}\n{PROGRAM}\n")
        (programs / "xapp").chmod(0o755)
        return self._environment({"PATH": f"{programs}:{os.environ['PATH']}", "TERM": "xterm", "LANG": "C.UTF-8"})

    def _environment(self, changes: Mapping[str, str]) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if key in {"PATH", "PYTHONPATH", "LANG"}}
        return {**kept, "HOME": str(self.home), "PYTHONUTF8": "1", **self.environment, **changes}


def plain(text: str) -> str:
    """Return what a terminal shows of a text with colors and moves of the cursor, as far as tests need it."""
    return _ESCAPE_SEQUENCE.sub("", text).replace("\r", "")


def _converse(control: int, answers: dict[str, str]) -> str:
    seen = ""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if not select.select([control], [], [], 1.0)[0]:
            continue
        try:
            piece = os.read(control, 65536)
        except OSError:  # Linux: the other side has closed it
            break
        if not piece:
            break
        seen += piece.decode(errors="replace")
        for question in [each for each in answers if each in plain(seen)]:
            os.write(control, f"{answers.pop(question)}\n".encode())
    return seen
