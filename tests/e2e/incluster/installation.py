"""Installs and inspects the system: its pods, logs, Lease, containers and objects."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tests.localcluster import Binaries, Cluster, LocalCluster
from tests.localcluster.cluster import ROOT
from tests.localcluster.realnode.namespaces import NAMESPACE_HOLDER, HostResources, NodeNamespaces
from tests.localcluster.realnode.node import NODE_NAME
from tests.localcluster.waiting import wait_until
from tests.localrun.cluster_setup import SYSTEM_NAMESPACE
from tests.support.audit import read_audit_events

OVERLAY = Path(__file__).parent / "overlay"
XAPP_NAMESPACE = ROOT / "manifests" / "xapp-namespace"
IMAGE = "localhost/xapp-operator:e2e"
PORT = 31315
"""The node port of the gateway's Service. The node has its own address, so no port of the machine is used."""
COMPONENTS = ("operator", "gateway")
DEADLINE_SECONDS = 120.0
_TRANSIENT_KINDS = frozenset({"events", "events.events.k8s.io", "leases.coordination.k8s.io", "componentstatuses"})
"""Kinds whose objects come and go, whatever is installed."""
_NODE_KINDS = frozenset({"nodes", "csinodes.storage.k8s.io", "endpointslices.discovery.k8s.io"})

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Installation:
    """Operator and gateway in one cluster."""

    local: LocalCluster
    cluster: Cluster

    def install(self) -> None:
        """Apply the manifests, which is idempotent, and wait until all replicas are ready."""
        for folder in (OVERLAY, XAPP_NAMESPACE):
            self.cluster.kubectl("apply", "--server-side", "-k", str(folder))
        self.wait_rolled_out()

    def uninstall(self) -> None:
        """Do what `make undeploy` does, and remove the namespace of the xApps."""
        self.cluster.kubectl("delete", "xapps", "--all", "--all-namespaces", f"--timeout={DEADLINE_SECONDS:.0f}s")
        for folder in (XAPP_NAMESPACE, OVERLAY):
            self.cluster.kubectl("delete", "-k", str(folder), f"--timeout={DEADLINE_SECONDS:.0f}s", timeout=300)

    def wait_rolled_out(self) -> None:
        """Wait until all rollouts are complete."""
        for component in COMPONENTS:
            self.kubectl("rollout", "status", self.deployment(component), f"--timeout={DEADLINE_SECONDS:.0f}s")

    def deployment(self, component: str) -> str:
        """Return the name of a Deployment for kubectl."""
        return "deployment/xapp-operator" if component == "operator" else f"deployment/xapp-{component}"

    def kubectl(self, *arguments: str) -> str:
        """Run kubectl in the system's namespace."""
        return self.cluster.kubectl("-n", SYSTEM_NAMESPACE, *arguments, timeout=DEADLINE_SECONDS + 30)

    def pods(self, component: str) -> list[Json]:
        """Return the pods of a component that are not being deleted."""
        selector = f"app.kubernetes.io/component={component}"
        items: list[Json] = json.loads(self.kubectl("get", "pods", "-l", selector, "-o", "json"))["items"]
        return [item for item in items if "deletionTimestamp" not in item["metadata"]]

    def all_pods(self) -> set[str]:
        """Return the names of all pods, including those being deleted."""
        return set(self.kubectl("get", "pods", "-o", "jsonpath={.items[*].metadata.name}").split())

    def log_lines(self, pod: str) -> list[str]:
        """Return the log lines of a pod."""
        return self.kubectl("logs", pod).splitlines()

    def memory(self) -> dict[str, int]:
        """Return the bytes in use by each pod's container, once the kubelet has measured all of them."""

        def measured() -> dict[str, int] | None:
            path = f"/api/v1/nodes/{NODE_NAME}/proxy/stats/summary"
            pods = json.loads(self.cluster.kubectl("get", "--raw", path))["pods"]
            used = {
                pod["podRef"]["name"]: container.get("memory", {}).get("workingSetBytes", 0)
                for pod in pods
                if pod["podRef"]["namespace"] == SYSTEM_NAMESPACE
                for container in pod.get("containers", [])
            }
            names = {pod["metadata"]["name"] for component in COMPONENTS for pod in self.pods(component)}
            return used if names <= used.keys() and all(used[name] for name in names) else None

        return wait_until(measured, timeout=DEADLINE_SECONDS, what="the kubelet's figures", interval=1.0)

    def leader(self) -> str:
        """Return the name of the leader's pod, or an empty string without a leader."""
        holder = self.kubectl("get", "lease", "xapp-operator", "-o", "jsonpath={.spec.holderIdentity}")
        return holder.partition("/")[0]

    def kill(self, pod: str) -> None:
        """Kill the container of a pod, from outside."""
        (status,) = json.loads(self.kubectl("get", "pod", pod, "-o", "json"))["status"]["containerStatuses"]
        self._run_ctr("tasks", "kill", "--signal", "SIGKILL", status["containerID"].rpartition("/")[2])

    def containers(self) -> list[str]:
        """Return the ids of the containers that run on the node. The kubelet removes ended ones after a while."""
        return self._run_ctr("tasks", "list", "--quiet").split()

    def objects(self) -> set[str]:
        """Return kind, namespace and name of all objects, except those that come and go or belong to nodes."""
        listed = self.cluster.kubectl("api-resources", "--verbs=list", "-o", "name").split()
        kinds = sorted(set(listed) - _TRANSIENT_KINDS - _NODE_KINDS)
        template = '{range .items[*]}{.kind}{" "}{.metadata.namespace}{"/"}{.metadata.name}{"\\n"}{end}'
        found = self.cluster.kubectl("get", ",".join(kinds), "--all-namespaces", "-o", f"jsonpath={template}")
        return set(found.splitlines())

    def audit_events(self) -> list[Json]:
        """Return the events of the audit log."""
        log = self.cluster.audit_log
        assert log is not None
        return read_audit_events(log)

    def forbidden_requests(self) -> list[tuple[str, str, str]]:
        """Return user, verb and address of the forbidden requests of the system's accounts."""
        own = f"system:serviceaccount:{SYSTEM_NAMESPACE}:"
        return [
            (event["user"]["username"], event["verb"], event["requestURI"])
            for event in self.audit_events()
            if event["user"]["username"].startswith(own)
            and event.get("responseStatus", {}).get("code") == HTTPStatus.FORBIDDEN
        ]

    def _run_ctr(self, *arguments: str) -> str:
        record = HostResources.read(self.local.layout.node_record)
        assert record is not None
        enclosure = NodeNamespaces(holder_pid=self.local.state().processes[NAMESPACE_HOLDER].pid, host_resources=record)
        program = Binaries().resolve(["ctr"])["ctr"]
        socket = "/run/containerd/containerd.sock"
        return enclosure.run([str(program), "--address", socket, "-n", "k8s.io", *arguments])
