"""The real node that joins `make run` after the samples are Ready.

``python -m tests.localrun.background FOLDER`` gets the programs of the node at the lowest priority, lets the node join
the cluster in FOLDER, and loads the image of the samples. `BackgroundProcess` runs it beside operator and gateway.
"""

import os
import signal
import sys
from pathlib import Path
from types import FrameType

from tests.localcluster import Binaries, BuildFailed, ClusterFailed, ClusterNotRunning, LocalCluster
from tests.localcluster.processes import ChildProcess, ProcessSpec, stop_all
from tests.localcluster.progress import print_progress
from tests.localcluster.realnode.namespaces import NamespacesFailed
from tests.localcluster.waiting import DeadlineExceeded
from tests.localrun.image import sample_image

NAME = "real-node-build"
_LOWEST_PRIORITY = 19
_INTERRUPTED = 130
_STOP_SECONDS = 15.0
_EXPECTED_ERRORS = (BuildFailed, ClusterFailed, ClusterNotRunning, DeadlineExceeded, NamespacesFailed)


class BackgroundFailed(Exception):
    """The process ended with an error; the message is the last line of its log."""


class BackgroundProcess:
    """A process that runs once. Create it in the main thread (see ChildProcess)."""

    def __init__(self, spec: ProcessSpec, *, logs: Path, folder: Path) -> None:
        """Start it in ``folder``, with its output in a file of ``logs``."""
        self._child = ChildProcess(spec, log=logs / f"{spec.name}.log", folder=folder)

    @property
    def log(self) -> Path:
        """The file with its output."""
        return self._child.log

    def succeeded(self) -> bool:
        """Return whether it has ended, and False while it runs. Raises BackgroundFailed."""
        if self._child.exit_code:
            lines = self._child.tail().strip().splitlines()
            raise BackgroundFailed(lines[-1] if lines else f"it ended with code {self._child.exit_code}")
        return self._child.exit_code == 0

    def stop(self) -> None:
        """End it, if it still runs."""
        stop_all([self._child], timeout=_STOP_SECONDS)


def join_real_node_process(folder: Path) -> ProcessSpec:
    """Describe the process that lets a real node join the cluster in ``folder``."""
    argv = (sys.executable, "-m", "tests.localrun.background", str(folder))
    return ProcessSpec(name=NAME, argv=argv, environment={"PYTHONUNBUFFERED": "1"})


def main(arguments: list[str]) -> int:
    """Let the real node join. The last line of the output is the reason if that fails."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    os.nice(_LOWEST_PRIORITY)
    cluster = LocalCluster(Path(arguments[0]))
    try:
        image = sample_image(Binaries())
        cluster.join_real_node()
        cluster.load_image(image)
    except _EXPECTED_ERRORS as error:
        print_progress(str(error))
        print_progress(str(error).partition("\n")[0])
        return 1
    except KeyboardInterrupt:
        print_progress("stopped")
        return _INTERRUPTED
    return 0


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
