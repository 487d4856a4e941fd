"""The plan after failures: a source that is away, and attempts that failed."""

from dataclasses import replace

import pytest

from tests.unit.domain.situations import (
    GENERATION,
    GOOD_ONE,
    INSTALLED,
    LONG_AGO,
    NOW,
    OLD,
    OTHER,
    STILL_THERE,
    TIMEOUT,
    WANTED,
    attempt,
    case,
    gist,
    release,
    situation,
    spec,
    wait,
)
from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus
from xapp_operator.domain.actions import Action, CorrectDrift, Install, Nothing, Rollback, Test, Upgrade, Wait
from xapp_operator.domain.plan import plan
from xapp_operator.domain.situation import INSTALL, SUPERSEDED, Earlier, Outcome, Requests, Situation
from xapp_operator.errors import ApiUnavailable, ChartNotFound, SourceUnavailable, ValuesInvalid

AWAY = SourceUnavailable("the repository does not answer")
MISSING = ChartNotFound("hello-world 9.9.9 is not in the repository")
REFUSED = ValuesInvalid("values are not YAML")
BEFORE = replace(INSTALLED, generation=GENERATION - 1)

FAILED_UPGRADE = release("failed", earlier=STILL_THERE)
UPGRADED = release(earlier=GOOD_ONE)
UNDONE = release(revision=3, digests=OLD, earlier=(*GOOD_ONE, Earlier(2, SUPERSEDED, WANTED)))

SOURCE = [
    case("passing", situation(desired=AWAY), wait(Reason.CHART_PULL_FAILED)),
    case("permanent", situation(desired=MISSING), wait(Reason.CHART_PULL_FAILED, stalled=True)),
    case("refused", situation(desired=REFUSED), wait(Reason.VALUES_INVALID, stalled=True)),
    case("no-reason-of-its-own", situation(desired=ApiUnavailable("away")), wait(Reason.CHART_PULL_FAILED)),
    case("deployed-at-this-generation-passing", situation(release(), last=INSTALLED, desired=AWAY), Nothing()),
    case("deployed-at-this-generation-permanent", situation(release(), last=INSTALLED, desired=MISSING), Nothing()),
    case(
        "deployed-at-this-generation-refused",
        situation(release(), last=INSTALLED, desired=REFUSED),
        wait(Reason.VALUES_INVALID, stalled=True),
    ),
    case(
        "deployed-at-an-earlier-generation",
        situation(release(), last=BEFORE, desired=MISSING),
        wait(Reason.CHART_PULL_FAILED, stalled=True),
    ),
    case("status-lost", situation(release(), desired=AWAY), wait(Reason.CHART_PULL_FAILED)),
    case("removed-by-hand", situation(last=INSTALLED, desired=AWAY), wait(Reason.CHART_PULL_FAILED)),
    case(
        "force",
        situation(release(), last=INSTALLED, desired=AWAY, requests=Requests(force=True)),
        wait(Reason.CHART_PULL_FAILED),
    ),
    case("test", situation(release(), last=INSTALLED, desired=AWAY, requests=Requests(test=True)), Test()),
    case(
        "drift",
        situation(release(), last=INSTALLED, desired=AWAY, drifted=True, wanted=spec(drift="enabled")),
        CorrectDrift(),
    ),
    case(
        "overdue-rollback",
        situation(
            UPGRADED,
            last=attempt(Outcome.RELEASED, last_at=NOW - TIMEOUT),
            health=HealthStatus.DEGRADED,
            desired=AWAY,
        ),
        Rollback(1),
    ),
    case(
        "overdue-rollback-of-a-failure",
        situation(FAILED_UPGRADE, last=attempt(Outcome.FAILED, permanent=True), desired=AWAY),
        Rollback(1),
    ),
    case(
        "failed-and-due",
        situation(FAILED_UPGRADE, last=attempt(Outcome.FAILED), desired=AWAY),
        wait(Reason.CHART_PULL_FAILED),
    ),
]

FAILED = [
    case(
        "permanent-first-install",
        situation(release("failed"), last=attempt(Outcome.FAILED, action=INSTALL, permanent=True)),
        wait(Reason.UPGRADE_FAILED, stalled=True),
    ),
    case(
        "permanent-before-any-record",
        situation(last=attempt(Outcome.FAILED, action=INSTALL, permanent=True)),
        wait(Reason.UPGRADE_FAILED, stalled=True),
    ),
    case(
        "permanent-before-a-revision-was-made",
        situation(release(digests=OLD), last=attempt(Outcome.FAILED, permanent=True)),
        wait(Reason.UPGRADE_FAILED, stalled=True),
    ),
    case("permanent", situation(FAILED_UPGRADE, last=attempt(Outcome.FAILED, permanent=True)), Rollback(1)),
    case(
        "permanent-on-failure-none",
        situation(FAILED_UPGRADE, last=attempt(Outcome.FAILED, permanent=True), wanted=spec(on_failure="none")),
        wait(Reason.UPGRADE_FAILED, stalled=True),
    ),
    case(
        "permanent-rolled-back",
        situation(UNDONE, last=attempt(Outcome.FAILED, permanent=True)),
        wait(Reason.UPGRADE_FAILED, stalled=True),
    ),
    case(
        "permanent-goes-back-to-the-newest-good-one",
        situation(
            release(
                "failed",
                revision=6,
                earlier=(
                    Earlier(2, SUPERSEDED, OTHER),
                    Earlier(3, "deployed", OLD),
                    Earlier(4, "failed", WANTED),
                    Earlier(5, "failed", WANTED),
                ),
            ),
            last=attempt(Outcome.FAILED, permanent=True),
        ),
        Rollback(3),
    ),
    case(
        "permanent-forced-goes-back-to-the-same-that-was-good",
        situation(
            release("failed", revision=3, earlier=(Earlier(1, SUPERSEDED, OLD), Earlier(2, "deployed", WANTED))),
            last=attempt(Outcome.FAILED, permanent=True),
        ),
        Rollback(2),
    ),
    case(
        "permanent-after-helm-had-deployed",
        situation(release(), last=attempt(Outcome.FAILED, permanent=True)),
        wait(Reason.UPGRADE_FAILED, stalled=True),
    ),
    case(
        "passing-just-now",
        situation(FAILED_UPGRADE, last=attempt(Outcome.FAILED, count=3, last_at=NOW - 1.0)),
        wait(Reason.UPGRADE_FAILED, until=NOW + 3.0),
    ),
    case("passing-and-due", situation(FAILED_UPGRADE, last=attempt(Outcome.FAILED, count=2)), Upgrade()),
    case(
        "passing-first-install-just-now",
        situation(release("failed"), last=attempt(Outcome.FAILED, action=INSTALL, last_at=NOW)),
        wait(Reason.UPGRADE_FAILED, until=NOW + 1.0),
    ),
    case(
        "passing-first-install-and-due",
        situation(release("failed"), last=attempt(Outcome.FAILED, action=INSTALL)),
        Install(replace=True),
    ),
    case("passing-no-record-and-due", situation(last=attempt(Outcome.FAILED, action=INSTALL)), Install()),
    case(
        "timeout-not-quite-over",
        situation(FAILED_UPGRADE, last=attempt(Outcome.FAILED, first_at=NOW - TIMEOUT + 0.1)),
        Upgrade(),
    ),
    case("timeout-over", situation(FAILED_UPGRADE, last=attempt(Outcome.FAILED, first_at=NOW - TIMEOUT)), Rollback(1)),
    case(
        "timeout-over-on-failure-none",
        situation(FAILED_UPGRADE, last=attempt(Outcome.FAILED, first_at=NOW - TIMEOUT), wanted=spec(on_failure="none")),
        wait(Reason.UPGRADE_FAILED, stalled=True),
    ),
    case(
        "timeout-over-first-install",
        situation(release("failed"), last=attempt(Outcome.FAILED, action=INSTALL, first_at=NOW - TIMEOUT)),
        wait(Reason.UPGRADE_FAILED, stalled=True),
    ),
    case(
        "timeout-over-although-it-got-there",
        situation(release(), last=attempt(Outcome.FAILED, first_at=LONG_AGO)),
        Nothing(),
    ),
    case(
        "values-changed",
        situation(FAILED_UPGRADE, last=attempt(Outcome.FAILED, permanent=True, digests=replace(WANTED, values="bad"))),
        Upgrade(),
    ),
    case(
        "chart-changed",
        situation(
            release("failed"), last=attempt(Outcome.FAILED, permanent=True, digests=replace(WANTED, chart="bad"))
        ),
        Install(replace=True),
    ),
    case(
        "retry-at",
        situation(UNDONE, last=attempt(Outcome.FAILED, permanent=True), requests=Requests(retry=True)),
        Upgrade(),
    ),
    case(
        "force-at",
        situation(UNDONE, last=attempt(Outcome.FAILED, permanent=True), requests=Requests(force=True)),
        Upgrade(),
    ),
    case(
        "retry-at-in-back-off",
        situation(release("failed"), last=attempt(Outcome.FAILED, last_at=NOW), requests=Requests(retry=True)),
        Install(replace=True),
    ),
    case("operator-killed", situation(FAILED_UPGRADE, last=attempt(Outcome.RUNNING, last_at=NOW)), Upgrade()),
    case("ended-by-us", situation(FAILED_UPGRADE, last=attempt(Outcome.INTERRUPTED, last_at=NOW)), Upgrade()),
    case(
        "due-but-dependency-not-ready",
        situation(FAILED_UPGRADE, last=attempt(Outcome.FAILED), waiting_for=("b",)),
        wait(Reason.DEPENDENCY_NOT_READY),
    ),
]


@pytest.mark.parametrize(("situated", "expected"), SOURCE)
def test_source_that_is_away_changes_nothing_about_what_runs(situated: Situation, expected: Action) -> None:
    assert gist(plan(situated)) == expected


@pytest.mark.parametrize(("situated", "expected"), FAILED)
def test_failed_attempt_is_tried_again_until_timeout_and_then_undone(situated: Situation, expected: Action) -> None:
    assert gist(plan(situated)) == expected


def test_stalled_attempt_says_helms_own_error() -> None:
    answer = plan(situation(last=attempt(Outcome.FAILED, action=INSTALL, permanent=True, message="field is immutable")))

    assert answer == Wait(Reason.UPGRADE_FAILED, "field is immutable", stalled=True)
