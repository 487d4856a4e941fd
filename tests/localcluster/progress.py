"""Progress messages for slow steps, with the elapsed seconds."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

ProgressCallback = Callable[[str], None]

_TICK_SECONDS = 10.0


def print_progress(line: str) -> None:
    """Print one line to standard error and flush it."""
    print(line, file=sys.stderr, flush=True)


@contextmanager
def report_progress(progress: ProgressCallback, *, what: str, detail: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Report the start of ``what``, its progress every ten seconds, and its end.

    ``detail`` returns a few words for each progress message.
    """
    begin = time.monotonic()
    finished = Event()

    def tick() -> None:
        while not finished.wait(_TICK_SECONDS):
            progress(f"{what} … {time.monotonic() - begin:.0f} s {detail()}".rstrip())

    progress(f"{what} …")
    ticker = Thread(target=tick, daemon=True)
    ticker.start()
    try:
        yield
    finally:
        finished.set()
        ticker.join()
    progress(f"{what}: done in {time.monotonic() - begin:.0f} s")
