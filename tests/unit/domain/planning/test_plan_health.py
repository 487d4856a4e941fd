"""The plan for objects that do not become healthy in time, and for rollbacks that failed."""

from dataclasses import replace

import pytest

from tests.unit.domain.planning.plan_inputs import (
    DEPLOYED_BEFORE,
    LONG_AGO,
    NEVER_HEALTHY_BEFORE,
    NOW,
    OLD,
    OTHER,
    STILL_DEPLOYED,
    TIMEOUT,
    WANTED,
    attempt,
    case,
    plan_input,
    release,
    spec,
    wait,
    without_message,
)
from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus
from xapp_operator.api.status_parts import RollbackCause
from xapp_operator.domain.planning.actions import Action, Install, Nothing, RejectRollback, Rollback, Upgrade, Wait
from xapp_operator.domain.planning.plan import plan
from xapp_operator.domain.planning.plan_input import (
    HEALTH_PENDING,
    INSTALL,
    ROLLBACK,
    SUPERSEDED,
    UPGRADE,
    AnnotationRequests,
    AttemptOutcome,
    Digests,
    ObservedRelease,
    PastRevision,
    PlanInput,
)

UNHEALTHY = [HealthStatus.PROGRESSING, HealthStatus.DEGRADED]
UPGRADED = release(earlier=DEPLOYED_BEFORE)
UNDONE = release(revision=3, digests=OLD, earlier=(*DEPLOYED_BEFORE, PastRevision(2, SUPERSEDED, WANTED)))
BROKEN_ROLLBACK = replace(UNDONE, status="failed")
FORCED = release(revision=3, earlier=(PastRevision(1, SUPERSEDED, OLD), PastRevision(2, SUPERSEDED, WANTED)))


def there(inputs: PlanInput, found: ObservedRelease | None) -> PlanInput:
    return replace(inputs, observed=replace(inputs.observed, release=found))


def past(revision: int, digests: Digests, was_healthy: bool | None) -> PastRevision:
    return PastRevision(revision, SUPERSEDED, digests, was_healthy=was_healthy)


def awaited(
    outcome: AttemptOutcome = AttemptOutcome.RELEASED, *, for_seconds: float, action: str = UPGRADE
) -> PlanInput:
    last = attempt(outcome, action=action, first_at=LONG_AGO, last_at=NOW - for_seconds)
    there = UPGRADED if action == UPGRADE else release(revision=1)
    return plan_input(there, last=last, health=HealthStatus.DEGRADED)


JUDGED = replace(
    awaited(for_seconds=TIMEOUT), attempt=attempt(AttemptOutcome.UNHEALTHY, reason=Reason.HEALTH_CHECK_FAILED)
)
JUDGED_AGAIN = replace(JUDGED, attempt=attempt(AttemptOutcome.UNHEALTHY, count=2))
NEVER = replace(
    awaited(for_seconds=TIMEOUT, action=INSTALL),
    attempt=attempt(AttemptOutcome.UNHEALTHY, action=INSTALL, reason=Reason.HEALTH_CHECK_FAILED),
)
OVERDUE = awaited(for_seconds=TIMEOUT)
AGAIN = replace(
    awaited(AttemptOutcome.INTERRUPTED, for_seconds=TIMEOUT),
    attempt=replace(
        attempt(AttemptOutcome.INTERRUPTED, first_at=LONG_AGO, last_at=NOW - TIMEOUT, reason=Reason.TEST_FAILED),
        rollback_cause=RollbackCause(revision=1, reason=Reason.TEST_FAILED, message="its tests failed"),
    ),
)
"""An upgrade that is repeated, because a changed spec has ended its rollback after failed tests."""
OVERDUE_UNKNOWN = replace(OVERDUE, health=HealthStatus.UNKNOWN)
NEVER_KNOWN = replace(awaited(for_seconds=TIMEOUT + 60.0), health=HealthStatus.UNKNOWN)
NONE_HEALTHY = there(OVERDUE, release(earlier=NEVER_HEALTHY_BEFORE))
STALLED = wait(Reason.HEALTH_CHECK_FAILED, stalled=True)
NO_ROLLBACK = spec(on_failure="none")

NOT_HEALTHY = [
    case("released-in-time", awaited(for_seconds=TIMEOUT - 1.0), wait(Reason.PROGRESSING, until=NOW + 1.0)),
    *(case(f"released-too-late-{health}", replace(OVERDUE, health=health), Rollback(1)) for health in UNHEALTHY),
    case("released-not-known-yet", OVERDUE_UNKNOWN, wait(Reason.PROGRESSING, until=NOW + 60.0)),
    case(
        "released-not-known-for-long",
        replace(awaited(for_seconds=TIMEOUT + 59.0), health=HealthStatus.UNKNOWN),
        wait(Reason.PROGRESSING, until=NOW + 1.0),
    ),
    case("released-never-known", NEVER_KNOWN, STALLED),
    case("released-never-known-on-failure-none", replace(NEVER_KNOWN, spec=NO_ROLLBACK), STALLED),
    case("released-healthy", replace(OVERDUE, health=HealthStatus.HEALTHY), Nothing()),
    case("released-on-failure-none", replace(OVERDUE, spec=NO_ROLLBACK), STALLED),
    case("repeated-after-failed-tests", AGAIN, Rollback(1)),
    case("repeated-after-failed-tests-on-failure-none", replace(AGAIN, spec=NO_ROLLBACK), STALLED),
    case("released-retry-at-goes-on-waiting", replace(OVERDUE, requests=AnnotationRequests(retry=True)), Rollback(1)),
    case("released-force-at", replace(OVERDUE, requests=AnnotationRequests(force=True)), Upgrade()),
    case("killed-before-it-was-noted", awaited(AttemptOutcome.RUNNING, for_seconds=TIMEOUT), Rollback(1)),
    case(
        "killed-before-it-was-noted-in-time",
        awaited(AttemptOutcome.RUNNING, for_seconds=0.0),
        wait(Reason.PROGRESSING, until=NOW + TIMEOUT),
    ),
    case(
        "wait-ended-by-an-edit-of-the-same-digests",
        awaited(AttemptOutcome.INTERRUPTED, for_seconds=TIMEOUT),
        Rollback(1),
    ),
    *(
        case(
            f"another-upgrade-never-made-a-revision-{outcome}",
            replace(OVERDUE, attempt=attempt(outcome, digests=OTHER, first_at=LONG_AGO, last_at=LONG_AGO)),
            Nothing(),
        )
        for outcome in sorted(HEALTH_PENDING)
    ),
    case("succeeded-degraded-later", awaited(AttemptOutcome.SUCCEEDED, for_seconds=TIMEOUT), Nothing()),
    case(
        "failed-although-helm-had-deployed-degraded-later",
        awaited(AttemptOutcome.FAILED, for_seconds=TIMEOUT),
        Nothing(),
    ),
    case("judged", JUDGED, Rollback(1)),
    case(
        "judged-not-known-yet",
        replace(JUDGED, health=HealthStatus.UNKNOWN),
        wait(Reason.PROGRESSING, until=NOW - 2.0 + TIMEOUT + 60.0),
    ),
    case(
        "judged-never-known",
        replace(NEVER_KNOWN, attempt=attempt(AttemptOutcome.UNHEALTHY, last_at=LONG_AGO)),
        STALLED,
    ),
    case("judged-healthy-after-all", replace(JUDGED, health=HealthStatus.HEALTHY), Nothing()),
    case("judged-on-failure-none", replace(JUDGED, spec=NO_ROLLBACK), STALLED),
    case("judged-retry-at-forgets", replace(JUDGED, requests=AnnotationRequests(retry=True)), Nothing()),
    case("judged-force-at", replace(JUDGED, requests=AnnotationRequests(force=True)), Upgrade()),
    case("no-earlier-revision-kept", there(JUDGED, release()), STALLED),
    case("only-failed-ones-earlier", there(JUDGED, release(earlier=(PastRevision(1, "failed", OLD),))), STALLED),
    case(
        "passes-over-failed-tries",
        there(
            JUDGED,
            release(
                revision=4,
                earlier=(*DEPLOYED_BEFORE, PastRevision(2, "failed", WANTED), PastRevision(3, "failed", OLD)),
            ),
        ),
        Rollback(1),
    ),
    case("forced-over-the-same-chart-and-values", there(JUDGED, FORCED), STALLED),
    case("second-try-after-an-interruption", there(JUDGED_AGAIN, FORCED), Rollback(1)),
    case("rolled-back", there(JUDGED, UNDONE), STALLED),
    case("rolled-back-and-degraded", replace(there(JUDGED, UNDONE), health=HealthStatus.DEGRADED), STALLED),
    case("rolled-back-retry-at", replace(there(JUDGED, UNDONE), requests=AnnotationRequests(retry=True)), Upgrade()),
    case("rolled-back-values-changed", replace(there(JUDGED, UNDONE), desired=OTHER), Upgrade()),
    case("rollback-left-behind", there(JUDGED, BROKEN_ROLLBACK), Rollback(1)),
    case("removed-by-hand", there(JUDGED, None), STALLED),
    case("uninstalled-by-hand", there(JUDGED, replace(UNDONE, status="uninstalled")), STALLED),
    case("first-install-removed-by-hand", there(NEVER, None), Install()),
    case(
        "first-install-uninstalled-by-hand",
        there(NEVER, release("uninstalled", revision=1)),
        Install(replace=True),
    ),
    case(
        "first-install-in-time",
        awaited(for_seconds=TIMEOUT - 1.0, action=INSTALL),
        wait(Reason.PROGRESSING, until=NOW + 1.0),
    ),
    case("first-install-too-late", awaited(for_seconds=TIMEOUT, action=INSTALL), wait(Reason.HEALTH_CHECK_FAILED)),
    case("first-install-not-known-yet", replace(NEVER, health=HealthStatus.UNKNOWN), wait(Reason.HEALTH_CHECK_FAILED)),
    case("first-install-that-somebody-has-upgraded-since", there(NEVER, release(digests=None)), STALLED),
    case("first-install-judged", NEVER, wait(Reason.HEALTH_CHECK_FAILED)),
    case("first-install-healthy-after-all", replace(NEVER, health=HealthStatus.HEALTHY), Nothing()),
]


def rolling_back(
    outcome: AttemptOutcome,
    found: ObservedRelease | None = BROKEN_ROLLBACK,
    *,
    since: float = 2.0,
    count: int = 1,
    permanent: bool = False,
    health: HealthStatus = HealthStatus.DEGRADED,
) -> PlanInput:
    last = attempt(
        outcome,
        action=ROLLBACK,
        first_at=NOW - since,
        last_at=NOW - min(since, 2.0),
        count=count,
        permanent=permanent,
        reason=Reason.ROLLBACK_FAILED,
    )
    return plan_input(found, last=last, health=health)


GIVEN_UP = wait(Reason.ROLLBACK_FAILED, stalled=True)
LEFT_UNDONE = wait(Reason.UPGRADE_FAILED, stalled=True)

BROKEN = [
    case(
        "failed-just-now", rolling_back(AttemptOutcome.FAILED, count=3), wait(Reason.ROLLBACK_FAILED, until=NOW + 2.0)
    ),
    case("failed-and-due-passes-over-what-was-undone", rolling_back(AttemptOutcome.FAILED), Rollback(1)),
    case("failed-for-good", rolling_back(AttemptOutcome.FAILED, permanent=True), GIVEN_UP),
    case("failed-until-timeout", rolling_back(AttemptOutcome.FAILED, since=TIMEOUT + 1.0), GIVEN_UP),
    case("failed-after-several-tries-of-the-upgrade", rolling_back(AttemptOutcome.FAILED, FORCED), Rollback(1)),
    case("failed-before-a-revision-was-made", rolling_back(AttemptOutcome.FAILED, UPGRADED), Rollback(1)),
    case(
        "failed-before-a-revision-was-made-after-a-failed-upgrade",
        rolling_back(AttemptOutcome.FAILED, release("failed", earlier=STILL_DEPLOYED)),
        Rollback(1),
    ),
    case("failed-but-got-there", rolling_back(AttemptOutcome.FAILED, UNDONE), LEFT_UNDONE),
    case("failed-on-failure-none-since", replace(rolling_back(AttemptOutcome.FAILED), spec=NO_ROLLBACK), LEFT_UNDONE),
    case(
        "failed-and-healthy-since",
        rolling_back(AttemptOutcome.FAILED, UPGRADED, health=HealthStatus.HEALTHY),
        Nothing(),
    ),
    case(
        "failed-retry-at",
        replace(rolling_back(AttemptOutcome.FAILED), requests=AnnotationRequests(retry=True)),
        Upgrade(),
    ),
    case("failed-values-changed", replace(rolling_back(AttemptOutcome.FAILED), desired=OTHER), Upgrade()),
    case("failed-removed-by-hand", rolling_back(AttemptOutcome.FAILED, None), LEFT_UNDONE),
    case("killed-half-way", rolling_back(AttemptOutcome.RUNNING), Rollback(1)),
    case("killed-half-way-for-long", rolling_back(AttemptOutcome.RUNNING, since=TIMEOUT + 1.0), Rollback(1)),
    case("killed-before-it-began", rolling_back(AttemptOutcome.RUNNING, UPGRADED), Rollback(1)),
    case(
        "killed-before-it-began-health-not-known-yet",
        rolling_back(AttemptOutcome.RUNNING, UPGRADED, health=HealthStatus.UNKNOWN),
        wait(Reason.PROGRESSING),
    ),
    case("killed-before-it-was-noted", rolling_back(AttemptOutcome.RUNNING, UNDONE), LEFT_UNDONE),
    *(
        case(
            f"{outcome}-retry-at",
            replace(rolling_back(outcome, UNDONE), requests=AnnotationRequests(retry=True)),
            Upgrade(),
        )
        for outcome in (AttemptOutcome.RUNNING, AttemptOutcome.INTERRUPTED)
    ),
    case("ended-by-us", rolling_back(AttemptOutcome.INTERRUPTED), Rollback(1)),
    case("hold-ended-wanting-the-same-as-before", rolling_back(AttemptOutcome.RELEASED, UNDONE), Upgrade()),
    case("succeeded-is-no-obstacle", rolling_back(AttemptOutcome.SUCCEEDED, UNDONE), Upgrade()),
    case(
        "rollback-to-failed-just-now",
        replace(rolling_back(AttemptOutcome.FAILED, UNDONE, count=3), requests=AnnotationRequests(rollback_to=1)),
        wait(Reason.ROLLBACK_FAILED, until=NOW + 2.0),
    ),
    case(
        "rollback-to-failed-and-due",
        replace(rolling_back(AttemptOutcome.FAILED, UNDONE), requests=AnnotationRequests(rollback_to=1)),
        Rollback(1, hold=True),
    ),
]


EARLIER_HEALTH = [
    case("none", NONE_HEALTHY, STALLED),
    case("none-judged", there(JUDGED, release(earlier=NEVER_HEALTHY_BEFORE)), STALLED),
    case("none-healthy-after-all", replace(NONE_HEALTHY, health=HealthStatus.HEALTHY), Nothing()),
    case(
        "none-retry-at",
        replace(there(JUDGED, NONE_HEALTHY.release), requests=AnnotationRequests(retry=True)),
        Nothing(),
    ),
    case("none-force-at", replace(NONE_HEALTHY, requests=AnnotationRequests(force=True)), Upgrade()),
    case("none-values-changed", replace(NONE_HEALTHY, desired=OTHER), Upgrade()),
    case("none-rollback-to", replace(NONE_HEALTHY, requests=AnnotationRequests(rollback_to=1)), Rollback(1, hold=True)),
    case(
        "several-not-after-a-good-one",
        there(JUDGED, release(revision=4, earlier=(past(1, OLD, True), past(2, OTHER, False), past(3, OLD, False)))),
        Rollback(1),
    ),
    case(
        "several-not-and-the-good-one-is-not-kept-any-more",
        there(JUDGED, release(revision=4, earlier=(past(2, OTHER, False), past(3, OLD, False)))),
        STALLED,
    ),
    case(
        "not-after-one-of-which-nothing-is-known",
        there(JUDGED, release(revision=3, earlier=(past(1, OLD, None), past(2, OTHER, False)))),
        Rollback(1),
    ),
    case(
        "newest-is-not-known",
        there(JUDGED, release(revision=3, earlier=(past(1, OLD, True), past(2, OTHER, None)))),
        Rollback(2),
    ),
    case(
        "same-digests-forced-in-vain",
        there(JUDGED, release(revision=3, earlier=(past(1, OLD, True), past(2, WANTED, False)))),
        Rollback(1),
    ),
    case(
        "same-digests-were-good-before-others-that-were-not",
        there(JUDGED, release(revision=3, earlier=(past(1, WANTED, True), past(2, OTHER, False)))),
        STALLED,
    ),
    case(
        "rollback-begun",
        there(
            rolling_back(AttemptOutcome.RUNNING),
            replace(
                BROKEN_ROLLBACK, past_revisions=(past(1, OLD, True), past(2, OTHER, False), past(3, WANTED, False))
            ),
        ),
        Rollback(1),
    ),
    case(
        "rolled-back-to-one-that-is-not-kept-any-more",
        there(JUDGED, replace(UNDONE, past_revisions=(past(2, WANTED, False),))),
        STALLED,
    ),
]


@pytest.mark.parametrize(("inputs", "expected"), EARLIER_HEALTH)
def test_rollback_is_to_a_revision_that_may_have_been_healthy(inputs: PlanInput, expected: Action) -> None:
    assert without_message(plan(inputs)) == expected


@pytest.mark.parametrize(("inputs", "expected"), NOT_HEALTHY)
def test_unhealthy_upgrade_is_rolled_back_once(inputs: PlanInput, expected: Action) -> None:
    assert without_message(plan(inputs)) == expected


@pytest.mark.parametrize(("inputs", "expected"), BROKEN)
def test_unfinished_rollback_is_finished_or_given_up(inputs: PlanInput, expected: Action) -> None:
    assert without_message(plan(inputs)) == expected


@pytest.mark.parametrize(
    ("since", "tried", "expected"),
    [
        (299.0, "1@again", Rollback(1, hold=True)),
        (300.9, "1@again", Rollback(1, hold=True)),
        (301.0, "1@again", RejectRollback("")),
        (301.0, "1", Rollback(1, hold=True)),
        (301.0, "", Rollback(1, hold=True)),
    ],
)
def test_a_requested_rollback_is_tried_until_the_timeout(since: float, tried: str, expected: Action) -> None:
    inputs = rolling_back(AttemptOutcome.FAILED, since=since)
    assert inputs.attempt is not None
    requests = AnnotationRequests(rollback_to=1, rollback_value="1@again")
    inputs = replace(inputs, attempt=replace(inputs.attempt, rollback_to=tried), requests=requests)
    assert without_message(plan(inputs)) == expected


@pytest.mark.parametrize("outcome", [AttemptOutcome.FAILED, AttemptOutcome.RUNNING, AttemptOutcome.INTERRUPTED])
@pytest.mark.parametrize("found", [release("failed", earlier=STILL_DEPLOYED), UNDONE])
def test_after_a_requested_rollback_whose_revision_is_gone_the_spec_is_deployed(
    outcome: AttemptOutcome, found: ObservedRelease
) -> None:
    inputs = rolling_back(outcome, found)
    assert inputs.attempt is not None
    inputs = replace(inputs, attempt=replace(inputs.attempt, rollback_to="1"))
    assert plan(inputs) == Upgrade()


@pytest.mark.parametrize("inputs", [NEVER, replace(OVERDUE, spec=NO_ROLLBACK)])
def test_message_of_an_unhealthy_release_names_the_root_cause(inputs: PlanInput) -> None:
    answer = plan(inputs)

    assert isinstance(answer, Wait)
    expected = "not healthy after 5m (spec.timeout): pod hello-world-0: CrashLoopBackOff"
    assert answer.message.startswith(expected)
    assert "ever healthy" not in answer.message


def test_message_says_that_there_was_no_good_revision_to_return_to() -> None:
    cause, reason = "CrashLoopBackOff", "not rolled back: none of the earlier revisions was ever healthy"
    for inputs in (NONE_HEALTHY, there(JUDGED, NONE_HEALTHY.release)):
        answer = plan(inputs)
        assert isinstance(answer, Wait)
        assert answer.message.endswith(f"{cause}; {reason}")
    answer = plan(replace(NONE_HEALTHY, spec=NO_ROLLBACK))
    assert isinstance(answer, Wait)
    assert answer.message.endswith(cause)


@pytest.mark.parametrize("given", [OVERDUE_UNKNOWN, NEVER_KNOWN])
@pytest.mark.parametrize(
    ("root_cause", "message"), [("", "the health of the objects is not known"), ("may not list foos", None)]
)
def test_a_wait_for_unknown_health_says_why_it_is_unknown(
    given: PlanInput, root_cause: str, message: str | None
) -> None:
    action = plan(replace(given, root_cause=root_cause))
    assert isinstance(action, Wait)
    assert action.message.endswith(message or root_cause)
