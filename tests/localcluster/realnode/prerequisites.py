"""Finds out by trying whether this machine can run a real node, and why not."""

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.localcluster.binaries import cache_root
from tests.localcluster.realnode import cgroups

PROGRAMS = "programs"
_NEEDS = Path(__file__).parents[3] / "hack" / "machine-needs.txt"
_PROGRAMS = {
    what: packages
    for line in _NEEDS.read_text().splitlines()
    if line.startswith("real-node|")
    for _, what, _, packages, _ in [line.split("|")]
}
"""The programs, and the Debian packages that contain them."""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_COVERED_FOLDERS = ("/var/lib", "/var/log", "/run", "/var/run")
"""Folders of the machine over which the node mounts its own."""
_INOTIFY_INSTANCES = 16
"""Instances of inotify that one cluster opens: 9 of the node, 4 of the control plane, and a reserve."""
_INOTIFY_LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")
_PROBE = Path(__file__).with_name("probe.sh")
_PROBE_SECONDS = 30.0


def real_node_obstacle(folder: Path) -> str | None:
    """Return in one line why no real node can run with its data in ``folder``, or None if one can."""
    return next((obstacle for _, obstacle in check_real_node(folder) if obstacle is not None), None)


def check_real_node(folder: Path) -> Iterator[tuple[str, str | None]]:
    """Yield what a real node needs, and in one line why this machine does not have it, or None if it has."""
    obstacles = []
    for what, check in (
        ("root", _missing_rights),
        (PROGRAMS, _missing_programs),
        ("folders", lambda: _covered_folder([folder, cache_root(), Path(__file__)])),
        ("control groups", _missing_cgroups),
        ("inotify", lambda: inotify_obstacle(_INOTIFY_INSTANCES)),
    ):
        obstacles.append(check())
        yield what, obstacles[-1]
    is_complete = not any(obstacles)
    yield "kernel", _run_probe(folder) if is_complete else "not tried, because something else is missing"


def inotify_obstacle(count: int) -> str | None:
    """Return in one line why ``count`` more instances of inotify are not available, or None if they are.

    All programs of a user share them. Without enough of them, containerd and kubelet fail at startup without a reason.
    """
    libc = ctypes.CDLL(None)
    most = _INOTIFY_LIMIT.read_text().strip()  # now, while there is a descriptor left to read it with
    opened: list[int] = []
    try:
        for _ in range(count):
            descriptor = libc.inotify_init1(os.O_CLOEXEC)
            if descriptor < 0:
                return (
                    f"a real node needs {count} instances of inotify, and {len(opened)} are left of the "
                    f"{most} of this user; end another cluster, or raise "
                    "fs.inotify.max_user_instances"
                )
            opened.append(descriptor)
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return None


def _missing_rights() -> str | None:
    if os.geteuid() != 0:
        return "a real node needs root for namespaces, mounts and control groups; run it as root"
    return None


def _missing_programs(path: str = _PATH) -> str | None:
    missing = sorted({package for name, package in _PROGRAMS.items() if shutil.which(name, path=path) is None})
    if missing:
        return f"programs for a real node are missing; install the Debian packages {', '.join(missing)}"
    return None


def _covered_folder(needed: Sequence[Path]) -> str | None:
    for path in needed:
        for hidden in _COVERED_FOLDERS:
            if path.resolve().is_relative_to(hidden):
                return (
                    f"a real node mounts its own folder over {hidden}, so checkout, cluster and cache "
                    "must lie elsewhere; move them"
                )
    return None


def _missing_cgroups() -> str | None:
    found = cgroups.hierarchies()
    have = {controller for hierarchy in found for controller in hierarchy.controllers.split(",")}
    missing = sorted(cgroups.REQUIRED_CONTROLLERS - have)
    if missing:
        return (
            f"a real node needs control groups of version 1, mounted, and {', '.join(missing)} "
            "is not; boot with systemd.unified_cgroup_hierarchy=0"
        )
    locked = [hierarchy.controllers for hierarchy in found if not os.access(hierarchy.own_group, os.W_OK)]
    if locked:
        return f"a real node needs writable control groups, and {', '.join(locked)} is read-only here"
    return None


def _run_probe(folder: Path) -> str | None:
    """Try in temporary namespaces what the node will do; the first step that fails is the reason."""
    existing = next(path for path in (folder, *folder.resolve().parents) if path.is_dir())
    with tempfile.TemporaryDirectory(dir=existing, prefix=".probe-") as scratch:
        answer = subprocess.run(
            [
                *("unshare", "--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup"),
                *("--fork", "--kill-child", "--mount-proc", "/bin/sh", str(_PROBE)),
            ],
            env={"PATH": _PATH, "SCRATCH": scratch},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    if answer.returncode == 0:
        return None
    output_lines = answer.stdout.strip().splitlines()
    return (
        f"a real node cannot have {output_lines[-1] if output_lines else 'namespaces'} on this machine: "
        f"{_last_line(answer.stderr)}"
    )


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no reason was given"
