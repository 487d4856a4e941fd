"""The rules before the operator's own release matters: deletion, suspend, interrupted steps, ownership, order."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.domain.planning.plan_inputs import (
    DEPLOYED_BEFORE,
    HELD_AT_1,
    NAME,
    NOW,
    OLD,
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
from xapp_operator.domain.planning.actions import (
    Action,
    Adopt,
    Install,
    Nothing,
    RejectRequest,
    RepairLabels,
    Rollback,
    SaveRepository,
    Uninstall,
    Unlock,
    UpdateArchiveOwners,
    Upgrade,
    Wait,
)
from xapp_operator.domain.planning.plan import plan
from xapp_operator.domain.planning.plan_input import (
    UNINSTALL,
    AnnotationRequests,
    Attempt,
    AttemptOutcome,
    LabelState,
    ObservedState,
    PendingRevision,
    PlanInput,
)
from xapp_operator.errors import ChartNotFound, SourceUnavailable

FOREIGN = "acme-ran-other"
PENDING = ["pending-install", "pending-upgrade", "pending-rollback"]
ALL_STATES = [*PENDING, "deployed", "superseded", "failed", "uninstalling", "uninstalled", "unknown"]


def uninstall_failed(*, last_at: float, count: int = 1) -> Attempt:
    return attempt(
        AttemptOutcome.FAILED,
        action=UNINSTALL,
        digests=None,
        count=count,
        last_at=last_at,
        reason=Reason.UNINSTALL_FAILED,
    )


HELD_OLD = release(revision=3, digests=OLD, earlier=DEPLOYED_BEFORE)

DELETION = [
    case("no-release", plan_input(deleting=True, desired=None), Nothing()),
    case("ours", plan_input(release(), deleting=True, desired=None), Uninstall()),
    case("orphan", plan_input(release(), deleting=True, wanted=spec(orphan=True)), Nothing()),
    case(
        "orphan-whose-requests-come-too-late",
        plan_input(release(), deleting=True, wanted=spec(orphan=True), requests=AnnotationRequests(force=True)),
        Nothing(),
    ),
    case("of-another-xapp", plan_input(release(owner=FOREIGN), deleting=True), Nothing()),
    case("of-a-person", plan_input(release(owner=None), deleting=True), Nothing()),
    case(
        "of-a-person-not-yet-taken-over",
        plan_input(release(owner=None), deleting=True, wanted=spec(adopt=True)),
        Nothing(),
    ),
    case("helm-running", plan_input(release(), deleting=True, helm_running=True), wait(Reason.PROGRESSING)),
    case(
        "helm-running-before-its-record-is-there",
        plan_input(deleting=True, helm_running=True),
        Nothing(),
    ),
    case(
        "helm-running-on-the-release-of-another",
        plan_input(release("pending-install", owner="other"), deleting=True, helm_running=True),
        Nothing(),
    ),
    case(
        "orphan-helm-running",
        plan_input(release("pending-upgrade"), deleting=True, helm_running=True, wanted=spec(orphan=True)),
        Nothing(),
    ),
    case("uninstalling", plan_input(release("uninstalling"), deleting=True), Uninstall(hooks=False)),
    case("namespace-terminating", plan_input(release(), deleting=True, terminating=True), Uninstall(hooks=False)),
    case("suspended", plan_input(release(), deleting=True, wanted=spec(suspend=True)), Uninstall()),
    case("source-gone", plan_input(release(), deleting=True, desired=ChartNotFound("no such chart")), Uninstall()),
    case("held", plan_input(HELD_OLD, deleting=True, held=1), Uninstall()),
    case(
        "uninstall-failed-just-now",
        plan_input(
            release(),
            deleting=True,
            last=uninstall_failed(count=4, last_at=NOW - 7.0),
        ),
        wait(Reason.UNINSTALL_FAILED, until=NOW + 1.0),
    ),
    case(
        "uninstall-failed-just-now-for-no-reason-that-is-known",
        plan_input(release(), deleting=True, last=replace(uninstall_failed(last_at=NOW), reason="")),
        wait(Reason.UNINSTALL_FAILED, until=NOW + 1.0),
    ),
    case(
        "uninstall-failed-and-due",
        plan_input(
            release(),
            deleting=True,
            last=uninstall_failed(count=4, last_at=NOW - 8.0),
        ),
        Uninstall(),
    ),
    case(
        "uninstall-failed-retry-at",
        plan_input(
            release(),
            deleting=True,
            last=uninstall_failed(last_at=NOW),
            requests=AnnotationRequests(retry=True),
        ),
        Uninstall(),
    ),
    case(
        "uninstall-failed-then-orphan",
        plan_input(
            release(),
            deleting=True,
            wanted=spec(orphan=True),
            last=uninstall_failed(last_at=NOW - 2.0),
        ),
        Nothing(),
    ),
    case(
        "orphan-just-installed",
        plan_input(
            release(), deleting=True, wanted=spec(orphan=True), last=attempt(AttemptOutcome.RUNNING, last_at=NOW)
        ),
        Nothing(),
    ),
    case(
        "uninstall-failed-just-now-then-orphan-of-another-xapp",
        plan_input(release(owner=FOREIGN), deleting=True, wanted=spec(orphan=True), last=uninstall_failed(last_at=NOW)),
        Nothing(),
    ),
    case(
        "an-upgrade-failed-just-now",
        plan_input(release("failed"), deleting=True, last=attempt(AttemptOutcome.FAILED, last_at=NOW)),
        Uninstall(),
    ),
]

SUSPENDED = [
    case("no-release", plan_input(wanted=spec(suspend=True), desired=None), wait(Reason.SUSPENDED)),
    case("other-digests", plan_input(release(digests=OLD), wanted=spec(suspend=True)), wait(Reason.SUSPENDED)),
    case("pending", plan_input(release("pending-upgrade"), wanted=spec(suspend=True)), wait(Reason.SUSPENDED)),
    case("uninstalling", plan_input(release("uninstalling"), wanted=spec(suspend=True)), wait(Reason.SUSPENDED)),
    case("of-another-xapp", plan_input(release(owner=FOREIGN), wanted=spec(suspend=True)), wait(Reason.SUSPENDED)),
    case(
        "rollback-to",
        plan_input(
            release(earlier=DEPLOYED_BEFORE), wanted=spec(suspend=True), requests=AnnotationRequests(rollback_to=1)
        ),
        RejectRequest("rollback-to", ""),
    ),
]

LEFT_BEHIND = [
    *(case(f"{status}-ours", plan_input(release(status, revision=3)), Unlock(3)) for status in PENDING),
    case("helm-running", plan_input(release("pending-upgrade"), helm_running=True), wait(Reason.PROGRESSING)),
    case("helm-running-no-record-yet", plan_input(helm_running=True), wait(Reason.PROGRESSING)),
    case("helm-running-deployed", plan_input(release(digests=OLD), helm_running=True), wait(Reason.PROGRESSING)),
    case("helm-running-uninstalling", plan_input(release("uninstalling"), helm_running=True), wait(Reason.PROGRESSING)),
    case(
        "another-helm-just-now",
        plan_input(release("pending-upgrade", attempt_is_ours=False, modified_at=NOW - 1.0)),
        wait(Reason.PROGRESSING, until=NOW - 1.0 + TIMEOUT),
    ),
    case(
        "another-helm-timeout-over",
        plan_input(release("pending-upgrade", attempt_is_ours=False, modified_at=NOW - TIMEOUT)),
        Unlock(2),
    ),
    case(
        "a-person's-without-adopt",
        plan_input(release("pending-install", owner=None, attempt_is_ours=False)),
        wait(Reason.ACCESS_DENIED, stalled=True),
    ),
    case(
        "a-person's-with-adopt-just-now",
        plan_input(
            release("pending-install", owner=None, attempt_is_ours=False, modified_at=NOW), wanted=spec(adopt=True)
        ),
        wait(Reason.PROGRESSING, until=NOW + TIMEOUT),
    ),
    case(
        "a-person's-with-adopt-timeout-over",
        plan_input(release("pending-install", owner=None, attempt_is_ours=False), wanted=spec(adopt=True)),
        Unlock(2),
    ),
    case(
        "of-another-xapp",
        plan_input(release("pending-install", owner=FOREIGN), wanted=spec(adopt=True)),
        wait(Reason.ACCESS_DENIED, stalled=True),
    ),
    case(
        "pending-before-rollback-to",
        plan_input(release("pending-upgrade", earlier=DEPLOYED_BEFORE), requests=AnnotationRequests(rollback_to=1)),
        Unlock(2),
    ),
    case("uninstalling-ours", plan_input(release("uninstalling")), Uninstall(hooks=False)),
    case(
        "uninstalling-by-a-person-just-now",
        plan_input(release("uninstalling", modified_at=NOW)),
        wait(Reason.PROGRESSING, until=NOW + 30.0),
    ),
    case(
        "uninstalling-by-a-person-for-long",
        plan_input(release("uninstalling", modified_at=NOW - 30.0)),
        Uninstall(hooks=False),
    ),
    case(
        "uninstalling-interrupted-just-now",
        plan_input(
            release("uninstalling", modified_at=NOW),
            last=replace(uninstall_failed(last_at=NOW), outcome=AttemptOutcome.RUNNING),
        ),
        Uninstall(hooks=False),
    ),
    case(
        "uninstalling-by-a-person-after-ours-just-now",
        plan_input(
            release("uninstalling", modified_at=NOW),
            last=replace(uninstall_failed(last_at=NOW), outcome=AttemptOutcome.RELEASED),
        ),
        wait(Reason.PROGRESSING, until=NOW + 30.0),
    ),
    case(
        "uninstalling-failed-just-now",
        plan_input(
            release("uninstalling"),
            last=uninstall_failed(last_at=NOW - 0.5),
        ),
        wait(Reason.UNINSTALL_FAILED, until=NOW + 0.5),
    ),
    case(
        "uninstalling-failed-just-now-retry-at",
        plan_input(
            replace(release("uninstalling"), modified_at=NOW - 1.0),
            last=uninstall_failed(last_at=NOW - 0.5),
            requests=AnnotationRequests(retry=True),
        ),
        Uninstall(hooks=False),
    ),
    case(
        "uninstalling-failed-and-due",
        plan_input(
            release("uninstalling"),
            last=uninstall_failed(last_at=NOW - 1.0),
        ),
        Uninstall(hooks=False),
    ),
    case(
        "uninstalling-a-person's-without-adopt",
        plan_input(release("uninstalling", owner=None)),
        wait(Reason.ACCESS_DENIED, stalled=True),
    ),
    case(
        "uninstalling-a-person's-with-adopt-just-now",
        plan_input(release("uninstalling", owner=None, modified_at=NOW), wanted=spec(adopt=True)),
        wait(Reason.PROGRESSING, until=NOW + TIMEOUT),
    ),
    case(
        "uninstalling-a-person's-with-adopt-timeout-over",
        plan_input(release("uninstalling", owner=None), wanted=spec(adopt=True)),
        Uninstall(hooks=False),
    ),
    case(
        "uninstalling-of-another-xapp",
        plan_input(release("uninstalling", owner=FOREIGN)),
        wait(Reason.ACCESS_DENIED, stalled=True),
    ),
]

OWNERSHIP = [
    *(
        case(
            f"{status}-of-another-xapp",
            plan_input(release(status, owner=FOREIGN), wanted=spec(adopt=True)),
            wait(Reason.ACCESS_DENIED, stalled=True),
        )
        for status in ALL_STATES
    ),
    *(
        case(
            f"{status}-of-a-person",
            plan_input(release(status, owner=None, digests=None)),
            wait(Reason.ACCESS_DENIED, stalled=True),
        )
        for status in ALL_STATES
    ),
    case(
        "adopt-takes-over-without-reinstalling",
        plan_input(release(owner=None, digests=None), wanted=spec(adopt=True)),
        Upgrade(take_ownership=True),
    ),
    case(
        "adopt-leaves-what-agrees-as-it-is",
        plan_input(release(owner=None, digests=WANTED, revision=4), wanted=spec(adopt=True)),
        Adopt(4, WANTED),
    ),
    case(
        "adopt-and-force-upgrade",
        plan_input(
            release(owner=None, digests=WANTED), wanted=spec(adopt=True), requests=AnnotationRequests(force=True)
        ),
        Upgrade(take_ownership=True),
    ),
    case(
        "adopt-a-failed-first-install",
        plan_input(release("failed", owner=None, digests=None), wanted=spec(adopt=True)),
        Install(replace=True, take_ownership=True),
    ),
    case(
        "foreign-before-rollback-to-force-and-source",
        plan_input(
            release(owner=FOREIGN, earlier=DEPLOYED_BEFORE),
            requests=AnnotationRequests(rollback_to=1, force=True, retry=True),
            desired=SourceUnavailable("away"),
        ),
        RejectRequest("force-at", ""),
    ),
]


@pytest.mark.parametrize(("inputs", "expected"), DELETION)
def test_deletion_removes_only_the_operators_own_release(inputs: PlanInput, expected: Action) -> None:
    assert without_message(plan(inputs)) == expected


@pytest.mark.parametrize(("inputs", "expected"), SUSPENDED)
def test_suspended_xapp_is_not_changed(inputs: PlanInput, expected: Action) -> None:
    assert without_message(plan(inputs)) == expected


@pytest.mark.parametrize(("inputs", "expected"), LEFT_BEHIND)
def test_interrupted_helm_call_is_recovered_once_no_helm_runs(inputs: PlanInput, expected: Action) -> None:
    assert without_message(plan(inputs)) == expected


@pytest.mark.parametrize(("inputs", "expected"), OWNERSHIP)
def test_foreign_release_is_untouched_unless_adopted(inputs: PlanInput, expected: Action) -> None:
    assert without_message(plan(inputs)) == expected


@pytest.mark.parametrize("owner", [NAME, None, FOREIGN])
@pytest.mark.parametrize("status", ["deployed", "pending-upgrade"])
@pytest.mark.parametrize("seconds", [1.0, TIMEOUT])
def test_an_older_revision_on_which_a_late_helm_works_is_waited_for(
    seconds: float, status: str, owner: str | None
) -> None:
    found = replace(
        release(status, owner=owner),
        overtaken_by=frozenset({1}),
        late_pending=PendingRevision(1, "pending-upgrade", NOW - seconds),
    )
    action = plan(plan_input(found, wanted=spec(adopt=True)))
    if owner == FOREIGN:
        assert without_message(action) == wait(Reason.ACCESS_DENIED, stalled=True)
    elif seconds < TIMEOUT:
        assert isinstance(action, Wait)
        assert action.until == NOW - seconds + TIMEOUT
        assert "revision 1 to pending-upgrade" in action.message
    else:
        assert action == Unlock(1)


def test_rules_apply_in_their_order() -> None:
    """Start with all conditions; then remove the one that applied, so that the next rule applies."""
    now = plan_input(
        release("pending-upgrade", earlier=DEPLOYED_BEFORE),
        deleting=True,
        helm_running=True,
        wanted=spec(suspend=True),
        held=1,
        desired=ChartNotFound("no such version"),
        last=attempt(AttemptOutcome.FAILED, permanent=True),
        requests=AnnotationRequests(rollback_to=1),
        observed={"archive_owners_differ": True, "labels": LabelState(missing=True)},
        waiting_for=("b",),
    )
    adoptable = release("pending-upgrade", owner=None, earlier=DEPLOYED_BEFORE)
    ours = release("deployed", digests=OLD, earlier=DEPLOYED_BEFORE)
    changes: list[tuple[dict[str, Any], Action]] = [
        ({}, wait(Reason.PROGRESSING)),
        ({"deleting": False, "observed": replace(now.observed, release=adoptable)}, wait(Reason.SUSPENDED)),
        ({"spec": spec()}, UpdateArchiveOwners()),  # beside the Wait for helm
        ({"observed": ObservedState(release("pending-upgrade"), helm_running=True)}, wait(Reason.PROGRESSING)),
        ({"observed": ObservedState(release("pending-upgrade"), unready_dependencies=("b",))}, Unlock(2)),
        ({"observed": ObservedState(release("uninstalling"), unready_dependencies=("b",))}, Uninstall(hooks=False)),
        (
            {
                "observed": ObservedState(replace(ours, owner=None), unready_dependencies=("b",)),
                "requests": AnnotationRequests(),
            },
            wait(Reason.ACCESS_DENIED, stalled=True),
        ),
        ({"requests": AnnotationRequests(rollback_to=1)}, RejectRequest("rollback-to", "")),
        ({"observed": ObservedState(ours, unready_dependencies=("b",))}, Rollback(1, hold=True)),
        ({"requests": AnnotationRequests()}, wait(Reason.ROLLBACK_FAILED, stalled=True)),
        ({"observed": ObservedState(ours, held_copies=frozenset({1}))}, Rollback(1, hold=True, again=True)),
        ({"observed": ObservedState(ours, held_copies=frozenset({1, 2}))}, HELD_AT_1),
        (
            {"held_revision": None, "attempt": None, "observed": ObservedState(ours, repository_missing=True)},
            SaveRepository(),
        ),
        ({"observed": ObservedState(ours, unready_dependencies=("b",))}, wait(Reason.CHART_PULL_FAILED, stalled=True)),
        ({"desired": WANTED, "attempt": attempt(AttemptOutcome.FAILED, permanent=True)}, _upgrade_failed()),
        ({"attempt": None}, wait(Reason.DEPENDENCY_NOT_READY)),
        ({"observed": ObservedState(ours)}, Upgrade()),
        ({"observed": ObservedState(release(), labels=LabelState(missing=True))}, RepairLabels()),
        ({"observed": ObservedState(release(earlier=DEPLOYED_BEFORE))}, Nothing()),
    ]
    for change, expected in changes:
        now = replace(now, **change)
        assert without_message(plan(now)) == expected, change


def _upgrade_failed() -> Action:
    return wait(Reason.UPGRADE_FAILED, stalled=True)


@pytest.mark.parametrize(
    ("inputs", "part"),
    [
        (plan_input(waiting_for=("kpi-store", "e2-adapter")), "kpi-store, e2-adapter"),
        (plan_input(release(owner=FOREIGN)), FOREIGN),
        (plan_input(release(owner=None)), "adopt: true"),
        (plan_input(release("pending-install", attempt_is_ours=False, modified_at=NOW)), "spec.timeout (5m)"),
        (plan_input(desired=ChartNotFound("hello-world 9.9.9 is not in the repository")), "9.9.9"),
        (plan_input(wanted=spec(suspend=True)), "spec.suspend"),
    ],
)
def test_message_names_the_cause_and_the_fix(inputs: PlanInput, part: str) -> None:
    answer = plan(inputs)
    assert isinstance(answer, Wait)
    assert part in answer.message
