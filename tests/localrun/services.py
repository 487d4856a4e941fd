"""Operator and gateway as children: started, started again when they die, ended.

They are the console script of this environment with the checkout as working directory, each with its output in a log.
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
"""Between a death and the next start: the first time, the second, and every time after that."""
_RESET_SECONDS = 30.0
"""One that lived this long begins again with the shortest pause."""
_STOP_SECONDS = 15.0
_MAX_START_EXITS = 4
"""One that dies this often while all is started will not come up."""

OPERATOR, GATEWAY = "operator", "gateway"


class ServiceFailed(Exception):
    """A child does not come up; the message ends with the last lines of its log."""


@dataclass(slots=True)
class _ServiceState:
    child: ChildProcess
    started_at: float
    exit_count: int = 0
    restart_at: float | None = None


class Services:
    """Children that are cared for: call `tend` often, from the main thread (see Child)."""

    def __init__(self, specs: Sequence[ProcessSpec], *, logs: Path, folder: Path, say: Callable[[str], None]) -> None:
        self._logs = logs
        self._folder = folder
        self._say = say
        self._states = {spec.name: _ServiceState(self._launch(spec), time.monotonic()) for spec in specs}
        self.all_started = False
        """Set when all has come up: from then on a child that keeps dying is started again for ever."""

    def restart_ended(self) -> None:
        """Start again what has died, after a short pause. Raises ServiceFailed before all is settled."""
        now = time.monotonic()
        for name, life in self._states.items():
            if not life.child.ended:
                continue
            if life.restart_at is None:
                self._record_exit(name, life, now)
            elif now >= life.restart_at:
                life.child, life.started_at, life.restart_at = self._launch(life.child.spec), now, None
                self._say(f"{name}: started again")

    def stop(self) -> None:
        """End all of them."""
        stop_all([life.child for life in self._states.values()], timeout=_STOP_SECONDS)

    def _launch(self, spec: ProcessSpec) -> ChildProcess:
        return ChildProcess(spec, log=self._logs / f"{spec.name}.log", folder=self._folder)

    def _record_exit(self, name: str, life: _ServiceState, now: float) -> None:
        life.exit_count = 1 if now - life.started_at >= _RESET_SECONDS else life.exit_count + 1
        if not self.all_started and life.exit_count >= _MAX_START_EXITS:
            raise ServiceFailed(f"{name} does not come up. The end of its log:\n{life.child.tail()}")
        pause = RESTART_SECONDS[min(life.exit_count, len(RESTART_SECONDS)) - 1]
        life.restart_at = now + pause
        self._say(f"{name}: has ended; starting it again in {pause:.0f} s (its log: {self._logs / name}.log)")


def service_specs(*, cluster: Cluster, auth: str, port: int, cache: Path, namespace: str) -> list[ProcessSpec]:
    """Describe operator and gateway for this cluster; ``cache`` is where charts are kept between runs."""
    program = str(Path(sys.prefix) / "bin" / "xapp-operator")
    common = {
        "KUBECONFIG": str(cluster.kubeconfig),
        "XAPP_HELM": str(cluster.helm_path),
        "XAPP_ALLOW_LOOPBACK_REPOSITORIES": "true",
        "XAPP_LOG_FORMAT": "console",
        "PYTHONUNBUFFERED": "1",
        **({"XAPP_CLUSTER_ADVERTISE_ADDRESS": cluster.node_address} if cluster.node_address else {}),
    }
    operator: Mapping[str, str] = {
        "XAPP_ALLOW_OPERATOR_IDENTITY": "true",
        "XAPP_LEADER_ELECTION_NAMESPACE": namespace,
        "XAPP_PROBE_HOST": LOOPBACK,
        "XAPP_PROBE_PORT": "0",
        "XAPP_CACHE_DIR": str(cache / OPERATOR),
    }
    gateway: Mapping[str, str] = {
        "XAPP_AUTH": auth,
        "XAPP_HOST": LOOPBACK,
        "XAPP_PORT": str(port),
        "XAPP_CACHE_DIR": str(cache / GATEWAY),
    }
    return [
        ProcessSpec(name=OPERATOR, argv=(program, "run"), environment={**common, **operator}),
        ProcessSpec(name=GATEWAY, argv=(program, "gateway"), environment={**common, **gateway}),
    ]
