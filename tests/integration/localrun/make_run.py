"""`make run` as a process that a test starts and stops."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.localcluster import Cluster, LocalCluster
from tests.localcluster.cluster import ROOT
from tests.localcluster.ports import PortReservation
from tests.localcluster.processes import ProcessIdentity

CLOSING_LINE = "Ctrl-C stops all of it."
STOP_SECONDS = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeRun:
    """One `make run` that has printed its summary."""

    process: "subprocess.Popen[str]"
    folder: Path
    port: int
    output: str

    @property
    def url(self) -> str:
        """Address of its gateway."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def cluster(self) -> Cluster:
        """Access to its cluster."""
        return LocalCluster(self.folder).connect()

    @property
    def services(self) -> dict[str, ProcessIdentity]:
        """Operator and gateway, by the role that their command line names."""
        found: dict[str, ProcessIdentity] = {}
        for pid in _children(self.process.pid):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended in the meantime
            identity = ProcessIdentity.of(pid)
            if identity and len(words) > 1 and words[1].endswith("/xapp-operator"):
                found["operator" if words[2] == "run" else words[2]] = identity
        return found

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Request the stop and return the exit status."""
        self.process.send_signal(number)
        return self.process.wait(STOP_SECONDS)


def command(folder: Path, port: int, *arguments: str) -> list[str]:
    """Return the command that `make run` runs."""
    options = {"--folder": folder, "--cache": folder / "cache", "--port": port}
    words = [str(word) for option in options.items() for word in option]
    return [sys.executable, "-m", "tests.localrun", *words, *arguments]


@contextmanager
def start_make_run(folder: Path, *arguments: str, environment: Mapping[str, str] = os.environ) -> Iterator[MakeRun]:
    """Start `make run` with its own folder and port, and stop it after the block, unless the block has."""
    with (
        PortReservation(1) as reservation,
        subprocess.Popen(
            command(folder, reservation.ports[0], *arguments),
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process,
    ):
        try:
            printed = _read_until_closing_line(process)
            yield MakeRun(process=process, folder=folder, port=reservation.ports[0], output=printed)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(STOP_SECONDS)


def run_until_exit(folder: Path, port: int) -> "subprocess.CompletedProcess[str]":
    """Run a `make run` that is expected to end by itself."""
    return subprocess.run(command(folder, port), cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def conditions(cluster: Cluster, name: str, namespace: str) -> dict[str, str]:
    """Return the status of each condition of an XApp."""
    xapp = json.loads(cluster.kubectl("get", "xapp", name, "-n", namespace, "-o", "json"))
    return {each["type"]: each["status"] for each in xapp["status"]["conditions"]}


def _read_until_closing_line(process: "subprocess.Popen[str]") -> str:
    lines: list[str] = []
    for line in process.stdout or ():
        lines.append(line)
        if line.strip() == CLOSING_LINE:
            return "".join(lines)
    raise AssertionError("it ended before all was ready:\n" + "".join(lines))


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]
