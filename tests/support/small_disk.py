"""A small file system of its own, which a test fills. Needs the right to mount."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

BYTES: Final = 64 * 1024 * 1024
FILES: Final = 4096
CHUNK_BYTES: Final = 1024 * 1024
FILES_FOR_A_HELM: Final = 3
"""What the operator makes for one helm: its folder, and two pipes in it. helm makes others."""


class SmallDisk:
    """A tmpfs that is mounted in a folder until `close`."""

    def __init__(self, folder: Path) -> None:
        """Mount it. Raises CalledProcessError or OSError where that is not allowed."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self._filler = folder, folder / "filler"
        options = f"size={BYTES},nr_inodes={FILES}"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True, capture_output=True)

    @contextlib.contextmanager
    def full(self, *, files_left: int | None = 0) -> Iterator[None]:
        """Leave no byte free until the end of the block, and let so many files or folders be made; None: any number.

        On a tmpfs, an empty file and a folder need no byte; on other file systems, a folder does.
        """
        self._filler.mkdir()
        try:
            self._fill_bytes()
            if files_left is not None:
                self.fill()
                for number in range(1, files_left + 1):
                    (self._filler / str(number)).unlink()
            yield
        finally:
            shutil.rmtree(self._filler)

    def fill(self) -> None:
        """Take all that is free, also what has become free since it was filled."""
        self._fill_bytes()
        with contextlib.suppress(OSError):
            for number in itertools.count(len(list(self._filler.iterdir()))):
                (self._filler / str(number)).touch(exist_ok=False)

    def _fill_bytes(self) -> None:
        with contextlib.suppress(OSError), (self._filler / "bytes").open("ab", buffering=0) as file:
            while file.write(bytes(CHUNK_BYTES)):
                pass

    def close(self) -> None:
        """Unmount it."""
        subprocess.run(["umount", "--lazy", self.folder], check=True, capture_output=True)


@contextlib.contextmanager
def mounted_disk(folder: Path) -> Iterator[SmallDisk | None]:
    """Mount one for the time of the block; None where that is not allowed."""
    try:
        disk = SmallDisk(folder)
    except (OSError, subprocess.CalledProcessError):
        yield None
        return
    try:
        yield disk
    finally:
        disk.close()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk for one test, which is skipped where mounting is not allowed."""
    with mounted_disk(tmp_path / "disk") as one:
        if one is None:
            pytest.skip("no right to mount a disk")
        yield one
