"""The processes of the control plane and their flags."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.localcluster.kubeconfig import write_kubeconfig, write_private_file
from tests.localcluster.layout import ClusterLayout
from tests.localcluster.pki import Authority, KeyPair, service_account_key
from tests.localcluster.placement import Placement
from tests.localcluster.ports import LOOPBACK
from tests.localcluster.processes import ProcessSpec

ADVERTISE_ADDRESS = "192.0.2.1"
"""The API server refuses to advertise loopback. Nothing connects to this address (TEST-NET-1, RFC 5737)."""
SERVICE_RANGE = "10.96.0.0/16"
API_SERVICE = "10.96.0.1"
CLUSTER_DNS = "10.96.0.10"
"""The name server of pods on a real node. It does not answer unless a test installs one."""
ADMIN_USER = "local-admin"
ADMIN_GROUP = "system:masters"
_CLIENT_QPS = 500
"""With the default of 20 requests a second, tests would measure the limit of the controllers."""

_AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  # only the changes of the control plane itself are of interest
  - level: None
    users: ["system:apiserver", "system:kube-scheduler", "system:kube-controller-manager", "simulated-nodes",
            "system:kube-proxy"]
    verbs: [get, list, watch]
  - level: None
    userGroups: ["system:serviceaccounts:kube-system", "system:nodes"]
    verbs: [get, list, watch]
  - level: None
    resources: [{group: coordination.k8s.io, resources: [leases]}]
    namespaces: [kube-node-lease]
  - level: None
    nonResourceURLs: ["/readyz*", "/livez*", "/healthz*"]
  - level: Metadata
"""

_AUTHORIZATION: Mapping[str, object] = {
    "apiVersion": "apiserver.config.k8s.io/v1",
    "kind": "AuthorizationConfiguration",
    "authorizers": [{"type": "RBAC", "name": "rbac"}],
}
"""In a file instead of a flag, because a test may add an authorizer while the API server runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The ports of one control plane: the API server's at its placement's address, all others on loopback."""

    api_server: int
    etcd: int
    etcd_peer: int
    kubelet: int


class ControlPlane:
    """Writes the files of a control plane and describes its processes."""

    def __init__(
        self, layout: ClusterLayout, *, binaries: Mapping[str, Path], ports: Ports, token: str, placement: Placement
    ) -> None:
        self._layout = layout
        self._binaries = binaries
        self._ports = ports
        self._token = token
        self._placement = placement
        self._authority = Authority(
            layout.pki, addresses=[placement.address, API_SERVICE] if placement.has_real_node else []
        )
        self._service_accounts = service_account_key(layout.pki)

    @property
    def server(self) -> str:
        """The address of the API server."""
        return f"https://{self._placement.address}:{self._ports.api_server}"

    @property
    def placement(self) -> Placement:
        """Where the processes run."""
        return self._placement

    @property
    def authority(self) -> Path:
        """The certificate of the authority that signed the API server's."""
        return self._layout.ca_certificate

    def write_admin_credentials(self) -> None:
        """Write the administrator's kubeconfig and token."""
        write_private_file(self._layout.token, self._token + "\n")
        write_kubeconfig(self._layout.kubeconfig, server=self.server, authority=self.authority, credential=self._token)

    def kubeconfig_for(self, user: str, *, group: str | None = None) -> Path:
        """Write and return a kubeconfig with a client certificate of the given user."""
        path = self._layout.config / f"{user.replace(':', '-')}.kubeconfig"
        pair = self._authority.issue(user.replace(":", "-"), common_name=user, organization=group)
        write_kubeconfig(path, server=self.server, authority=self.authority, credential=pair)
        return path

    def issue(self, name: str) -> KeyPair:
        """Create a key and a certificate for serving on loopback."""
        return self._authority.issue(name, common_name=name)

    def etcd(self) -> ProcessSpec:
        """Describe etcd. It uses mutual TLS, because every user of the machine can connect to loopback."""
        pair = self.issue("etcd")
        client = f"https://{LOOPBACK}:{self._ports.etcd}"
        peer = f"https://{LOOPBACK}:{self._ports.etcd_peer}"
        self._layout.etcd.mkdir(mode=0o700)
        return self._spec(
            "etcd",
            name="local",
            data_dir=self._layout.etcd,
            listen_client_urls=client,
            advertise_client_urls=client,
            listen_peer_urls=peer,
            initial_advertise_peer_urls=peer,
            initial_cluster=f"local={peer}",
            cert_file=pair.certificate,
            key_file=pair.key,
            trusted_ca_file=self.authority,
            client_cert_auth="true",
            peer_cert_file=pair.certificate,
            peer_key_file=pair.key,
            peer_trusted_ca_file=self.authority,
            peer_client_cert_auth="true",
            unsafe_no_fsync="true",
            log_level="warn",
        )

    def api_server(self) -> ProcessSpec:
        """Describe kube-apiserver."""
        serving, etcd_client = self.issue("kube-apiserver"), self.issue("etcd-client")
        tokens = self._layout.config / "tokens.csv"
        write_private_file(tokens, f"{self._token},{ADMIN_USER},{ADMIN_USER},{ADMIN_GROUP}\n")
        policy = self._layout.config / "audit-policy.yaml"
        write_private_file(policy, _AUDIT_POLICY)
        return self._spec(
            "kube-apiserver",
            bind_address=self._placement.address,
            secure_port=self._ports.api_server,
            etcd_servers=f"https://{LOOPBACK}:{self._ports.etcd}",
            etcd_cafile=self.authority,
            etcd_certfile=etcd_client.certificate,
            etcd_keyfile=etcd_client.key,
            tls_cert_file=serving.certificate,
            tls_private_key_file=serving.key,
            client_ca_file=self.authority,
            token_auth_file=tokens,
            service_account_issuer="https://kubernetes.default.svc",
            service_account_key_file=self._service_accounts.certificate,
            service_account_signing_key_file=self._service_accounts.key,
            service_cluster_ip_range=SERVICE_RANGE,
            allow_privileged="true",
            kubelet_preferred_address_types="InternalDNS,InternalIP",
            audit_policy_file=policy,
            audit_log_path=self._layout.audit_log,
            audit_log_maxsize=100,
            audit_log_maxbackup=1,
            profiling="false",
            **(self._real_node_flags() if self._placement.has_real_node else self._simulated_node_flags()),
        )

    def controllers(self) -> list[ProcessSpec]:
        """Describe kube-controller-manager and kube-scheduler, which serve nothing.

        Without leader election: with it, they would end whenever a test stops the API server for a while.
        """
        return [
            self._spec(
                "kube-controller-manager",
                kubeconfig=self.kubeconfig_for("system:kube-controller-manager"),
                service_account_private_key_file=self._service_accounts.key,
                root_ca_file=self.authority,
                use_service_account_credentials="true",
                leader_elect="false",
                secure_port=0,
                kube_api_qps=_CLIENT_QPS,
                kube_api_burst=2 * _CLIENT_QPS,
                node_monitor_grace_period="2m",
                profiling="false",
            ),
            self._spec(
                "kube-scheduler",
                kubeconfig=self.kubeconfig_for("system:kube-scheduler"),
                leader_elect="false",
                secure_port=0,
                kube_api_qps=_CLIENT_QPS,
                kube_api_burst=2 * _CLIENT_QPS,
                profiling="false",
            ),
        ]

    def _simulated_node_flags(self) -> Mapping[str, object]:
        write_private_file(self._layout.authorization, json.dumps(_AUTHORIZATION))
        return {
            "advertise_address": ADVERTISE_ADDRESS,
            "endpoint_reconciler_type": "none",
            "authorization_config": self._layout.authorization,
        }

    def _real_node_flags(self) -> Mapping[str, object]:
        """Return the API server's flags that admit a kubelet and make the API server reachable for pods."""
        kubelet_client = self._authority.issue(
            "kubelet-client", common_name="kube-apiserver-kubelet-client", organization=ADMIN_GROUP
        )
        return {
            "advertise_address": self._placement.address,
            "authorization_mode": "Node,RBAC",
            "enable_admission_plugins": "NodeRestriction",
            "kubelet_client_certificate": kubelet_client.certificate,
            "kubelet_client_key": kubelet_client.key,
        }

    def _spec(self, name: str, /, **flags: object) -> ProcessSpec:
        arguments = (f"--{key.replace('_', '-')}={value}" for key, value in flags.items())
        return ProcessSpec(
            name=name, argv=(*self._placement.command_prefix, str(self._binaries[name]), *arguments), environment={}
        )
