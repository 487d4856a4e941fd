"""A real control plane on loopback without Docker, root or a network: ``python -m tests.localcluster``.

The public names are LocalCluster (start, stop and break a cluster), choose_nodes (simulated nodes, or a real one in
addition), Cluster (access to a running cluster) and Binaries (the paths of helm, kubectl and the other programs). The
supervisor process owns everything that runs; see its docstring.
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
