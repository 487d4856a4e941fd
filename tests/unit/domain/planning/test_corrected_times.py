"""Times of the past as a clock that has jumped since would have told them."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.domain.planning.plan_inputs import NOW, attempt, plan_input, release
from xapp_operator.domain.planning.plan_input import AttemptOutcome, PendingRevision, TestOutcome, TestRun


def test_all_times_of_the_past_are_corrected_and_nothing_else() -> None:
    last = attempt(AttemptOutcome.FAILED, first_at=NOW - 20, last_at=NOW - 10)
    run = TestRun(1, TestOutcome.INTERRUPTED, first_at=NOW - 6, last_at=NOW - 4)
    late = PendingRevision(1, "pending-upgrade", NOW - 40)
    there = replace(release(), modified_at=NOW - 30, late_pending=late)
    corrected = replace(there, modified_at=NOW - 29, late_pending=replace(late, modified_at=NOW - 39))
    inputs = replace(plan_input(there, last=last), test=run, deleted_at=NOW - 2)  # this one is corrected already

    assert inputs.with_corrected_times(lambda told: told + 1) == replace(
        inputs,
        attempt=replace(last, first_at=NOW - 19, last_at=NOW - 9),
        test=replace(run, first_at=NOW - 5, last_at=NOW - 3),
        observed=replace(inputs.observed, release=corrected),
    )


def test_nothing_that_is_not_there_is_corrected() -> None:
    inputs = plan_input()
    assert inputs.with_corrected_times(lambda told: told) == inputs
