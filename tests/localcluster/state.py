"""What is known about a cluster from outside its supervisor: a small JSON file."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.localcluster.kubeconfig import write_private_file
from tests.localcluster.processes import ProcessIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """A snapshot of a cluster: who supervises it, where it listens, what runs."""

    supervisor: ProcessIdentity
    server: str = ""
    ready: bool = False
    node_address: str = ""
    """Address of the real node, if there is one."""
    processes: dict[str, ProcessIdentity] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Replace the file in one step."""
        write_private_file(path, json.dumps(asdict(self), indent=2))

    @classmethod
    def read(cls, path: Path) -> "ClusterState | None":
        """Read the file; None when there is none."""
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
            processes={name: ProcessIdentity(**identity) for name, identity in raw["processes"].items()},
        )

    @property
    def identities(self) -> list[ProcessIdentity]:
        """Every process of the cluster, the supervisor last."""
        return [*self.processes.values(), self.supervisor]
