"""Which nodes a cluster gets, by one word: the value of the variable NODE.

``simulated`` needs no rights; ``real`` fails where the machine cannot; ``auto`` takes what the machine can and says
in one line why when that is less. There are simulated nodes in every case.
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

    Without ``choice`` the variable NODE decides, and without that ``default``. Raises ValueError for another word.
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
