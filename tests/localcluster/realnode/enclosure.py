"""The namespaces of one node, what they contain before anything runs in them, and how all of it goes away.

What exists outside the namespaces (control groups, one link, one folder) is written down first, in a file beside the
cluster's state, so that whatever a killed run leaves can be removed by the next one, and nothing else.
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
from tests.localcluster.kubeconfig import write_private
from tests.localcluster.layout import Layout
from tests.localcluster.processes import Child, ProcessSpec
from tests.localcluster.realnode import cgroups
from tests.localcluster.realnode.network import Subnet, make_link, remove_link, reserve_subnet
from tests.localcluster.site import Site
from tests.localcluster.waiting import wait_until

KEEPER = "node-keeper"
_FOLDER = Path(__file__).parent
_PYTHON = (sys.executable, "-I", "-S")
_FOLDERS = ("lib", "log", "sysctl", "tmp")
_KEEPER_SECONDS = 60.0
_COMMAND_SECONDS = 120.0
_PROGRAM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class EnclosureFailed(Exception):
    """The namespaces could not be set up, or a command in them failed; the message ends with what was said."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a node has outside its namespaces."""

    link: str
    cgroups: list[str]

    def write(self, path: Path) -> None:
        """Replace the file in one step."""
        write_private(path, json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> "Record | None":
        """Read the file; None when there is none."""
        try:
            return cls(**json.loads(path.read_text()))
        except FileNotFoundError:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Enclosure:
    """A set of namespaces with one link to the machine."""

    keeper: int
    """Process id of the process that holds them."""
    record: Record

    def spec(
        self,
        name: str,
        argv: Sequence[str],
        *,
        awaited: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> ProcessSpec:
        """Describe a process inside, which starts when the path ``awaited`` exists there."""
        return ProcessSpec(
            name=name, argv=(*self._enter(awaited), *argv), environment={"PATH": _PROGRAM_PATH, **(environment or {})}
        )

    def run(self, argv: Sequence[str], *, awaited: str = "", environment: Mapping[str, str] | None = None) -> str:
        """Run a command inside and return its standard output. Raises EnclosureFailed."""
        spec = self.spec("command", argv, awaited=awaited, environment=environment)
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
            raise EnclosureFailed(f"{Path(argv[0]).name} in the node's namespaces: {answer.stderr.strip()}")
        return answer.stdout

    def _enter(self, awaited: str) -> tuple[str, ...]:
        return (*_PYTHON, str(_FOLDER / "enter.py"), str(self.keeper), os.pathsep.join(self.record.cgroups), awaited)


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """An enclosure that is ready for a cluster."""

    enclosure: Enclosure
    subnet: Subnet
    child: Child
    """The keeper: with it everything inside ends."""

    @property
    def site(self) -> Site:
        """The place for the control plane: the node's network and otherwise the machine."""
        nsenter = shutil.which("nsenter", path=_PROGRAM_PATH) or "nsenter"
        return Site(address=self.subnet.node, prefix=(nsenter, f"--net=/proc/{self.enclosure.keeper}/ns/net", "--"))


@contextmanager
def open_enclosure(layout: Layout, *, reserved_ports: Sequence[int]) -> Iterator[Home]:
    """Make the namespaces of the cluster in ``layout`` and remove every trace of them afterwards.

    ``reserved_ports`` are never used inside for outgoing connections. Raises EnclosureFailed, NetworkFailed.
    """
    identity = hashlib.sha256(str(layout.root).encode()).hexdigest()
    hierarchies = cgroups.hierarchies()
    record = Record(
        link=f"xapp{identity[:8]}",
        cgroups=[str(hierarchy.own / f"xapp-operator-{identity[:8]}") for hierarchy in hierarchies],
    )
    record.write(layout.node_record)
    try:
        for folder in _FOLDERS:
            (layout.node / folder).mkdir(parents=True, mode=0o755)
        for hierarchy in hierarchies:
            cgroups.make(hierarchy, f"xapp-operator-{identity[:8]}")
        with reserve_subnet(int(identity[8:16], 16)) as subnet:
            child = _start_keeper(layout, record)
            try:
                enclosure = Enclosure(keeper=_pid(child), record=record)
                make_link(record.link, subnet=subnet, keeper=enclosure.keeper)
                _furnish(enclosure, layout, subnet=subnet, hierarchies=hierarchies, ports=reserved_ports)
                yield Home(enclosure=enclosure, subnet=subnet, child=child)
            finally:
                child.send(signal.SIGKILL)
                child.reap(_KEEPER_SECONDS)
    finally:
        remove_remains(layout)


def remove_remains(layout: Layout) -> None:
    """Remove what the record of this cluster tells of; call it when none of its processes is wanted any more."""
    record = Record.read(layout.node_record)
    if record is None:
        return
    # the groups first: they tell which processes there are
    cgroups.remove(Path(group) for group in record.cgroups)
    remove_link(record.link)
    shutil.rmtree(layout.node, ignore_errors=True)
    layout.node_record.unlink(missing_ok=True)


def _start_keeper(layout: Layout, record: Record) -> Child:
    spec = ProcessSpec(
        name=KEEPER, argv=(*_PYTHON, str(_FOLDER / "keeper.py"), os.pathsep.join(record.cgroups)), environment={}
    )
    child = Child(spec, log=layout.logs / f"{KEEPER}.log")

    def enclosed() -> bool:
        if child.ended:
            raise EnclosureFailed(f"{KEEPER} ended: {child.tail().strip()}")
        return Path(f"/proc/{_pid(child)}/ns/pid_for_children").exists() and _own_first_process(_pid(child))

    wait_until(enclosed, timeout=_KEEPER_SECONDS, what="the node's namespaces")
    return child


def _own_first_process(keeper: int) -> bool:
    """Tell whether the first process of the new pid namespace is there: before, the link cannot be followed."""
    try:
        return os.stat(f"/proc/{keeper}/ns/pid_for_children").st_ino != os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116
    except OSError:
        return False


def _pid(child: Child) -> int:
    identity = child.identity
    if identity is None:
        raise EnclosureFailed(f"{child.spec.name} has ended: {child.tail().strip()}")
    return identity.pid


def _furnish(
    enclosure: Enclosure,
    layout: Layout,
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
            "ADDRESS": subnet.node,
            "GATEWAY": subnet.machine,
            "SERVICES": SERVICE_RANGE,
            "PORTS": ",".join(map(str, ports)),
        },
    )
