"""The wall clock of one operator, which a fault sets ahead or back while it runs. Needs a C compiler."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

SOURCE: Final = Path(__file__).with_name("clock_offset.c")


class OperatorClock:
    """Sets the wall clock of the processes that are started with `environment`."""

    def __init__(self, library: Path, offset: Path) -> None:
        self._offset = offset
        self.set_ahead(0)
        self.environment: Mapping[str, str] = {"LD_PRELOAD": str(library), "CHAOS_CLOCK": str(offset)}

    @classmethod
    def build(cls, folder: Path) -> Self | None:
        """Return a clock with its files in `folder`, or None without a compiler."""
        compiler = shutil.which("cc")
        if compiler is None:
            return None
        library = folder / "clock_offset.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
        return cls(library, folder / "clock_offset")

    def set_ahead(self, seconds: int) -> None:
        """Set the clock that many seconds ahead of the true time, at once; negative: back."""
        with self._offset.open("r+b" if self._offset.exists() else "w+b") as file:
            file.write(struct.pack("=q", seconds))
