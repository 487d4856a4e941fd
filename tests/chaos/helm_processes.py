"""The helm processes of the operators, found by their working folders, and a watch that two never do the same."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.localcluster.processes import ProcessIdentity

SECONDS_BETWEEN: Final = 0.1
COMMANDS: Final = frozenset({"install", "upgrade", "rollback", "uninstall", "test"})


@dataclass(frozen=True, slots=True)
class HelmProcess:
    """One helm process that changes a release."""

    identity: ProcessIdentity
    replica: str
    command: str
    release: tuple[str, str]

    def __str__(self) -> str:
        return f"helm {self.command} {'/'.join(self.release)} of {self.replica} (pid {self.identity.pid})"


def find_helm_processes(folders: Mapping[str, Path]) -> list[HelmProcess]:
    """Return the helm processes of the replicas whose files are in `folders`."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            folder = (entry / "cwd").readlink()
            replica = next((each for each, path in folders.items() if folder.is_relative_to(path)), None)
            if replica is None:
                continue
            arguments = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        identity = ProcessIdentity.of(int(entry.name))
        process = None if identity is None else _parse(identity, replica, arguments)
        if process is not None:
            found.append(process)
    pids = {each.identity.pid for each in found}
    return [each for each in found if _parent(each.identity.pid) not in pids]  # without what helm itself starts


def _parent(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def _parse(identity: ProcessIdentity, replica: str, arguments: list[str]) -> HelmProcess | None:
    if len(arguments) < 2 or Path(arguments[0]).name != "helm" or arguments[1] not in COMMANDS or "--" not in arguments:
        return None
    flags, names = arguments[: arguments.index("--")], arguments[arguments.index("--") + 1 :]
    namespace = next((each.partition("=")[2] for each in flags if each.startswith("--namespace=")), "")
    return HelmProcess(identity, replica, arguments[1], (namespace, names[0]))


class HelmWatch(threading.Thread):
    """Looks all the time whether two helm processes work on one release, or those of two replicas run at once."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        super().__init__(name="helm watch", daemon=True)
        self._folders = folders
        self._ended = threading.Event()
        self._seen: set[str] = set()

    def run(self) -> None:
        while not self._ended.wait(SECONDS_BETWEEN):
            self._seen |= overlaps(find_helm_processes(self._folders))

    def take(self) -> list[str]:
        """Return what was seen since the last call."""
        seen, self._seen = self._seen, set()
        return sorted(seen)

    def close(self) -> None:
        self._ended.set()
        self.join()


def overlaps(processes: list[HelmProcess]) -> set[str]:
    """Return the pairs that must not run at the same time and all still run."""
    return {
        f"{first} and {second} at the same time"
        for position, first in enumerate(processes)
        for second in processes[position + 1 :]
        if (first.replica != second.replica or first.release == second.release)
        and first.identity.alive
        and second.identity.alive
        and first.identity.alive
    }
