"""Snapshots of the machine, to compare its state before and after a node.

They leave out other local clusters, which are recognised by name, and settings that change by themselves.
"""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.localcluster.realnode import cgroups

_LOCAL_CLUSTER_NAMES = re.compile(r"\bxapp[0-9a-f]{8}\b|\bxapp-operator-[0-9a-f]{8}\b")
_VOLATILE_SETTINGS = re.compile(
    r"kernel/(ns_last_pid|random/.*|keys/.*)|fs/.*|.*/neigh/.*|.*/nf_conntrack_(count|buckets)"
)
_SETTINGS = Path("/proc/sys")


@dataclass(frozen=True, slots=True)
class HostSnapshot:
    """Everything on a machine that a node could change."""

    mounts: frozenset[str]
    links: frozenset[str]
    addresses: frozenset[str]
    routes: frozenset[str]
    nft_rules: str
    settings: frozenset[tuple[str, str]]
    cgroups: frozenset[str]
    folders: frozenset[str]

    def changes(self, other: "HostSnapshot") -> dict[str, list[str]]:
        """Return the differences between two snapshots: for each part, the entries that only one of them has."""
        found = {}
        for part in self.__slots__:
            one, two = getattr(self, part), getattr(other, part)
            if one != two:
                found[part] = sorted(map(str, one ^ two)) if isinstance(one, frozenset) else [one, two]
        return found


def take_snapshot(*, own_suffix: str = "") -> HostSnapshot:
    """Take a snapshot, which includes local clusters only if their name contains ``own_suffix``."""

    def is_relevant(text: str) -> bool:
        named = _LOCAL_CLUSTER_NAMES.findall(text)
        return not named or any(own_suffix and own_suffix in name for name in named)

    links = [link["ifname"] for link in json.loads(_run("ip", "-json", "link"))]
    routes = [*_run("ip", "-4", "route", "show", "table", "all").splitlines()]
    return HostSnapshot(
        mounts=frozenset(Path("/proc/self/mountinfo").read_text().splitlines()),
        links=frozenset(filter(is_relevant, links)),
        addresses=frozenset(filter(is_relevant, _run("ip", "-4", "-oneline", "address").splitlines())),
        routes=frozenset(filter(is_relevant, routes)),
        nft_rules=_run("nft", "list", "ruleset"),
        settings=frozenset((name, value) for name, value in _settings() if is_relevant(name)),
        cgroups=frozenset(
            str(path)
            for hierarchy in cgroups.hierarchies()
            for path in hierarchy.own_group.glob("xapp-operator-*")
            if is_relevant(path.name)
        ),
        folders=frozenset(
            f"{folder}/{entry}" for folder in ("/var/lib", "/run", "/etc/cni", "/opt") for entry in _entries(folder)
        ),
    )


def _settings() -> list[tuple[str, str]]:
    """Return the writable kernel settings with their values."""
    found = []
    for folder, _, names in os.walk(_SETTINGS):
        for name in names:
            path = Path(folder) / name
            relative = str(path.relative_to(_SETTINGS))
            if _VOLATILE_SETTINGS.fullmatch(relative) or not path.stat().st_mode & 0o200:
                continue
            try:
                found.append((relative, path.read_text()))
            except (OSError, UnicodeDecodeError):
                continue
    return found


def _entries(folder: str) -> list[str]:
    return sorted(entry.name for entry in Path(folder).iterdir()) if Path(folder).is_dir() else []


def _run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
