"""Stop requests of `make run`: Ctrl-C, a signal, or the end of the make that started it.

A signal raises StopRequested in the main thread, once: a second Ctrl-C does not interrupt the cleanup.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequested(BaseException):
    """A stop was requested."""


class SignalHandlers:
    """The handlers of the signals that request a stop."""

    def install(self) -> None:
        """Raise StopRequested in the main thread at the first signal, and ignore later ones."""
        for each in _SIGNALS:
            signal.signal(each, self._on_signal)

    def ignore(self) -> None:
        """Ignore the signals, so that the cleanup is completed."""
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)

    def _on_signal(self, _number: int, _frame: object) -> None:
        self.ignore()
        raise StopRequested


@contextmanager
def handle_stop_signals() -> Iterator[SignalHandlers]:
    """Raise StopRequested in the block on a signal, and restore the handlers after it."""
    before = {each: signal.getsignal(each) for each in _SIGNALS}
    signals = SignalHandlers()
    signals.install()
    try:
        yield signals
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


class ParentMake:
    """The make process that started this one, if any.

    A terminal sends SIGINT to the whole group. If it is sent to make alone, make waits for this process without
    forwarding it. That is detected because make removes its handler of the signal before it waits.
    """

    def __init__(self) -> None:
        self._pid = os.getppid()
        self._watched = _process_name(self._pid) in {"make", "gmake"} and _catches_interrupt(self._pid)

    def raise_if_interrupted(self) -> None:
        """Raise StopRequested if make was interrupted or has ended."""
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
