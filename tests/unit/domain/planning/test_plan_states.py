"""The plan for the operator's own releases: held ones, every state of Helm, dependencies."""

from dataclasses import replace

import pytest

from tests.unit.domain.planning.plan_inputs import (
    DEPLOYED_BEFORE,
    HELD_AT_1,
    INSTALLED,
    NOW,
    OLD,
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
from xapp_operator.domain.planning.actions import (
    Action,
    DeleteOrphans,
    Install,
    MarkSuperseded,
    Nothing,
    RejectRequest,
    RejectRollback,
    RepairLabels,
    Restore,
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
    INSTALL,
    UNINSTALL,
    AnnotationRequests,
    AttemptOutcome,
    BegunUninstall,
    LabelState,
    ObservedRelease,
    PastRevision,
    PlanInput,
)
from xapp_operator.errors import (
    AccessDenied,
    ApiUnavailable,
    ChartNotFound,
    Invalid,
    MissingRight,
    ReleaseRecordDamaged,
    SourceUnavailable,
    ValuesNotFound,
)

DEPLOYED_ALREADY = release(earlier=DEPLOYED_BEFORE)
HELD_OLD = release(revision=3, digests=OLD, earlier=DEPLOYED_BEFORE)


def leaving(begun: BegunUninstall | None, *, ended_at: float = NOW - 2.0) -> PlanInput:
    """Return the input of an XApp that leaves its release, although helm began to uninstall it."""
    return plan_input(
        release("uninstalling"),
        last=attempt(AttemptOutcome.INTERRUPTED, action=UNINSTALL, digests=None, last_at=ended_at),
        deleting=True,
        wanted=spec(orphan=True),
        observed={"begun_uninstall": begun},
    )


ROLLBACK_AND_HOLD = [
    case("known", plan_input(DEPLOYED_ALREADY, requests=AnnotationRequests(rollback_to=1)), Rollback(1, hold=True)),
    case("unknown", plan_input(DEPLOYED_ALREADY, requests=AnnotationRequests(rollback_to=9)), RejectRollback("")),
    case("no-release", plan_input(requests=AnnotationRequests(rollback_to=1)), Install()),
    case(
        "uninstalled",
        plan_input(release("uninstalled"), requests=AnnotationRequests(rollback_to=2)),
        Rollback(2, hold=True),
    ),
    case(
        "unknown-while-held",
        plan_input(HELD_OLD, held=1, requests=AnnotationRequests(rollback_to=2)),
        RejectRollback(""),
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
        HELD_AT_1,
    ),
    case(
        "held-and-degraded",
        plan_input(HELD_OLD, held=1, health=HealthStatus.DEGRADED),
        HELD_AT_1,
    ),
    case(
        "held-while-the-source-is-away",
        plan_input(HELD_OLD, held=1, desired=SourceUnavailable("away")),
        HELD_AT_1,
    ),
    case("hold-ends-with-the-generation", plan_input(HELD_OLD, held=1, current=False), Upgrade()),
    case("hold-ends-when-removed-by-hand", plan_input(held=1), Install()),
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
    case("chart-and-values-not-resolved", plan_input(release(), desired=None), wait(Reason.PROGRESSING)),
    case("degraded-later", plan_input(release(), last=INSTALLED, health=HealthStatus.DEGRADED), Nothing()),
]

MISSING = {"labels": LabelState(missing=True)}
OUTDATED = {"labels": LabelState(outdated=True)}
NOT_DUE = {"labels": LabelState(missing=True, repair_at=NOW + 1.0)}
NOT_ALLOWED = AccessDenied("you may not", missing=(MissingRight("patch", "", "configmaps", None),))
REFUSED = {"labels": LabelState(outdated=True, repair_at=NOW + 1.0, refused=NOT_ALLOWED)}
NOT_VALID = {"labels": LabelState(outdated=True, repair_at=NOW + 1.0, refused=Invalid("must be two"))}

REFUSED_WAIT = Wait(Reason.ACCESS_DENIED, "", stalled=True, at_rest=True, told=True)

LABELS = [
    case("missing", plan_input(release(), last=INSTALLED, observed=MISSING), RepairLabels()),
    case("outdated", plan_input(release(), last=INSTALLED, observed=OUTDATED), RepairLabels(all_objects=True)),
    case(
        "due-now", plan_input(release(), observed={"labels": LabelState(missing=True, repair_at=NOW)}), RepairLabels()
    ),
    case("not-due", plan_input(release(), last=INSTALLED, observed=NOT_DUE), Nothing()),
    case("refused", plan_input(release(), last=INSTALLED, observed=REFUSED), REFUSED_WAIT),
    case(
        "not-valid",
        plan_input(release(), last=INSTALLED, observed=NOT_VALID),
        replace(REFUSED_WAIT, reason=Reason.UPGRADE_FAILED),
    ),
    case(
        "refused-and-due",
        plan_input(release(), observed={"labels": LabelState(outdated=True, refused=NOT_ALLOWED)}),
        RepairLabels(all_objects=True),
    ),
    case("refused-and-other-digests", plan_input(release(digests=OLD), observed=REFUSED), Upgrade()),
    case(
        "refused-and-never-healthy",
        plan_input(
            release(earlier=DEPLOYED_BEFORE),
            last=attempt(AttemptOutcome.RELEASED, last_at=NOW - TIMEOUT),
            health=HealthStatus.DEGRADED,
            observed=REFUSED,
        ),
        Rollback(1),
    ),
    case("after-the-upgrade", plan_input(release(digests=OLD), observed=OUTDATED), Upgrade()),
    case("while-degraded", plan_input(release(), health=HealthStatus.DEGRADED, observed=MISSING), RepairLabels()),
    case("while-held", plan_input(HELD_OLD, held=1, observed=MISSING), RepairLabels()),
    case(
        "while-stalled",
        plan_input(release(digests=OLD), desired=ChartNotFound("gone"), observed=MISSING),
        RepairLabels(),
    ),
    case(
        "not-while-suspended",
        plan_input(release(), wanted=spec(suspend=True), observed=MISSING),
        wait(Reason.SUSPENDED),
    ),
    case("not-while-deleting", plan_input(release(), deleting=True, observed=MISSING), Uninstall()),
    case(
        "not-when-orphaned", plan_input(release(), deleting=True, wanted=spec(orphan=True), observed=MISSING), Nothing()
    ),
    case("not-while-helm-runs", plan_input(release(), helm_running=True, observed=MISSING), wait(Reason.PROGRESSING)),
    case(
        "not-of-a-person's-release",
        plan_input(release(owner=None), observed=MISSING),
        wait(Reason.ACCESS_DENIED, stalled=True),
    ),
    case(
        "not-of-a-failed-release",
        plan_input(
            release("failed"), last=attempt(AttemptOutcome.FAILED, action=INSTALL, permanent=True), observed=MISSING
        ),
        wait(Reason.UPGRADE_FAILED, stalled=True),
    ),
]

DIFFERENT_OWNERS = {"archive_owners_differ": True}
NO_RECORD = {"objects_without_record": True}
NOT_SAVED = {"repository_missing": True}

SOURCES = [
    case("install-before-owners", plan_input(observed=DIFFERENT_OWNERS), Install()),
    case("correct-the-label", plan_input(release("failed"), observed={"label_outdated": True}), Unlock(2)),
    case("unlock-before-owners", plan_input(release("pending-upgrade"), observed=DIFFERENT_OWNERS), Unlock(2)),
    case(
        "rollback-before-owners",
        plan_input(
            release(earlier=DEPLOYED_BEFORE), requests=AnnotationRequests(rollback_to=1), observed=DIFFERENT_OWNERS
        ),
        Rollback(1, hold=True),
    ),
    case(
        "owners-while-values-are-missing",
        plan_input(desired=ValuesNotFound("no such ConfigMap"), observed=DIFFERENT_OWNERS),
        UpdateArchiveOwners(),
    ),
    case("orphans-of-a-terminating-namespace", plan_input(deleting=True, terminating=True), DeleteOrphans()),
    case(
        "orphans-deleted-once",
        plan_input(deleting=True, terminating=True, observed={"orphans_deleted": True}),
        Nothing(),
    ),
    case(
        "objects-without-a-record",
        plan_input(deleting=True, observed=NO_RECORD),
        DeleteOrphans(namespaced=True),
    ),
    case(
        "objects-without-a-record-deleted-once",
        plan_input(deleting=True, observed={**NO_RECORD, "orphans_deleted": True}),
        Nothing(),
    ),
    case(
        "objects-without-a-record-in-a-terminating-namespace",
        plan_input(deleting=True, terminating=True, observed=NO_RECORD),
        DeleteOrphans(),
    ),
    case(
        "objects-without-a-record-that-others-depend-on",
        replace(plan_input(deleting=True, observed={**NO_RECORD, "dependents": ("b",)}), deleted_at=NOW),
        wait(Reason.DEPENDENCY_NOT_READY, until=NOW + TIMEOUT),
    ),
    case(
        "objects-without-a-record-while-helm-runs",
        plan_input(deleting=True, helm_running=True, observed=NO_RECORD),
        wait(Reason.PROGRESSING),
    ),
    case("no-objects-while-helm-runs", plan_input(deleting=True, helm_running=True), Nothing()),
    case("orphans-stay-with-orphan", plan_input(deleting=True, wanted=spec(orphan=True), terminating=True), Nothing()),
    case("leave", leaving(None), Nothing()),
    case("restore", leaving(BegunUninstall("failed")), Restore(2, "failed")),
    case(
        "restore-later",
        leaving(BegunUninstall("failed"), ended_at=NOW - 1.5),
        wait(Reason.PROGRESSING, until=NOW + 0.5),
    ),
    case("not-restore-what-is-partly-deleted", leaving(BegunUninstall("failed", obstacle="gone")), Nothing()),
    case(
        "not-wait-after-another-step",
        plan_input(release(), last=attempt(AttemptOutcome.FAILED), deleting=True, wanted=spec(orphan=True)),
        Nothing(),
    ),
    case("no-orphans-in-a-namespace-that-stays", plan_input(deleting=True), Nothing()),
    case("owners-of-a-settled-release", plan_input(release(), observed=DIFFERENT_OWNERS), UpdateArchiveOwners()),
    case(
        "owners-with-a-foreign-release",
        plan_input(release(owner="other"), observed=DIFFERENT_OWNERS),
        UpdateArchiveOwners(),
    ),
    case("not-owners-while-deleting", plan_input(release(), deleting=True, observed=DIFFERENT_OWNERS), Uninstall()),
    case(
        "not-owners-while-suspended",
        plan_input(release(), wanted=spec(suspend=True), observed=DIFFERENT_OWNERS),
        wait(Reason.SUSPENDED),
    ),
    case("repository-before-the-install", plan_input(desired=None, observed=NOT_SAVED), SaveRepository()),
    case("repository-of-a-deployed-release", plan_input(release(), desired=None, observed=NOT_SAVED), SaveRepository()),
    case(
        "unlock-before-the-repository",
        plan_input(release("pending-upgrade"), desired=None, observed=NOT_SAVED),
        Unlock(2),
    ),
    case(
        "not-the-repository-with-a-foreign-release",
        plan_input(release(owner="other"), desired=None, observed=NOT_SAVED),
        wait(Reason.ACCESS_DENIED, stalled=True),
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
]

DENIED = {"releases_unavailable": AccessDenied("the RoleBinding is missing")}
RELEASES_UNAVAILABLE = [
    case("denied", plan_input(observed=DENIED), wait(Reason.ACCESS_DENIED, stalled=True)),
    case(
        "not-listed-yet",
        plan_input(observed={"releases_unavailable": ApiUnavailable("away")}),
        wait(Reason.PROGRESSING),
    ),
    case("suspended", plan_input(observed=DENIED, wanted=spec(suspend=True)), wait(Reason.SUSPENDED)),
    case(
        "rollback-to",
        plan_input(observed=DENIED, requests=AnnotationRequests(rollback_to=1)),
        wait(Reason.ACCESS_DENIED, stalled=True),
    ),
    case("deleting", plan_input(observed=DENIED, deleting=True), wait(Reason.ACCESS_DENIED, stalled=True)),
    case("deleting-orphan", plan_input(observed=DENIED, deleting=True, wanted=spec(orphan=True)), Nothing()),
    case(
        "deleting-with-the-namespace",
        plan_input(observed=DENIED, deleting=True, terminating=True),
        DeleteOrphans(),
    ),
    case(
        "deleted-with-the-namespace",
        plan_input(observed={**DENIED, "orphans_deleted": True}, deleting=True, terminating=True),
        Nothing(),
    ),
]


@pytest.mark.parametrize(("inputs", "expected"), RELEASES_UNAVAILABLE)
def test_nothing_is_done_while_the_releases_are_not_known(inputs: PlanInput, expected: Action) -> None:
    assert without_message(plan(inputs)) == expected


@pytest.mark.parametrize(("inputs", "expected"), ROLLBACK_AND_HOLD)
def test_rollback_to_is_done_and_held_until_the_generation_changes(inputs: PlanInput, expected: Action) -> None:
    assert without_message(plan(inputs)) == expected


@pytest.mark.parametrize(("inputs", "expected"), STATES)
def test_every_state_of_a_release_has_its_action(inputs: PlanInput, expected: Action) -> None:
    assert without_message(plan(inputs)) == expected


@pytest.mark.parametrize(("inputs", "expected"), LABELS)
def test_labels_are_repaired_when_no_other_action_is_due(inputs: PlanInput, expected: Action) -> None:
    assert without_message(plan(inputs)) == expected


@pytest.mark.parametrize(("inputs", "expected"), SOURCES)
def test_owner_reference_and_repository_are_written_before_the_release(inputs: PlanInput, expected: Action) -> None:
    assert without_message(plan(inputs)) == expected


@pytest.mark.parametrize("present", [release(), release("failed", earlier=DEPLOYED_BEFORE)])
def test_rollback_to_a_revision_that_is_not_stored_is_rejected(present: ObservedRelease) -> None:
    action = plan(plan_input(present, requests=AnnotationRequests(rollback_to=9)))
    assert isinstance(action, RejectRollback)
    assert "revision 9" in action.message
    assert str(present.revision) in action.message


def test_rollback_to_without_a_release_waits_for_one() -> None:
    assert plan(plan_input(requests=AnnotationRequests(rollback_to=9))) == Install()


def test_a_request_waits_while_the_operator_may_not_look() -> None:
    request = AnnotationRequests(force=True, test=True)
    denied = AccessDenied("cannot list secrets")
    for inputs in (
        plan_input(observed={"releases_unavailable": denied}, requests=request),
        plan_input(desired=denied, requests=request),
    ):
        assert without_message(plan(inputs)) == wait(Reason.ACCESS_DENIED, stalled=True)


def test_a_request_is_rejected_when_only_a_person_can_change_what_prevents_it() -> None:
    missing = ChartNotFound("no such chart")
    assert without_message(plan(plan_input(desired=missing, requests=AnnotationRequests(force=True)))) == RejectRequest(
        "force-at", ""
    )
    assert without_message(plan(plan_input(desired=missing, requests=AnnotationRequests(test=True)))) == RejectRequest(
        "test-at", ""
    )
    away = SourceUnavailable("away")
    assert not isinstance(plan(plan_input(desired=away, requests=AnnotationRequests(force=True))), RejectRequest)


@pytest.mark.parametrize(("inputs", "expected"), DEPENDENCIES)
def test_dependencies_hold_back_install_and_upgrade_only(inputs: PlanInput, expected: Action) -> None:
    assert without_message(plan(inputs)) == expected


TWO_DEPLOYED = release(revision=3, earlier=(*STILL_DEPLOYED, PastRevision(2, "superseded", OLD)))
UNREADABLE = {"record_damaged": ReleaseRecordDamaged("Secret x: this release record is damaged")}

UNKNOWN_OBJECTS = {"manifest_problem": "it has too many objects"}

RELEASE_RECORDS = [
    case("two-deployed", plan_input(TWO_DEPLOYED, last=INSTALLED), MarkSuperseded((1,))),
    case(
        "two-deployed-of-a-person",
        plan_input(replace(TWO_DEPLOYED, owner=None)),
        wait(Reason.ACCESS_DENIED, stalled=True),
    ),
    case("two-deployed-suspended", plan_input(TWO_DEPLOYED, wanted=spec(suspend=True)), wait(Reason.SUSPENDED)),
    case("labels-first", plan_input(TWO_DEPLOYED, observed=MISSING), RepairLabels()),
    case("upgrade-first", plan_input(replace(TWO_DEPLOYED, digests=OLD)), Upgrade()),
    case("damaged", plan_input(release(), observed=UNREADABLE), wait(Reason.UPGRADE_FAILED, stalled=True)),
    case(
        "damaged-and-other-digests",
        plan_input(release(digests=OLD), observed=UNREADABLE),
        wait(Reason.UPGRADE_FAILED, stalled=True),
    ),
    case(
        "damaged-and-labels",
        plan_input(release(), observed=UNREADABLE | MISSING),
        wait(Reason.UPGRADE_FAILED, stalled=True),
    ),
    case("damaged-and-deleting", plan_input(release(), observed=UNREADABLE, deleting=True), Uninstall()),
    case("unknown-objects", plan_input(release(), observed=UNKNOWN_OBJECTS), wait(Reason.CHART_INVALID, stalled=True)),
    case("unknown-objects-and-other-digests", plan_input(release(digests=OLD), observed=UNKNOWN_OBJECTS), Upgrade()),
    case(
        "unknown-objects-of-a-held-revision",
        plan_input(HELD_OLD, observed=UNKNOWN_OBJECTS, held=1),
        wait(Reason.CHART_INVALID, stalled=True),
    ),
    case(
        "unknown-objects-and-suspended",
        plan_input(release(), observed=UNKNOWN_OBJECTS, wanted=spec(suspend=True)),
        wait(Reason.SUSPENDED),
    ),
]


@pytest.mark.parametrize(("given", "expected"), RELEASE_RECORDS)
def test_records_of_helm_that_are_wrong(given: PlanInput, expected: Action) -> None:
    assert without_message(plan(given)) == expected


def test_a_failed_uninstall_keeps_its_reason_while_it_backs_off() -> None:
    failed = attempt(AttemptOutcome.FAILED, action=UNINSTALL, reason=Reason.ACCESS_DENIED, last_at=NOW, count=4)
    action = plan(plan_input(release(), last=failed, deleting=True))
    assert isinstance(action, Wait)
    assert action.reason == Reason.ACCESS_DENIED
