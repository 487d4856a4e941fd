"""The memory limit of the container that this process runs in, by cgroup version 1 or 2."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

CGROUP_ROOT: Final = Path("/sys/fs/cgroup")
MEMBERSHIP: Final = Path("/proc/self/cgroup")
UNLIMITED: Final = 2**60
"""Version 1 has no word for "no limit", but a number of about 2**63."""


@cache
def container_memory_limit(*, root: Path = CGROUP_ROOT, membership: Path = MEMBERSHIP) -> int | None:
    """Return the lowest memory limit, in bytes, of this process's cgroup and those above it; None without one.

    A process takes notice of it once.
    """
    limits = [limit for path in _limit_files(root, membership) if (limit := _read_limit(path)) is not None]
    return min(limits, default=None)


def _limit_files(root: Path, membership: Path) -> Iterator[Path]:
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        # Version 2: `0::/path`. Version 1: `4:memory:/path`; in a container the path may be the host's, and then the
        # mounted folder itself is the container's cgroup.
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            folder, name = root, "memory.max"
        elif "memory" in controllers.split(","):
            folder, name = root / "memory", "memory.limit_in_bytes"
        else:
            continue
        own = folder / path.lstrip("/")
        yield from (each / name for each in (own, *own.parents) if each.is_relative_to(folder))


def _read_limit(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() and int(text) < UNLIMITED else None
