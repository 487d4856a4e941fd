"""What the last attempt becomes when another one made what is deployed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.unit.reconcile.xapps import xapp
from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus, ReleaseStatus, RevisionStatus
from xapp_operator.domain.planning.actions import Nothing, Wait
from xapp_operator.domain.planning.plan_input import Attempt, AttemptOutcome, Digests
from xapp_operator.errors import SourceUnavailable, XAppError
from xapp_operator.reconcile.status.settled_attempts import settle_attempt
from xapp_operator.reconcile.status.status_draft import StatusDraft

GOOD, BAD = Digests("c", "good"), Digests("c", "bad")
DEPLOYED_AT = datetime(2026, 1, 2, tzinfo=UTC)
ROLLED_BACK = RevisionStatus(revision=3, status="deployed", action="Rollback", deployed_at=DEPLOYED_AT)
HISTORY = (ROLLED_BACK, RevisionStatus(revision=2, status="superseded", action="Upgrade", deployed_at=DEPLOYED_AT))
SETTLED = Attempt(
    "Rollback", AttemptOutcome.SUCCEEDED, GOOD, DEPLOYED_AT.timestamp(), DEPLOYED_AT.timestamp(), generation=7
)
UPGRADE_TO_BAD = Attempt("Upgrade", AttemptOutcome.UNHEALTHY, BAD, first_at=1.0, last_at=2.0, generation=7)
REFUSED = replace(UPGRADE_TO_BAD, outcome=AttemptOutcome.FAILED, permanent=True)


def draft(attempt: Attempt | None, history: tuple[RevisionStatus, ...] = HISTORY) -> StatusDraft:
    empty = StatusDraft.from_status(xapp(), now=2.0)
    return replace(empty, attempt=attempt, release=ReleaseStatus(revision=3), history=history)


def settle(
    before: StatusDraft,
    decision: Wait | Nothing = Nothing(),  # noqa: B008 - immutable
    desired: Digests | XAppError = GOOD,
    health: HealthStatus = HealthStatus.HEALTHY,
) -> Attempt | None:
    return settle_attempt(before, decision, health, desired=desired, generation=7).attempt


def test_what_retry_at_has_cleared_stays_so_while_the_objects_are_not_healthy() -> None:
    assert settle(draft(None), health=HealthStatus.DEGRADED) is None


@pytest.mark.parametrize(
    ("attempt", "health"),
    [
        *(
            (each, health)
            for each in (UPGRADE_TO_BAD, REFUSED)
            for health in (HealthStatus.HEALTHY, HealthStatus.DEGRADED)
        ),
        (None, HealthStatus.HEALTHY),
    ],
)
def test_at_rest_the_step_that_made_the_deployed_revision_takes_the_place(
    attempt: Attempt | None, health: HealthStatus
) -> None:
    assert settle(draft(attempt), health=health) == SETTLED


def test_a_rollback_that_did_not_take_place_is_forgotten_for_that_step() -> None:
    rollback = replace(UPGRADE_TO_BAD, action="Rollback", outcome=AttemptOutcome.RUNNING, digests=GOOD)
    assert settle(draft(rollback)) == SETTLED


@pytest.mark.parametrize(
    "history",
    [
        (),
        HISTORY[1:],
        (ROLLED_BACK.model_copy(update={"action": None}),),
        (ROLLED_BACK.model_copy(update={"deployed_at": None}),),
    ],
)
def test_no_step_is_made_up_and_an_attempt_at_something_else_never_succeeds(
    history: tuple[RevisionStatus, ...],
) -> None:
    assert settle(draft(UPGRADE_TO_BAD, history)) == UPGRADE_TO_BAD
    assert settle(draft(None, history)) is None


def test_the_attempt_that_made_it_stays() -> None:
    made = replace(UPGRADE_TO_BAD, digests=GOOD, outcome=AttemptOutcome.RELEASED)
    assert settle(draft(made)) == replace(made, outcome=AttemptOutcome.SUCCEEDED)


@pytest.mark.parametrize(
    ("decision", "desired"),
    [
        (Wait(Reason.PROGRESSING, "soon"), GOOD),
        (Wait(Reason.UPGRADE_FAILED, "rolled back", stalled=True), BAD),
        (Nothing("the next upgrade will need its source"), SourceUnavailable("away")),
    ],
)
def test_a_failed_attempt_stays_while_it_is_not_known_that_something_else_is_wanted(
    decision: Wait | Nothing, desired: Digests | XAppError
) -> None:
    assert settle(draft(REFUSED), decision, desired) == REFUSED


def test_the_rollback_to_a_held_revision_stays() -> None:
    rollback = Attempt("Rollback", AttemptOutcome.RELEASED, BAD, first_at=1.0, last_at=2.0, rollback_to="2")
    held = replace(draft(rollback), held_revision=2)
    assert settle(held) == replace(rollback, outcome=AttemptOutcome.SUCCEEDED)
