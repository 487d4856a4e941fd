"""What `make run` tells: lines with the seconds since it began, so that one sees what takes its time."""

import sys
import time
from typing import TextIO


class Console:
    """Prints lines at once, each with the elapsed time in front."""

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
        """Print text as it is. A reader that has gone away is no reason to stop."""
        try:
            print(text, file=self._stream, flush=True)
        except BrokenPipeError:
            return
