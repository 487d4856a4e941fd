"""The kinds of nodes that a cluster can have: simulated, real, and joining.

A kind describes the processes and objects of its nodes. The control plane depends on it only for its placement: with
a real node, it runs in that node's network. A joining node is a real one whose network is there from the start, and
whose programs start later (LocalCluster.join_real_node).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.localcluster.api_client import ApiClient
from tests.localcluster.controlplane import ControlPlane
from tests.localcluster.kwok import SimulatedNodes
from tests.localcluster.layout import ClusterLayout
from tests.localcluster.processes import ProcessSpec
from tests.localcluster.realnode.namespaces import NodeEnvironment
from tests.localcluster.realnode.node import RealNode
from tests.localcluster.start_request import JOINING


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeContext:
    """What a kind of nodes needs to create its processes and objects."""

    layout: ClusterLayout
    plane: ControlPlane
    binaries: Mapping[str, Path]
    kubelet_port: int
    node_namespaces: NodeEnvironment | None
    """The namespaces of the real node, or None without one."""


class NodeKind(Protocol):
    """The nodes of one kind."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the Node objects."""

    def processes(self) -> Iterable[ProcessSpec]:
        """Write the files of the processes and describe them. Called before anything runs."""

    def register(self, client: ApiClient) -> None:
        """Create the objects of the nodes. Called when the API server answers."""


def make_nodes(kinds: Mapping[str, int], context: NodeContext) -> list[NodeKind]:
    """Return the nodes of each kind that start with the cluster. Raises ValueError for an unknown kind."""
    known = [*NODE_KINDS, JOINING]
    unknown = sorted(set(kinds) - set(known))
    if unknown:
        raise ValueError(f"unknown kind of nodes {unknown[0]!r}; known: {', '.join(known)}")
    return [make(context, kinds[name]) for name, make in NODE_KINDS.items() if kinds.get(name)]


def _simulated(context: NodeContext, count: int) -> NodeKind:
    return SimulatedNodes(
        layout=context.layout,
        kwok_path=context.binaries["kwok"],
        kubeconfig=context.plane.kubeconfig_for("simulated-nodes", group="system:masters"),
        serving=context.plane.issue("kwok"),
        port=context.kubelet_port,
        count=count,
        command_prefix=context.plane.placement.command_prefix,
    )


def _real(context: NodeContext, count: int) -> NodeKind:
    if context.node_namespaces is None or count != 1:
        raise ValueError(f"{count} real nodes were asked for, but a cluster has one or none")
    return RealNode(
        layout=context.layout,
        plane=context.plane,
        binaries=context.binaries,
        enclosure=context.node_namespaces.namespaces,
        address=context.node_namespaces.subnet.node_address,
    )


NODE_KINDS = {"simulated": _simulated, "real": _real}
