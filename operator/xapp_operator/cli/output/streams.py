"""Makes stdout and stderr usable whatever a shell gives: closed, of another encoding than UTF-8, or full."""

from __future__ import annotations

import io
import os
import sys


def prepare_streams() -> None:
    """Give a program that was started without stdout or stderr one that goes nowhere, and let no character stop it.

    A terminal or a file of another encoding gets escapes for the characters that it lacks.
    """
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def give_up_stdout() -> None:
    """Send what is still to be written nowhere, so that the interpreter does not fail again at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        return  # a stream without a file
    finally:
        os.close(nowhere)


def _nowhere() -> io.TextIOWrapper:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - for the life of the process
