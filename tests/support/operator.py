"""The operator as a process, which tests start, kill and restart."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.localcluster import Cluster
from tests.localcluster.processes import ChildProcess, ProcessSpec, stop_all

STOP_SECONDS = 60.0
SYSTEM_NAMESPACE = "xapp-operator-system"


class OperatorProcess:
    """`xapp-operator run` against `cluster`, with its log and its cache in `folder`."""

    def __init__(self, cluster: Cluster, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        self.log = folder / "operator.log"
        self.settings = dict(settings or {})
        program = Path(sys.executable).parent / "xapp-operator"
        environment = {
            "KUBECONFIG": str(cluster.kubeconfig),
            "XAPP_ALLOW_OPERATOR_IDENTITY": "true",
            "XAPP_ALLOW_LOOPBACK_REPOSITORIES": "true",
            "XAPP_HELM": str(cluster.helm_path),
            "XAPP_CACHE_DIR": str(folder / "cache"),
            "XAPP_LEADER_ELECTION_NAMESPACE": SYSTEM_NAMESPACE,
            "XAPP_PROBE_HOST": "127.0.0.1",
            "XAPP_PROBE_PORT": "0",
            "XAPP_METRICS_PORT": "0",
            **self.settings,
        }
        self._spec = ProcessSpec(name="operator", argv=(str(program), "run"), environment=environment)
        self._child: ChildProcess | None = None

    @property
    def running(self) -> bool:
        return self._child is not None and not self._child.ended

    @property
    def pid(self) -> int:
        assert self._child is not None
        identity = self._child.identity
        assert identity is not None, "the operator has ended"
        return identity.pid

    @property
    def exit_code(self) -> int | None:
        """Return with which code the process ended; negative for a signal, None while it runs."""
        return self._child.exit_code if self._child is not None else None

    def start(self) -> None:
        assert not self.running
        self._child = ChildProcess(self._spec, log=self.log)

    def stop(self) -> None:
        """Stop it with SIGTERM."""
        if self._child is not None:
            stop_all([self._child], timeout=STOP_SECONDS)

    def kill(self) -> None:
        """Kill it, as a crash would."""
        self.send_signal(signal.SIGKILL)
        assert self._child is not None
        assert self._child.wait(STOP_SECONDS)

    def send_signal(self, number: signal.Signals) -> None:
        assert self._child is not None
        self._child.send_signal(number)

    def error_lines(self) -> list[str]:
        """Return the log lines of level error."""
        return [line for line in self.log_text().splitlines() if re.search('"level": ?"error"', line)]

    def log_text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
