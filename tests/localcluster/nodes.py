"""Kinds of nodes that a cluster can have.

A kind says which processes it needs beside the control plane and which objects make its nodes known. The control plane
knows nothing of any kind but where it is to run: beside a real node, in that node's network.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeContext:
    """What a kind of nodes gets to work with."""

    layout: ClusterLayout
    plane: ControlPlane
    binaries: Mapping[str, Path]
    kubelet_port: int
    node_namespaces: NodeEnvironment | None
    """The namespaces for a real node, where there is to be one."""


class NodeKind(Protocol):
    """Some nodes of one kind."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the Node objects to wait for."""

    def processes(self) -> Iterable[ProcessSpec]:
        """Write what the processes need and describe them; called before anything runs."""

    def register(self, client: ApiClient) -> None:
        """Create the objects of the nodes; called when the API server answers."""


def make_nodes(kinds: Mapping[str, int], context: NodeContext) -> list[NodeKind]:
    """Make the kinds by name, each with its number of nodes. Raises ValueError for an unknown kind."""
    unknown = sorted(set(kinds) - set(NODE_KINDS))
    if unknown:
        raise ValueError(f"unknown kind of nodes {unknown[0]!r}; known: {', '.join(NODE_KINDS)}")
    return [NODE_KINDS[name](context, count) for name, count in kinds.items() if count > 0]


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
