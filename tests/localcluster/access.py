"""Access to a running cluster, whichever provider runs it."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_KUBECTL_SECONDS = 120.0


class KubectlFailed(Exception):
    """kubectl ended with an error; the message contains its standard error."""


def run_kubectl(
    program: Path,
    arguments: Sequence[str],
    *,
    kubeconfig: Path | None = None,
    standard_input: str | None = None,
    timeout: float = _KUBECTL_SECONDS,
) -> str:
    """Run kubectl, at most ``timeout`` seconds, and return its standard output.

    Without ``kubeconfig``, kubectl uses its default. Raises KubectlFailed, subprocess.TimeoutExpired.
    """
    answer = subprocess.run(
        [program, *arguments],
        env={**os.environ, **({"KUBECONFIG": str(kubeconfig)} if kubeconfig else {})},
        input=standard_input or "",
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if answer.returncode != 0:
        raise KubectlFailed(f"kubectl {' '.join(arguments)}: {answer.stderr.strip()}")
    return answer.stdout


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Address and credentials of a cluster's administrator, and the programs for it."""

    kubeconfig: Path
    server: str
    token: str
    """The administrator's bearer token."""
    kubectl_path: Path
    helm_path: Path
    audit_log: Path | None = None
    """The API server's audit log, or None where it cannot be read."""
    node_address: str | None = None
    """Address of the real node, which serves node ports, or None without a real node."""
    advertise_address: str | None = None
    """The same address, also before the real node joins."""

    @property
    def env(self) -> dict[str, str]:
        """The environment of this process, with KUBECONFIG set, and kubectl and helm first in PATH."""
        folders = [str(self.kubectl_path.parent), str(self.helm_path.parent), os.environ.get("PATH", os.defpath)]
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "PATH": os.pathsep.join(folders)}

    def kubectl(
        self,
        *arguments: str,
        input: str | None = None,  # noqa: A002  (the name that subprocess uses)
        timeout: float = _KUBECTL_SECONDS,
    ) -> str:
        """Run kubectl with ``input`` on its standard input and return its standard output; see run_kubectl."""
        return run_kubectl(
            self.kubectl_path, arguments, kubeconfig=self.kubeconfig, standard_input=input, timeout=timeout
        )
