"""Chooses the nodes of a cluster by the value of the variable NODE.

``simulated`` needs no privileges. ``real`` adds a real node, and fails where the machine cannot run one. ``auto`` adds
a real node where the machine can run one, and otherwise prints the reason in one line.
"""

import os
from pathlib import Path

from tests.localcluster.binaries import Binaries
from tests.localcluster.gobuild import BuildFailed
from tests.localcluster.progress import ProgressCallback, print_progress
from tests.localcluster.realnode.prerequisites import real_node_obstacle
from tests.localcluster.tools import NODE_TOOLS

NODE_VARIABLE = "NODE"
NODE_CHOICES = ("simulated", "real", "auto")
DEFAULT_SIMULATED = 2


def choose_nodes(
    choice: str | None = None,
    *,
    folder: Path,
    default: str = "simulated",
    simulated: int = DEFAULT_SIMULATED,
    progress: ProgressCallback = print_progress,
) -> dict[str, int]:
    """Return the number of nodes of each kind for a cluster in ``folder``.

    Without ``choice`` the variable NODE decides, and without it ``default``. Raises ValueError for an unknown value.
    """
    chosen = choice or os.environ.get(NODE_VARIABLE) or default
    if chosen not in NODE_CHOICES:
        raise ValueError(f"{NODE_VARIABLE}={chosen} is not known; use one of: {', '.join(NODE_CHOICES)}")
    nodes = {"simulated": simulated}
    if chosen == "simulated":
        return nodes
    reason = (real_node_obstacle(folder) or _node_tools_build_error(progress)) if chosen == "auto" else None
    if reason is None:
        return {**nodes, "real": 1}
    progress(f"simulated nodes only: {reason}")
    return nodes


def _node_tools_build_error(progress: ProgressCallback) -> str | None:
    try:
        Binaries(progress=progress).resolve(NODE_TOOLS)
    except BuildFailed as error:
        return str(error).partition("\n")[0]
    return None
