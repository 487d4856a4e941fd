"""What attempts say about themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.domain.planning.plan_inputs import GENERATION, NOW, OTHER, attempt
from xapp_operator.api.conditions import Reason
from xapp_operator.api.status_parts import RollbackCause
from xapp_operator.domain.planning.plan_input import (
    INSTALL,
    ROLLBACK,
    UPGRADE,
    Attempt,
    AttemptOutcome,
    find_known_digests,
    is_plannable,
)
from xapp_operator.errors import SourceUnavailable, XAppError

CAUSE = RollbackCause(revision=2, reason=Reason.HEALTH_CHECK_FAILED, message="not healthy")
AWAY = SourceUnavailable("away")
GONE = SourceUnavailable("no such chart", permanent=True)
KNOWN = attempt(AttemptOutcome.RELEASED)


def test_a_wait_for_a_place_does_not_count_towards_the_timeout() -> None:
    waited = attempt(AttemptOutcome.RUNNING, first_at=NOW - 20.0, last_at=NOW - 15.0)
    assert waited.begun(NOW) == replace(waited, first_at=NOW - 5.0, last_at=NOW)


def test_what_began_while_the_clock_was_set_back_has_not_begun_in_the_future() -> None:
    waited = attempt(AttemptOutcome.RUNNING, first_at=NOW + 3600.0, last_at=NOW + 3605.0)
    assert waited.begun(NOW) == replace(waited, first_at=NOW, last_at=NOW)
    tried_before = attempt(AttemptOutcome.RUNNING, first_at=NOW - 20.0, last_at=NOW + 5.0)
    assert tried_before.begun(NOW) == replace(tried_before, last_at=NOW)


@pytest.mark.parametrize(
    ("action", "outcome", "cause", "ended"),
    [
        (UPGRADE, AttemptOutcome.INTERRUPTED, CAUSE, True),
        (UPGRADE, AttemptOutcome.INTERRUPTED, None, False),
        (UPGRADE, AttemptOutcome.FAILED, CAUSE, False),
        (ROLLBACK, AttemptOutcome.INTERRUPTED, CAUSE, False),
        (INSTALL, AttemptOutcome.INTERRUPTED, None, False),
    ],
)
def test_an_upgrade_whose_rollback_was_ended_has_its_cause(
    action: str, outcome: AttemptOutcome, cause: RollbackCause | None, ended: bool
) -> None:
    assert replace(attempt(outcome, action=action), rollback_cause=cause).rollback_was_ended is ended


def test_what_is_wanted_is_known_if_it_can_be_read() -> None:
    assert find_known_digests(OTHER, KNOWN, generation=GENERATION) == OTHER
    assert find_known_digests(None, KNOWN, generation=GENERATION) is None


@pytest.mark.parametrize(
    ("error", "last", "plannable"),
    [
        (GONE, None, True),
        (AWAY, None, False),
        (AWAY, KNOWN, True),
        (AWAY, replace(KNOWN, generation=GENERATION - 1), False),
        (AWAY, replace(KNOWN, digests=None), False),
    ],
)
def test_what_may_pass_is_waited_for_unless_it_is_known_what_was_wanted(
    error: XAppError, last: Attempt | None, plannable: bool
) -> None:
    assert is_plannable(error, last, GENERATION) is plannable
