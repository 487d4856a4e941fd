"""The folder in which helm works, in memory where that is possible."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY_VARIABLE = "MEMORY_TMPDIR"
"""Names the folder for temporary files in memory, as TMPDIR does for those on disk."""


def memory_folder() -> Path:
    """Return the folder for temporary files in memory. It may be absent."""
    return Path(os.environ.get(MEMORY_VARIABLE) or "/dev/shm")


@contextmanager
def work_folder(cache: Path, *, memory: Path | None = None) -> Iterator[Path]:
    """Provide the folder in which helm works beside `cache`, in memory where that is possible; remove it at the end."""
    folder = (memory or memory_folder()) / f"xapp-operator-{os.getuid()}-{short_hash(cache)}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        owned = folder.stat().st_uid == os.getuid()
    except OSError:
        owned = False
    if not owned:  # there is no such file system, or another user was first
        folder = cache / "work"
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def short_hash(path: Path) -> str:
    """Return 12 hex digits that stand for a path."""
    return hashlib.sha256(str(path).encode()).hexdigest()[:12]
