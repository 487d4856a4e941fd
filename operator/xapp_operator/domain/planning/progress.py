"""Where the deployment of an XApp is, or where it stopped: what its status says besides conditions. Pure.

It follows from the decision of the plan and the last attempt. Two reconciles with the same facts have the same
progress, so that it causes no write of its own, with one exception: a chart source that fails again has a new time of
the next try. Times are seconds since the epoch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus
from xapp_operator.api.status_parts import Step
from xapp_operator.domain.planning.actions import Nothing, Wait
from xapp_operator.domain.planning.plan_input import HEALTH_PENDING, Attempt, AttemptOutcome

_STEP_BY_REASON: Final[dict[str, Step]] = {
    Reason.CHART_PULL_FAILED: Step.CHART,
    Reason.CHART_INVALID: Step.CHART,
    Reason.VALUES_INVALID: Step.RENDER,
    Reason.DEPENDENCY_NOT_READY: Step.QUEUED,
    Reason.HEALTH_CHECK_FAILED: Step.OBJECTS,
    Reason.TEST_FAILED: Step.OBJECTS,
    Reason.INSTALL_FAILED: Step.HELM,
    Reason.UPGRADE_FAILED: Step.HELM,
    Reason.ROLLBACK_FAILED: Step.HELM,
    Reason.UNINSTALL_FAILED: Step.HELM,
}
_SOURCE_REASONS: Final = frozenset({Reason.CHART_PULL_FAILED, Reason.CHART_INVALID, Reason.VALUES_INVALID})


@dataclass(frozen=True, slots=True)
class DeploymentProgress:
    """One step of a deployment."""

    step: Step
    started_at: float
    deadline: float | None = None
    attempt: int | None = None
    next_try_at: float | None = None


@dataclass(frozen=True, slots=True)
class SourceRetries:
    """How often in a row a source was not available, and when it is tried again."""

    count: int = 0
    next_at: float | None = None


NO_RETRIES: Final = SourceRetries()


def find_progress(
    decision: Wait | Nothing,
    *,
    attempt: Attempt | None,
    health: HealthStatus,
    timeout_seconds: float,
    previous: tuple[str, float] | None,
    retries: SourceRetries,
    now: float,
) -> DeploymentProgress | None:
    """Return the progress to report, or None for an XApp that is Ready or suspended.

    Args:
        decision: what the plan decided.
        attempt: the last helm step.
        health: health of the live objects.
        timeout_seconds: `spec.timeout`.
        previous: the step that the status has for this generation, and when it began.
        retries: tries of a source that is not available.
        now: the present.
    """
    if _is_ready_or_suspended(decision, health):
        return None
    if isinstance(decision, Nothing):
        return _objects_progress(decision, attempt, timeout_seconds=timeout_seconds, previous=previous, now=now)
    step = _find_step(decision, attempt)
    failed_attempt = _failed_attempt(decision, attempt)
    started_at = previous[1] if previous is not None and previous[0] == step else now
    if step is Step.HELM or (step is Step.RENDER and failed_attempt is not None):
        return _helm_progress(step, decision, attempt, timeout_seconds=timeout_seconds, started_at=started_at)
    if step is Step.OBJECTS:
        return _objects_progress(decision, attempt, timeout_seconds=timeout_seconds, previous=previous, now=now)
    if decision.reason in _SOURCE_REASONS and not decision.stalled:
        return DeploymentProgress(step, started_at, attempt=retries.count or None, next_try_at=retries.next_at)
    return DeploymentProgress(step, started_at)


def _is_ready_or_suspended(decision: Wait | Nothing, health: HealthStatus) -> bool:
    if isinstance(decision, Nothing):
        return health is HealthStatus.HEALTHY
    return decision.reason == Reason.SUSPENDED


def _find_step(decision: Wait, attempt: Attempt | None) -> Step:
    if decision.step is not None:
        return decision.step
    failed = _failed_attempt(decision, attempt)
    if failed is not None and decision.reason == Reason.CHART_INVALID:
        return Step.RENDER  # a template of a chart that was fetched
    return _STEP_BY_REASON.get(decision.reason) or (
        Step.HELM if failed is not None else _running_step(decision, attempt)
    )


def _running_step(decision: Wait, attempt: Attempt | None) -> Step:
    """Return the step of an XApp that waits without a failure, or for permission to begin."""
    if attempt is None or decision.reason != Reason.PROGRESSING:
        return Step.QUEUED
    if attempt.outcome in (AttemptOutcome.RELEASED, AttemptOutcome.UNHEALTHY):
        return Step.OBJECTS
    if attempt.outcome is AttemptOutcome.RUNNING and decision.until is None:
        return Step.HELM
    return Step.OBJECTS if attempt.outcome in HEALTH_PENDING and decision.until is not None else Step.QUEUED


def _failed_attempt(decision: Wait, attempt: Attempt | None) -> Attempt | None:
    """Return the attempt whose failure the decision reports."""
    if attempt is None or attempt.outcome is not AttemptOutcome.FAILED:
        return None
    return attempt if attempt.reason == decision.reason else None


def _helm_progress(
    step: Step, decision: Wait, attempt: Attempt | None, *, timeout_seconds: float, started_at: float
) -> DeploymentProgress:
    if attempt is None:
        return DeploymentProgress(step, started_at)
    progress = DeploymentProgress(step, attempt.first_at, attempt=attempt.count)
    if decision.stalled:
        return replace(progress, next_try_at=decision.until)
    if attempt.outcome is AttemptOutcome.RUNNING:
        return replace(progress, deadline=attempt.last_at + timeout_seconds)
    return replace(progress, deadline=attempt.first_at + timeout_seconds, next_try_at=decision.until)


def _objects_progress(
    decision: Wait | Nothing,
    attempt: Attempt | None,
    *,
    timeout_seconds: float,
    previous: tuple[str, float] | None,
    now: float,
) -> DeploymentProgress:
    count = None if attempt is None else attempt.count
    if attempt is not None and _has_timeout(decision, attempt):
        return DeploymentProgress(Step.OBJECTS, attempt.last_at, attempt.last_at + timeout_seconds, count)
    started_at = previous[1] if previous is not None and previous[0] == Step.OBJECTS else now
    return DeploymentProgress(Step.OBJECTS, started_at, attempt=count)


def _has_timeout(decision: Wait | Nothing, attempt: Attempt) -> bool:
    """Return whether the objects have `spec.timeout` to become healthy, or had it in vain."""
    if not isinstance(decision, Wait):
        return False
    if attempt.outcome is AttemptOutcome.UNHEALTHY:
        return decision.reason == Reason.HEALTH_CHECK_FAILED
    return attempt.outcome in HEALTH_PENDING and not decision.stalled
