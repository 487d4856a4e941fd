"""A real control plane on loopback, in seconds, without Docker, root or a network: ``python -m tests.localcluster``.

What is public: LocalCluster (start, stop, break), choose_nodes (simulated ones, or a real one besides), Cluster (the
way into a running one) and Binaries (where helm, kubectl and the others are). The supervisor process owns everything
that runs; see its docstring.
"""

from tests.localcluster.access import Cluster, KubectlFailed
from tests.localcluster.binaries import Binaries
from tests.localcluster.cluster import ClusterFailed, ClusterNotRunning, ClusterRunning, LocalCluster
from tests.localcluster.gobuild import BuildFailed
from tests.localcluster.node_choice import choose_nodes

__all__ = [
    "Binaries",
    "BuildFailed",
    "Cluster",
    "ClusterFailed",
    "ClusterNotRunning",
    "ClusterRunning",
    "KubectlFailed",
    "LocalCluster",
    "choose_nodes",
]
