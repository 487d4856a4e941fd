"""A running cluster as tests and commands see it, whoever runs it."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

_KUBECTL_SECONDS = 120.0


class KubectlFailed(Exception):
    """kubectl ended with an error; the message is what it said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """How to reach a cluster as its administrator, and the programs for it."""

    kubeconfig: Path
    server: str
    token: str
    """The administrator's bearer token."""
    kubectl_path: Path
    helm_path: Path
    audit_log: Path | None = None
    """The API server's audit log, where there is one within reach."""

    @property
    def env(self) -> dict[str, str]:
        """The environment of this process, with KUBECONFIG set and kubectl and helm in front of PATH."""
        folders = [str(self.kubectl_path.parent), str(self.helm_path.parent), os.environ.get("PATH", os.defpath)]
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "PATH": os.pathsep.join(folders)}

    def kubectl(
        self,
        *arguments: str,
        input: str | None = None,  # noqa: A002  (the name that subprocess uses)
        timeout: float = _KUBECTL_SECONDS,
    ) -> str:
        """Run kubectl and return its standard output. Raises KubectlFailed, subprocess.TimeoutExpired.

        ``input`` goes to its standard input (``apply -f -``); ``timeout`` is in seconds.
        """
        answer = subprocess.run(
            [self.kubectl_path, *arguments],
            env=self.env,
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if answer.returncode != 0:
            raise KubectlFailed(f"kubectl {' '.join(arguments)}: {answer.stderr.strip()}")
        return answer.stdout
