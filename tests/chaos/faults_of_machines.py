"""Faults of the machine of an operator, its disk and its clock, while XApps change."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from tests.chaos.changes import change_some
from tests.chaos.faults_of_objects import HALF, HOUR, YEAR, delete_and_apply
from tests.chaos.fleet import NAMESPACES, ManagedXApp
from tests.chaos.operator_clock import OperatorClock
from tests.chaos.scene import Fault, Scene, WithoutEffect
from tests.chaos.snapshot import XAppKey, read_snapshot

Json: TypeAlias = dict[str, Any]

NO_SPACE: Final = "helm cannot run (no space left on device)"
HIT_SECONDS: Final = 60.0
WORK_TIME: Final = timedelta(minutes=10)
"""Longer than the XApps of a round need."""


def _fill_disk(scene: Scene) -> None:
    """Change XApps while no operator can make a file, until helm could not be started for one, or longer."""
    disks = scene.system.disks
    if not disks:
        raise WithoutEffect("no right to mount a disk")
    with ExitStack() as stack:
        for disk in disks.values():
            stack.enter_context(disk.full())
        chosen = scene.victims(3)
        for xapp in chosen:
            xapp.set_greeting(scene.greeting(xapp))
        scene.fleet.apply([*chosen, *change_some(scene, 2)])

        def look() -> list[str]:
            for disk in disks.values():
                disk.fill()  # a helm that ran before has removed its folder
            return _names(scene, chosen, _is_told_of_the_disk)

        if not scene.system.wait(lambda: bool(look()), HIT_SECONDS):
            raise WithoutEffect("no XApp says that the disk is full")
        scene.system.wait(lambda: not look(), scene.rng.uniform(0, 10))
        scene.notes.append(f"helm could not run for {', '.join(look())}")
        scene.lost += [f"{name} is Stalled because of a full disk" for name in _names(scene, chosen, _is_stalled)]


def _names(scene: Scene, chosen: Collection[ManagedXApp], suits: Callable[[Json], bool]) -> list[str]:
    """Return the names of those whose status suits."""
    found = read_snapshot(scene.system.cluster, NAMESPACES).xapps
    return [each.name for each in chosen if suits(found.get(each.key, {}).get("status", {}))]


def _is_told_of_the_disk(status: Json) -> bool:
    return any(each["type"] == "Ready" and NO_SPACE in each["message"] for each in status.get("conditions", []))


def _is_stalled(status: Json) -> bool:
    return any(each["type"] == "Stalled" for each in status.get("conditions", []))


def _set_clock(scene: Scene) -> None:
    """Set the clock of the leader, or of both operators, let them work meanwhile, and set it right again."""
    drawn = list(scene.system.clocks.values()) if scene.rng.random() < HALF else [_clock_of_leader(scene)]
    clocks = [each for each in drawn if each is not None]
    if not clocks:
        raise WithoutEffect("no C compiler")
    seconds = scene.rng.choice((HOUR, -HOUR, YEAR, -YEAR))
    scene.notes.append(f"{len(clocks)} by {seconds} s")
    for clock in clocks:
        clock.set_ahead(seconds)
    try:
        upgraded = _work_with_wrong_clock(scene, timedelta(seconds=seconds))
        scene.system.pause(scene.rng.uniform(0, 5))
    finally:
        for clock in clocks:
            clock.set_ahead(0)
    upgraded.set_greeting(scene.greeting(upgraded, ", with the true time again"))
    scene.fleet.apply([upgraded])


def _clock_of_leader(scene: Scene) -> OperatorClock | None:
    return scene.system.clocks[scene.system.name_of_leader()]


def _work_with_wrong_clock(scene: Scene, ahead: timedelta) -> ManagedXApp:
    """Upgrade XApps, delete one and apply it again, until operators have worked on them; return an upgraded one.

    The log has the time of the machine. The statuses must have the true one.
    """
    renewed = scene.victims(1, suits=lambda each: not each.base)
    upgraded = scene.victims(2)
    chosen = [*upgraded, *renewed]
    before, began = _times(scene, chosen), datetime.now(UTC)
    for xapp in upgraded:
        xapp.set_greeting(scene.greeting(xapp))
    scene.fleet.apply([*upgraded, *change_some(scene, 2)])
    delete_and_apply(scene, renewed)
    missing: list[str] = []

    def look() -> bool:
        worked = _logged(scene, since=began + ahead)
        missing[:] = [each.name for each in chosen if each.key not in worked]
        return not missing

    if not scene.system.wait(look, HIT_SECONDS):
        raise WithoutEffect(f"no operator with a wrong clock has worked on {', '.join(missing)}")
    scene.notes.append(f"worked with a wrong clock on {', '.join(each.name for each in chosen)}")
    now, times = datetime.now(UTC), _times(scene, chosen)
    wrong = [key for key, time in times.items() if time != before.get(key) and abs(time - now) > WORK_TIME]
    scene.lost += [f"the status of {name} has a time of a wrong clock" for _, name in wrong]
    return upgraded[0]


def _logged(scene: Scene, *, since: datetime) -> set[XAppKey]:
    """Return the XApps on which operators have worked in the ten minutes from `since`, as their own clocks say."""
    found = set()
    for replica in scene.system.replicas.values():
        for line in replica.log_text().splitlines():
            if '"action started"' in line and line.endswith("}"):
                record = json.loads(line)
                if since <= datetime.fromisoformat(record["timestamp"]) < since + WORK_TIME:
                    found.add((record["namespace"], record["name"]))
    return found


def _times(scene: Scene, chosen: Collection[ManagedXApp]) -> dict[XAppKey, datetime]:
    """Return when the last step of helm ended, as the statuses tell."""
    found = read_snapshot(scene.system.cluster, NAMESPACES).xapps
    attempts = {each.key: found.get(each.key, {}).get("status", {}).get("lastAttempt") for each in chosen}
    return {key: datetime.fromisoformat(attempt["lastAt"]) for key, attempt in attempts.items() if attempt}


FAULTS: Final = (
    Fault(name="disk full", inject=_fill_disk, explains=("process failed, No space left on device",)),
    Fault(name="clock of the operators set", inject=_set_clock),
)
