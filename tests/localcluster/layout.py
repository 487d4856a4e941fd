"""The folder of one cluster: which file lies where."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ClusterLayout:
    """Paths inside the folder of one cluster. All but ``logs`` and ``audit_log`` go away with the cluster."""

    root: Path

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig (0600)."""
        return self.root / "kubeconfig"

    @property
    def token(self) -> Path:
        """The administrator's bearer token (0600)."""
        return self.root / "token"

    @property
    def audit_log(self) -> Path:
        """The API server's audit log, one JSON object a line, metadata only."""
        return self.root / "audit.log"

    @property
    def logs(self) -> Path:
        """One log file for each process, and the supervisor's."""
        return self.root / "logs"

    @property
    def state(self) -> Path:
        """What runs: written by the supervisor, read by everybody."""
        return self.root / "cluster.json"

    @property
    def lock(self) -> Path:
        """Held by the supervisor for as long as it lives."""
        return self.root / "cluster.lock"

    @property
    def node(self) -> Path:
        """What a real node keeps: images, containers, volumes, logs of pods."""
        return self.root / "node"

    @property
    def node_record(self) -> Path:
        """What a real node has outside its namespaces, so that it can be removed after a crash."""
        return self.root / "node.json"

    @property
    def stopped(self) -> Path:
        """One empty file for each process that must stay down."""
        return self.root / "held"

    @property
    def pki(self) -> Path:
        """Keys and certificates (0700)."""
        return self.root / "pki"

    @property
    def ca_certificate(self) -> Path:
        """The certificate that vouches for the API server."""
        return self.pki / "ca.crt"

    @property
    def config(self) -> Path:
        """Configuration files of the components (0700)."""
        return self.root / "config"

    @property
    def etcd(self) -> Path:
        """The database (0700)."""
        return self.root / "etcd"
