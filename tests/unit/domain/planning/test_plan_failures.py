"""The plan after failures: an unavailable source, and failed attempts."""

from dataclasses import replace

import pytest

from tests.unit.domain.planning.plan_inputs import (
    DEPLOYED_BEFORE,
    GENERATION,
    INSTALLED,
    LONG_AGO,
    NAME,
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
from xapp_operator.api.status_parts import Step
from xapp_operator.domain.planning.actions import (
    Action,
    Install,
    Nothing,
    RepairLabels,
    Rollback,
    SaveRepository,
    Upgrade,
    Wait,
)
from xapp_operator.domain.planning.plan import plan
from xapp_operator.domain.planning.plan_input import (
    INSTALL,
    ROLLBACK,
    SUPERSEDED,
    AnnotationRequests,
    AttemptOutcome,
    LabelState,
    PastRevision,
    PlanInput,
)
from xapp_operator.errors import (
    ApiUnavailable,
    ChartNotFound,
    SourcePending,
    SourceUnavailable,
    ValuesInvalid,
)

AWAY = SourceUnavailable("the repository does not answer")
MISSING = ChartNotFound("hello-world 9.9.9 is not in the repository")
REFUSED = ValuesInvalid("values are not YAML.")
BEFORE = replace(INSTALLED, generation=GENERATION - 1)

FAILED_UPGRADE = release("failed", earlier=STILL_DEPLOYED)
NONE_HEALTHY = release("failed", earlier=(replace(STILL_DEPLOYED[0], was_healthy=False),))
UPGRADED = release(earlier=DEPLOYED_BEFORE)
UNDONE = release(revision=3, digests=OLD, earlier=(*DEPLOYED_BEFORE, PastRevision(2, SUPERSEDED, WANTED)))

INVALID = wait(Reason.VALUES_INVALID, stalled=True)
OVERDUE = plan_input(
    UPGRADED,
    last=attempt(AttemptOutcome.RELEASED, last_at=NOW - TIMEOUT),
    health=HealthStatus.DEGRADED,
    desired=REFUSED,
)
AWAITED = replace(OVERDUE, attempt=attempt(AttemptOutcome.RELEASED, last_at=NOW - 1.0))
REPORTED = attempt(AttemptOutcome.UNHEALTHY, reason=Reason.HEALTH_CHECK_FAILED, permanent=True, message="not healthy")
MISSED_TRY = attempt(AttemptOutcome.FAILED, first_at=NOW - TIMEOUT, last_at=NOW - TIMEOUT)

SOURCE = [
    case("passing", plan_input(desired=AWAY), wait(Reason.CHART_PULL_FAILED)),
    case("permanent", plan_input(desired=MISSING), wait(Reason.CHART_PULL_FAILED, stalled=True)),
    case("refused", plan_input(desired=REFUSED), wait(Reason.VALUES_INVALID, stalled=True)),
    case("no-reason-of-its-own", plan_input(desired=ApiUnavailable("away")), wait(Reason.CHART_PULL_FAILED)),
    case("deployed-at-this-generation-passing", plan_input(release(), last=INSTALLED, desired=AWAY), Nothing()),
    case(
        "deployed-at-this-generation-permanent",
        plan_input(release(), last=INSTALLED, desired=MISSING),
        Nothing(f"the next upgrade will need its source: {MISSING.message}"),
    ),
    case(
        "deployed-at-this-generation-refused",
        plan_input(release(), last=INSTALLED, desired=REFUSED),
        replace(INVALID, at_rest=True),
    ),
    case("deployed-at-an-earlier-generation-refused", plan_input(release(), last=BEFORE, desired=REFUSED), INVALID),
    case(
        "deployed-at-an-earlier-generation",
        plan_input(release(), last=BEFORE, desired=MISSING),
        wait(Reason.CHART_PULL_FAILED, stalled=True),
    ),
    case("status-lost", plan_input(release(), desired=AWAY), wait(Reason.CHART_PULL_FAILED)),
    case("removed-by-hand", plan_input(last=INSTALLED, desired=AWAY), wait(Reason.CHART_PULL_FAILED)),
    case(
        "force",
        plan_input(release(), last=INSTALLED, desired=AWAY, requests=AnnotationRequests(force=True)),
        wait(Reason.CHART_PULL_FAILED),
    ),
    case(
        "labels-missing",
        plan_input(release(), last=INSTALLED, desired=AWAY, observed={"labels": LabelState(missing=True)}),
        RepairLabels(),
    ),
    case(
        "repository-missing",
        plan_input(release(), last=INSTALLED, desired=None, observed={"repository_missing": True}),
        SaveRepository(),
    ),
    case(
        "overdue-rollback",
        plan_input(
            UPGRADED,
            last=attempt(AttemptOutcome.RELEASED, last_at=NOW - TIMEOUT),
            health=HealthStatus.DEGRADED,
            desired=AWAY,
        ),
        Rollback(1),
    ),
    case(
        "overdue-rollback-of-a-failure",
        plan_input(FAILED_UPGRADE, last=attempt(AttemptOutcome.FAILED, permanent=True), desired=AWAY),
        Rollback(1),
    ),
    case(
        "failed-and-due",
        plan_input(FAILED_UPGRADE, last=attempt(AttemptOutcome.FAILED), desired=AWAY),
        wait(Reason.CHART_PULL_FAILED),
    ),
    case("missed-try-without-source", plan_input(FAILED_UPGRADE, last=MISSED_TRY, desired=AWAY), Rollback(1)),
    case(
        "missed-try-while-the-source-is-read",
        plan_input(FAILED_UPGRADE, last=MISSED_TRY, desired=SourcePending("other charts are read first")),
        Wait(Reason.PROGRESSING, "", step=Step.CHART),
    ),
    case("missed-try-without-dependency", plan_input(FAILED_UPGRADE, last=MISSED_TRY, waiting_for=("b",)), Rollback(1)),
    case(
        "missed-try-in-a-cycle",
        plan_input(FAILED_UPGRADE, last=MISSED_TRY, observed={"dependency_cycle": (NAME, "b", NAME)}),
        Rollback(1),
    ),
]

CYCLE = {"dependency_cycle": (NAME, "b", NAME)}
FAILED_FOR_GOOD = attempt(AttemptOutcome.FAILED, permanent=True)
FAILED_FIRST = plan_input(release("failed"), last=attempt(AttemptOutcome.FAILED, action=INSTALL), desired=REFUSED)

INVALID_VALUES = [
    case("overdue", OVERDUE, Rollback(1)),
    case("awaited", AWAITED, wait(Reason.PROGRESSING, until=NOW - 1.0 + TIMEOUT)),
    case("awaited-on-failure-none", replace(AWAITED, spec=spec(on_failure="none")), INVALID),
    case("overdue-on-failure-none", replace(OVERDUE, spec=spec(on_failure="none")), INVALID),
    case("overdue-of-another-generation", replace(OVERDUE, generation=GENERATION + 1), INVALID),
    case("overdue-and-healthy", replace(OVERDUE, health=HealthStatus.HEALTHY), replace(INVALID, at_rest=True)),
    case("none-good", plan_input(NONE_HEALTHY, last=FAILED_FOR_GOOD, desired=REFUSED), INVALID),
    case("failed", plan_input(FAILED_UPGRADE, last=FAILED_FOR_GOOD, desired=REFUSED), Rollback(1)),
    case(
        "failed-in-a-cycle",
        plan_input(FAILED_UPGRADE, last=FAILED_FOR_GOOD, desired=REFUSED, observed=CYCLE),
        Rollback(1),
    ),
    case(
        "failed-in-back-off",
        plan_input(FAILED_UPGRADE, last=attempt(AttemptOutcome.FAILED, last_at=NOW - 0.5), desired=REFUSED),
        wait(Reason.UPGRADE_FAILED, until=NOW + 0.5),
    ),
    case(
        "failed-and-due-cannot-be-tried-again",
        plan_input(FAILED_UPGRADE, last=attempt(AttemptOutcome.FAILED), desired=REFUSED),
        wait(Reason.UPGRADE_FAILED, until=NOW - 2.0 + TIMEOUT),
    ),
    case("failed-until-the-timeout", plan_input(FAILED_UPGRADE, last=MISSED_TRY, desired=REFUSED), Rollback(1)),
    case(
        "failed-before-a-revision-was-made",
        plan_input(release(digests=OLD, earlier=DEPLOYED_BEFORE), last=attempt(AttemptOutcome.FAILED), desired=REFUSED),
        INVALID,
    ),
    case("interrupted", plan_input(FAILED_UPGRADE, last=attempt(AttemptOutcome.INTERRUPTED), desired=REFUSED), INVALID),
    case("first-install", FAILED_FIRST, INVALID),
    case("rolled-back", plan_input(UNDONE, last=REPORTED, desired=REFUSED), INVALID),
    case(
        "due-but-dependency-not-ready",
        plan_input(release(digests=OLD), last=INSTALLED, desired=REFUSED, waiting_for=("b",)),
        INVALID,
    ),
]

FAILED = [
    case(
        "permanent-first-install",
        plan_input(release("failed"), last=attempt(AttemptOutcome.FAILED, action=INSTALL, permanent=True)),
        wait(Reason.UPGRADE_FAILED, stalled=True),
    ),
    case(
        "permanent-before-any-record",
        plan_input(last=attempt(AttemptOutcome.FAILED, action=INSTALL, permanent=True)),
        wait(Reason.UPGRADE_FAILED, stalled=True),
    ),
    case(
        "permanent-before-a-revision-was-made",
        plan_input(release(digests=OLD), last=attempt(AttemptOutcome.FAILED, permanent=True)),
        wait(Reason.UPGRADE_FAILED, stalled=True),
    ),
    case("permanent", plan_input(FAILED_UPGRADE, last=attempt(AttemptOutcome.FAILED, permanent=True)), Rollback(1)),
    case(
        "permanent-on-failure-none",
        plan_input(FAILED_UPGRADE, last=attempt(AttemptOutcome.FAILED, permanent=True), wanted=spec(on_failure="none")),
        wait(Reason.UPGRADE_FAILED, stalled=True),
    ),
    case(
        "permanent-rolled-back",
        plan_input(UNDONE, last=attempt(AttemptOutcome.FAILED, permanent=True)),
        wait(Reason.UPGRADE_FAILED, stalled=True),
    ),
    case(
        "permanent-goes-back-to-the-newest-good-one",
        plan_input(
            release(
                "failed",
                revision=6,
                earlier=(
                    PastRevision(2, SUPERSEDED, OTHER),
                    PastRevision(3, "deployed", OLD),
                    PastRevision(4, "failed", WANTED),
                    PastRevision(5, "failed", WANTED),
                ),
            ),
            last=attempt(AttemptOutcome.FAILED, permanent=True),
        ),
        Rollback(3),
    ),
    case(
        "permanent-passes-over-those-never-healthy",
        plan_input(
            release(
                "failed",
                revision=4,
                earlier=(
                    PastRevision(1, SUPERSEDED, OTHER, was_healthy=True),
                    PastRevision(2, SUPERSEDED, OLD, was_healthy=False),
                    PastRevision(3, "deployed", OLD, was_healthy=False),
                ),
            ),
            last=attempt(AttemptOutcome.FAILED, permanent=True),
        ),
        Rollback(1),
    ),
    case(
        "permanent-after-one-of-which-nothing-is-known",
        plan_input(
            release(
                "failed",
                revision=3,
                earlier=(PastRevision(1, SUPERSEDED, OTHER), PastRevision(2, "deployed", OLD, was_healthy=False)),
            ),
            last=attempt(AttemptOutcome.FAILED, permanent=True),
        ),
        Rollback(1),
    ),
    case(
        "permanent-none-was-ever-healthy",
        plan_input(NONE_HEALTHY, last=attempt(AttemptOutcome.FAILED, permanent=True)),
        wait(Reason.UPGRADE_FAILED, stalled=True),
    ),
    case(
        "none-was-ever-healthy-values-changed",
        plan_input(NONE_HEALTHY, last=attempt(AttemptOutcome.FAILED, permanent=True, digests=OTHER)),
        Upgrade(),
    ),
    case(
        "none-was-ever-healthy-retry-at",
        plan_input(
            NONE_HEALTHY,
            last=attempt(AttemptOutcome.FAILED, permanent=True),
            requests=AnnotationRequests(retry=True),
        ),
        Upgrade(),
    ),
    case(
        "none-was-ever-healthy-rollback-to",
        plan_input(
            NONE_HEALTHY,
            last=attempt(AttemptOutcome.FAILED, permanent=True),
            requests=AnnotationRequests(rollback_to=1),
        ),
        Rollback(1, hold=True),
    ),
    case(
        "permanent-forced-goes-back-to-the-same-that-was-good",
        plan_input(
            release(
                "failed", revision=3, earlier=(PastRevision(1, SUPERSEDED, OLD), PastRevision(2, "deployed", WANTED))
            ),
            last=attempt(AttemptOutcome.FAILED, permanent=True),
        ),
        Rollback(2),
    ),
    case(
        "permanent-after-helm-had-deployed",
        plan_input(release(), last=attempt(AttemptOutcome.FAILED, permanent=True)),
        wait(Reason.UPGRADE_FAILED, stalled=True),
    ),
    case(
        "passing-just-now",
        plan_input(FAILED_UPGRADE, last=attempt(AttemptOutcome.FAILED, count=3, last_at=NOW - 1.0)),
        wait(Reason.UPGRADE_FAILED, until=NOW + 3.0),
    ),
    case("passing-and-due", plan_input(FAILED_UPGRADE, last=attempt(AttemptOutcome.FAILED, count=2)), Upgrade()),
    case(
        "passing-first-install-just-now",
        plan_input(release("failed"), last=attempt(AttemptOutcome.FAILED, action=INSTALL, last_at=NOW)),
        wait(Reason.UPGRADE_FAILED, until=NOW + 1.0),
    ),
    case(
        "passing-first-install-and-due",
        plan_input(release("failed"), last=attempt(AttemptOutcome.FAILED, action=INSTALL)),
        Install(replace=True),
    ),
    case("passing-no-record-and-due", plan_input(last=attempt(AttemptOutcome.FAILED, action=INSTALL)), Install()),
    case(
        "timeout-not-quite-over",
        plan_input(FAILED_UPGRADE, last=attempt(AttemptOutcome.FAILED, first_at=NOW - TIMEOUT + 0.1)),
        Upgrade(),
    ),
    case(
        "timeout-over-while-nobody-could-try",
        plan_input(FAILED_UPGRADE, last=attempt(AttemptOutcome.FAILED, first_at=NOW - TIMEOUT - 0.9)),
        Upgrade(),
    ),
    case(
        "timeout-over",
        plan_input(FAILED_UPGRADE, last=attempt(AttemptOutcome.FAILED, first_at=NOW - TIMEOUT - 1.0)),
        Rollback(1),
    ),
    case(
        "timeout-over-on-failure-none",
        plan_input(
            FAILED_UPGRADE,
            last=attempt(AttemptOutcome.FAILED, first_at=NOW - TIMEOUT - 1.0),
            wanted=spec(on_failure="none"),
        ),
        wait(Reason.UPGRADE_FAILED, stalled=True),
    ),
    case(
        "timeout-over-first-install",
        plan_input(
            release("failed"), last=attempt(AttemptOutcome.FAILED, action=INSTALL, first_at=NOW - TIMEOUT - 1.0)
        ),
        wait(Reason.UPGRADE_FAILED, stalled=True),
    ),
    case(
        "timeout-over-although-it-got-there",
        plan_input(release(), last=attempt(AttemptOutcome.FAILED, first_at=LONG_AGO)),
        Nothing(),
    ),
    case(
        "values-changed",
        plan_input(
            FAILED_UPGRADE, last=attempt(AttemptOutcome.FAILED, permanent=True, digests=replace(WANTED, values="bad"))
        ),
        Upgrade(),
    ),
    case(
        "chart-changed",
        plan_input(
            release("failed"), last=attempt(AttemptOutcome.FAILED, permanent=True, digests=replace(WANTED, chart="bad"))
        ),
        Install(replace=True),
    ),
    case(
        "retry-at",
        plan_input(
            UNDONE, last=attempt(AttemptOutcome.FAILED, permanent=True), requests=AnnotationRequests(retry=True)
        ),
        Upgrade(),
    ),
    case(
        "force-at",
        plan_input(
            UNDONE, last=attempt(AttemptOutcome.FAILED, permanent=True), requests=AnnotationRequests(force=True)
        ),
        Upgrade(),
    ),
    case(
        "retry-at-in-back-off",
        plan_input(
            release("failed"), last=attempt(AttemptOutcome.FAILED, last_at=NOW), requests=AnnotationRequests(retry=True)
        ),
        Install(replace=True),
    ),
    case("operator-killed", plan_input(FAILED_UPGRADE, last=attempt(AttemptOutcome.RUNNING, last_at=NOW)), Upgrade()),
    case("ended-by-us", plan_input(FAILED_UPGRADE, last=attempt(AttemptOutcome.INTERRUPTED, last_at=NOW)), Upgrade()),
    case(
        "due-but-dependency-not-ready",
        plan_input(FAILED_UPGRADE, last=attempt(AttemptOutcome.FAILED), waiting_for=("b",)),
        wait(Reason.DEPENDENCY_NOT_READY),
    ),
]


@pytest.mark.parametrize(("inputs", "expected"), SOURCE)
def test_unavailable_source_does_not_change_a_deployed_release(inputs: PlanInput, expected: Action) -> None:
    assert without_message(plan(inputs)) == expected


@pytest.mark.parametrize(("inputs", "expected"), INVALID_VALUES)
def test_invalid_values_do_not_keep_a_failed_upgrade_in_force(inputs: PlanInput, expected: Action) -> None:
    assert without_message(plan(inputs)) == expected


def test_invalid_values_and_what_failed_before_are_both_told() -> None:
    def message(inputs: PlanInput) -> str:
        action = plan(inputs)
        assert isinstance(action, Wait)
        return action.message

    assert message(plan_input(release(), last=INSTALLED, desired=REFUSED)) == REFUSED.message
    undone = plan_input(UNDONE, last=REPORTED, desired=REFUSED)
    assert message(undone) == "values are not YAML. Before that: not healthy"
    told = "pod hello-world-0: CrashLoopBackOff; an upgrade is not possible now: values are not YAML."
    assert message(AWAITED) == told
    refused = attempt(AttemptOutcome.FAILED, action=ROLLBACK, permanent=True, message="the rollback was refused")
    stalled = plan_input(release("failed", earlier=DEPLOYED_BEFORE), last=refused, desired=REFUSED)
    assert message(stalled) == "values are not YAML. Before that: the rollback was refused"
    installed = attempt(AttemptOutcome.RELEASED, action=INSTALL)
    starting = plan_input(release(), last=installed, health=HealthStatus.PROGRESSING, desired=REFUSED)
    assert message(starting) == REFUSED.message
    failed = attempt(AttemptOutcome.FAILED, action=INSTALL, last_at=NOW, message="no such kind")
    assert message(plan_input(last=failed, desired=REFUSED)) == "values are not YAML. Before that: no such kind"


@pytest.mark.parametrize(("inputs", "expected"), FAILED)
def test_failed_attempt_is_retried_until_timeout_and_then_rolled_back(inputs: PlanInput, expected: Action) -> None:
    assert without_message(plan(inputs)) == expected


def test_stalled_attempt_reports_helms_error() -> None:
    answer = plan(
        plan_input(last=attempt(AttemptOutcome.FAILED, action=INSTALL, permanent=True, message="field is immutable"))
    )

    assert answer == Wait(Reason.UPGRADE_FAILED, "field is immutable", stalled=True)


def test_stalled_attempt_says_that_there_was_no_good_revision_to_return_to() -> None:
    last = attempt(AttemptOutcome.FAILED, permanent=True, message="field is immutable")
    reason = "; not rolled back: none of the earlier revisions was ever healthy"

    def message(inputs: PlanInput) -> str:
        action = plan(inputs)
        assert isinstance(action, Wait)
        return action.message

    assert message(plan_input(NONE_HEALTHY, last=last)) == f"field is immutable{reason}"
    assert message(plan_input(NONE_HEALTHY, last=last, wanted=spec(on_failure="none"))) == "field is immutable"
    # The good revision, which was returned to, is not kept any more.
    pruned = replace(UNDONE, past_revisions=(replace(UNDONE.past_revisions[-1], was_healthy=False),))
    assert message(plan_input(pruned, last=last)) == "field is immutable"
