"""A file system of its own for the working files of an operator, which a fault fills. Needs the right to mount."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

SIZE: Final = "size=64m"
CHUNK_BYTES: Final = 1024 * 1024


class SmallDisk:
    """A tmpfs that is mounted in a folder until `close`."""

    def __init__(self, folder: Path) -> None:
        """Mount it. Raises CalledProcessError where that is not allowed."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        subprocess.run(["mount", "-t", "tmpfs", "-o", SIZE, "tmpfs", folder], check=True, capture_output=True)

    @contextlib.contextmanager
    def full(self) -> Iterator[None]:
        """Leave no byte free until the end of the block."""
        path = self._folder / "filler"
        try:
            with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
                while file.write(bytes(CHUNK_BYTES)):
                    pass
            yield
        finally:
            path.unlink()

    def close(self) -> None:
        """Unmount it."""
        subprocess.run(["umount", "--lazy", self._folder], check=True, capture_output=True)
