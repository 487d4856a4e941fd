"""Everything that runs during a chaos run: the control plane, two operators, a chart repository; ended together."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.chaos.api_server_refusals import create_operator_account
from tests.chaos.helm_processes import COMMANDS, HelmProcess, HelmWatch, find_helm_processes
from tests.chaos.network_link import NetworkLink
from tests.chaos.operator_clock import OperatorClock
from tests.localcluster import Cluster, KubectlFailed, LocalCluster
from tests.localcluster.cluster import ROOT
from tests.localrun.cluster_setup import prepare_cluster
from tests.support.chart_server import ChartServer
from tests.support.operator import SYSTEM_NAMESPACE, OperatorProcess
from tests.support.small_disk import SmallDisk, mounted_disk

LEASE_SECONDS: Final = 6
SETTINGS: Final = {"XAPP_LEASE_SECONDS": str(LEASE_SECONDS)}
POLL_SECONDS: Final = 0.3
LEADER_SECONDS: Final = 60.0
EVENTS_SECONDS: Final = 10.0


class NoLeader(Exception):
    """No operator leads."""


class System:
    """As a context manager, starts and ends all processes."""

    def __init__(self, folder: Path) -> None:
        self.local = LocalCluster(folder / "cluster")
        self._folder = folder
        self._stack = ExitStack()
        self.cluster: Cluster
        self.replicas: dict[str, OperatorProcess] = {}
        self.links: dict[str, NetworkLink] = {}
        """The network of each replica."""
        self.disks: dict[str, SmallDisk] = {}
        """The disk of each replica, where it could be mounted."""
        self.clocks: dict[str, OperatorClock | None] = {}
        self.charts = ChartServer()
        self._helm_folders: dict[str, Path] = {}
        self._read: dict[str, int] = {}
        self._events: dict[str, int] = {}

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.cluster = stack.enter_context(self.local)
            prepare_cluster(self.cluster, ROOT)
            stack.enter_context(self.charts)
            token = create_operator_account(self.cluster)
            for name in ("one", "two"):
                home = self._folder / name
                home.mkdir()
                link = self.links[name] = NetworkLink(self.cluster)
                stack.callback(link.close)
                if disk := stack.enter_context(mounted_disk(home / "cache")):
                    self.disks[name] = disk
                clock = self.clocks[name] = OperatorClock.build(home)
                settings = {**SETTINGS, **(clock.environment if clock else {})}
                behind = link.cluster_behind(home / "kubeconfig", token=token)
                replica = OperatorProcess(behind, home, settings)
                stack.callback(replica.stop)
                replica.start()
                self.replicas[name] = replica
                self._helm_folders[name] = home.resolve() / "cache" / "helm"
            self.helm_watch = HelmWatch(self._helm_folders)
            self.helm_watch.start()
            stack.callback(self.helm_watch.close)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def tend(self) -> None:
        """Start operators that have ended again, as the kubelet does."""
        for replica in self.replicas.values():
            if not replica.running:
                replica.start()

    def pause(self, seconds: float) -> None:
        """Let time pass, for a fault that lasts."""
        self.wait(lambda: False, seconds)

    def wait(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until `condition` is true, and tell whether it was. An API server that does not answer means no."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.tend()
            try:
                if condition():
                    return True
            except (KubectlFailed, subprocess.TimeoutExpired):
                pass
            time.sleep(min(POLL_SECONDS, max(deadline - time.monotonic(), 0)))
        return False

    def leader(self) -> OperatorProcess:
        """Return the operator that holds the Lease. Raises NoLeader."""
        found: list[OperatorProcess] = []

        def look() -> bool:
            path = "jsonpath={.spec.holderIdentity}"
            holder = self.cluster.kubectl("-n", SYSTEM_NAMESPACE, "get", "lease", "xapp-operator", "-o", path)
            pid = holder.split("/")[1] if "/" in holder else ""
            found[:] = [each for each in self.replicas.values() if each.running and str(each.pid) == pid]
            return bool(found)

        if not self.wait(look, LEADER_SECONDS):
            raise NoLeader
        return found[0]

    def name_of_leader(self) -> str:
        """Return the name of the operator that holds the Lease. Raises NoLeader."""
        leader = self.leader()
        return next(name for name, replica in self.replicas.items() if replica is leader)

    def link_of_leader(self) -> NetworkLink:
        """Return the network of the operator that holds the Lease. Raises NoLeader."""
        return self.links[self.name_of_leader()]

    def helm_processes(self) -> list[HelmProcess]:
        return find_helm_processes(self._helm_folders)

    def wait_for_helm(
        self,
        seconds: float,
        *,
        commands: Collection[str] = COMMANDS,
        releases: Collection[tuple[str, str]] | None = None,
    ) -> list[HelmProcess]:
        """Return the helm processes of these commands once there are any, and an empty list after `seconds`.

        `releases`: only those that change one of them, by namespace and name.
        """

        def matches(each: HelmProcess) -> bool:
            return each.command in commands and (releases is None or each.release in releases)

        deadline = time.monotonic() + seconds
        while not (found := list(filter(matches, self.helm_processes()))):
            if time.monotonic() > deadline:
                break
            self.tend()
            time.sleep(0.02)
        return found

    def new_error_lines(self) -> list[str]:
        """Return the error lines of both operators since the last call."""
        found = []
        for name, replica in self.replicas.items():
            lines = replica.error_lines()
            found += [f"operator {name}: {_short(line)}" for line in lines[self._read.get(name, 0) :]]
            self._read[name] = len(lines)
        return found

    def new_events(self, reason: str) -> int:
        """Return how many events with this reason were recorded since the last call.

        Those that an operator had not yet recorded when it was killed are not counted.
        """
        counts: dict[str, int] = {}

        def look() -> bool:
            listed = self.cluster.kubectl("get", "events", "-A", "--field-selector", f"reason={reason}", "-o", "json")
            counts.update({each["metadata"]["uid"]: each.get("count") or 1 for each in json.loads(listed)["items"]})
            return True

        self.wait(look, EVENTS_SECONDS)
        new = sum(max(count - self._events.get(uid, 0), 0) for uid, count in counts.items())
        self._events |= counts
        return new

    def freeze(self, program: str, seconds: float) -> None:
        """Stop a process of the control plane for some time."""
        self.local.send_signal(program, signal.SIGSTOP)
        try:
            self.pause(seconds)
        finally:
            self.local.send_signal(program, signal.SIGCONT)

    def restart(self, program: str, *, down_seconds: float) -> None:
        """Kill a process of the control plane and keep it down for some time."""
        self.local.stop_process(program)
        try:
            self.pause(down_seconds)
        finally:
            self.local.start_process(program)


def _short(line: str) -> str:
    """Return an error line without the middle of its traceback."""
    try:
        record = json.loads(line)
    except ValueError:
        return line
    exception = str(record.get("exception", "")).strip().splitlines()
    about = "/".join(str(record[key]) for key in ("namespace", "name") if key in record)
    parts = record.get("message"), about, record.get("error"), exception[-1] if exception else ""
    return ", ".join(str(each) for each in parts if each)


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)
