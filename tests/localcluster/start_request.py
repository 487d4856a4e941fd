"""The requests to a supervisor (start a cluster, let a real node join) and the timeouts of both sides."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.localcluster.kubeconfig import write_private_file
from tests.localcluster.processes import ProcessIdentity

JOINING = "joining"
"""The kind of a real node that joins later; see tests.localcluster.nodes."""
READY_SECONDS = 90.0
"""Timeout of each step of the start, long enough for a machine under load."""
STOP_SECONDS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """The cluster that the supervisor has to run."""

    directory: str
    binaries: dict[str, str]
    nodes: dict[str, int]
    owner: ProcessIdentity | None

    @property
    def needs_node_network(self) -> bool:
        """Whether the cluster has a real node, or one can join."""
        return bool(self.nodes.get("real") or self.nodes.get(JOINING))

    def to_json(self) -> str:
        """Return the request as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "StartRequest":
        """Parse the result of to_json."""
        raw = json.loads(text)
        owner = raw.pop("owner")
        return cls(**raw, owner=ProcessIdentity(**owner) if owner else None)


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """The programs with which the real node has to start."""

    binaries: dict[str, str]

    def write(self, path: Path) -> None:
        """Replace the file atomically."""
        write_private_file(path, json.dumps(self.binaries))

    @classmethod
    def take(cls, path: Path) -> "JoinRequest | None":
        """Read the file and remove it, or return None if it does not exist."""
        try:
            text = path.read_text()
        except FileNotFoundError:
            return None
        path.unlink()
        return cls(json.loads(text))
