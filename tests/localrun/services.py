"""Runs operator and gateway as child processes, and restarts them when they end.

They run the console script of this environment in the checkout, each with its output in a log.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.localcluster import Cluster
from tests.localcluster.ports import LOOPBACK
from tests.localcluster.processes import ChildProcess, ProcessSpec, stop_all

RESTART_SECONDS = (1.0, 2.0, 4.0)
"""Pauses before a restart: the first, the second, and every later one."""
_RESET_SECONDS = 30.0
"""A service that ran this long starts again with the shortest pause."""
_STOP_SECONDS = 15.0
_MAX_START_EXITS = 4
"""A service that ends this often during the start fails it."""

OPERATOR, GATEWAY = "operator", "gateway"


class ServiceFailed(Exception):
    """A service does not start; the message ends with the last lines of its log."""


@dataclass(slots=True)
class _ServiceState:
    child: ChildProcess
    started_at: float
    exit_count: int = 0
    restart_at: float | None = None


class Services:
    """Child processes that are restarted. Call `restart_ended` often, in the main thread (see ChildProcess)."""

    def __init__(self, specs: Sequence[ProcessSpec], *, logs: Path, folder: Path, say: Callable[[str], None]) -> None:
        self._logs = logs
        self._folder = folder
        self._say = say
        self._states = {spec.name: _ServiceState(self._launch(spec), time.monotonic()) for spec in specs}
        self.all_started = False
        """Set after the start: from then on, a service is restarted however often it ends."""

    def restart_ended(self) -> None:
        """Restart services that ended, after a pause. Raises ServiceFailed during the start if one ends too often."""
        now = time.monotonic()
        for name, life in self._states.items():
            if not life.child.ended:
                continue
            if life.restart_at is None:
                self._record_exit(name, life, now)
            elif now >= life.restart_at:
                life.child, life.started_at, life.restart_at = self._launch(life.child.spec), now, None
                self._say(f"{name}: restarted")

    def stop(self) -> None:
        """Stop all services."""
        stop_all([life.child for life in self._states.values()], timeout=_STOP_SECONDS)

    def _launch(self, spec: ProcessSpec) -> ChildProcess:
        return ChildProcess(spec, log=self._logs / f"{spec.name}.log", folder=self._folder)

    def _record_exit(self, name: str, life: _ServiceState, now: float) -> None:
        life.exit_count = 1 if now - life.started_at >= _RESET_SECONDS else life.exit_count + 1
        if not self.all_started and life.exit_count >= _MAX_START_EXITS:
            raise ServiceFailed(f"{name} does not start. The end of its log:\n{life.child.tail()}")
        pause = RESTART_SECONDS[min(life.exit_count, len(RESTART_SECONDS)) - 1]
        life.restart_at = now + pause
        self._say(f"{name}: ended; restarting it in {pause:.0f} s (log: {self._logs / name}.log)")


DEFAULT_PORT = 31315
METRICS_PORT = 31318
"""Port of the gateway's metrics, if the gateway has its default port; otherwise any free port."""


def service_specs(
    *, cluster: Cluster, auth: str, port: int, cache: Path, work: Path, namespace: str
) -> list[ProcessSpec]:
    """Describe operator and gateway for this cluster; ``cache`` keeps charts between runs, helm works in ``work``."""
    program = str(Path(sys.prefix) / "bin" / "xapp-operator")
    common = {
        "KUBECONFIG": str(cluster.kubeconfig),
        "XAPP_HELM": str(cluster.helm_path),
        "XAPP_ALLOW_LOOPBACK_REPOSITORIES": "true",
        "XAPP_LOG_FORMAT": "console",
        "PYTHONUNBUFFERED": "1",
        **({"XAPP_CLUSTER_ADVERTISE_ADDRESS": cluster.advertise_address} if cluster.advertise_address else {}),
    }
    operator: Mapping[str, str] = {
        "XAPP_ALLOW_OPERATOR_IDENTITY": "true",
        "XAPP_LEADER_ELECTION_NAMESPACE": namespace,
        "XAPP_PROBE_HOST": LOOPBACK,
        "XAPP_PROBE_PORT": "0",
        "XAPP_METRICS_PORT": "0",
        "XAPP_CACHE_DIR": str(cache / OPERATOR),
        "XAPP_WORK_DIR": str(work / OPERATOR),
    }
    gateway: Mapping[str, str] = {
        "XAPP_AUTH": auth,
        "XAPP_HOST": LOOPBACK,
        "XAPP_PORT": str(port),
        "XAPP_METRICS_PORT": str(METRICS_PORT if port == DEFAULT_PORT else 0),
        "XAPP_CACHE_DIR": str(cache / GATEWAY),
        "XAPP_WORK_DIR": str(work / GATEWAY),
    }
    return [
        ProcessSpec(name=OPERATOR, argv=(program, "run"), environment={**common, **operator}),
        ProcessSpec(name=GATEWAY, argv=(program, "gateway"), environment={**common, **gateway}),
    ]
