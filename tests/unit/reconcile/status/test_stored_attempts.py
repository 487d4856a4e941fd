"""Attempts and runs of tests come out of a status as they went in, and odd ones that a status may have are mended."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.reconcile.xapps import raw
from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus, ReleaseStatus, RevisionStatus, XApp
from xapp_operator.api.status_parts import HandledAnnotations, HookReference, LastAttempt, LastTest, RollbackCause
from xapp_operator.domain.planning.actions import Nothing, Wait
from xapp_operator.domain.planning.plan_input import (
    DEPLOYED,
    Attempt,
    AttemptOutcome,
    Digests,
    ObservedRelease,
    TestOutcome,
    TestRun,
)
from xapp_operator.reconcile.status.attempts import start_attempt
from xapp_operator.reconcile.status.settled_attempts import settle_attempt
from xapp_operator.reconcile.status.status_draft import (
    StatusDraft,
    attempt_after_spec_change,
    attempt_from_status,
    attempt_to_status,
    begin_test_run,
    load_test_run,
    request_digest,
    store_test_run,
    utc,
)

NOW = 2000.0
HOOK = HookReference(kind="Pod", name="one")
CAUSE = RollbackCause(revision=1, reason="UpgradeFailed", message="quota")
FAILED = Attempt(
    "Rollback",
    AttemptOutcome.FAILED,
    Digests("c", "v"),
    first_at=1000.0,
    last_at=1500.0,
    generation=7,
    count=3,
    revision_before=4,
    permanent=True,
    reason="RollbackFailed",
    message="no",
    rollback_to="1@x",
    request_digest="abc",
    hook=HOOK,
    rollback_cause=CAUSE,
)
TESTED = TestRun(
    2, TestOutcome.FAILED, first_at=1000.0, last_at=1500.0, requested=True, count=3, message="no", secret_uid="uid"
)


@pytest.mark.parametrize("outcome", AttemptOutcome)
def test_an_attempt_comes_out_as_it_went_in(outcome: AttemptOutcome) -> None:
    stored = attempt_to_status(replace(FAILED, outcome=outcome))
    assert stored is not None
    expected = replace(FAILED, outcome=outcome)
    if outcome not in (AttemptOutcome.FAILED, AttemptOutcome.UNHEALTHY):
        expected = replace(expected, permanent=False, reason="", message="")
        if outcome is not AttemptOutcome.RUNNING:
            expected = replace(expected, hook=None)
    assert attempt_from_status(stored, now=NOW) == expected


@pytest.mark.parametrize("digests", [Digests("c", "v"), None])
def test_what_is_empty_is_not_stored(digests: Digests | None) -> None:
    attempt = Attempt("Install", AttemptOutcome.FAILED, digests, first_at=1.0, last_at=2.0, reason="", message="")
    stored = attempt_to_status(attempt)
    assert stored is not None
    assert stored.model_dump(exclude_none=True) == {
        "generation": -1,
        **({"chart_digest": "c", "values_digest": "v"} if digests else {}),
        "action": "Install",
        "outcome": "Failed",
        "permanent": False,
        "reason": "",
        "message": "",
        "count": 1,
        "first_at": utc(1.0),
        "last_at": utc(2.0),
    }
    assert attempt_from_status(stored, now=NOW) == attempt


def test_an_attempt_of_which_only_the_least_is_stored_is_read() -> None:
    stored = LastAttempt.model_construct(action="Install", outcome="Running", first_at=utc(1000.0))
    assert attempt_from_status(stored, now=NOW) == Attempt(
        "Install", AttemptOutcome.RUNNING, None, first_at=1000.0, last_at=1000.0, reason=""
    )


@pytest.mark.parametrize("missing", ["action", "outcome", "first_at"])
def test_an_attempt_that_lacks_something_is_none(missing: str) -> None:
    stored = attempt_to_status(FAILED)
    assert stored is not None
    assert attempt_from_status(stored.model_copy(update={missing: None}), now=NOW) is None
    assert attempt_from_status(None, now=NOW) is None
    assert attempt_to_status(None) is None


@pytest.mark.parametrize("missing", ["chart_digest", "values_digest"])
def test_one_digest_alone_counts_as_none(missing: str) -> None:
    stored = attempt_to_status(FAILED)
    assert stored is not None
    found = attempt_from_status(stored.model_copy(update={missing: None}), now=NOW)
    assert found is not None
    assert found.digests is None


@pytest.mark.parametrize("run", [TESTED, TestRun(1, TestOutcome.RUNNING, first_at=1.0, last_at=2.0)])
def test_a_run_of_tests_comes_out_as_it_went_in(run: TestRun) -> None:
    assert load_test_run(store_test_run(run), now=NOW) == run


def test_what_is_empty_of_a_run_of_tests_is_not_stored() -> None:
    stored = store_test_run(TestRun(1, TestOutcome.RUNNING, first_at=1.0, last_at=2.0))
    assert stored is not None
    assert stored.model_dump(exclude_none=True) == {
        "revision": 1,
        "outcome": "Running",
        "count": 1,
        "first_at": utc(1.0),
        "last_at": utc(2.0),
    }
    assert store_test_run(None) is None


def test_a_run_of_which_only_the_least_is_stored_is_read() -> None:
    stored = LastTest.model_construct(revision=1, outcome="Running", first_at=utc(1000.0))
    assert load_test_run(stored, now=NOW) == TestRun(1, TestOutcome.RUNNING, first_at=1000.0, last_at=1000.0)


@pytest.mark.parametrize("missing", ["revision", "outcome", "first_at"])
def test_a_run_that_lacks_something_is_none(missing: str) -> None:
    stored = store_test_run(TESTED)
    assert stored is not None
    assert load_test_run(stored.model_copy(update={missing: None}), now=NOW) is None
    assert load_test_run(None, now=NOW) is None


def test_a_new_run_of_tests_begins_now() -> None:
    release = ObservedRelease(2, DEPLOYED, "hello", None, has_own_attempt=True, modified_at=1.0, secret_uid="uid")
    expected = TestRun(2, TestOutcome.RUNNING, first_at=NOW, last_at=NOW, requested=True, secret_uid="uid")
    for before in (None, TESTED, replace(TESTED, outcome=TestOutcome.RUNNING, revision=1)):
        assert begin_test_run(before, release, requested=True, now=NOW) == expected
    again = begin_test_run(replace(TESTED, outcome=TestOutcome.INTERRUPTED), release, requested=False, now=NOW)
    assert again == TestRun(2, TestOutcome.RUNNING, first_at=1000.0, last_at=NOW, count=4, secret_uid="uid")


BEGUN = Attempt(
    "Rollback",
    AttemptOutcome.RUNNING,
    Digests("c", "v"),
    first_at=NOW,
    last_at=NOW,
    generation=8,
    revision_before=6,
    rollback_to="1@x",
    request_digest="new",
)


@pytest.mark.parametrize(
    ("previous", "first_at", "count"),
    [
        (None, NOW, 1),
        (FAILED, 1000.0, 4),
        (replace(FAILED, outcome=AttemptOutcome.RUNNING), NOW, 4),
        (replace(FAILED, outcome=AttemptOutcome.INTERRUPTED), NOW, 1),
        (replace(FAILED, outcome=AttemptOutcome.SUCCEEDED), NOW, 1),
        (replace(FAILED, action="Upgrade"), NOW, 1),
        (replace(FAILED, digests=Digests("c", "other")), NOW, 1),
        (replace(FAILED, rollback_to="1"), NOW, 1),
    ],
)
def test_an_attempt_counts_on_after_one_that_failed_in_the_same(
    previous: Attempt | None, first_at: float, count: int
) -> None:
    begun = start_attempt(
        previous,
        action="Rollback",
        digests=Digests("c", "v"),
        generation=8,
        now=NOW,
        revision_before=6,
        rollback_to="1@x",
        request_digest="new",
    )
    assert begun == replace(BEGUN, first_at=first_at, count=count)


@pytest.mark.parametrize(
    ("outcome", "deployed", "kept"),
    [
        (AttemptOutcome.FAILED, True, False),
        (AttemptOutcome.FAILED, False, False),
        (AttemptOutcome.UNHEALTHY, False, False),
        (AttemptOutcome.RELEASED, False, True),
        (AttemptOutcome.RUNNING, True, True),
    ],
)
def test_a_changed_spec_ends_what_it_may_mend(outcome: AttemptOutcome, deployed: bool, kept: bool) -> None:
    attempt = replace(FAILED, outcome=outcome, rollback_cause=None)
    release = ReleaseStatus(chart_digest="c", values_digest="v" if deployed else "other")
    assert attempt_after_spec_change(attempt, release) == (attempt if kept else None)
    without = replace(attempt, digests=None)
    assert attempt_after_spec_change(without, release) == without
    assert attempt_after_spec_change(None, release) is None


def test_a_deployed_revision_that_is_not_healthy_has_the_time_of_a_changed_spec() -> None:
    attempt = replace(FAILED, outcome=AttemptOutcome.UNHEALTHY, permanent=True)
    release = ReleaseStatus(chart_digest="c", values_digest="v")
    expected = replace(attempt, outcome=AttemptOutcome.RELEASED, permanent=False)
    assert attempt_after_spec_change(attempt, release) == expected


@pytest.mark.parametrize("outcome", list(AttemptOutcome))
@pytest.mark.parametrize("requested", [False, True])
def test_a_changed_spec_repeats_the_upgrade_whose_rollback_is_not_over(
    outcome: AttemptOutcome, *, requested: bool
) -> None:
    cause = None if requested else RollbackCause(revision=1, reason="HealthCheckFailed", message="pod a-0: OOM")
    attempt = replace(FAILED, outcome=outcome, rollback_to="1@x" if requested else "", rollback_cause=cause)
    changed = attempt_after_spec_change(attempt, ReleaseStatus(chart_digest="c", values_digest="other"))
    unfinished = outcome in (AttemptOutcome.RUNNING, AttemptOutcome.INTERRUPTED)
    if unfinished and not requested:
        assert changed == replace(attempt, action="Upgrade", outcome=AttemptOutcome.INTERRUPTED)
        assert changed is not None
        assert changed.rollback_was_ended
        assert attempt_after_spec_change(changed, ReleaseStatus()) == changed
    else:
        assert changed in (attempt, None)
        assert changed is None or not changed.rollback_was_ended


def settle(draft: StatusDraft, decision: Wait | Nothing, health: HealthStatus) -> StatusDraft:
    return settle_attempt(draft, decision, health, desired=FAILED.digests, generation=7)


@pytest.mark.parametrize(
    ("decision", "health"),
    [(Nothing(), HealthStatus.HEALTHY), (Wait(Reason.HEALTH_CHECK_FAILED, "late"), HealthStatus.DEGRADED)],
)
def test_an_upgrade_that_settles_has_no_rollback_any_more(decision: Wait | Nothing, health: HealthStatus) -> None:
    cause = RollbackCause(revision=1, reason="HealthCheckFailed", message="pod a-0: OOM")
    ended = replace(FAILED, action="Upgrade", outcome=AttemptOutcome.INTERRUPTED, rollback_cause=cause)
    settled = settle(draft(ended), decision, health).attempt
    assert settled is not None
    assert settled.outcome in (AttemptOutcome.SUCCEEDED, AttemptOutcome.UNHEALTHY)
    assert settled.rollback_cause is None


def draft(attempt: Attempt | None = None, **fields: Any) -> StatusDraft:
    before = StatusDraft.from_status(XApp.model_validate(raw()), now=NOW)
    return replace(before, attempt=attempt, **fields)


@pytest.mark.parametrize(
    ("decision", "health", "outcome"),
    [
        (Nothing(), HealthStatus.HEALTHY, AttemptOutcome.SUCCEEDED),
        (Nothing(), HealthStatus.PROGRESSING, AttemptOutcome.RELEASED),
        (Wait(Reason.PROGRESSING, "wait"), HealthStatus.HEALTHY, AttemptOutcome.RELEASED),
        (
            Wait(Reason.VALUES_INVALID, "bad", stalled=True, at_rest=True),
            HealthStatus.HEALTHY,
            AttemptOutcome.SUCCEEDED,
        ),
        (
            Wait(Reason.VALUES_INVALID, "bad", stalled=True, at_rest=True),
            HealthStatus.DEGRADED,
            AttemptOutcome.RELEASED,
        ),
        (Wait(Reason.HEALTH_CHECK_FAILED, "late"), HealthStatus.DEGRADED, AttemptOutcome.UNHEALTHY),
    ],
)
def test_an_attempt_settles_with_its_objects(
    decision: Wait | Nothing, health: HealthStatus, outcome: AttemptOutcome
) -> None:
    released = replace(FAILED, outcome=AttemptOutcome.RELEASED, permanent=False, reason="", message="")
    settled = settle(draft(released), decision, health).attempt
    assert settled is not None
    assert settled.outcome is outcome
    failed = outcome is AttemptOutcome.UNHEALTHY
    told = (failed, "HealthCheckFailed" if failed else "", "late" if failed else "")
    assert (settled.permanent, settled.reason, settled.message) == told


def test_a_failed_attempt_never_settles() -> None:
    assert settle(draft(FAILED), Nothing(), HealthStatus.HEALTHY).attempt == FAILED
    empty = draft(None)
    assert settle(empty, Nothing(), HealthStatus.HEALTHY) == empty


@pytest.mark.parametrize("same_generation", [True, False])
def test_what_could_not_be_written_is_taken_over(same_generation: bool) -> None:
    newer = draft(
        replace(FAILED, outcome=AttemptOutcome.RELEASED),
        release=ReleaseStatus(revision=4),
        history=(RevisionStatus(revision=4, status="deployed"),),
        held_revision=3,
        handled=HandledAnnotations(retry_at="now"),
        test=TESTED,
        labelled_revision=4,
        unlocked=True,
        orphans_deleted=True,
        drift_corrected="one",
    )
    xapp = XApp.model_validate(raw())
    found = draft().with_unwritten(newer, xapp, same_generation=same_generation)
    expected = replace(newer, unlocked=False, orphans_deleted=False, drift_corrected="")
    if not same_generation:
        expected = replace(expected, held_revision=None, labelled_revision=None)
    assert found == expected


def test_a_failure_of_an_earlier_spec_is_not_taken_over() -> None:
    found = draft().with_unwritten(draft(FAILED), XApp.model_validate(raw()), same_generation=False)
    assert found.attempt is None


@pytest.mark.parametrize(
    ("annotations", "empty"),
    [({}, True), ({"retry-at": "1"}, False), ({"force-at": ""}, False), ({"reconcile-at": "1"}, True)],
)
def test_the_digest_of_requests_is_of_retry_at_and_force_at(annotations: dict[str, str], empty: bool) -> None:
    body = raw()
    body["metadata"]["annotations"] = {f"xapp-operator.io/{name}": value for name, value in annotations.items()}
    digest = request_digest(XApp.model_validate(body))
    assert len(digest) == (0 if empty else 40)
    assert set(digest) <= set("0123456789abcdef")


def test_times_are_stored_in_whole_seconds() -> None:
    assert utc(1000.9) == datetime(1970, 1, 1, 0, 16, 40, tzinfo=UTC)
