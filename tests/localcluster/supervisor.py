"""The process that owns a running cluster: it starts all processes, restarts those that end, and stops them.

A separate process, so that a cluster works the same whether a shell command, a test run or ``make run`` started it. It
stops on SIGTERM, or when its owner ends for any reason; the kernel kills its children with it. It reads one JSON object
from standard input and writes JSON lines to standard output until the cluster is ready. After that it writes only to
its log.
"""

import json
import os
import secrets
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from tests.localcluster.api_client import ApiClient
from tests.localcluster.controlplane import ControlPlane, Ports
from tests.localcluster.filelock import Locked, try_lock
from tests.localcluster.layout import ClusterLayout
from tests.localcluster.nodes import NodeContext, NodeKind, make_nodes
from tests.localcluster.placement import Placement
from tests.localcluster.ports import PortReservation
from tests.localcluster.processes import ChildProcess, ProcessIdentity, ProcessSpec, kill_orphans, stop_all
from tests.localcluster.realnode.namespaces import (
    NamespacesFailed,
    NodeEnvironment,
    create_namespaces,
    remove_host_resources,
)
from tests.localcluster.realnode.network import NetworkFailed
from tests.localcluster.start_request import READY_SECONDS, STOP_SECONDS, JoinRequest, StartRequest
from tests.localcluster.state import ClusterState
from tests.localcluster.waiting import DeadlineExceeded, wait_until

RESTART_SECONDS = 1.0
_LOOP_SECONDS = 0.2


Notify = Callable[[str, Mapping[str, object]], None]
"""Receives an event (started, progress, ready, running, failed) and its data."""


class StartFailed(Exception):
    """The cluster did not start; the message ends with the log of the process that failed."""


class StopRequested(Exception):
    """The supervisor has to stop."""


class Supervisor:
    """Runs one cluster in a folder, whose lock it holds."""

    def __init__(self, order: StartRequest, *, notify: Notify) -> None:
        self._order = order
        self._layout = ClusterLayout(Path(order.directory))
        self._notify = notify
        self._children: dict[str, ChildProcess] = {}
        self._restart_at: dict[str, float] = {}
        self._state = ClusterState(supervisor=ProcessIdentity.current())
        self._stopping = False
        self._node_namespaces: NodeEnvironment | None = None

    def run(self) -> None:
        """Run the cluster until a stop is requested, and restart its processes. Raises StartFailed, Locked."""
        signal.signal(signal.SIGTERM, self._on_sigterm)
        with ExitStack() as stack:
            stack.enter_context(try_lock(self._layout.lock))
            self._owner = stack.enter_context(_open_owner_pidfd(self._order.owner))
            self._clean_up_after_crash()
            stack.callback(self._clean_up)
            self._open_log()
            self._state.write(self._layout.state)
            self._notify("started", asdict(self._state.supervisor))
            try:
                ports = stack.enter_context(PortReservation(4)).ports
                if self._order.needs_node_network:
                    self._notify("progress", {"text": "making the namespaces of the real node"})
                    self._node_namespaces = stack.enter_context(create_namespaces(self._layout, reserved_ports=ports))
                    self._record_process(self._node_namespaces.holder)
                context, client = self._start(ports)
                self._notify("ready", {})
                os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
                while True:
                    self._raise_if_stopping()
                    self._restart_ended()
                    request = JoinRequest.take(self._layout.join_request)
                    if request:
                        self._join_real_node(request, context, client)
            except StopRequested:
                return
            finally:
                self._stop_children()

    def _start(self, ports: Sequence[int]) -> tuple[NodeContext, ApiClient]:
        layout = self._layout
        for folder in (layout.config, layout.stopped):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        token = secrets.token_urlsafe(32)
        binaries = {name: Path(path) for name, path in self._order.binaries.items()}
        api_server, etcd, etcd_peer, kubelet = ports
        plane = ControlPlane(
            layout,
            binaries=binaries,
            ports=Ports(api_server=api_server, etcd=etcd, etcd_peer=etcd_peer, kubelet=kubelet),
            token=token,
            placement=self._node_namespaces.placement if self._node_namespaces else Placement(),
        )
        node_address = self._node_namespaces.subnet.node_address if self._node_namespaces else ""
        self._state = replace(self._state, server=plane.server, node_address=node_address)
        self._launch(plane.etcd())
        self._launch(plane.api_server())
        context = NodeContext(
            layout=layout, plane=plane, binaries=binaries, kubelet_port=kubelet, node_namespaces=self._node_namespaces
        )
        kinds = make_nodes(self._order.nodes, context)
        remaining_processes = [*plane.controllers(), *(spec for kind in kinds for spec in kind.processes())]
        client = ApiClient(server=plane.server, authority=plane.authority, token=token)
        self._wait_for("the API server", lambda: client.responds("/readyz"))
        for spec in remaining_processes:
            self._launch(spec)
        for kind in kinds:
            kind.register(client)
        self._wait_for("the default service account", lambda: _account_exists(client))
        self._wait_for("the nodes", lambda: all(_node_ready(client, name) for name in _node_names(kinds)))
        plane.write_admin_credentials()
        self._state = replace(self._state, ready=True, node_ready=bool(self._order.nodes.get("real")))
        self._state.write(layout.state)
        return context, client

    def _join_real_node(self, request: JoinRequest, context: NodeContext, client: ApiClient) -> None:
        """Start the real node and wait until it is ready. If it fails, record the error and go on without it."""
        binaries = {**context.binaries, **{name: Path(path) for name, path in request.binaries.items()}}
        (node,) = make_nodes({"real": 1}, replace(context, binaries=binaries))
        names: list[str] = []
        try:
            specs = list(node.processes())
            names = [spec.name for spec in specs]
            for spec in specs:
                self._launch(spec)
            node.register(client)
            self._wait_for("the real node", lambda: all(_node_ready(client, name) for name in node.names), names)
            self._state = replace(self._state, node_ready=True)
        except (StartFailed, NamespacesFailed, NetworkFailed, OSError) as error:
            print(f"the real node does not start: {error}", file=sys.stderr, flush=True)
            stop_all([self._children.pop(name) for name in names if name in self._children], timeout=STOP_SECONDS)
            remaining = {name: each for name, each in self._state.processes.items() if name not in names}
            self._state = replace(self._state, node_error=str(error), processes=remaining)
        self._state.write(self._layout.state)

    def _launch(self, spec: ProcessSpec) -> None:
        child = ChildProcess(spec, log=self._layout.logs / f"{spec.name}.log")
        self._children[spec.name] = child
        self._record_process(child)

    def _record_process(self, child: ChildProcess) -> None:
        identity = child.identity
        if identity:
            self._state = replace(self._state, processes={**self._state.processes, child.spec.name: identity})
            self._state.write(self._layout.state)

    def _wait_for(self, what: str, probe: Callable[[], bool], names: Iterable[str] | None = None) -> None:
        """Wait for the start of processes, by default all of them. Raises StartFailed, StopRequested."""
        self._notify("progress", {"text": f"waiting for {what}"})

        def check() -> bool:
            self._raise_if_stopping(wait=0.0)
            for child in map(self._children.__getitem__, self._children if names is None else names):
                if child.ended:
                    raise StartFailed(f"{child.spec.name} ended while the cluster started:\n{child.tail()}")
            return probe()

        try:
            wait_until(check, timeout=READY_SECONDS, what=what)
        except DeadlineExceeded as error:
            raise StartFailed(f"{error}; see the logs in {self._layout.logs}") from error

    def _raise_if_stopping(self, *, wait: float = _LOOP_SECONDS) -> None:
        if self._node_namespaces and self._node_namespaces.holder.ended:
            print("the namespaces of the real node have ended, and all in them", file=sys.stderr, flush=True)
            raise StopRequested
        if select.select(self._owner, [], [], wait)[0] or self._stopping:
            raise StopRequested

    def _restart_ended(self) -> None:
        """Restart processes that ended, after a pause, unless a test stopped them."""
        for name, child in list(self._children.items()):
            held = (self._layout.stopped / name).exists()
            if not child.ended:
                if held:
                    child.send_signal(signal.SIGKILL)
                continue
            if held:
                self._restart_at.pop(name, None)
                continue
            due = self._restart_at.setdefault(name, time.monotonic() + RESTART_SECONDS)
            if time.monotonic() >= due:
                del self._restart_at[name]
                print(f"{name} has ended; starting it again", file=sys.stderr, flush=True)
                self._launch(child.spec)

    def _stop_children(self) -> None:
        """Stop etcd last: without it the API server does not shut down."""
        children = list(self._children.values())
        stop_all(children[1:], timeout=STOP_SECONDS)
        stop_all(children[:1], timeout=STOP_SECONDS)

    def _on_sigterm(self, _number: int, _frame: object) -> None:
        self._stopping = True

    def _open_log(self) -> None:
        """Redirect standard error to a file, because the process that started this one may have ended."""
        self._layout.logs.mkdir(mode=0o700)
        with (self._layout.logs / "supervisor.log").open("ab") as log:
            os.dup2(log.fileno(), sys.stderr.fileno())

    def _clean_up_after_crash(self) -> None:
        state = ClusterState.read(self._layout.state)
        if state:
            kill_orphans(state.processes.values())
        remove_host_resources(self._layout)
        self._clean_up()
        shutil.rmtree(self._layout.logs, ignore_errors=True)
        log = self._layout.audit_log
        for each in log.parent.glob(f"{log.stem}*{log.suffix}"):  # the API server renames one that is too large
            each.unlink(missing_ok=True)

    def _clean_up(self) -> None:
        """Remove everything but the logs: data, keys and credentials."""
        layout = self._layout
        for path in (layout.kubeconfig, layout.token, layout.state, layout.join_request):
            path.unlink(missing_ok=True)
        for folder in (layout.etcd, layout.pki, layout.config, layout.stopped):
            shutil.rmtree(folder, ignore_errors=True)


def _node_names(kinds: Sequence[NodeKind]) -> Iterator[str]:
    for kind in kinds:
        yield from kind.names


def _account_exists(client: ApiClient) -> bool:
    return client.get("/api/v1/namespaces/default/serviceaccounts/default") is not None


def _node_ready(client: ApiClient, name: str) -> bool:
    node = client.get(f"/api/v1/nodes/{name}")
    if node is None:
        return False
    status, spec = node.get("status"), node.get("spec")
    conditions = status.get("conditions") or [] if isinstance(status, dict) else []
    taints = spec.get("taints") or [] if isinstance(spec, dict) else []
    ready = any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
    return ready and not any(str(taint["key"]).startswith("node.kubernetes.io/") for taint in taints)


@contextmanager
def _open_owner_pidfd(owner: ProcessIdentity | None) -> Iterator[list[int]]:
    """Yield the file descriptors that become readable when the owner ends: one, or none without an owner."""
    if owner is None:
        yield []
        return
    descriptor = owner.open_pidfd()
    if descriptor is None:
        raise StartFailed("the process that asked for the cluster has ended")
    try:
        yield [descriptor]
    finally:
        os.close(descriptor)


def _print_event(event: str, data: Mapping[str, object]) -> None:
    try:
        print(json.dumps({"event": event, "data": data}), flush=True)
    except BrokenPipeError:
        return


def main() -> None:
    """Run the cluster that standard input describes, detached from the parent."""
    order = StartRequest.from_json(sys.stdin.readline())
    if os.fork() > 0:
        return
    os.umask(0o077)
    try:
        Supervisor(order, notify=_print_event).run()
    except Locked:
        _print_event("running", {})
    except (StartFailed, NamespacesFailed, NetworkFailed) as error:
        _print_event("failed", {"text": str(error)})
    except Exception as error:
        _print_event("failed", {"text": f"{type(error).__name__}: {error}"})
        raise


if __name__ == "__main__":
    main()
