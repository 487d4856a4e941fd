"""The plan for releases that are there and ours: held ones, every state of Helm's, dependencies."""

import pytest

from tests.unit.domain.plan_inputs import (
    DEPLOYED_BEFORE,
    INSTALLED,
    OLD,
    STILL_DEPLOYED,
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
from xapp_operator.domain.actions import (
    Action,
    CorrectDrift,
    Install,
    Nothing,
    Rollback,
    Test,
    Uninstall,
    Unlock,
    Upgrade,
)
from xapp_operator.domain.plan import plan
from xapp_operator.domain.plan_input import AnnotationRequests, AttemptOutcome, PastRevision, PlanInput
from xapp_operator.errors import ChartNotFound, SourceUnavailable

DEPLOYED_ALREADY = release(earlier=DEPLOYED_BEFORE)
HELD_OLD = release(revision=3, digests=OLD, earlier=DEPLOYED_BEFORE)

ROLLBACK_AND_HOLD = [
    case("known", plan_input(DEPLOYED_ALREADY, requests=AnnotationRequests(rollback_to=1)), Rollback(1, hold=True)),
    case("unknown", plan_input(DEPLOYED_ALREADY, requests=AnnotationRequests(rollback_to=9)), Nothing()),
    case("no-release", plan_input(requests=AnnotationRequests(rollback_to=1)), Install()),
    case(
        "unknown-while-held",
        plan_input(HELD_OLD, held=1, requests=AnnotationRequests(rollback_to=2)),
        Nothing("revision 1 is held by rollback-to until the spec changes"),
    ),
    case(
        "again-while-held",
        plan_input(HELD_OLD, held=1, requests=AnnotationRequests(rollback_to=1)),
        Rollback(1, hold=True),
    ),
    case(
        "before-the-source",
        plan_input(DEPLOYED_ALREADY, desired=ChartNotFound("gone"), requests=AnnotationRequests(rollback_to=1)),
        Rollback(1, hold=True),
    ),
    case(
        "before-a-stalled-attempt",
        plan_input(
            release("failed", earlier=STILL_DEPLOYED),
            last=attempt(AttemptOutcome.FAILED, permanent=True),
            requests=AnnotationRequests(rollback_to=1),
        ),
        Rollback(1, hold=True),
    ),
    case(
        "held",
        plan_input(HELD_OLD, held=1),
        Nothing("revision 1 is held by rollback-to until the spec changes"),
    ),
    case(
        "held-and-degraded",
        plan_input(HELD_OLD, held=1, health=HealthStatus.DEGRADED),
        Nothing("revision 1 is held by rollback-to until the spec changes"),
    ),
    case(
        "held-while-the-source-is-away",
        plan_input(HELD_OLD, held=1, desired=SourceUnavailable("away")),
        Nothing("revision 1 is held by rollback-to until the spec changes"),
    ),
    case("hold-ends-with-the-generation", plan_input(HELD_OLD, held=1, current=False), Upgrade()),
    case("hold-ends-when-removed-by-hand", plan_input(held=1), Install()),
    case("hold-ends-when-broken-by-hand", plan_input(release("failed", earlier=DEPLOYED_BEFORE), held=1), Upgrade()),
]

STATES = [
    case("no-release", plan_input(), Install()),
    case("no-release-adopt", plan_input(wanted=spec(adopt=True)), Install(take_ownership=True)),
    case("removed-by-hand", plan_input(last=INSTALLED), Install()),
    case("deployed-same-digests", plan_input(release(), last=INSTALLED), Nothing()),
    case("deployed-same-digests-status-lost", plan_input(release()), Nothing()),
    case("deployed-other-chart", plan_input(release(digests=OLD), last=INSTALLED), Upgrade()),
    case("deployed-digests-unknown", plan_input(release(digests=None)), Upgrade()),
    case("upgrade-adopts", plan_input(release(digests=OLD), wanted=spec(adopt=True)), Upgrade(take_ownership=True)),
    case("failed-never-deployed", plan_input(release("failed")), Install(replace=True)),
    case(
        "failed-several-times-never-deployed",
        plan_input(release("failed", earlier=(PastRevision(1, "failed", WANTED),))),
        Install(replace=True),
    ),
    case("failed-after-superseded", plan_input(release("failed", earlier=DEPLOYED_BEFORE)), Upgrade()),
    case("failed-after-deployed", plan_input(release("failed", earlier=STILL_DEPLOYED)), Upgrade()),
    case("uninstalled-history-kept", plan_input(release("uninstalled")), Install(replace=True)),
    case(
        "uninstalled-history-kept-after-good",
        plan_input(release("uninstalled", earlier=DEPLOYED_BEFORE), wanted=spec(adopt=True)),
        Install(replace=True, take_ownership=True),
    ),
    case("superseded-newest-record-lost", plan_input(release("superseded", earlier=DEPLOYED_BEFORE)), Upgrade()),
    case("unknown-status", plan_input(release("unknown", earlier=DEPLOYED_BEFORE)), Upgrade()),
    case("force", plan_input(release(), last=INSTALLED, requests=AnnotationRequests(force=True)), Upgrade()),
    case("test", plan_input(release(), last=INSTALLED, requests=AnnotationRequests(test=True)), Test()),
    case("test-after-the-upgrade", plan_input(release(digests=OLD), requests=AnnotationRequests(test=True)), Upgrade()),
    case("chart-and-values-not-asked-for", plan_input(release(), desired=None), wait(Reason.PROGRESSING)),
    case("degraded-later", plan_input(release(), last=INSTALLED, health=HealthStatus.DEGRADED), Nothing()),
    case("drift-corrected", plan_input(release(), drifted=True, wanted=spec(drift="enabled")), CorrectDrift()),
    case("drift-warned-of", plan_input(release(), drifted=True, wanted=spec(drift="warn")), Nothing()),
    case("drift-disabled", plan_input(release(), drifted=True, wanted=spec(drift="disabled")), Nothing()),
    case("no-drift", plan_input(release(), drifted=False, wanted=spec(drift="enabled")), Nothing()),
    case(
        "drift-after-upgrade",
        plan_input(release(digests=OLD), drifted=True, wanted=spec(drift="enabled")),
        Upgrade(),
    ),
]

DEPENDENCIES = [
    case("install", plan_input(waiting_for=("b",)), wait(Reason.DEPENDENCY_NOT_READY)),
    case("replace", plan_input(release("failed"), waiting_for=("b",)), wait(Reason.DEPENDENCY_NOT_READY)),
    case("upgrade", plan_input(release(digests=OLD), waiting_for=("b",)), wait(Reason.DEPENDENCY_NOT_READY)),
    case(
        "force",
        plan_input(release(), requests=AnnotationRequests(force=True), waiting_for=("b",)),
        wait(Reason.DEPENDENCY_NOT_READY),
    ),
    case("not-nothing", plan_input(release(), waiting_for=("b",)), Nothing()),
    case("not-unlock", plan_input(release("pending-upgrade"), waiting_for=("b",)), Unlock(2)),
    case("not-uninstall", plan_input(release(), deleting=True, waiting_for=("b",)), Uninstall()),
    case(
        "not-rollback",
        plan_input(DEPLOYED_ALREADY, requests=AnnotationRequests(rollback_to=1), waiting_for=("b",)),
        Rollback(1, hold=True),
    ),
    case("not-test", plan_input(release(), requests=AnnotationRequests(test=True), waiting_for=("b",)), Test()),
    case(
        "not-drift",
        plan_input(release(), drifted=True, wanted=spec(drift="enabled"), waiting_for=("b",)),
        CorrectDrift(),
    ),
]


@pytest.mark.parametrize(("situated", "expected"), ROLLBACK_AND_HOLD)
def test_rollback_to_is_done_and_held_until_the_generation_changes(situated: PlanInput, expected: Action) -> None:
    assert without_message(plan(situated)) == expected


@pytest.mark.parametrize(("situated", "expected"), STATES)
def test_every_state_of_a_release_has_its_answer(situated: PlanInput, expected: Action) -> None:
    assert without_message(plan(situated)) == expected


@pytest.mark.parametrize(("situated", "expected"), DEPENDENCIES)
def test_dependencies_hold_back_install_and_upgrade_only(situated: PlanInput, expected: Action) -> None:
    assert without_message(plan(situated)) == expected
