"""A user who runs helm without the operator."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.localcluster import Cluster


@dataclass(frozen=True, slots=True)
class HelmUser:
    """Runs helm in one namespace; charts are written to `folder`."""

    cluster: Cluster
    namespace: str
    folder: Path

    def install(self, release: str, archive: bytes, **values: str) -> None:
        """Run a plain `helm install`."""
        self._helm("install", release, self._write_chart(archive), *_set_string_flags(values))

    def install_client_side(self, release: str, archive: bytes) -> None:
        """Install without server-side apply, as Helm 3 does."""
        self._helm("install", release, self._write_chart(archive), "--server-side=false")

    def upgrade(self, release: str, archive: bytes, **values: str) -> None:
        """Run a plain `helm upgrade`."""
        self._helm("upgrade", release, self._write_chart(archive), *_set_string_flags(values))

    def roll_back(self, release: str, revision: int) -> None:
        """Run a plain `helm rollback`."""
        self._helm("rollback", release, str(revision))

    def run_tests(self, release: str) -> bool:
        """Run a plain `helm test`; return whether all tests passed."""
        return self._run("test", release, "--timeout", "60s").returncode == 0

    def uninstall(self, release: str, *, keep_history: bool = False) -> None:
        """Run a plain `helm uninstall`."""
        self._helm("uninstall", release, *(["--keep-history"] if keep_history else []))

    def history(self, release: str) -> list[dict[str, Any]]:
        """Return the revisions that `helm history` lists, oldest first."""
        found: list[dict[str, Any]] = json.loads(self._helm("history", release, "-o", "json"))
        return found

    def releases(self) -> set[str]:
        """Return the names of the releases that are stored in the namespace."""
        listed = self.cluster.kubectl(
            "-n",
            self.namespace,
            "get",
            "secrets",
            "-l",
            "owner=helm",
            "-o",
            "jsonpath={.items[*].metadata.labels.name}",
        )
        return set(listed.split())

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.cluster.helm_path, "-n", self.namespace, *arguments],
            env=self.cluster.env,
            capture_output=True,
            text=True,
            check=False,
        )

    def _helm(self, *arguments: str) -> str:
        done = self._run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _write_chart(self, archive: bytes) -> str:
        path = self.folder / "chart.tgz"
        path.write_bytes(archive)
        return str(path)


def _set_string_flags(values: dict[str, str]) -> list[str]:
    return [part for name, value in values.items() for part in ("--set-string", f"{name}={value}")]
