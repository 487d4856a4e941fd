"""One cluster for several processes that start at the same time: the first that needs it starts it.

Used by the test workers of one run. The folder is all that they share; the run's main process is the owner.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.localcluster.access import Cluster
from tests.localcluster.filelock import lock
from tests.localcluster.processes import Identity
from tests.localcluster.providers import Provider

_START_SECONDS = 60 * 60
"""A start may include building everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedCluster:
    """A cluster in a folder, started at most once, ended by the owner."""

    provider: Provider
    folder: Path
    owner: Identity

    def get(self) -> Cluster:
        """Return the cluster, started first when nobody did."""
        with lock(self.folder / "start.lock", timeout=_START_SECONDS):
            if self._started.exists():
                return self.provider.attach(self.folder)
            cluster = self.provider.start(self.folder, owner=self.owner)
            self._started.touch()
            return cluster

    def end(self, *, keep_logs: bool) -> None:
        """End the cluster if it was started, and remove the folder or leave the logs in it."""
        if not self.folder.exists():
            return
        self.provider.stop(self.folder)
        if not keep_logs:
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _started(self) -> Path:
        return self.folder / "started"
