"""dependsOn orders deletions within a bound, and a cycle stalls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.domain.planning.plan_inputs import (
    INSTALLED,
    LONG_AGO,
    NOW,
    OLD,
    OTHER,
    TIMEOUT,
    plan_input,
    release,
    spec,
    without_message,
)
from xapp_operator.api.conditions import Reason
from xapp_operator.domain.planning.actions import Action, Nothing, Uninstall, Unlock, Wait
from xapp_operator.domain.planning.plan import plan
from xapp_operator.domain.planning.plan_input import UNINSTALLING, ObservedRelease, PlanInput

DEPENDENTS = {"dependents": ("b", "c")}
CYCLE = {"dependency_cycle": ("a", "b", "a")}


def deletion(*, at: float = NOW - 1.0, there: ObservedRelease | None = None, **options: Any) -> PlanInput:
    given = {"deleting": True, "observed": DEPENDENTS, **options}
    return replace(plan_input(there or release(), **given), deleted_at=at)


def test_a_deletion_waits_for_dependents_at_most_the_timeout() -> None:
    waiting = plan(deletion())
    assert without_message(waiting) == Wait(Reason.DEPENDENCY_NOT_READY, "", until=NOW - 1.0 + TIMEOUT)
    assert isinstance(waiting, Wait)
    assert "b, c" in waiting.message
    assert plan(deletion(observed={**DEPENDENTS, "archive_owners_differ": True})) == waiting  # it only waits
    assert plan(deletion(at=NOW - TIMEOUT)) == Uninstall(dependents=("b", "c"))
    # A clock that jumped: the wait is still bounded.
    assert without_message(plan(deletion(at=NOW + 9e9))) == Wait(Reason.DEPENDENCY_NOT_READY, "", until=NOW + TIMEOUT)


@pytest.mark.parametrize(
    ("missing", "said"),
    [((), "Ready: b, c"), (("c",), "Ready: b, c. The namespace has no XApp named c")],
)
def test_a_wait_tells_which_dependencies_do_not_exist(missing: tuple[str, ...], said: str) -> None:
    waiting = plan(plan_input(waiting_for=("b", "c"), observed={"missing_dependencies": missing}))
    assert waiting == Wait(Reason.DEPENDENCY_NOT_READY, f"waiting until the XApps in dependsOn are {said}")


@pytest.mark.parametrize(
    ("inputs", "action"),
    [
        (deletion(observed={}), Uninstall()),
        (deletion(terminating=True), Uninstall(hooks=False, dependents=("b", "c"))),
        (deletion(wanted=spec(orphan=True)), Nothing()),
        (deletion(there=release(UNINSTALLING)), Uninstall(hooks=False, dependents=("b", "c"))),
        (deletion(there=release(owner=None)), Nothing()),
    ],
    ids=["no dependents", "namespace terminating", "orphan", "already begun", "of a person"],
)
def test_a_deletion_does_not_wait(inputs: PlanInput, action: Action) -> None:
    assert plan(inputs) == action


@pytest.mark.parametrize("there", [None, release(), release(digests=OLD)], ids=["new", "deployed", "outdated"])
def test_a_cycle_is_stalled_whatever_is_deployed(there: ObservedRelease | None) -> None:
    stalled = plan(plan_input(there, observed=CYCLE, last=INSTALLED))
    assert without_message(stalled) == Wait(Reason.DEPENDENCY_NOT_READY, "", stalled=True)
    assert isinstance(stalled, Wait)
    assert stalled.message == "dependsOn forms a cycle: a → b → a. Remove one of these dependencies"


def test_a_cycle_holds_up_no_repair_and_no_deletion() -> None:
    pending = release("pending-upgrade", digests=OTHER, modified_at=LONG_AGO)
    assert plan(plan_input(pending, observed=CYCLE)) == Unlock(2)
    assert plan(plan_input(release(), observed=CYCLE, deleting=True)) == Uninstall()


def test_a_long_cycle_is_named_in_part() -> None:
    names = tuple(f"x{number}" for number in range(500))
    stalled = plan(plan_input(release(), observed={"dependency_cycle": (*names, "x0")}))
    assert isinstance(stalled, Wait)
    assert "x0 → x1" in stalled.message
    assert "… → x0" in stalled.message
    assert len(stalled.message) < 200


@pytest.mark.parametrize(
    ("members", "named"),
    [(10, "x0 → x1 → x2 → x3 → x4 → x5 → x6 → x7 → x8 → x9 → x0"), (11, "x7 → x8 → x9 → … → x0")],
)
def test_a_long_cycle_is_named_by_its_first_ten_members(members: int, named: str) -> None:
    names = tuple(f"x{number}" for number in range(members))
    stalled = plan(plan_input(release(), observed={"dependency_cycle": (*names, "x0")}))
    assert isinstance(stalled, Wait)
    assert f"{named}. Remove" in stalled.message
    assert "x10" not in stalled.message
