"""Facts that decide alone: each test changes one of them. What an input says where nothing is given."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from typing import Any

import pytest

from tests.unit.domain.planning.plan_inputs import (
    DEPLOYED_BEFORE,
    LONG_AGO,
    NOW,
    STILL_DEPLOYED,
    TIMEOUT,
    WANTED,
    attempt,
    plan_input,
    release,
    spec,
)
from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus
from xapp_operator.domain.planning import actions
from xapp_operator.domain.planning.actions import Nothing, RejectRequest, RejectRollback, Rollback, Unlock, Wait
from xapp_operator.domain.planning.plan import plan
from xapp_operator.domain.planning.plan_input import (
    DEPLOYED,
    FAILED,
    ROLLBACK,
    UNINSTALL,
    UNINSTALLING,
    AnnotationRequests,
    Attempt,
    AttemptOutcome,
    DriftState,
    LabelState,
    ObservedRelease,
    ObservedState,
    PastRevision,
    PlanInput,
    TestRun,
)
from xapp_operator.domain.planning.plan_requests import plan_request_without_effect
from xapp_operator.domain.planning.progress import SourceRetries
from xapp_operator.domain.planning.unrecorded_steps import StoredStatus
from xapp_operator.errors import SourceUnavailable, ValuesInvalid


def defaults(of: type[Any]) -> dict[str, object]:
    return {each.name: each.default for each in fields(of) if each.default is not MISSING}


NO_TRUTH = {False, "", None}


@pytest.mark.parametrize(
    ("of", "others"),
    [
        (actions.Install, {}),
        (actions.Upgrade, {}),
        (actions.Rollback, {}),
        (actions.Uninstall, {"hooks": True, "dependents": ()}),
        (actions.RepairLabels, {}),
        (actions.Wait, {}),
        (actions.Nothing, {}),
        (actions.StartTests, {}),
        (TestRun, {"count": 1}),
        (PastRevision, {}),
        (ObservedRelease, {"past_revisions": (), "overtaken_by": frozenset()}),
        (LabelState, {}),
        (DriftState, {"objects": ()}),
        (
            ObservedState,
            {
                "unready_dependencies": (),
                "missing_dependencies": (),
                "dependency_cycle": (),
                "dependents": (),
                "held_copies": frozenset(),
            },
        ),
        (Attempt, {"generation": -1, "count": 1, "reason": Reason.INSTALL_FAILED}),
        (AnnotationRequests, {}),
        (PlanInput, {"generation_observed": True, "health": HealthStatus.UNKNOWN}),
        (SourceRetries, {}),
        (StoredStatus, {}),
    ],
)
def test_what_is_not_given_is_not_so(of: type[Any], others: dict[str, object]) -> None:
    found = defaults(of)
    assert {name: found.pop(name) for name in others} == others
    assert all(each in NO_TRUTH for each in found.values()), found


@pytest.mark.parametrize("status", ["pending-install", "pending-upgrade", "pending-rollback"])
def test_a_pending_revision_of_no_xapp_has_its_time(status: str) -> None:
    adopted = release(status, owner=None, modified_at=NOW)
    assert isinstance(plan(plan_input(adopted, wanted=spec(adopt=True))), Wait)
    assert plan(plan_input(release(status, modified_at=NOW))) == Unlock(2)
    late = release(status, owner=None, modified_at=NOW - TIMEOUT)
    assert plan(plan_input(late, wanted=spec(adopt=True))) == Unlock(2)


def test_a_permanent_failure_to_uninstall_stalls_until_the_next_try() -> None:
    for permanent in (True, False):
        failed = attempt(AttemptOutcome.FAILED, action=UNINSTALL, permanent=permanent, last_at=NOW)
        waiting = plan(plan_input(release(FAILED), last=failed, deleting=True))
        assert waiting == Wait(Reason.UPGRADE_FAILED, "helm's own error", stalled=permanent, until=NOW + 1.0)


def test_a_permanent_failure_of_a_requested_rollback_does_not_stall() -> None:
    failed = attempt(AttemptOutcome.FAILED, action=ROLLBACK, permanent=True, last_at=NOW)
    requests = AnnotationRequests(rollback_to=1, rollback_value="1")
    waiting = plan(plan_input(release(earlier=DEPLOYED_BEFORE), last=failed, requests=requests))
    assert waiting == Wait(Reason.UPGRADE_FAILED, "helm's own error", until=NOW + 1.0)


def test_an_attempt_without_digests_is_none_at_digests_that_are_not_known() -> None:
    failed = attempt(AttemptOutcome.FAILED, digests=None, permanent=True)
    cycle = {"dependency_cycle": ("a", "b", "a")}
    there = release(FAILED, earlier=STILL_DEPLOYED)
    assert not isinstance(plan(plan_input(there, last=failed, desired=None, observed=cycle)), Rollback)


@pytest.mark.parametrize(
    ("requests", "status", "message"),
    [
        (
            AnnotationRequests(rollback_unreadable=True),
            DEPLOYED,
            "rollback-to names no revision. Set it to one of 1, 2, or to REVISION@TEXT.",
        ),
        (
            AnnotationRequests(rollback_to=7),
            DEPLOYED,
            "rollback-to names revision 7, which is not stored. Set it to one of 1, 2.",
        ),
        (
            AnnotationRequests(rollback_to=2),
            DEPLOYED,
            "rollback-to names revision 2, which is in force. There is nothing to do.",
        ),
        (
            AnnotationRequests(rollback_to=2),
            FAILED,
            "rollback-to names revision 2, which failed. To try it again, set retry-at.",
        ),
    ],
)
def test_a_rollback_that_cannot_be_is_rejected_with_the_reason(
    requests: AnnotationRequests, status: str, message: str
) -> None:
    there = release(status, earlier=DEPLOYED_BEFORE)
    assert plan(plan_input(there, requests=requests)) == RejectRollback(message)


def test_a_request_without_effect_is_rejected_with_the_reason() -> None:
    force = AnnotationRequests(force=True)
    held = plan(plan_input(release(), held=1, requests=force))
    assert isinstance(held, RejectRequest)
    assert held.message.startswith("force-at has no effect now: rolled back to revision 1, which is held")
    suspended = plan(plan_input(release(), wanted=spec(suspend=True), requests=AnnotationRequests(test=True)))
    assert isinstance(suspended, RejectRequest)
    assert suspended.message.startswith("test-at has no effect now: ")
    assert plan(plan_input(release(), helm_running=True, requests=force)) == Wait(
        Reason.PROGRESSING, "helm is working on the release for another XApp"
    )


def test_tests_asked_for_of_a_release_that_failed_are_rejected() -> None:
    failed = attempt(AttemptOutcome.FAILED, permanent=True)
    stalled = plan(plan_input(release(FAILED), last=failed, requests=AnnotationRequests(test=True)))
    assert stalled == RejectRequest("test-at", "test-at has no effect now: helm's own error")


@pytest.mark.parametrize("requests", [AnnotationRequests(rollback_to=1), AnnotationRequests(rollback_unreadable=True)])
def test_a_rollback_asked_for_while_suspended_is_rejected(requests: AnnotationRequests) -> None:
    suspended = plan(plan_input(release(), wanted=spec(suspend=True), requests=requests))
    assert isinstance(suspended, RejectRequest)
    assert suspended.annotation == "rollback-to"


def test_a_request_without_effect_on_what_is_as_it_should_be_says_so() -> None:
    inputs = plan_input(release(), requests=AnnotationRequests(force=True))
    rejected = plan_request_without_effect(inputs, Nothing())
    assert rejected == RejectRequest("force-at", "force-at has no effect now: nothing is to be upgraded")


@pytest.mark.parametrize("outcome", [AttemptOutcome.RELEASED, AttemptOutcome.SUCCEEDED])
def test_a_rollback_that_succeeded_is_not_repeated(outcome: AttemptOutcome) -> None:
    done = attempt(outcome, action=ROLLBACK)
    assert AnnotationRequests(retry=True).clear_attempt(done) == done


def test_only_a_failure_of_a_requested_rollback_ends_it() -> None:
    requests = AnnotationRequests(rollback_to=1, rollback_value="1")
    there = release(earlier=DEPLOYED_BEFORE)
    late = replace(attempt(AttemptOutcome.FAILED, action=ROLLBACK, first_at=LONG_AGO), rollback_to="1")
    late = replace(late, last_at=LONG_AGO + TIMEOUT)
    assert isinstance(plan(plan_input(there, last=late, requests=requests)), RejectRollback)
    interrupted = replace(late, outcome=AttemptOutcome.INTERRUPTED)
    assert plan(plan_input(there, last=interrupted, requests=requests)) == Rollback(1, hold=True)


def test_tests_go_on_beside_what_leaves_the_release_as_it_is() -> None:
    busy = {"labels": LabelState(missing=True), "tests_running": True}
    assert plan(plan_input(release(), observed=busy)) == actions.RepairLabels()


def test_an_action_is_named_for_the_metrics() -> None:
    assert actions.action_label(actions.RepairLabels()) == "repair_labels"


def test_tests_wait_for_a_release_that_is_deployed() -> None:
    failed = attempt(AttemptOutcome.FAILED, last_at=NOW)
    waiting = plan(plan_input(release(FAILED), last=failed, requests=AnnotationRequests(test=True)))
    assert waiting == Wait(Reason.UPGRADE_FAILED, "helm's own error", until=NOW + 1.0)


def test_a_step_that_goes_on_is_not_forgotten_for_a_retry() -> None:
    running = attempt(AttemptOutcome.RUNNING)
    assert AnnotationRequests(retry=True).clear_attempt(running) == running


def test_a_person_who_uninstalls_a_release_has_the_time_for_it() -> None:
    failed = attempt(AttemptOutcome.FAILED, action=UNINSTALL, last_at=LONG_AGO)
    there = release(UNINSTALLING, owner=None, modified_at=NOW)
    waiting = plan(plan_input(there, last=failed, wanted=spec(adopt=True)))
    assert isinstance(waiting, Wait)
    assert waiting.until == NOW + TIMEOUT


def test_a_good_revision_of_the_same_chart_and_values_is_not_denied() -> None:
    same = (PastRevision(1, "superseded", WANTED, was_healthy=True),)
    released = attempt(AttemptOutcome.RELEASED, last_at=LONG_AGO)
    stalled = plan(plan_input(release(earlier=same), last=released, health=HealthStatus.DEGRADED))
    assert isinstance(stalled, Wait)
    assert stalled.stalled
    assert "not rolled back" not in stalled.message


def test_a_release_that_says_only_that_it_was_superseded_is_upgraded() -> None:
    assert plan(plan_input(release("superseded"))) == actions.Upgrade()


def test_helm_at_work_on_the_release_of_another_xapp_is_not_waited_for() -> None:
    foreign = plan(plan_input(release(owner="other"), helm_running=True))
    assert isinstance(foreign, Wait)
    assert (foreign.reason, foreign.stalled) == (Reason.ACCESS_DENIED, True)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("the API server went away", "the API server went away"),
        (
            "",
            "the upgrade to this chart and these values was rolled back. Change the spec, or set the annotation "
            "retry-at.",
        ),
    ],
)
def test_a_rollback_that_cannot_be_repeated_stalls_with_its_own_message(message: str, shown: str) -> None:
    interrupted = attempt(AttemptOutcome.INTERRUPTED, action=ROLLBACK, message=message)
    assert plan(plan_input(release(FAILED), last=interrupted)) == Wait(Reason.UPGRADE_FAILED, shown, stalled=True)


def test_an_attempt_that_began_with_the_same_values_has_answered_them() -> None:
    failed = Attempt("Upgrade", AttemptOutcome.FAILED, None, 1.0, 1.0, request_digest="d")
    assert AnnotationRequests(retry=True, digest="d").clear_attempt(failed) is failed
    assert AnnotationRequests(retry=True, digest="e").clear_attempt(failed) is None
    assert AnnotationRequests(force=True, digest="e").clear_attempt(failed) is None
    assert AnnotationRequests(test=True, digest="e").clear_attempt(failed) is failed
    assert (
        AnnotationRequests(retry=True).clear_attempt(Attempt("Upgrade", AttemptOutcome.FAILED, None, 1.0, 1.0)) is None
    )
    assert AnnotationRequests(retry=True).clear_attempt(None) is None


def test_the_newest_good_revision_is_rolled_back_to() -> None:
    earlier = (PastRevision(1, "superseded"), PastRevision(3, "superseded"), PastRevision(2, "superseded"))
    there = release(FAILED, revision=4, earlier=earlier)
    assert plan(plan_input(there, last=attempt(AttemptOutcome.FAILED, permanent=True))) == Rollback(3)
    unhealthy = attempt(AttemptOutcome.UNHEALTHY)
    assert plan(plan_input(there, last=unhealthy)) == Rollback(3)
    assert plan(plan_input(release(), last=unhealthy)) == Nothing()


@pytest.mark.parametrize("outcome", [AttemptOutcome.FAILED, AttemptOutcome.UNHEALTHY])
def test_a_failure_to_uninstall_says_nothing_about_the_chart(outcome: AttemptOutcome) -> None:
    failed = attempt(outcome, action=UNINSTALL, permanent=True)
    assert plan(plan_input(release(FAILED, earlier=STILL_DEPLOYED), last=failed)) == actions.Upgrade()


def test_no_tests_start_while_a_deletion_waits() -> None:
    failed = attempt(AttemptOutcome.FAILED, action=UNINSTALL, last_at=NOW)
    inputs = plan_input(release(), last=failed, deleting=True, requests=AnnotationRequests(test=True))
    assert isinstance(plan(inputs), Wait)


def test_a_rollback_in_a_cycle_does_not_wait_for_its_source() -> None:
    there = release(FAILED, earlier=STILL_DEPLOYED)
    in_cycle = {"dependency_cycle": ("a", "b", "a"), "repository_missing": True}
    failed = attempt(AttemptOutcome.FAILED, permanent=True)
    assert plan(plan_input(there, last=failed, observed=in_cycle)) == Rollback(1)


def test_a_wait_for_health_says_what_is_waited_for_also_if_nothing_is_known_of_it() -> None:
    released = attempt(AttemptOutcome.RELEASED)
    waiting = plan(replace(plan_input(release(), last=released, health=HealthStatus.UNKNOWN), root_cause=""))
    expected = "waiting for the objects to become healthy"
    assert waiting == Wait(Reason.PROGRESSING, expected, until=released.last_at + TIMEOUT)


def test_a_forced_upgrade_whose_values_are_not_valid_since_is_refused_after_its_tries() -> None:
    tried_at = NOW - TIMEOUT
    failed = replace(attempt(AttemptOutcome.FAILED, first_at=tried_at, last_at=tried_at), request_digest="asked")
    requests = AnnotationRequests(force=True, digest="asked")
    refused = ValuesInvalid("values are not YAML.")
    found = plan(plan_input(release(earlier=DEPLOYED_BEFORE), last=failed, requests=requests, desired=refused))
    assert found == RejectRequest("force-at", "force-at has no effect now: values are not YAML.")


def test_what_overtook_the_newest_revision_is_not_called_superseded_while_nothing_can_be_deployed() -> None:
    overtaken = replace(release(digests=None, earlier=STILL_DEPLOYED), overtaken_by=frozenset({1}))
    found = plan(plan_input(overtaken, desired=SourceUnavailable("away")))
    assert found == Wait(Reason.CHART_PULL_FAILED, "away")


def test_no_release_belongs_to_nobody() -> None:
    assert not plan_input().owned
    assert not plan_input(wanted=spec(adopt=True)).owned_or_adoptable
