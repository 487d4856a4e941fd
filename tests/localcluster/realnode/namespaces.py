"""Creates, sets up and removes the namespaces of one node.

Resources outside the namespaces (control groups, a network link, a folder) are recorded before they are created, in a
file next to the cluster's state. So the next run can remove exactly what a killed run left behind.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.localcluster.controlplane import SERVICE_RANGE
from tests.localcluster.kubeconfig import write_private_file
from tests.localcluster.layout import ClusterLayout
from tests.localcluster.placement import Placement
from tests.localcluster.processes import ChildProcess, ProcessSpec
from tests.localcluster.realnode import cgroups
from tests.localcluster.realnode.network import Subnet, create_link, remove_link, reserve_subnet
from tests.localcluster.waiting import wait_until

NAMESPACE_HOLDER = "node-namespaces"
_FOLDER = Path(__file__).parent
_PYTHON = (sys.executable, "-I", "-S")
_FOLDERS = ("lib", "log", "sysctl", "tmp")
_HOLDER_SECONDS = 60.0
_COMMAND_SECONDS = 120.0
_PROGRAM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class NamespacesFailed(Exception):
    """The namespaces could not be set up, or a command in them failed; the message ends with its error output."""


@dataclass(frozen=True, slots=True)
class HostResources:
    """The resources of a node outside its namespaces."""

    link: str
    cgroups: list[str]

    def write(self, path: Path) -> None:
        """Replace the file atomically."""
        write_private_file(path, json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> "HostResources | None":
        """Read the file, or return None if it does not exist."""
        try:
            return cls(**json.loads(path.read_text()))
        except FileNotFoundError:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeNamespaces:
    """A set of namespaces with one network link to the machine."""

    holder_pid: int
    """Pid of the process that holds them."""
    host_resources: HostResources

    def process_spec(
        self,
        name: str,
        argv: Sequence[str],
        *,
        wait_for_path: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> ProcessSpec:
        """Describe a process inside, which starts when the path ``awaited`` exists there."""
        return ProcessSpec(
            name=name,
            argv=(*self._exec_prefix(wait_for_path), *argv),
            environment={"PATH": _PROGRAM_PATH, **(environment or {})},
        )

    def run(self, argv: Sequence[str], *, wait_for_path: str = "", environment: Mapping[str, str] | None = None) -> str:
        """Run a command inside and return its standard output. Raises NamespacesFailed."""
        spec = self.process_spec("command", argv, wait_for_path=wait_for_path, environment=environment)
        answer = subprocess.run(
            spec.argv,
            env={**os.environ, **spec.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
        if answer.returncode != 0:
            raise NamespacesFailed(f"{Path(argv[0]).name} in the node's namespaces: {answer.stderr.strip()}")
        return answer.stdout

    def _exec_prefix(self, awaited: str) -> tuple[str, ...]:
        return (
            *_PYTHON,
            str(_FOLDER / "exec_in_namespaces.py"),
            str(self.holder_pid),
            os.pathsep.join(self.host_resources.cgroups),
            awaited,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEnvironment:
    """Namespaces that are ready for a cluster."""

    namespaces: NodeNamespaces
    subnet: Subnet
    holder: ChildProcess
    """The process that holds the namespaces; when it ends, everything inside ends."""

    @property
    def placement(self) -> Placement:
        """Where the control plane runs: in the node's network namespace, and otherwise on the machine."""
        nsenter = shutil.which("nsenter", path=_PROGRAM_PATH) or "nsenter"
        return Placement(
            address=self.subnet.node_address,
            command_prefix=(nsenter, f"--net=/proc/{self.namespaces.holder_pid}/ns/net", "--"),
        )


@contextmanager
def create_namespaces(layout: ClusterLayout, *, reserved_ports: Sequence[int]) -> Iterator[NodeEnvironment]:
    """Create the namespaces of the cluster in ``layout``, and remove all their resources after the block.

    Outgoing connections inside do not use ``reserved_ports``. Raises NamespacesFailed, NetworkFailed.
    """
    identity = hashlib.sha256(str(layout.root).encode()).hexdigest()
    hierarchies = cgroups.hierarchies()
    record = HostResources(
        link=f"xapp{identity[:8]}",
        cgroups=[str(hierarchy.own_group / f"xapp-operator-{identity[:8]}") for hierarchy in hierarchies],
    )
    record.write(layout.node_record)
    try:
        for folder in _FOLDERS:
            (layout.node / folder).mkdir(parents=True, mode=0o755)
        for hierarchy in hierarchies:
            cgroups.create_child_group(hierarchy, f"xapp-operator-{identity[:8]}")
        with reserve_subnet(int(identity[8:16], 16)) as subnet:
            child = _start_holder(layout, record)
            try:
                enclosure = NodeNamespaces(holder_pid=_pid(child), host_resources=record)
                create_link(record.link, subnet=subnet, holder_pid=enclosure.holder_pid)
                _set_up_mounts_and_network(
                    enclosure, layout, subnet=subnet, hierarchies=hierarchies, ports=reserved_ports
                )
                yield NodeEnvironment(namespaces=enclosure, subnet=subnet, holder=child)
            finally:
                child.send_signal(signal.SIGKILL)
                child.wait(_HOLDER_SECONDS)
    finally:
        remove_host_resources(layout)


def remove_host_resources(layout: ClusterLayout) -> None:
    """Remove the recorded resources of this cluster, and kill what still runs in them."""
    record = HostResources.read(layout.node_record)
    if record is None:
        return
    # the groups first: they contain the processes
    cgroups.remove_groups(Path(group) for group in record.cgroups)
    remove_link(record.link)
    shutil.rmtree(layout.node, ignore_errors=True)
    layout.node_record.unlink(missing_ok=True)


def _start_holder(layout: ClusterLayout, record: HostResources) -> ChildProcess:
    spec = ProcessSpec(
        name=NAMESPACE_HOLDER,
        argv=(*_PYTHON, str(_FOLDER / "namespace_holder.py"), os.pathsep.join(record.cgroups)),
        environment={},
    )
    child = ChildProcess(spec, log=layout.logs / f"{NAMESPACE_HOLDER}.log")

    def is_ready() -> bool:
        if child.ended:
            raise NamespacesFailed(f"{NAMESPACE_HOLDER} ended: {child.tail().strip()}")
        return Path(f"/proc/{_pid(child)}/ns/pid_for_children").exists() and _has_init_process(_pid(child))

    wait_until(is_ready, timeout=_HOLDER_SECONDS, what="the node's namespaces")
    return child


def _has_init_process(holder_pid: int) -> bool:
    """Return whether the init process of the new pid namespace exists: until then the link cannot be followed."""
    try:
        return os.stat(f"/proc/{holder_pid}/ns/pid_for_children").st_ino != os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116
    except OSError:
        return False


def _pid(child: ChildProcess) -> int:
    identity = child.identity
    if identity is None:
        raise NamespacesFailed(f"{child.spec.name} has ended: {child.tail().strip()}")
    return identity.pid


def _set_up_mounts_and_network(
    enclosure: NodeNamespaces,
    layout: ClusterLayout,
    *,
    subnet: Subnet,
    hierarchies: Sequence[cgroups.Hierarchy],
    ports: Sequence[int],
) -> None:
    enclosure.run(
        ["/bin/sh", str(_FOLDER / "furnish.sh")],
        environment={
            "NODE": str(layout.node),
            "HIERARCHIES": " ".join(hierarchy.controllers for hierarchy in hierarchies),
            "ADDRESS": subnet.node_address,
            "GATEWAY": subnet.host_address,
            "SERVICES": SERVICE_RANGE,
            "PORTS": ",".join(map(str, ports)),
        },
    )
