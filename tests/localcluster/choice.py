"""Which nodes a cluster gets, by one word: the value of the variable NODE.

``simulated`` needs no rights; ``real`` fails where the machine cannot; ``auto`` takes what the machine can and says
in one line why when that is less. There are simulated nodes in every case.
"""

import os
from pathlib import Path

from tests.localcluster.binaries import Binaries
from tests.localcluster.gobuild import BuildFailed
from tests.localcluster.progress import Progress, to_stderr
from tests.localcluster.realnode.detect import why_not
from tests.localcluster.tools import NODE_TOOLS

VARIABLE = "NODE"
CHOICES = ("simulated", "real", "auto")
DEFAULT_SIMULATED = 2


def choose_nodes(
    choice: str | None = None,
    *,
    folder: Path,
    default: str = "simulated",
    simulated: int = DEFAULT_SIMULATED,
    progress: Progress = to_stderr,
) -> dict[str, int]:
    """Return the number of nodes of each kind for a cluster in ``folder``.

    Without ``choice`` the variable NODE decides, and without that ``default``. Raises ValueError for another word.
    """
    word = choice or os.environ.get(VARIABLE) or default
    if word not in CHOICES:
        raise ValueError(f"{VARIABLE}={word} is not known; use one of: {', '.join(CHOICES)}")
    nodes = {"simulated": simulated}
    if word == "simulated":
        return nodes
    reason = (why_not(folder) or _unbuilt(progress)) if word == "auto" else None
    if reason is None:
        return {**nodes, "real": 1}
    progress(f"simulated nodes only: {reason}")
    return nodes


def _unbuilt(progress: Progress) -> str | None:
    try:
        Binaries(progress=progress).resolve(NODE_TOOLS)
    except BuildFailed as error:
        return str(error).partition("\n")[0]
    return None
