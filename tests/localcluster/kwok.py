"""Simulated nodes: kwok changes the status of their pods as a kubelet would, without running anything.

``stages/*.yaml`` defines what happens to nodes, pods and volumes; pods.yaml also documents how a test makes a pod fail
or become ready late. The capacity is far above what tests need, so that scheduling never fails for lack of it.
"""

import datetime
import ipaddress
import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.localcluster.api_client import ApiClient
from tests.localcluster.kubeconfig import write_private_file
from tests.localcluster.layout import ClusterLayout
from tests.localcluster.pki import KeyPair
from tests.localcluster.ports import LOOPBACK
from tests.localcluster.processes import ProcessSpec

PODS_PER_NODE = 4000
_POD_RANGE = ipaddress.ip_network("240.0.0.0/16")
"""Reserved (RFC 1112), so that a request to a simulated pod, for example through the API server's proxy, reaches no
host of a private network."""
_NODE_PREFIX = 20
"""A /20 of pod addresses for each node: 4,096, the next power of two over PODS_PER_NODE."""
_FIRST_ADDRESS = ipaddress.ip_address("192.0.2.11")
"""Node addresses are in TEST-NET-1 (RFC 5737), where no host answers."""
_LEASE_SECONDS = 40
_STAGES = Path(__file__).with_name("stages")
_LOG_LINES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedNodes:
    """A number of simulated nodes and the kwok process that simulates them."""

    layout: ClusterLayout
    kwok_path: Path
    kubeconfig: Path
    serving: KeyPair
    port: int
    count: int
    command_prefix: Sequence[str] = ()
    """Precedes a command, so that it runs in the network of the control plane."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the nodes."""
        return [f"simulated-{index}" for index in range(self.count)]

    def processes(self) -> Iterable[ProcessSpec]:
        """Describe kwok, with its stages and the log that it serves for every container."""
        log = self.layout.config / "simulated.log"
        write_private_file(log, "".join(_log_lines()))
        stages = [path.read_text().replace("@LOG_FILE@", str(log)) for path in sorted(_STAGES.glob("*.yaml"))]
        config = self.layout.config / "kwok.yaml"
        write_private_file(config, "---\n".join(stages))
        yield ProcessSpec(
            name="kwok",
            argv=(
                *self.command_prefix,
                str(self.kwok_path),
                f"--kubeconfig={self.kubeconfig}",
                f"--config={config}",
                "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
                "--v=WARN",
                f"--cidr={_POD_RANGE}",
                f"--node-lease-duration-seconds={_LEASE_SECONDS}",
                f"--node-port={self.port}",
                f"--server-address={LOOPBACK}:{self.port}",
                f"--tls-cert-file={self.serving.certificate}",
                f"--tls-private-key-file={self.serving.key}",
            ),
            environment={},
        )

    def register(self, client: ApiClient) -> None:
        """Create the Node objects, and a storage class whose volumes are simulated too."""
        for index, name in enumerate(self.names):
            client.create("/api/v1/nodes", _node(name, index=index, port=self.port))
        client.create(
            "/apis/storage.k8s.io/v1/storageclasses",
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {
                    "name": "simulated",
                    "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
                },
                "provisioner": "xapp-operator.io/simulated",
                "reclaimPolicy": "Delete",
                "volumeBindingMode": "Immediate",
            },
        )


def _node(name: str, *, index: int, port: int) -> dict[str, object]:
    pods = list(_POD_RANGE.subnets(new_prefix=_NODE_PREFIX))[index]
    resources = {"cpu": "256", "memory": "1Ti", "ephemeral-storage": "1Ti", "pods": str(PODS_PER_NODE)}
    arch = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {
                "kwok.x-k8s.io/node": "fake",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": arch,
                "xapp-operator.io/node-kind": "simulated",
            },
        },
        "spec": {"podCIDR": str(pods), "podCIDRs": [str(pods)]},
        "status": {
            "addresses": [
                {"type": "InternalIP", "address": str(_FIRST_ADDRESS + index)},
                {"type": "Hostname", "address": name},
                # where the API server requests logs: kwok answers instead of a kubelet
                {"type": "InternalDNS", "address": "localhost"},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
            "capacity": resources,
            "allocatable": resources,
            "nodeInfo": {
                "architecture": arch,
                "operatingSystem": "linux",
                "osImage": "simulated",
                "kernelVersion": "simulated",
                "kubeletVersion": "simulated",
                "kubeProxyVersion": "simulated",
                "containerRuntimeVersion": "kwok://simulated",
                "machineID": "",
                "systemUUID": "",
                "bootID": "",
            },
        },
    }


def _log_lines() -> Iterator[str]:
    """Yield lines in the log format of container runtimes (CRI)."""
    begin = datetime.datetime.now(datetime.UTC)
    for number in range(1, _LOG_LINES + 1):
        at = begin + datetime.timedelta(milliseconds=number)
        yield f"{at:%Y-%m-%dT%H:%M:%S.%f}000Z stdout F simulated log line {number}\n"
