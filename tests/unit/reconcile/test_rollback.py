"""What is recorded of an upgrade that was rolled back, so that it is not tried again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.reconcile.xapps import raw, xapp
from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus, ReleaseStatus, XApp
from xapp_operator.api.names import ANNOTATION_FORCE_AT, ANNOTATION_ROLLBACK_TO
from xapp_operator.api.status_parts import RollbackCause
from xapp_operator.domain.planning.actions import HelmAction, Nothing, Rollback, Upgrade, Wait
from xapp_operator.domain.planning.plan_input import (
    DEPLOYED,
    INSTALL,
    ROLLBACK,
    UPGRADE,
    AnnotationRequests,
    Attempt,
    AttemptOutcome,
    Digests,
    ObservedRelease,
    PastRevision,
    TestOutcome,
    TestRun,
)
from xapp_operator.reconcile.reconcile_context import ReconcileRequest
from xapp_operator.reconcile.status.attempts import rolled_back_attempt
from xapp_operator.reconcile.status.settled_attempts import settle_attempt
from xapp_operator.reconcile.status.status_draft import StatusDraft, request_digest
from xapp_operator.reconcile.verbs.rollback import failed_test, find_rollback_cause, find_rollback_request

UPGRADED = Attempt(UPGRADE, AttemptOutcome.RELEASED, Digests("c", "v"), first_at=1.0, last_at=2.0)
UNHEALTHY = RollbackCause(revision=1, reason=Reason.HEALTH_CHECK_FAILED, message="pod a-0: OOMKilled")
ROLLING_BACK = Attempt(
    ROLLBACK, AttemptOutcome.RUNNING, UPGRADED.digests, first_at=1.0, last_at=2.0, rollback_cause=UNHEALTHY
)
TO_FIRST = Rollback(1)
ADVICE = "rolled back to revision 1; change spec, chart or values, or set the annotation retry-at"


@pytest.mark.parametrize("attempt", [UPGRADED, ROLLING_BACK])
@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        (Reason.HEALTH_CHECK_FAILED, AttemptOutcome.UNHEALTHY),
        (Reason.TEST_FAILED, AttemptOutcome.UNHEALTHY),
        (Reason.UPGRADE_FAILED, AttemptOutcome.FAILED),
        (Reason.VALUES_INVALID, AttemptOutcome.FAILED),
    ],
)
def test_what_was_rolled_back_counts_as_an_upgrade_that_failed_for_good(
    attempt: Attempt, reason: Reason, outcome: AttemptOutcome
) -> None:
    recorded = rolled_back_attempt(attempt, RollbackCause(revision=1, reason=reason, message="no"))
    expected = replace(UPGRADED, outcome=outcome, permanent=True, reason=reason, message=f"no; {ADVICE}")
    assert recorded == expected


@pytest.mark.parametrize(
    ("action", "answered"),
    [
        (Rollback(1, hold=True), "1@again"),
        (Rollback(1, hold=True, again=True), "1"),
        (Rollback(1), ""),
        (Upgrade(), ""),
    ],
)
def test_only_a_rollback_that_was_requested_answers_a_request(action: HelmAction, answered: str) -> None:
    assert find_rollback_request(action, AnnotationRequests(rollback_value="1@again")) == answered


def cause_of(previous: Attempt | None, *, action: HelmAction = TO_FIRST, test: TestRun | None = None) -> object:
    found = xapp()
    draft = replace(
        StatusDraft.from_status(found, now=2.0), attempt=previous, test=test, release=ReleaseStatus(revision=2)
    )
    return find_rollback_cause(action, ReconcileRequest(raw=raw(), xapp=found, draft=draft), root_cause="pod a-0: OOM")


def test_the_health_of_the_objects_is_why_an_upgrade_is_rolled_back() -> None:
    message = f"not healthy after {xapp().spec.timeout} (spec.timeout): pod a-0: OOM"
    expected = RollbackCause(revision=1, reason=Reason.HEALTH_CHECK_FAILED, message=message)
    ended = replace(ROLLING_BACK, action=UPGRADE, outcome=AttemptOutcome.INTERRUPTED)
    for previous in (None, UPGRADED, replace(ROLLING_BACK, rollback_cause=None), ended):
        assert cause_of(previous) == expected


def test_the_error_of_helm_is_why_an_upgrade_is_rolled_back() -> None:
    failed = replace(UPGRADED, outcome=AttemptOutcome.FAILED, reason="UpgradeFailed", message="quota")
    assert cause_of(failed) == RollbackCause(revision=1, reason="UpgradeFailed", message="quota")


def test_failed_tests_are_why_an_upgrade_is_rolled_back() -> None:
    failed = TestRun(2, TestOutcome.FAILED, first_at=1.0, last_at=2.0, message="test Pod a failed")
    expected = RollbackCause(revision=1, reason=Reason.TEST_FAILED, message="test Pod a failed")
    assert cause_of(UPGRADED, test=failed) == expected


@pytest.mark.parametrize("outcome", [AttemptOutcome.RUNNING, AttemptOutcome.FAILED, AttemptOutcome.INTERRUPTED])
def test_the_next_try_of_a_rollback_has_the_cause_of_the_first(outcome: AttemptOutcome) -> None:
    tried = replace(ROLLING_BACK, outcome=outcome, reason="RollbackFailed", message="quota")
    assert cause_of(tried, action=Rollback(3)) == UNHEALTHY.model_copy(update={"revision": 3})


@pytest.mark.parametrize("action", [Rollback(1, hold=True), Upgrade()])
def test_nothing_else_than_a_rollback_that_nobody_requested_has_a_cause(action: HelmAction) -> None:
    assert cause_of(ROLLING_BACK, action=action) is None


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
    if outcome is AttemptOutcome.RUNNING:
        ended = replace(attempt, action=UPGRADE, outcome=AttemptOutcome.INTERRUPTED, rollback_cause=UNHEALTHY)
        assert (replace(draft, attempt=ended).without_finished_rollback(there).attempt is None) is is_over
        interrupted = replace(ended, rollback_cause=None)
        assert replace(draft, attempt=interrupted).without_finished_rollback(there).attempt == interrupted


@pytest.mark.parametrize(
    ("outcome", "value", "digests", "stored", "held"),
    [
        (AttemptOutcome.RUNNING, "1@again", Digests("c", "old"), (), 1),
        (AttemptOutcome.RUNNING, "1", Digests("c", "old"), (), 1),
        (AttemptOutcome.RUNNING, "1@again", Digests("c", "other"), (), None),
        (AttemptOutcome.RUNNING, "1@again", Digests("c", "old"), (PastRevision(1, "superseded"),), 1),
        (AttemptOutcome.RUNNING, "1@again", None, (PastRevision(1, "superseded"),), None),
        (AttemptOutcome.FAILED, "1@again", Digests("c", "old"), (), None),
    ],
)
def test_a_requested_rollback_that_had_ended_holds_its_revision(
    outcome: AttemptOutcome, value: str, digests: Digests | None, stored: tuple[PastRevision, ...], held: int | None
) -> None:
    body = raw()
    body["metadata"]["annotations"] = {ANNOTATION_ROLLBACK_TO: value}
    known = {"chartDigest": "c", "valuesDigest": "old"} if digests is not None else {}
    body["status"]["history"] = [{"revision": 1, "status": "superseded"} | known]
    asked = XApp.model_validate(body)
    attempt = Attempt(ROLLBACK, outcome, None, first_at=1.0, last_at=2.0, rollback_to=value)
    draft = replace(StatusDraft.from_status(asked, now=2.0), attempt=attempt)
    there = ObservedRelease(5, DEPLOYED, "hello", digests, has_own_attempt=True, modified_at=1.0, past_revisions=stored)
    assert draft.with_finished_rollback(there, asked).held_revision == held


@pytest.mark.parametrize(
    ("held", "digests", "now_held"),
    [(1, Digests("c", "old"), 3), (1, Digests("c", "other"), 1), (None, Digests("c", "old"), None)],
)
def test_a_rollback_to_what_is_held_that_had_ended_answers_no_request(
    held: int | None, digests: Digests, now_held: int | None
) -> None:
    body = raw()
    body["metadata"]["annotations"] = {ANNOTATION_ROLLBACK_TO: "1@again"}
    body["status"]["history"] = [
        {"revision": 3, "status": "superseded", "chartDigest": "c", "valuesDigest": "old"},
    ]
    asked = XApp.model_validate(body)
    attempt = Attempt(ROLLBACK, AttemptOutcome.RUNNING, None, first_at=1.0, last_at=2.0, rollback_to="3")
    draft = replace(StatusDraft.from_status(asked, now=2.0), attempt=attempt, held_revision=held)
    there = ObservedRelease(5, DEPLOYED, "hello", digests, has_own_attempt=True, modified_at=1.0)
    found = draft.with_finished_rollback(there, asked)
    assert (found.held_revision, found.handled.rollback_to) == (now_held, None)
    assert found.attempt is not None
    assert (found.attempt.outcome is AttemptOutcome.RELEASED) is (now_held == 3)


def test_a_rollback_with_neither_a_request_nor_a_cause_is_not_known_to_have_ended() -> None:
    """Somebody else has written the status."""
    attempt = replace(ROLLING_BACK, rollback_cause=None)
    draft = replace(StatusDraft.from_status(xapp(), now=2.0), attempt=attempt, held_revision=1)
    there = ObservedRelease(3, DEPLOYED, "hello", Digests("c", "old"), has_own_attempt=True, modified_at=1.0)
    assert draft.with_finished_rollback(there, xapp()) == draft


@pytest.mark.parametrize(
    ("attempt", "revision", "status", "digests", "is_over"),
    [
        (ROLLING_BACK, 3, DEPLOYED, Digests("c", "old"), True),
        (ROLLING_BACK, 3, DEPLOYED, None, True),
        (ROLLING_BACK, 3, DEPLOYED, Digests("c", "v"), False),
        (ROLLING_BACK, 2, DEPLOYED, Digests("c", "old"), False),
        (ROLLING_BACK, 3, "failed", Digests("c", "old"), False),
        (replace(ROLLING_BACK, outcome=AttemptOutcome.FAILED), 3, DEPLOYED, Digests("c", "old"), False),
        (replace(ROLLING_BACK, rollback_cause=None), 3, DEPLOYED, Digests("c", "old"), False),
    ],
)
def test_a_rollback_that_nobody_requested_and_that_had_ended_is_recorded(
    attempt: Attempt, revision: int, status: str, digests: Digests | None, is_over: bool
) -> None:
    draft = StatusDraft.from_status(xapp(), now=2.0)
    draft = replace(draft, attempt=attempt, release=ReleaseStatus(revision=2))
    there = ObservedRelease(revision, status, "hello", digests, has_own_attempt=True, modified_at=1.0)
    recorded = rolled_back_attempt(attempt, UNHEALTHY) if is_over else attempt
    assert draft.with_finished_rollback(there, xapp()).attempt == recorded


@pytest.mark.parametrize(
    ("action", "outcome", "handled"),
    [
        (INSTALL, AttemptOutcome.RELEASED, "now"),
        (UPGRADE, AttemptOutcome.RELEASED, "now"),
        (UPGRADE, AttemptOutcome.RUNNING, "now"),
        (UPGRADE, AttemptOutcome.INTERRUPTED, "now"),
        (UPGRADE, AttemptOutcome.FAILED, None),
        (UPGRADE, AttemptOutcome.UNHEALTHY, None),
        (ROLLBACK, AttemptOutcome.RELEASED, None),
    ],
)
def test_a_rollback_does_not_answer_the_request_for_an_upgrade(
    action: str, outcome: AttemptOutcome, handled: str | None
) -> None:
    """Its revision looks like a new one, if helm has pruned the one it copied; later it counts as a failed upgrade."""
    body = raw()
    body["metadata"]["annotations"] = {ANNOTATION_FORCE_AT: "now"}
    asked = XApp.model_validate(body)
    attempt = replace(UPGRADED, action=action, outcome=outcome, request_digest=request_digest(asked))
    draft = replace(StatusDraft.from_status(asked, now=2.0), attempt=attempt, release=ReleaseStatus(revision=2))
    there = ObservedRelease(3, DEPLOYED, "hello", Digests("c", "old"), has_own_attempt=True, modified_at=1.0)
    assert draft.with_finished_upgrade(there, asked).handled.force_at == handled


def test_a_rollback_that_a_changed_spec_has_ended_does_not_answer_the_request_for_an_upgrade() -> None:
    body = raw()
    body["metadata"]["annotations"] = {ANNOTATION_FORCE_AT: "now"}
    asked = XApp.model_validate(body)
    ended = replace(UPGRADED, outcome=AttemptOutcome.INTERRUPTED, rollback_cause=UNHEALTHY)
    ended = replace(ended, request_digest=request_digest(asked))
    draft = replace(StatusDraft.from_status(asked, now=2.0), attempt=ended, release=ReleaseStatus(revision=2))
    there = ObservedRelease(3, DEPLOYED, "hello", Digests("c", "old"), has_own_attempt=True, modified_at=1.0)
    assert draft.with_finished_upgrade(there, asked) == draft


def test_an_upgrade_does_not_answer_a_request_that_came_after_it_began() -> None:
    body = raw()
    body["metadata"]["annotations"] = {ANNOTATION_FORCE_AT: "later"}
    asked = XApp.model_validate(body)
    draft = replace(StatusDraft.from_status(asked, now=2.0), attempt=UPGRADED, release=ReleaseStatus(revision=2))
    there = ObservedRelease(3, DEPLOYED, "hello", Digests("c", "v"), has_own_attempt=True, modified_at=1.0)
    assert draft.with_finished_upgrade(there, asked).handled.force_at is None


def test_an_upgrade_by_a_person_does_not_end_one_that_was_begun() -> None:
    draft = replace(StatusDraft.from_status(xapp(), now=2.0), attempt=UPGRADED, release=ReleaseStatus(revision=2))
    there = ObservedRelease(3, DEPLOYED, "hello", None, has_own_attempt=False, modified_at=1.0)
    assert draft.with_finished_upgrade(there, xapp()) == draft


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


def settle(draft: StatusDraft, decision: Wait | Nothing, health: HealthStatus) -> StatusDraft:
    return settle_attempt(draft, decision, health, desired=UPGRADED.digests, generation=7)


@pytest.mark.parametrize(
    ("attempt", "outcome"),
    [
        (ROLLING_BACK, None),
        (replace(ROLLING_BACK, outcome=AttemptOutcome.INTERRUPTED), None),
        (replace(ROLLING_BACK, outcome=AttemptOutcome.RELEASED), AttemptOutcome.SUCCEEDED),
        (replace(ROLLING_BACK, outcome=AttemptOutcome.FAILED), AttemptOutcome.FAILED),
        (replace(UPGRADED, outcome=AttemptOutcome.RUNNING), AttemptOutcome.SUCCEEDED),
        (replace(UPGRADED, outcome=AttemptOutcome.INTERRUPTED), AttemptOutcome.SUCCEEDED),
    ],
)
def test_a_rollback_that_was_ended_did_not_take_place_if_the_release_is_healthy_as_it_is(
    attempt: Attempt, outcome: AttemptOutcome | None
) -> None:
    draft = replace(StatusDraft.from_status(xapp(), now=2.0), attempt=attempt)
    settled = settle(draft, Nothing(), HealthStatus.HEALTHY).attempt
    assert (settled.outcome if settled else None) == outcome
    assert settle(draft, Nothing(), HealthStatus.UNKNOWN).attempt == attempt
    assert settle(draft, Wait(Reason.PROGRESSING, "x"), HealthStatus.HEALTHY).attempt == attempt
