"""Chooses the nodes of a cluster by the value of the variable NODE.

``simulated`` needs no privileges. ``real`` adds a real node, and fails where the machine cannot run one. ``auto`` adds
a real node where the machine can run one, and otherwise prints the reason in one line.
"""

import os
from pathlib import Path

from tests.localcluster.binaries import Binaries, build_seconds, minutes_text
from tests.localcluster.gobuild import BuildFailed
from tests.localcluster.progress import ProgressCallback, print_progress
from tests.localcluster.realnode.prerequisites import real_node_obstacle
from tests.localcluster.start_request import JOINING
from tests.localcluster.tools import CONTROL_PLANE, NODE_TOOLS, TOOLS

NODE_VARIABLE = "NODE"
NODE_CHOICES = ("simulated", "real", "auto")
DEFAULT_SIMULATED = 2


def choose_nodes(
    choice: str | None = None,
    *,
    folder: Path,
    default: str = "simulated",
    simulated: int = DEFAULT_SIMULATED,
    may_join: bool = False,
    progress: ProgressCallback = print_progress,
) -> dict[str, int]:
    """Return the number of nodes of each kind for a cluster in ``folder``.

    Without ``choice`` the variable NODE decides, and without it ``default``. For ``auto``, missing programs of the real
    node are built now, or with ``may_join`` left to the caller, whose real node joins later. Raises ValueError for an
    unknown value.
    """
    chosen = choice or os.environ.get(NODE_VARIABLE) or default
    if chosen not in NODE_CHOICES:
        raise ValueError(f"{NODE_VARIABLE}={chosen} is not known; use one of: {', '.join(NODE_CHOICES)}")
    nodes = {"simulated": simulated}
    if chosen == "simulated":
        return nodes
    if chosen == "real":
        return {**nodes, "real": 1}
    binaries = Binaries(progress=progress)
    missing = binaries.missing(NODE_TOOLS.values())
    reason = real_node_obstacle(folder)
    if reason is None and missing and may_join:
        seconds = build_seconds(missing, after=[TOOLS[name] for name in CONTROL_PLANE])
        progress(
            "simulated nodes first: missing programs of the real node are downloaded or built afterwards, in the "
            f"background, once per machine; a build of them takes about {minutes_text(seconds)} here"
        )
        return {**nodes, JOINING: 1}
    reason = reason or _node_tools_build_error(binaries)
    if reason is None:
        return {**nodes, "real": 1}
    progress(f"simulated nodes only: {reason}")
    return nodes


def _node_tools_build_error(binaries: Binaries) -> str | None:
    try:
        binaries.resolve(NODE_TOOLS)
    except BuildFailed as error:
        return str(error).partition("\n")[0]
    return None
