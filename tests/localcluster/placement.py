"""Where the processes of a control plane run and listen: on the machine's loopback, or in a node's namespaces."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.localcluster.ports import LOOPBACK


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A place for the processes of a cluster."""

    address: str = LOOPBACK
    """Where the API server listens; a machine address of a real node, for pods must reach it."""
    command_prefix: Sequence[str] = ()
    """What goes in front of a command, so that it runs there."""

    @property
    def has_real_node(self) -> bool:
        """Whether a kubelet runs here, which needs an API server that lets nodes in."""
        return self.address != LOOPBACK
