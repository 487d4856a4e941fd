"""What a machine looks like from outside a node, for a comparison before and after: never a value, only what changed.

What other local clusters do at the same time is left out by name; so are settings that change by themselves.
"""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.localcluster.realnode import cgroups

_OTHERS = re.compile(r"\bxapp[0-9a-f]{8}\b|\bxapp-operator-[0-9a-f]{8}\b")
_RESTLESS = re.compile(r"kernel/(ns_last_pid|random/.*|keys/.*)|fs/.*|.*/neigh/.*|.*/nf_conntrack_(count|buckets)")
_SETTINGS = Path("/proc/sys")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything of a machine that a node could have touched."""

    mounts: frozenset[str]
    links: frozenset[str]
    addresses: frozenset[str]
    routes: frozenset[str]
    nft_rules: str
    settings: frozenset[tuple[str, str]]
    cgroups: frozenset[str]
    folders: frozenset[str]

    def changes(self, other: "Snapshot") -> dict[str, list[str]]:
        """Name what differs between two snapshots: the part, and what only one of them has."""
        found = {}
        for part in self.__slots__:
            one, two = getattr(self, part), getattr(other, part)
            if one != two:
                found[part] = sorted(map(str, one ^ two)) if isinstance(one, frozenset) else [one, two]
        return found


def take(*, own: str = "") -> Snapshot:
    """Look at the machine; of the links and groups of local clusters only those whose name contains ``own``."""

    def mine(text: str) -> bool:
        named = _OTHERS.findall(text)
        return not named or any(own and own in name for name in named)

    links = [link["ifname"] for link in json.loads(_run("ip", "-json", "link"))]
    routes = [*_run("ip", "-4", "route", "show", "table", "all").splitlines()]
    return Snapshot(
        mounts=frozenset(Path("/proc/self/mountinfo").read_text().splitlines()),
        links=frozenset(filter(mine, links)),
        addresses=frozenset(filter(mine, _run("ip", "-4", "-oneline", "address").splitlines())),
        routes=frozenset(filter(mine, routes)),
        nft_rules=_run("nft", "list", "ruleset"),
        settings=frozenset((name, value) for name, value in _settings() if mine(name)),
        cgroups=frozenset(
            str(path)
            for hierarchy in cgroups.hierarchies()
            for path in hierarchy.own.glob("xapp-operator-*")
            if mine(path.name)
        ),
        folders=frozenset(
            f"{folder}/{entry}" for folder in ("/var/lib", "/run", "/etc/cni", "/opt") for entry in _entries(folder)
        ),
    )


def _settings() -> list[tuple[str, str]]:
    """Read the settings that somebody could have changed: those that may be written."""
    found = []
    for folder, _, names in os.walk(_SETTINGS):
        for name in names:
            path = Path(folder) / name
            relative = str(path.relative_to(_SETTINGS))
            if _RESTLESS.fullmatch(relative) or not path.stat().st_mode & 0o200:
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
