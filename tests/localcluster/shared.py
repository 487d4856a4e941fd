"""One cluster for the workers of a test run: the first worker that needs it starts it.

The workers share only the folder; the main process of the run is the owner.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.localcluster.access import Cluster
from tests.localcluster.filelock import lock
from tests.localcluster.layout import ClusterLayout
from tests.localcluster.processes import ProcessIdentity
from tests.localcluster.providers import Provider

_START_SECONDS = 60 * 60
"""The start may include building all programs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedCluster:
    """A cluster in a folder, started at most once, and stopped by the owner."""

    provider: Provider
    folder: Path
    owner: ProcessIdentity

    def get(self) -> Cluster:
        """Return the cluster, after starting it if no other process did."""
        with lock(self.folder / "start.lock", timeout=_START_SECONDS):
            if self._started_marker.exists():
                return self.provider.attach(self.folder)
            cluster = self.provider.start(self.folder, owner=self.owner)
            self._started_marker.touch()
            return cluster

    def stop(self, *, logs_to: Path | None = None) -> bool:
        """Stop the cluster if it was started, remove its folder, and return whether there are logs at ``logs_to``."""
        if not self.folder.exists():
            return False
        self.provider.stop(self.folder)
        logs = [
            path for path in (ClusterLayout(self.folder).logs, ClusterLayout(self.folder).audit_log) if path.exists()
        ]
        if logs_to and logs:
            shutil.rmtree(logs_to, ignore_errors=True)
            logs_to.mkdir(parents=True)
            for path in logs:
                shutil.move(path, logs_to / path.name)
        shutil.rmtree(self.folder, ignore_errors=True)
        return bool(logs_to and logs)

    @property
    def _started_marker(self) -> Path:
        return self.folder / "started"
