"""Kinds of nodes that a cluster can have.

A kind says which processes it needs beside the control plane and which objects make its nodes known. The control plane
knows nothing of any kind; a kubelet with real containers is one more class here and one more line in NODE_KINDS.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.localcluster.client import ApiClient
from tests.localcluster.controlplane import ControlPlane
from tests.localcluster.kwok import Simulation
from tests.localcluster.layout import Layout
from tests.localcluster.processes import ProcessSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeContext:
    """What a kind of nodes gets to work with."""

    layout: Layout
    plane: ControlPlane
    binaries: Mapping[str, Path]
    kubelet_port: int


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
    return Simulation(
        layout=context.layout,
        program=context.binaries["kwok"],
        kubeconfig=context.plane.kubeconfig_for("simulated-nodes", group="system:masters"),
        serving=context.plane.issue("kwok"),
        port=context.kubelet_port,
        count=count,
    )


NODE_KINDS = {"simulated": _simulated}
