"""The output of `make run`: progress lines with the elapsed seconds."""

import sys
import time
from typing import TextIO


class Console:
    """Prints lines, each after the elapsed time."""

    def __init__(self, *, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._begin = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the console was made."""
        return time.monotonic() - self._begin

    def progress(self, line: str) -> None:
        """Print a line of progress."""
        self.print(f"[{self.elapsed:4.0f} s] {line}")

    def print(self, text: str) -> None:
        """Print text unchanged, and ignore that the reader has closed the pipe."""
        try:
            print(text, file=self._stream, flush=True)
        except BrokenPipeError:
            return
