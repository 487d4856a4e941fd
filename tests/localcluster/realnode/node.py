"""The processes of a real node (containerd, kubelet, kube-proxy) and their configuration.

The configuration makes them work in namespaces: without systemd, with control groups of version 1, without changes to
the kernel's settings, and without eviction because the machine's disk is full.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.localcluster.api_client import ApiClient
from tests.localcluster.controlplane import CLUSTER_DNS, ControlPlane
from tests.localcluster.images import write_image
from tests.localcluster.kubeconfig import write_private_file
from tests.localcluster.layout import ClusterLayout
from tests.localcluster.processes import ProcessSpec
from tests.localcluster.realnode.namespaces import NodeNamespaces

NODE_NAME = "real-0"
NODE_TAINT = "xapp-operator.io/real-node"
"""Only pods that tolerate it (effect NoSchedule) run on the real node, which cannot reach any registry."""
NODE_LABELS = {"xapp-operator.io/node-kind": "real"}
POD_RANGE = "10.245.0.0/24"
_SOCKET = "/run/containerd/containerd.sock"
_PAUSE_IMAGE = "localhost/pause:1"
_CNI_PLUGINS = ("bridge", "loopback", "host-local", "portmap")


@dataclass(frozen=True, slots=True, kw_only=True)
class RealNode:
    """One kubelet with real containers."""

    layout: ClusterLayout
    plane: ControlPlane
    binaries: Mapping[str, Path]
    enclosure: NodeNamespaces
    address: str

    @property
    def names(self) -> Sequence[str]:
        """Name of the node."""
        return [NODE_NAME]

    def processes(self) -> Iterable[ProcessSpec]:
        """Describe containerd, kubelet and kube-proxy."""
        folders = dict.fromkeys(str(self.binaries[name].parent) for name in ("containerd-shim-runc-v2", "runc"))
        path = ":".join((*folders, "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"))
        environment = {"PATH": path, "TMPDIR": str(self.layout.node / "tmp")}
        yield self.enclosure.process_spec(
            "containerd",
            [str(self.binaries["containerd"]), "--config", str(self._write_containerd_config())],
            environment=environment,
        )
        labels = ",".join(f"{key}={value}" for key, value in NODE_LABELS.items())
        yield self.enclosure.process_spec(
            "kubelet",
            [
                str(self.binaries["kubelet"]),
                f"--config={self._write_kubelet_config()}",
                f"--kubeconfig={self.plane.kubeconfig_for(f'system:node:{NODE_NAME}', group='system:nodes')}",
                f"--hostname-override={NODE_NAME}",
                f"--node-ip={self.address}",
                f"--node-labels={labels}",
            ],
            wait_for_path=_SOCKET,
            environment=environment,
        )
        yield self.enclosure.process_spec(
            "kube-proxy",
            [str(self.binaries["kube-proxy"]), f"--config={self._write_kube_proxy_config()}"],
            environment=environment,
        )

    def register(self, client: ApiClient) -> None:
        """Load the pause image, which every pod needs. The kubelet registers the node itself."""
        archive = self.layout.config / "pause.tar"
        write_image(archive, name=_PAUSE_IMAGE, files={"/pause": self.binaries["pause"]}, entrypoint=["/pause"])
        load_image(self.enclosure, archive, ctr=self.binaries["ctr"])

    def _write_containerd_config(self) -> Path:
        plugins = self.layout.config / "cni" / "bin"
        plugins.mkdir(parents=True)
        for name in _CNI_PLUGINS:
            (plugins / name).symlink_to(self.binaries[name])
        network = self.layout.config / "cni" / "net.d"
        write_private_file(network / "10-node.conflist", json.dumps(_cni_config()))
        path = self.layout.config / "containerd.toml"
        write_private_file(
            path,
            f"""\
version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.internal.v1.opt"]
[grpc]
address = "{_SOCKET}"
[plugins."io.containerd.cri.v1.images"]
snapshotter = "overlayfs"
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "{_PAUSE_IMAGE}"
[plugins."io.containerd.cri.v1.runtime"]
disable_apparmor = true
restrict_oom_score_adj = true
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["{plugins}"]
conf_dir = "{network}"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
BinaryName = "{self.binaries["runc"]}"
SystemdCgroup = false
""",
        )
        return path

    def _write_kubelet_config(self) -> Path:
        serving = self.plane.issue("kubelet")
        resolver = self.layout.config / "node-resolv.conf"
        write_private_file(resolver, "# no name server: the node reaches nothing outside\n")
        config = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": self.address,
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(self.plane.authority)},
            },
            "authorization": {"mode": "Webhook"},
            "cgroupDriver": "cgroupfs",
            "cgroupsPerQOS": True,
            "clusterDNS": [CLUSTER_DNS],
            "clusterDomain": "cluster.local",
            "containerRuntimeEndpoint": f"unix://{_SOCKET}",
            "enforceNodeAllocatable": ["pods"],
            "evictionHard": {
                "memory.available": "0%",
                "nodefs.available": "0%",
                "nodefs.inodesFree": "0%",
                "imagefs.available": "0%",
                "imagefs.inodesFree": "0%",
            },
            "failCgroupV1": False,
            "failSwapOn": False,
            "healthzPort": 0,
            "imageGCHighThresholdPercent": 100,
            "makeIPTablesUtilChains": False,
            "oomScoreAdj": 0,
            "readOnlyPort": 0,
            "registerWithTaints": [{"key": NODE_TAINT, "value": "true", "effect": "NoSchedule"}],
            "resolvConf": str(resolver),
            "serializeImagePulls": False,
            "tlsCertFile": str(serving.certificate),
            "tlsPrivateKeyFile": str(serving.key),
            "volumePluginDir": "/var/lib/kubelet/volume-plugins",
        }
        return self._write_json("kubelet.json", config)

    def _write_kube_proxy_config(self) -> Path:
        kubeconfig = self.plane.kubeconfig_for("system:kube-proxy")
        zero = "0s"
        config = {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "bindAddress": self.address,
            "clientConnection": {"kubeconfig": str(kubeconfig)},
            "clusterCIDR": POD_RANGE,
            "conntrack": {
                "maxPerCore": 0,
                "min": 0,
                "tcpEstablishedTimeout": zero,
                "tcpCloseWaitTimeout": zero,
                "udpTimeout": zero,
                "udpStreamTimeout": zero,
            },
            "healthzBindAddress": "127.0.0.1:10256",
            "metricsBindAddress": "127.0.0.1:10249",
            "hostnameOverride": NODE_NAME,
            "mode": "nftables",
            # without it, responses between two pods of one bridge would bypass the address translation
            "nftables": {"masqueradeAll": not Path("/proc/sys/net/bridge").exists()},
            "nodePortAddresses": [f"{self.address}/32"],
            "oomScoreAdj": 0,
        }
        return self._write_json("kube-proxy.json", config)

    def _write_json(self, name: str, config: Mapping[str, object]) -> Path:
        path = self.layout.config / name
        write_private_file(path, json.dumps(config, indent=2))
        return path


def load_image(enclosure: NodeNamespaces, archive: Path, *, ctr: Path) -> None:
    """Import the image in ``archive``, the tar of an OCI layout. Raises NamespacesFailed."""
    enclosure.run(
        [str(ctr), "--address", _SOCKET, "-n", "k8s.io", "images", "import", "--local", str(archive)],
        wait_for_path=_SOCKET,
    )


def _cni_config() -> dict[str, object]:
    return {
        "cniVersion": "1.0.0",
        "name": "node",
        "plugins": [
            {
                "type": "bridge",
                "bridge": "pods0",
                "isGateway": True,
                "isDefaultGateway": True,
                "hairpinMode": True,
                "ipMasq": False,
                "ipam": {"type": "host-local", "ranges": [[{"subnet": POD_RANGE}]]},
            },
            {"type": "portmap", "capabilities": {"portMappings": True}, "backend": "nftables"},
        ],
    }
