"""Where the processes of a control plane run: on the machine's loopback, or in a node's network."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.localcluster.ports import LOOPBACK


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where the processes of a cluster run."""

    address: str = LOOPBACK
    """The address of the API server. With a real node, an address that its pods can reach."""
    command_prefix: Sequence[str] = ()
    """Precedes a command, so that it runs there."""

    @property
    def has_real_node(self) -> bool:
        """Whether a kubelet runs here, which the API server has to admit."""
        return self.address != LOOPBACK
