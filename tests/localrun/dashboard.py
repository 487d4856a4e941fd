"""Builds the dashboard beside the programs of the cluster; see `hack/dashboard`."""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread

from tests.localcluster.processes import kill_group, parent_bound_command

_TAIL_LINES = 20


class DashboardFailed(Exception):
    """The dashboard was not built; the message ends with the output of the build."""


class DashboardBuild:
    """A build that runs until it ends or is stopped."""

    def __init__(self, command: Sequence[str], *, folder: Path, progress: Callable[[str], None]) -> None:
        """Start it in ``folder``, and report every line of its output."""
        self._progress = progress
        self._lines: list[str] = []
        self._process = subprocess.Popen(
            parent_bound_command(command),
            cwd=folder,
            env={**os.environ, "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            process_group=0,
        )
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def check(self) -> bool:
        """Return whether it has succeeded, and False while it runs. Raises DashboardFailed."""
        if self._process.poll() is None:
            return False
        self._reader.join(timeout=1.0)
        if self._process.returncode != 0:
            raise DashboardFailed("the dashboard was not built:\n" + "\n".join(self._lines[-_TAIL_LINES:]))
        return True

    def stop(self) -> None:
        """End it, with all that it has started."""
        kill_group(self._process)
        if self._process.stdout:
            self._reader.join(timeout=1.0)
            self._process.stdout.close()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            if line.strip():
                self._lines.append(line.rstrip())
                self._progress(f"dashboard: {self._lines[-1]}")
        if self._lines:
            self._progress(f"dashboard: {'failed' if self._process.wait() else 'built'}")
