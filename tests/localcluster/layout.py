"""The paths inside the folder of one cluster."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ClusterLayout:
    """Paths inside the folder of one cluster. All but ``logs`` and ``audit_log`` are removed with the cluster."""

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
        """The log files, one for each process and one for the supervisor."""
        return self.root / "logs"

    @property
    def state(self) -> Path:
        """The state of the cluster, which the supervisor writes."""
        return self.root / "cluster.json"

    @property
    def lock(self) -> Path:
        """The lock that the supervisor holds while it runs."""
        return self.root / "cluster.lock"

    @property
    def node(self) -> Path:
        """The data of a real node: images, containers, volumes, logs of pods."""
        return self.root / "node"

    @property
    def node_record(self) -> Path:
        """The resources of a real node outside its namespaces, recorded so that they can be removed after a crash."""
        return self.root / "node.json"

    @property
    def join_request(self) -> Path:
        """The programs of the real node that has to join, until the supervisor has read it."""
        return self.root / "join.json"

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
        """The certificate of the cluster's authority."""
        return self.pki / "ca.crt"

    @property
    def service_account_key(self) -> Path:
        """The key that signs the tokens of service accounts."""
        return self.pki / "service-account.key"

    @property
    def config(self) -> Path:
        """Configuration files of the components (0700)."""
        return self.root / "config"

    @property
    def authorization(self) -> Path:
        """The authorizers of the API server without a real node, which reads them again when they change."""
        return self.config / "authorization.json"

    @property
    def etcd(self) -> Path:
        """The database (0700)."""
        return self.root / "etcd"
