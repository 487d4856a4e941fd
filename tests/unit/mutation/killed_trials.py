"""Two trials that end without cleanup while they work in memory. Only the test of the trials runs it.

Usage: ``python -m tests.unit.mutation.killed_trials FOLDER``. Writes the work folder of each trial to a file of FOLDER,
and prints the outcomes.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.mutation.mutants import mutants_of_text
from tests.mutation.trials import Outcome, Trial, _fork_each
from tests.support.work_folder import work_folder

DEADLINE_S = 60.0
"""No trial takes so long to make its work folder."""


def _try(folder: Path) -> None:
    (mutant, *_) = mutants_of_text("LIMIT = 16\n", "domain/m.py")

    def trials() -> Iterator[tuple[Trial, Callable[[Trial], int]]]:
        yield Trial(mutant=mutant, tests=["any"], limit_s=0.0), lambda _: _work(folder / "late", signal.pause)
        _wait_for(folder / "late")
        yield Trial(mutant=mutant, tests=["any"], limit_s=DEADLINE_S), lambda _: _work(folder / "failed", _exit)

    outcomes: list[Outcome] = []
    _fork_each(trials(), lambda _, outcome: outcomes.append(outcome), jobs=2)
    print(*sorted(each.name for each in outcomes))


def _work(name: Path, end: Callable[[], object]) -> int:
    with work_folder(name) as work:
        (work / "file").touch()
        written = name.with_suffix(".part")
        written.write_text(str(work))
        written.rename(name)
        end()
    return 0


def _exit() -> None:
    os._exit(1)


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not path.exists():
        if time.monotonic() > deadline:
            sys.exit(f"error: no trial wrote {path.name}")
        time.sleep(0.01)


if __name__ == "__main__":
    _try(Path(sys.argv[1]))
