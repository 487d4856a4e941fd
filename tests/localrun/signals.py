"""How `make run` is told to stop: Ctrl-C, a signal, or the end of the make that started it.

A signal becomes the exception Stop in the main thread, once: a second Ctrl-C does not cut the cleaning up short.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequested(BaseException):
    """Somebody asked for the end."""


class SignalHandlers:
    """The signals that ask for the end."""

    def install(self) -> None:
        """From now on raise Stop in the main thread at the first of them, and ignore those that follow."""
        for each in _SIGNALS:
            signal.signal(each, self._on_signal)

    def ignore(self) -> None:
        """From now on ignore them: what is being cleaned up is cleaned up whole."""
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)

    def _on_signal(self, _number: int, _frame: object) -> None:
        self.ignore()
        raise StopRequested


@contextmanager
def handle_stop_signals() -> Iterator[SignalHandlers]:
    """Raise Stop in the block when a signal asks for the end; afterwards all is as it was."""
    before = {each: signal.getsignal(each) for each in _SIGNALS}
    signals = SignalHandlers()
    signals.install()
    try:
        yield signals
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


class ParentMake:
    """The make that runs us, if one does.

    A SIGINT that is sent to make alone (a terminal sends it to the whole group) makes it wait for us without telling
    us. It shows all the same: make gives up its handler of that signal before it waits.
    """

    def __init__(self) -> None:
        self._pid = os.getppid()
        self._watched = _process_name(self._pid) in {"make", "gmake"} and _catches_interrupt(self._pid)

    def raise_if_interrupted(self) -> None:
        """Raise Stop when make was interrupted or has gone."""
        if self._watched and (os.getppid() != self._pid or not _catches_interrupt(self._pid)):
            self._watched = False
            raise StopRequested


def _process_name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _catches_interrupt(pid: int) -> bool:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    masks = [line.split()[1] for line in lines if line.startswith("SigCgt:")]
    return bool(masks) and bool(int(masks[0], 16) >> (signal.SIGINT - 1) & 1)
