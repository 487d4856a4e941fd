"""What is recorded of an upgrade that was rolled back, so that it is not tried again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.reconcile.xapps import raw, xapp
from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import XApp
from xapp_operator.api.names import ANNOTATION_ROLLBACK_TO
from xapp_operator.domain.planning.plan_input import (
    DEPLOYED,
    ROLLBACK,
    UPGRADE,
    Attempt,
    AttemptOutcome,
    Digests,
    ObservedRelease,
    PastRevision,
    TestOutcome,
    TestRun,
)
from xapp_operator.reconcile.status.status_draft import StatusDraft
from xapp_operator.reconcile.verbs.rollback import failed_test, rolled_back_attempt

UPGRADED = Attempt(UPGRADE, AttemptOutcome.RELEASED, Digests("c", "v"), first_at=1.0, last_at=2.0)


def test_an_interrupted_rollback_that_was_repeated_counts_as_the_upgrade() -> None:
    interrupted = Attempt(ROLLBACK, AttemptOutcome.RUNNING, UPGRADED.digests, first_at=1.0, last_at=2.0)
    recorded = rolled_back_attempt(interrupted, 1, timeout="20s", root_cause="pod a-0: OOMKilled", failed=None)
    assert (recorded.action, recorded.outcome, recorded.permanent) == (UPGRADE, AttemptOutcome.UNHEALTHY, True)
    assert (recorded.reason, recorded.digests) == (Reason.HEALTH_CHECK_FAILED, UPGRADED.digests)
    begin = "not healthy after 20s (spec.timeout): pod a-0: OOMKilled; rolled back to revision 1"
    assert recorded.message.startswith(begin)


@pytest.mark.parametrize(
    ("outcome", "status", "digests", "is_over"),
    [
        (AttemptOutcome.RUNNING, DEPLOYED, Digests("c", "old"), True),
        (AttemptOutcome.FAILED, DEPLOYED, Digests("c", "old"), False),
        (AttemptOutcome.RUNNING, "failed", Digests("c", "old"), False),
        (AttemptOutcome.RUNNING, DEPLOYED, Digests("c", "v"), False),
    ],
)
def test_a_rollback_is_over_when_another_revision_than_the_desired_one_is_deployed(
    outcome: AttemptOutcome, status: str, digests: Digests, is_over: bool
) -> None:
    attempt = Attempt(ROLLBACK, outcome, Digests("c", "v"), first_at=1.0, last_at=2.0)
    draft = replace(StatusDraft.from_status(xapp(), now=2.0), attempt=attempt)
    there = ObservedRelease(3, status, "hello", digests, has_own_attempt=True, modified_at=1.0)
    assert (draft.without_finished_rollback(there).attempt is None) is is_over


@pytest.mark.parametrize(
    ("outcome", "value", "digests", "stored", "held"),
    [
        (AttemptOutcome.RUNNING, "1@again", Digests("c", "old"), (), 1),
        (AttemptOutcome.RUNNING, "1", Digests("c", "old"), (), 1),
        (AttemptOutcome.RUNNING, "1@again", Digests("c", "other"), (), None),
        (AttemptOutcome.RUNNING, "1@again", Digests("c", "old"), (PastRevision(1, "superseded"),), None),
        (AttemptOutcome.FAILED, "1@again", Digests("c", "old"), (), None),
    ],
)
def test_a_requested_rollback_that_had_ended_holds_its_revision_although_it_is_pruned(
    outcome: AttemptOutcome, value: str, digests: Digests, stored: tuple[PastRevision, ...], held: int | None
) -> None:
    body = raw()
    body["metadata"]["annotations"] = {ANNOTATION_ROLLBACK_TO: value}
    body["status"]["history"] = [{"revision": 1, "status": "superseded", "chartDigest": "c", "valuesDigest": "old"}]
    asked = XApp.model_validate(body)
    attempt = Attempt(ROLLBACK, outcome, None, first_at=1.0, last_at=2.0, rollback_to=value)
    draft = replace(StatusDraft.from_status(asked, now=2.0), attempt=attempt)
    there = ObservedRelease(5, DEPLOYED, "hello", digests, has_own_attempt=True, modified_at=1.0, past_revisions=stored)
    assert draft.with_finished_rollback(there, asked).held_revision == held


def test_failed_tests_are_the_reason_of_their_rollback() -> None:
    failed = TestRun(2, TestOutcome.FAILED, first_at=1.0, last_at=2.0, message="test Pod a failed")
    recorded = rolled_back_attempt(UPGRADED, 1, timeout="20s", root_cause="", failed=failed)
    assert recorded.reason == Reason.TEST_FAILED
    assert recorded.message.startswith("test Pod a failed; rolled back to revision 1")


def test_a_failed_upgrade_stays_failed_with_its_own_message() -> None:
    upgrade = replace(UPGRADED, outcome=AttemptOutcome.FAILED, reason="UpgradeFailed", message="quota")
    advice = "rolled back to revision 1; change spec, chart or values, or set the annotation retry-at"
    recorded = rolled_back_attempt(upgrade, 1, timeout="20s", root_cause="pod a-0: OOMKilled", failed=None)
    assert recorded == replace(upgrade, permanent=True, message=f"quota; {advice}")


FAILED = TestRun(2, TestOutcome.FAILED, first_at=1.0, last_at=2.0)


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (FAILED, FAILED),
        (None, None),
        (replace(FAILED, requested=True), None),
        (replace(FAILED, outcome=TestOutcome.SUCCEEDED), None),
        (replace(FAILED, revision=1), None),
    ],
)
def test_only_failed_tests_of_the_revision_in_force_that_nobody_requested_count(
    test: TestRun | None, expected: TestRun | None
) -> None:
    assert failed_test(test, revision=2) == expected
