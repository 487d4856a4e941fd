"""What is recorded of an upgrade that was rolled back, so that it is not tried again."""

from __future__ import annotations

from xapp_operator.api.conditions import Reason
from xapp_operator.domain.planning.plan_input import (
    ROLLBACK,
    UPGRADE,
    Attempt,
    AttemptOutcome,
    Digests,
    TestOutcome,
    TestRun,
)
from xapp_operator.reconcile.verbs.rollback import rolled_back_attempt

UPGRADED = Attempt(UPGRADE, AttemptOutcome.RELEASED, Digests("c", "v"), first_at=1.0, last_at=2.0)


def test_an_interrupted_rollback_that_was_repeated_counts_as_the_upgrade() -> None:
    interrupted = Attempt(ROLLBACK, AttemptOutcome.RUNNING, UPGRADED.digests, first_at=1.0, last_at=2.0)
    recorded = rolled_back_attempt(interrupted, 1, timeout="20s", root_cause="pod a-0: OOMKilled", failed_test=None)
    assert (recorded.action, recorded.outcome, recorded.permanent) == (UPGRADE, AttemptOutcome.UNHEALTHY, True)
    assert (recorded.reason, recorded.digests) == (Reason.HEALTH_CHECK_FAILED, UPGRADED.digests)
    begin = "not healthy after 20s (spec.timeout): pod a-0: OOMKilled; rolled back to revision 1"
    assert recorded.message.startswith(begin)


def test_failed_tests_are_the_reason_of_their_rollback() -> None:
    failed = TestRun(2, TestOutcome.FAILED, first_at=1.0, last_at=2.0, message="test Pod a failed")
    recorded = rolled_back_attempt(UPGRADED, 1, timeout="20s", root_cause="", failed_test=failed)
    assert recorded.reason == Reason.TEST_FAILED
    assert recorded.message.startswith("test Pod a failed; rolled back to revision 1")
