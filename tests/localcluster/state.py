"""The state of a cluster in a JSON file, which its supervisor writes and other processes read."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.localcluster.kubeconfig import write_private_file
from tests.localcluster.processes import ProcessIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """A snapshot of a cluster: its supervisor, addresses and processes."""

    supervisor: ProcessIdentity
    server: str = ""
    ready: bool = False
    node_address: str = ""
    """Address of the real node, also before it joins, or empty without one."""
    node_ready: bool = False
    """Whether pods can run on the real node."""
    node_error: str = ""
    """Why the real node could not join, or empty."""
    processes: dict[str, ProcessIdentity] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Replace the file atomically."""
        write_private_file(path, json.dumps(asdict(self), indent=2))

    @classmethod
    def read(cls, path: Path) -> "ClusterState | None":
        """Read the file, or return None if it does not exist."""
        try:
            text = path.read_text()
        except FileNotFoundError:
            return None
        raw = json.loads(text)
        return cls(
            supervisor=ProcessIdentity(**raw["supervisor"]),
            server=str(raw["server"]),
            ready=bool(raw["ready"]),
            node_address=str(raw.get("node_address", "")),
            node_ready=bool(raw.get("node_ready")),
            node_error=str(raw.get("node_error", "")),
            processes={name: ProcessIdentity(**identity) for name, identity in raw["processes"].items()},
        )

    @property
    def identities(self) -> list[ProcessIdentity]:
        """All processes of the cluster, the supervisor last."""
        return [*self.processes.values(), self.supervisor]
