"""The step at which a deployment is, or stopped, for each decision of the plan."""

from __future__ import annotations

from typing import Any

import pytest

from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus
from xapp_operator.api.status_parts import Step
from xapp_operator.domain.planning.actions import Nothing, Wait
from xapp_operator.domain.planning.plan_input import INSTALL, Attempt, AttemptOutcome, Digests
from xapp_operator.domain.planning.progress import NO_RETRIES, DeploymentProgress, SourceRetries, find_progress

NOW, FIRST, LAST, TIMEOUT = 1000.0, 900.0, 950.0, 300.0


def tried(outcome: AttemptOutcome, **other: Any) -> Attempt:
    return Attempt(INSTALL, outcome, Digests("c", "v"), first_at=FIRST, last_at=LAST, count=2, **other)


def found(
    decision: Wait | Nothing,
    attempt: Attempt | None = None,
    *,
    health: HealthStatus = HealthStatus.UNKNOWN,
    previous: tuple[str, float] | None = None,
    retries: SourceRetries = NO_RETRIES,
) -> DeploymentProgress | None:
    return find_progress(
        decision,
        attempt=attempt,
        health=health,
        timeout_seconds=TIMEOUT,
        previous=previous,
        retries=retries,
        now=NOW,
    )


FAILED, INTERRUPTED = AttemptOutcome.FAILED, AttemptOutcome.INTERRUPTED


@pytest.mark.parametrize(
    ("decision", "attempt", "step"),
    [
        (Wait(Reason.PROGRESSING, "chart and values are not known yet"), None, Step.QUEUED),
        (Wait(Reason.DEPENDENCY_NOT_READY, "m"), None, Step.QUEUED),
        (Wait(Reason.ACCESS_DENIED, "m", stalled=True), tried(AttemptOutcome.RELEASED), Step.QUEUED),
        (Wait(Reason.PROGRESSING, "the chart is read", step=Step.CHART), tried(AttemptOutcome.SUCCEEDED), Step.CHART),
        (Wait(Reason.ACCESS_DENIED, "m", stalled=True), None, Step.QUEUED),
        (Wait(Reason.ACCESS_DENIED, "m", stalled=True), tried(INTERRUPTED, reason=Reason.ACCESS_DENIED), Step.QUEUED),
        (Wait(Reason.PROGRESSING, "the spec has changed"), tried(INTERRUPTED), Step.QUEUED),
        (Wait(Reason.PROGRESSING, "another helm", until=NOW + 1), tried(AttemptOutcome.SUCCEEDED), Step.QUEUED),
        (Wait(Reason.CHART_PULL_FAILED, "m"), tried(AttemptOutcome.SUCCEEDED), Step.CHART),
        (Wait(Reason.CHART_INVALID, "m", stalled=True), None, Step.CHART),
        (Wait(Reason.CHART_INVALID, "m", stalled=True), tried(FAILED, reason=Reason.CHART_INVALID), Step.RENDER),
        (Wait(Reason.VALUES_INVALID, "m", stalled=True), None, Step.RENDER),
        (Wait(Reason.PROGRESSING, "helm"), tried(AttemptOutcome.RUNNING), Step.HELM),
        (Wait(Reason.INSTALL_FAILED, "m", stalled=True), tried(FAILED), Step.HELM),
        (Wait(Reason.ACCESS_DENIED, "m", stalled=True), tried(FAILED, reason=Reason.ACCESS_DENIED), Step.HELM),
        (Wait(Reason.PROGRESSING, "m", until=LAST + TIMEOUT), tried(AttemptOutcome.RELEASED), Step.OBJECTS),
        (Wait(Reason.PROGRESSING, "m", until=LAST + TIMEOUT), tried(AttemptOutcome.RUNNING), Step.OBJECTS),
        (Wait(Reason.HEALTH_CHECK_FAILED, "m"), tried(AttemptOutcome.UNHEALTHY), Step.OBJECTS),
        (Wait(Reason.TEST_FAILED, "m", stalled=True), tried(AttemptOutcome.UNHEALTHY), Step.OBJECTS),
        (Nothing(), tried(AttemptOutcome.SUCCEEDED), Step.OBJECTS),
    ],
)
def test_the_step_follows_from_decision_and_attempt(
    decision: Wait | Nothing, attempt: Attempt | None, step: Step
) -> None:
    progress = found(decision, attempt)
    assert progress is not None
    assert progress.step is step


def test_what_is_ready_or_suspended_has_no_progress() -> None:
    assert found(Nothing(), tried(AttemptOutcome.SUCCEEDED), health=HealthStatus.HEALTHY) is None
    assert found(Wait(Reason.SUSPENDED, "m"), tried(AttemptOutcome.SUCCEEDED)) is None


def test_a_running_helm_ends_at_the_timeout_of_this_try() -> None:
    progress = found(Wait(Reason.PROGRESSING, "helm"), tried(AttemptOutcome.RUNNING))
    assert progress == DeploymentProgress(Step.HELM, FIRST, deadline=LAST + TIMEOUT, attempt=2)


def test_a_passing_failure_is_tried_again_until_the_timeout_since_the_first_try() -> None:
    progress = found(Wait(Reason.INSTALL_FAILED, "m", until=NOW + 4), tried(FAILED))
    assert progress == DeploymentProgress(Step.HELM, FIRST, deadline=FIRST + TIMEOUT, attempt=2, next_try_at=NOW + 4)
    stalled = found(Wait(Reason.INSTALL_FAILED, "m", stalled=True), tried(FAILED))
    assert stalled == DeploymentProgress(Step.HELM, FIRST, attempt=2)


def test_templates_that_failed_have_their_tries() -> None:
    failed = tried(FAILED, reason=Reason.CHART_INVALID)
    progress = found(Wait(Reason.CHART_INVALID, "m", stalled=True), failed)
    assert progress == DeploymentProgress(Step.RENDER, FIRST, attempt=2)


def test_objects_have_the_timeout_since_helm_ended() -> None:
    waiting = found(Wait(Reason.PROGRESSING, "m", until=LAST + TIMEOUT), tried(AttemptOutcome.RELEASED))
    assert waiting == DeploymentProgress(Step.OBJECTS, LAST, deadline=LAST + TIMEOUT, attempt=2)


@pytest.mark.parametrize("stalled", [False, True])
def test_objects_that_had_the_timeout_in_vain_keep_it(stalled: bool) -> None:
    wait = Wait(Reason.HEALTH_CHECK_FAILED, "m", stalled=stalled)
    # A rollback began another step meanwhile.
    failed = found(wait, tried(AttemptOutcome.UNHEALTHY), previous=("helm", NOW - 1))
    assert failed == DeploymentProgress(Step.OBJECTS, LAST, deadline=LAST + TIMEOUT, attempt=2)
    later = found(Nothing(), tried(AttemptOutcome.SUCCEEDED), health=HealthStatus.DEGRADED)
    assert later == DeploymentProgress(Step.OBJECTS, NOW, attempt=2)


def test_a_source_that_is_away_has_its_tries_and_the_next_one() -> None:
    retries = SourceRetries(3, NOW + 8)
    wait = Wait(Reason.CHART_PULL_FAILED, "m")
    assert found(wait, retries=retries, previous=("chart", 700.0)) == DeploymentProgress(
        Step.CHART, 700.0, attempt=3, next_try_at=NOW + 8
    )
    stalled = found(Wait(Reason.CHART_PULL_FAILED, "m", stalled=True), retries=retries)
    assert stalled == DeploymentProgress(Step.CHART, NOW)


def test_a_step_that_goes_on_keeps_its_beginning_and_another_one_begins_now() -> None:
    wait = Wait(Reason.DEPENDENCY_NOT_READY, "m")
    kept, begun = found(wait, previous=("queued", 700.0)), found(wait, previous=("chart", 700.0))
    assert kept is not None
    assert begun is not None
    assert (kept.started_at, begun.started_at) == (700.0, NOW)


@pytest.mark.parametrize(("step", "started_at"), [("objects", 700.0), ("helm", NOW)])
def test_waiting_for_objects_began_when_that_step_began(step: str, started_at: float) -> None:
    progress = found(Nothing(), tried(AttemptOutcome.SUCCEEDED), previous=(step, 700.0))
    assert progress == DeploymentProgress(Step.OBJECTS, started_at, attempt=2)


def test_a_failure_of_the_objects_is_not_told_as_one_of_helm() -> None:
    failed = found(Wait(Reason.TEST_FAILED, "m", stalled=True), tried(FAILED, reason=Reason.TEST_FAILED))
    assert failed == DeploymentProgress(Step.OBJECTS, NOW, attempt=2)


@pytest.mark.parametrize(("outcome", "stalled"), [(AttemptOutcome.SUCCEEDED, False), (AttemptOutcome.RELEASED, True)])
def test_objects_that_do_not_wait_for_health_have_no_deadline(outcome: AttemptOutcome, stalled: bool) -> None:
    progress = found(Wait(Reason.TEST_FAILED, "m", stalled=stalled), tried(outcome))
    assert progress == DeploymentProgress(Step.OBJECTS, NOW, attempt=2)


def test_objects_without_an_attempt_begin_now() -> None:
    assert found(Wait(Reason.TEST_FAILED, "m", stalled=True)) == DeploymentProgress(Step.OBJECTS, NOW)


@pytest.mark.parametrize(("step", "started_at"), [("helm", 700.0), ("objects", NOW)])
def test_helm_without_an_attempt_began_when_that_step_began(step: str, started_at: float) -> None:
    wait = Wait(Reason.UPGRADE_FAILED, "m")
    assert found(wait) == DeploymentProgress(Step.HELM, NOW)
    assert found(wait, previous=(step, 700.0)) == DeploymentProgress(Step.HELM, started_at)


def test_a_source_has_no_tries_at_first() -> None:
    assert SourceRetries(0, None) == NO_RETRIES
    assert found(Wait(Reason.CHART_PULL_FAILED, "m")) == DeploymentProgress(Step.CHART, NOW)


def test_only_a_source_has_tries() -> None:
    retries = SourceRetries(3, NOW + 8)
    assert found(Wait(Reason.DEPENDENCY_NOT_READY, "m"), retries=retries) == DeploymentProgress(Step.QUEUED, NOW)


def test_values_that_are_refused_are_no_try_of_helm() -> None:
    refused = Wait(Reason.VALUES_INVALID, "m", stalled=True)
    assert found(refused, tried(AttemptOutcome.SUCCEEDED)) == DeploymentProgress(Step.RENDER, NOW)
