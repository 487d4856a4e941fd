"""The plan while a revision is held: it stays in force, or is brought back."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.domain.planning.plan_inputs import (
    HELD_AT_1,
    LONG_AGO,
    NAME,
    NOW,
    OLD,
    OTHER,
    attempt,
    plan_input,
    release,
    spec,
)
from xapp_operator.api.conditions import Reason
from xapp_operator.domain.planning.actions import Action, Rollback, Upgrade, Wait
from xapp_operator.domain.planning.plan import plan
from xapp_operator.domain.planning.plan_input import (
    DEPLOYED,
    FAILED,
    ROLLBACK,
    SUPERSEDED,
    UNINSTALLED,
    UPGRADE,
    Attempt,
    AttemptOutcome,
    ObservedRelease,
    PastRevision,
    PlanInput,
)
from xapp_operator.errors import SourceUnavailable

PAST = tuple(PastRevision(number, SUPERSEDED, OLD) for number in (1, 2, 3))
BRING_BACK = Rollback(1, hold=True, again=True)
ADVICE = "revision 1 is held: change the spec, or set the annotation retry-at"


def changed(status: str = DEPLOYED, *, earlier: tuple[PastRevision, ...] = PAST) -> ObservedRelease:
    """Return a release of which revision 3 was the copy of 1, and to which somebody has added revision 4."""
    return release(status, revision=4, digests=OTHER, earlier=earlier)


def held(there: ObservedRelease, *copies: int, revision: int = 1, **options: Any) -> PlanInput:
    found = plan_input(there, held=revision, **options)
    return replace(found, observed=replace(found.observed, held_copies=frozenset({revision, *copies})))


def failed_rollback(**options: Any) -> Attempt:
    options = {"reason": Reason.ROLLBACK_FAILED, "first_at": NOW - 0.5, "last_at": NOW - 0.5, **options}
    return replace(attempt(AttemptOutcome.FAILED, action=ROLLBACK, **options), rollback_to="1")


@pytest.mark.parametrize("status", [DEPLOYED, FAILED, SUPERSEDED, UNINSTALLED])
def test_a_held_revision_that_is_not_in_force_is_brought_back(status: str) -> None:
    assert plan(held(changed(status), 3)) == BRING_BACK
    assert plan(held(changed(status), 3, desired=SourceUnavailable("away"))) == BRING_BACK


def test_a_copy_of_a_held_revision_is_in_force_only_while_it_is_deployed() -> None:
    assert plan(held(changed(), 3, 4)) == HELD_AT_1
    assert plan(held(changed(FAILED), 3, 4)) == BRING_BACK
    assert plan(held(replace(changed(), overtaken_by=frozenset({3})), 3, 4)) == BRING_BACK


def test_a_release_that_is_taken_over_is_not_taken_back_to_a_held_revision() -> None:
    of_a_person = held(replace(changed(), owner=None), 3, wanted=spec(adopt=True))
    assert plan(of_a_person) == Upgrade(take_ownership=True)


def test_the_newest_copy_of_a_held_revision_that_is_gone_is_brought_back() -> None:
    assert plan(held(changed(earlier=PAST[1:]), 2, 3)) == Rollback(3, hold=True, again=True)


def test_nothing_else_is_deployed_when_a_held_revision_is_gone() -> None:
    message = (
        "revision 1 is held, but is no longer in force, and no longer stored. Change values, version or another field "
        "of the spec, or set rollback-to to one of 2, 3, 4."
    )
    gone = held(changed(earlier=PAST[1:]))
    assert plan(gone) == Wait(Reason.ROLLBACK_FAILED, message, stalled=True)
    assert plan(replace(gone, generation_observed=False)) == Upgrade()


@pytest.mark.parametrize(("revision", "expected"), [(3, HELD_AT_1), (4, Upgrade()), (5, Upgrade())])
def test_a_hold_ends_with_a_new_release_whose_revisions_count_from_one_again(revision: int, expected: Action) -> None:
    found = plan(held(changed(), 4, revision=revision))
    assert type(found) is type(expected)


def test_a_held_revision_whose_copies_were_deleted_is_brought_back() -> None:
    assert plan(held(release(SUPERSEDED, revision=1, digests=OLD))) == BRING_BACK


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (None, BRING_BACK),
        (failed_rollback(), Wait(Reason.ROLLBACK_FAILED, "helm's own error", until=NOW + 0.5)),
        (failed_rollback(last_at=NOW - 1.0), BRING_BACK),
        (
            failed_rollback(permanent=True),
            Wait(Reason.ROLLBACK_FAILED, f"helm's own error; {ADVICE}", stalled=True),
        ),
        (
            failed_rollback(first_at=LONG_AGO, count=99),
            Wait(Reason.ROLLBACK_FAILED, f"helm's own error; {ADVICE}", stalled=True),
        ),
        (
            replace(failed_rollback(permanent=True), rollback_to="1@again"),
            Wait(Reason.ROLLBACK_FAILED, f"helm's own error; {ADVICE}", stalled=True),
        ),
        (replace(failed_rollback(permanent=True), rollback_to="2@again"), BRING_BACK),
        (replace(failed_rollback(permanent=True), rollback_to="11"), BRING_BACK),
        (replace(failed_rollback(permanent=True), action=UPGRADE), BRING_BACK),
        (replace(failed_rollback(permanent=True), outcome=AttemptOutcome.SUCCEEDED), BRING_BACK),
    ],
)
def test_a_rollback_to_a_held_revision_that_failed_is_repeated_like_others(
    last: Attempt | None, expected: Action
) -> None:
    assert plan(held(changed(), 3, last=last)) == expected


def test_a_held_revision_is_brought_back_before_a_cycle_of_dependencies_is_told() -> None:
    cycle = {"dependency_cycle": (NAME, "b", NAME)}
    assert plan(held(changed(), 3, observed=cycle)) == BRING_BACK
    in_force = plan(held(changed(), 3, 4, observed=cycle))
    assert isinstance(in_force, Wait)
    assert in_force.reason == Reason.DEPENDENCY_NOT_READY
