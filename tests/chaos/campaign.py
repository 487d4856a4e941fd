"""Runs rounds of faults, and counts what was late or lost."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.chaos import faults_of_charts, faults_of_machines, faults_of_objects, faults_of_processes
from tests.chaos.changes import change_some
from tests.chaos.charts import named_config_map
from tests.chaos.faults_of_charts import publish
from tests.chaos.faults_of_processes import LOST_LEAD
from tests.chaos.fleet import NAMESPACES, Fleet
from tests.chaos.invariants import History, find_never_healthy, losses, unexplained
from tests.chaos.scene import CONVERGENCE_SECONDS, Fault, Scene, WithoutEffect
from tests.chaos.snapshot import Snapshot, XAppKey, read_snapshot
from tests.chaos.system import NoLeader, System, say
from tests.localcluster import KubectlFailed

FAULTS: Final = (
    *faults_of_processes.FAULTS,
    *faults_of_machines.FAULTS,
    *faults_of_objects.FAULTS,
    *faults_of_charts.FAULTS,
)
SETTLE_SECONDS: Final = 20.0
"""For what may follow after the conditions: garbage collection, the end of a helm process."""
REPORT_SECONDS: Final = 30.0
CHANGES: Final = 4
LEFTOVERS_DELETED: Final = "LeftoversDeleted"
"""The event of an operator that has deleted what helm had left of a failed revision."""
NEXT_SEED_FACTOR: Final = 1_000_003


@dataclass(slots=True)
class FaultResult:
    """The rounds of one fault. Each has converged within the limit of the fault, was without effect, or was late."""

    times: int = 0
    converged: int = 0
    without_effect: int = 0
    late: int = 0
    slowest: float = 0.0
    leftovers: int = 0
    """How often an operator deleted what helm had left of failed revisions."""
    lost: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return bool(self.late or self.lost)

    def add_round(self, seconds: float, *, converged: bool, limit: float, effect: bool = True) -> bool:
        """Count a round that converged after `seconds`, or did not, and return whether it was late."""
        late = not converged or seconds > limit
        self.times += 1
        self.late += late
        self.converged += effect and not late
        self.without_effect += not effect and not late
        self.slowest = max(self.slowest, seconds)
        return late


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to run. The draws of a round depend on `seed` and on the number of the round only."""

    seed: int
    rounds: int
    first_round: int = 1
    xapps: int = 20
    faults: Sequence[Fault] = FAULTS

    def fault(self, number: int) -> Fault:
        """Return the fault of a round, from 1. As many rounds as there are faults have each of them once."""
        cycle, position = divmod(number - 1, len(self.faults))
        shuffled = list(self.faults)
        random.Random(self.seed * NEXT_SEED_FACTOR - cycle).shuffle(shuffled)
        return shuffled[position]


def run(plan: Plan, folder: Path, results: dict[str, FaultResult]) -> None:
    """Run all rounds, and add what they lost to `results`, by the names of faults."""
    with System(folder) as system:
        fleet = Fleet(system.cluster, count=plan.xapps, charts_url=system.charts.url)
        fleet.create()
        start = Fault(name="start", inject=lambda _: None)
        first = Scene(system, fleet, random.Random(plan.seed), 0)
        publish(first, fleet.versions[0])
        _finish_round(first, start, results.setdefault("start", FaultResult()), {})
        for number in range(plan.first_round, plan.first_round + plan.rounds):
            rng = random.Random(plan.seed * NEXT_SEED_FACTOR + number)
            fault = plan.fault(number)
            _run_round(Scene(system, fleet, rng, number), fault, results.setdefault(fault.name, FaultResult()))


def _run_round(scene: Scene, fault: Fault, result: FaultResult) -> None:
    say(f"round {scene.number}: {fault.name}")
    before = read_snapshot(scene.system.cluster, NAMESPACES, everything=True)
    scene.fleet.apply(change_some(scene, CHANGES))
    scene.system.pause(scene.rng.choice((0.0, 0.2, 0.5, 1.0, 2.0)))
    effect = True
    try:
        fault.inject(scene)
    except NoLeader:
        result.lost.append(f"round {scene.number}: no operator led")
    except WithoutEffect as error:
        effect = False
        scene.notes.append(f"without effect: {error}")
    except KubectlFailed as error:  # what the fault is for went away meanwhile
        scene.notes.append(f"injected in part: {error}")
    for note in scene.notes:
        say(f"  {note}")
    for each in scene.lost:
        say(f"  LOST {each}")
    result.lost += [f"round {scene.number}: {each}" for each in scene.lost]
    scene.fleet.unrecorded |= set(_unrecorded(scene, before))
    history = {
        key: History(records, scene.records_hit.get(key, set()), find_never_healthy(before.xapps.get(key, {})))
        for key, records in before.records.items()
        if key not in scene.history_lost
    }
    _finish_round(scene, fault, result, history, effect=effect)


def _unrecorded(scene: Scene, before: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield the ConfigMaps that are named after the greetings of the records that the fault has hit."""
    for (namespace, name), hit in scene.records_hit.items():
        records = before.records.get((namespace, name), {})
        yield from ((namespace, named_config_map(name, records[each].greeting)) for each in hit if each in records)


def _finish_round(
    scene: Scene, fault: Fault, result: FaultResult, history: Mapping[XAppKey, History], *, effect: bool = True
) -> None:
    """Wait until everything has converged, and record what is wrong."""
    began = time.monotonic()
    next_report = began + REPORT_SECONDS

    def look() -> bool:
        nonlocal next_report
        snapshot = read_snapshot(scene.system.cluster, NAMESPACES)
        differences = {"/".join(each.key): each.difference(snapshot) for each in scene.fleet.xapps}
        if time.monotonic() > next_report:
            next_report += REPORT_SECONDS
            for name in [name for name, difference in differences.items() if difference][:3]:
                say(f"  waiting for {name}: {differences[name]}")
        return not any(differences.values())

    converged = scene.system.wait(look, CONVERGENCE_SECONDS)
    seconds = time.monotonic() - began
    wrong = ["everything"]

    def is_sound() -> bool:
        snapshot = read_snapshot(scene.system.cluster, NAMESPACES, everything=True)
        wrong[:] = losses(scene.fleet, snapshot, history, scene.may_repeat)
        wrong.extend(f"still running: {each}" for each in scene.system.helm_processes())
        return not wrong

    scene.system.wait(is_sound, SETTLE_SECONDS)
    wrong += scene.system.helm_watch.take()
    errors = unexplained(scene.system.new_error_lines(), fault.explains)
    wrong += unexplained(errors, LOST_LEAD)
    late = result.add_round(seconds, converged=converged, limit=fault.limit, effect=effect)
    result.lost += [f"round {scene.number}: {each}" for each in wrong]
    result.leftovers += scene.system.new_events(LEFTOVERS_DELETED)
    say(f"  {'converged' if converged else 'NOT CONVERGED'} after {seconds:.1f} s")
    if late:
        say(f"  LATE: the limit is {fault.limit:.0f} s")
    for each in wrong:
        say(f"  LOST {each}")
    if len(unexplained(errors, LOST_LEAD)) < len(errors):
        say("  an operator lost the lead without a fault: the machine is busy")


def table(results: dict[str, FaultResult]) -> str:
    """Return the results as text, one line per fault."""
    counts = f"{'times':>7}{'converged':>11}{'without effect':>16}{'late':>6}"
    lines = [f"{'fault':40}{counts}{'slowest s':>11}{'leftovers':>11}{'lost':>6}"]
    lines += [_line(name, each) for name, each in sorted(results.items())]
    every = results.values()
    total = FaultResult(
        times=sum(each.times for each in every),
        converged=sum(each.converged for each in every),
        without_effect=sum(each.without_effect for each in every),
        late=sum(each.late for each in every),
        slowest=max((each.slowest for each in every), default=0.0),
        leftovers=sum(each.leftovers for each in every),
        lost=[lost for each in every for lost in each.lost],
    )
    return "\n".join([*lines, _line("all", total)])


def _line(name: str, result: FaultResult) -> str:
    counts = f"{result.times:7}{result.converged:11}{result.without_effect:16}{result.late:6}"
    return f"{name:40}{counts}{result.slowest:11.1f}{result.leftovers:11}{len(result.lost):6}"
