"""Starts, finds, breaks and stops the local cluster."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from tests.localcluster.access import Cluster
from tests.localcluster.api_client import ApiClient
from tests.localcluster.binaries import Binaries
from tests.localcluster.filelock import Locked, is_locked, try_lock
from tests.localcluster.layout import ClusterLayout
from tests.localcluster.processes import ProcessIdentity, kill_orphans
from tests.localcluster.progress import ProgressCallback, print_progress
from tests.localcluster.realnode.namespaces import (
    NAMESPACE_HOLDER,
    HostResources,
    NodeNamespaces,
    remove_host_resources,
)
from tests.localcluster.realnode.node import load_image
from tests.localcluster.realnode.prerequisites import real_node_obstacle
from tests.localcluster.start_request import READY_SECONDS, STOP_SECONDS, JoinRequest, StartRequest
from tests.localcluster.state import ClusterState
from tests.localcluster.tools import CONTROL_PLANE, NODE_TOOLS
from tests.localcluster.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
DEFAULT_DIRECTORY = ROOT / ".local"
DEFAULT_NODES: Mapping[str, int] = {"simulated": 2}
_JOIN_INTERVAL_SECONDS = 0.1
_STOP_DEADLINE_SECONDS = 2 * STOP_SECONDS + 5.0


class ClusterRunning(Exception):
    """A cluster already runs in this folder."""


class ClusterNotRunning(Exception):
    """No cluster runs in this folder."""


class ClusterFailed(Exception):
    """The cluster did not start; the message names the component and the cause."""


class LocalCluster:
    """One cluster in one folder; as a context manager it starts and stops the cluster.

    ``nodes`` is the number of nodes of each kind. The folder contains everything of the cluster, so clusters in
    different folders run side by side.
    """

    def __init__(
        self,
        directory: Path = DEFAULT_DIRECTORY,
        *,
        nodes: Mapping[str, int] = DEFAULT_NODES,
        binaries: Binaries | None = None,
        progress: ProgressCallback = print_progress,
    ) -> None:
        self.layout = ClusterLayout(directory.resolve())
        self._nodes = dict(nodes)
        self._progress = progress
        self._binaries = binaries or Binaries(progress=progress)

    def start(self, *, owner: ProcessIdentity | None = None, detached: bool = False) -> Cluster:
        """Start the cluster, wait until pods can run, and return access to it.

        The cluster stops when ``owner`` (default: this process) ends; ``detached``, it runs until `stop`. Raises
        ClusterRunning, ClusterFailed, BuildFailed.
        """
        if self.running:
            _raise_start_error("running", {}, self.layout.root)
        order = StartRequest(
            directory=str(self.layout.root),
            binaries={},
            nodes=self._nodes,
            owner=None if detached else owner or ProcessIdentity.current(),
        )
        reason = real_node_obstacle(self.layout.root) if order.needs_node_network else None
        if reason:
            raise ClusterFailed(reason)
        programs = [*CONTROL_PLANE, *(NODE_TOOLS if self._nodes.get("real") else ())]
        self._binaries.announce([*programs, "helm"])
        order = replace(order, binaries=self._programs(programs, announced=True))
        self.layout.root.mkdir(parents=True, exist_ok=True)
        with subprocess.Popen(
            [sys.executable, "-m", "tests.localcluster.supervisor"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            self._await_ready(process, order)
        return self.connect()

    def join_real_node(self) -> Cluster:
        """Start the real node of a cluster that has begun with a joining one, and wait until pods can run on it.

        Gets its programs first. It is tried once: after a failure, the cluster stays without it. Raises
        ClusterNotRunning, ClusterFailed, BuildFailed, and ValueError for a cluster without a joining node.
        """
        state = self.state()
        if not state.node_address:
            raise ValueError(f"the cluster in {self.layout.root} was not started for a real node")
        if not (state.node_ready or state.node_error):
            programs = self._programs(NODE_TOOLS, announced=True)  # in choose_nodes
            JoinRequest(programs).write(self.layout.join_request)

        def joined() -> bool:
            state = self.state()
            if state.node_error:
                raise ClusterFailed(f"the real node did not join: {state.node_error}")
            return state.node_ready

        wait_until(joined, timeout=2 * READY_SECONDS, what="the real node to join", interval=_JOIN_INTERVAL_SECONDS)
        return self.connect()

    def stop(self) -> bool:
        """Stop the cluster with all its processes, and return whether one was running.

        Also removes what a crashed run left behind.
        """
        was_running = self.running
        if was_running:
            wait_until(self._read_state, timeout=READY_SECONDS, what="the supervisor to record itself")
        state = self._read_state()
        if state and was_running:
            _terminate(state.supervisor)
        if state:
            kill_orphans(state.identities)
        self._clean_up_node()
        return was_running and state is not None

    @property
    def running(self) -> bool:
        """Whether a supervisor runs in the folder, ready or not."""
        return is_locked(self.layout.lock)

    def state(self) -> ClusterState:
        """Return the processes and addresses of the cluster. Raises ClusterNotRunning unless it is ready."""
        state = self._read_state()
        if state is None or not state.ready or not self.running:
            raise ClusterNotRunning(f"no cluster runs in {self.layout.root}; start one with `up`")
        return state

    def connect(self) -> Cluster:
        """Return access to the running cluster. Raises ClusterNotRunning."""
        state = self.state()
        programs = self._binaries.resolve(["kubectl", "helm"])
        return Cluster(
            kubeconfig=self.layout.kubeconfig,
            server=state.server,
            token=self.layout.token.read_text().strip(),
            kubectl_path=programs["kubectl"],
            helm_path=programs["helm"],
            audit_log=self.layout.audit_log,
            node_address=state.node_address if state.node_ready else None,
            advertise_address=state.node_address or None,
        )

    def load_image(self, archive: Path) -> None:
        """Load an image, the tar of an OCI layout (see images.write_image), into the real node.

        Raises ClusterNotRunning, NamespacesFailed, and ValueError without a real node.
        """
        holder, record = self._process_identity(NAMESPACE_HOLDER), HostResources.read(self.layout.node_record)
        if record is None:
            raise ClusterNotRunning(f"no cluster runs in {self.layout.root}; start one with `up`")
        ctr = self._binaries.resolve(["ctr"])["ctr"]
        load_image(NodeNamespaces(holder_pid=holder.pid, host_resources=record), archive.resolve(), ctr=ctr)

    def send_signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to one process, by program name. The supervisor restarts a process that ends after a second."""
        self._process_identity(name).send_signal(number)

    def stop_process(self, name: str) -> None:
        """Kill one process and keep it down until `start_process`."""
        process = self._process_identity(name)
        (self.layout.stopped / name).touch()
        wait_until(lambda: not process.alive, timeout=READY_SECONDS, what=f"{name} to end")

    def start_process(self, name: str) -> None:
        """Start a stopped process again and wait until the API server answers."""
        old = self._process_identity(name)
        (self.layout.stopped / name).unlink(missing_ok=True)
        wait_until(lambda: self._process_identity(name) != old, timeout=READY_SECONDS, what=f"{name} to start")
        self.wait_api_server_ready()

    def wait_api_server_ready(self) -> None:
        """Wait until the API server is ready. Raises DeadlineExceeded."""
        client = ApiClient(
            server=self.state().server,
            authority=self.layout.ca_certificate,
            token=self.layout.token.read_text().strip(),
        )
        wait_until(lambda: client.responds("/readyz"), timeout=READY_SECONDS, what="the API server")

    def __enter__(self) -> Cluster:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _programs(self, names: Iterable[str], *, announced: bool = False) -> dict[str, str]:
        return {name: str(path) for name, path in self._binaries.resolve(names, announced=announced).items()}

    def _process_identity(self, name: str) -> ProcessIdentity:
        processes = self.state().processes
        if name not in processes:
            raise ValueError(f"no process {name!r} in this cluster; it has {', '.join(processes)}")
        return processes[name]

    def _clean_up_node(self) -> None:
        """Remove what a killed supervisor left on the machine, unless the next supervisor is already doing so."""
        if not self.layout.node_record.exists():
            return
        try:
            with try_lock(self.layout.lock):
                remove_host_resources(self.layout)
        except Locked:
            return

    def _read_state(self) -> ClusterState | None:
        return ClusterState.read(self.layout.state)

    def _await_ready(self, process: "subprocess.Popen[str]", order: StartRequest) -> None:
        """Send the request and read events until the cluster is ready. When interrupted, stop the cluster."""
        if process.stdin is None or process.stdout is None:
            raise ClusterFailed("no pipe to the supervisor")
        supervisor: ProcessIdentity | None = None
        try:
            process.stdin.write(order.to_json() + "\n")
            process.stdin.close()
            for event, data in _read_events(process.stdout):
                if event == "started":
                    supervisor = ProcessIdentity(**data)
                    self._binaries.resolve(
                        ["helm"], announced=True
                    )  # while the control plane starts, which does without it
                elif event == "progress":
                    self._progress(data["text"])
                elif event == "ready":
                    return
                else:
                    _raise_start_error(event, data, self.layout.root)
        except BaseException:
            if supervisor:
                _terminate(supervisor)
            raise


def _read_events(stream: IO[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the supervisor's events; if it ends without a result, a failure."""
    for line in stream:
        message = json.loads(line)
        yield str(message["event"]), message["data"]
    yield "failed", {"text": "the supervisor ended without an error message; see logs/supervisor.log"}


def _raise_start_error(event: str, data: dict[str, Any], folder: Path) -> None:
    if event == "running":
        raise ClusterRunning(f"a cluster already runs in {folder}; stop it first with `down`")
    raise ClusterFailed(str(data["text"]))


def _terminate(supervisor: ProcessIdentity) -> None:
    """Terminate a supervisor, which stops its children; if it does not in time, kill it, and the kernel kills them."""
    supervisor.send_signal(signal.SIGTERM)
    if not supervisor.wait(_STOP_DEADLINE_SECONDS):
        supervisor.send_signal(signal.SIGKILL)
        supervisor.wait(_STOP_DEADLINE_SECONDS)
