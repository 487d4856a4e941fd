"""Starts and stops processes, and identifies them reliably: a pid alone may belong to another process later.

An identity is the pid with the kernel's start time and the boot id, so that the processes of a crashed run can be
killed without ever hitting another process.
"""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_LAUNCHER = Path(__file__).with_name("exec_bound_to_parent.py")
_TAIL_BYTES = 4000


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process, distinct from a later process with the same pid."""

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """Identify a running process, or return None if there is none or it is a zombie."""
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
            boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        except (FileNotFoundError, ProcessLookupError):
            return None
        fields = stat.rpartition(")")[2].split()
        if fields[0] in {"Z", "X"}:
            return None
        return cls(pid, f"{boot}/{fields[19]}")

    @classmethod
    def current(cls) -> Self:
        """Identify this process."""
        identity = cls.of(os.getpid())
        if identity is None:
            raise OSError("the local cluster needs /proc, so it runs on Linux only")
        return identity

    def open_pidfd(self) -> int | None:
        """Open a file descriptor that becomes readable when the process ends, or return None if it has ended."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return None
        if ProcessIdentity.of(self.pid) == self:
            return descriptor
        os.close(descriptor)
        return None

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return ProcessIdentity.of(self.pid) == self

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        descriptor = self.open_pidfd()
        if descriptor is None:
            return
        try:
            signal.pidfd_send_signal(descriptor, number)
        except ProcessLookupError:
            pass
        finally:
            os.close(descriptor)

    def wait(self, timeout: float) -> bool:
        """Wait at most ``timeout`` seconds for its end and tell whether it came."""
        descriptor = self.open_pidfd()
        if descriptor is None:
            return True
        try:
            return bool(select.select([descriptor], [], [], timeout)[0])
        finally:
            os.close(descriptor)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSpec:
    """A process to run: name, arguments with an absolute program path, additional environment variables."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]


def parent_bound_command(argv: Sequence[str]) -> list[str]:
    """Return the command that runs ``argv``, an absolute path and arguments, until this process ends."""
    return [sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid()), *argv]


class ChildProcess:
    """A child process in its own process group, with its output in a file. It is killed when this process ends.

    Start children in the main thread: for the kernel, the parent is the thread that started them.
    """

    def __init__(self, spec: ProcessSpec, *, log: Path, folder: Path | None = None) -> None:
        """Start it, with ``folder`` (default: the folder of the log) as its working directory."""
        self.spec = spec
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                parent_bound_command(spec.argv),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **spec.environment},
                cwd=folder or log.parent,
                process_group=0,
            )

    @property
    def identity(self) -> ProcessIdentity | None:
        """Its identity, or None if it has ended."""
        return ProcessIdentity.of(self._process.pid)

    @property
    def ended(self) -> bool:
        """Whether it has ended; if so, it is reaped."""
        return self._process.poll() is not None

    @property
    def exit_code(self) -> int | None:
        """Return with which code it ended; negative for a signal, None while it runs."""
        return self._process.poll()

    def tail(self) -> str:
        """Return the last lines of its log."""
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - _TAIL_BYTES))
            return str(file.read(), "utf-8", "replace")

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, unless it has been reaped."""
        self._process.send_signal(number)

    def wait(self, timeout: float) -> bool:
        """Wait at most ``timeout`` seconds for its end and tell whether it came."""
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return False
        return True


def kill_group(leader: "subprocess.Popen[str]") -> None:
    """Kill a child and the rest of the process group that it leads, and reap it, unless it has been reaped."""
    if leader.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(leader.pid, signal.SIGKILL)
        leader.wait()


def stop_all(children: Sequence[ChildProcess], *, timeout: float) -> None:
    """Stop all children at once: SIGTERM first, SIGKILL to those that still run after ``timeout`` seconds."""
    for child in children:
        child.send_signal(signal.SIGTERM)
        child.send_signal(signal.SIGCONT)
    deadline = time.monotonic() + timeout
    for child in children:
        if not child.wait(max(0.0, deadline - time.monotonic())):
            child.send_signal(signal.SIGKILL)
            child.wait(timeout)


def kill_orphans(identities: Iterable[ProcessIdentity]) -> list[ProcessIdentity]:
    """Kill processes that a crashed run left behind, and return those that were still running."""
    found = [identity for identity in identities if identity.alive]
    for identity in found:
        identity.send_signal(signal.SIGKILL)
    for identity in found:
        identity.wait(5.0)
    return found
