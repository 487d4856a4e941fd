"""Measures how many generated histories a second the real reconciler plays on the stand-ins of the unit tests.

    python -m tests.bench.histories_bench [--examples 40] [--processes 2]

Each process generates its own examples, the same in each run. Each is played once, and goes on after a kill before and
after each of its writes (`tests.support.fakes.kill_points`). Each history settles and is checked as in the unit tests.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed
from hypothesis import settings as property_settings

from tests.support.fakes.histories import History, make_settings
from tests.support.fakes.kill_points import everywhere, run_with_kills
from tests.unit.histories.generation import (
    InitialState,
    ScriptedEvent,
    any_initial_state,
    broken_tags,
    changes,
    deletions,
    rollbacks,
    scripts,
    tags,
)

YOUNG_OBJECTS_MAX = 50_000
"""Objects until the next garbage collection, as in `tests/unit/histories/conftest.py`."""


@dataclass
class Played:
    """What one process has played."""

    histories: int = 0
    kills: int = 0
    writes: int = 0
    """Of the operator and of helm."""
    processor_seconds: float = 0.0

    def add(self, history: History) -> None:
        self.histories += 1
        self.writes += len(history.cluster.writes)


def play(number: int, examples: int) -> Played:
    """Play generated histories in this process."""
    played = Played()
    with tempfile.TemporaryDirectory() as folder:
        settings = make_settings(Path(folder))

        @seed(number)
        @property_settings(
            max_examples=examples,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=[*HealthCheck],
        )
        @given(initial=any_initial_state, happened=scripts(tags, changes, broken_tags, deletions, rollbacks, many=4))
        def play_each(initial: InitialState, happened: list[ScriptedEvent]) -> None:
            async def happen(history: History) -> None:
                await initial.begin(history)
                for event in happened:
                    event.act(history)
                    await history.cluster.wait(event.pause)

            found = run_with_kills(settings, happen, after=initial.before(settings), where=everywhere)
            for each in (found.history, *found.killed):
                played.add(each)
            played.kills += len(found.killed) + found.history.cluster.lives - 1

        gc.collect()
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS_MAX)
        before = time.process_time()
        play_each()
        played.processor_seconds = time.process_time() - before
    return played


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=40, help="of each process; each has about 25 kills")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    begin = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        found = pool.starmap(play, [(number, arguments.examples) for number in range(arguments.processes)])
    seconds = time.monotonic() - begin
    histories, processor = sum(each.histories for each in found), sum(each.processor_seconds for each in found)
    kills, writes = sum(each.kills for each in found), sum(each.writes for each in found)
    print(f"{histories} histories with {kills} kills and {writes} writes in {seconds:.1f} s")
    print(f"{1000 * processor / histories:.1f} ms of processor time each; {histories / seconds:.0f} a second")


if __name__ == "__main__":
    main()
