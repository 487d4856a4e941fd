"""The control groups of a node: a child of this process's group in each hierarchy (version 1)."""

import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.localcluster.waiting import wait_until

REQUIRED_CONTROLLERS = frozenset({"cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids"})
_REMOVE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """One mounted hierarchy and this process's group in it."""

    controllers: str
    """As mount options: "cpu", "cpu,cpuacct", "name=systemd"."""
    own_group: Path


def hierarchies(
    *, groups: Path = Path("/proc/self/cgroup"), mounts: Path = Path("/proc/self/mountinfo")
) -> list[Hierarchy]:
    """Return the mounted hierarchies of version 1 that contain this process."""
    mounted: dict[frozenset[str], tuple[Path, str]] = {}
    for line in mounts.read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ")[:3]
        if kind == "cgroup":
            root, point = before.split(" ")[3:5]
            mounted[frozenset(options.split(","))] = Path(point), root
    found = []
    for line in groups.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        wanted = frozenset(controllers.split(","))
        for offered, (folder, top) in mounted.items():
            inside = os.path.relpath(path, top)
            if controllers and wanted <= offered and not inside.startswith(".."):
                found.append(Hierarchy(controllers, (folder / inside).resolve()))
    return found


def create_child_group(hierarchy: Hierarchy, name: str) -> None:
    """Create a child of this process's group; a cpuset gets the processors and memory nodes of its parent."""
    group = hierarchy.own_group / name
    group.mkdir(exist_ok=True)
    if "cpuset" in hierarchy.controllers.split(","):
        for file in ("cpuset.cpus", "cpuset.mems"):
            (group / file).write_text((hierarchy.own_group / file).read_text())


def remove_groups(groups: Iterable[Path]) -> None:
    """Kill the processes in the groups and remove the groups, the innermost first. Raises DeadlineExceeded."""
    for group in groups:
        wait_until(
            partial(_try_remove, group), timeout=_REMOVE_SECONDS, what=f"the control group {group.name} to be empty"
        )


def _try_remove(group: Path) -> bool:
    try:
        for folder, _, _ in os.walk(group, topdown=False):
            for pid in (Path(folder) / "cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)
            Path(folder).rmdir()
    except ProcessLookupError:
        return False
    except OSError:
        return not group.exists()
    return not group.exists()
