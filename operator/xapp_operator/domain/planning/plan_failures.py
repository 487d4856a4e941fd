"""The rules after a failed attempt: back off, roll back to the last good revision, or stall.

A good revision was deployed, and is not known never to have been healthy.
"""

from __future__ import annotations

from typing import Final

from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus
from xapp_operator.domain.planning.actions import Action, Rollback, Wait
from xapp_operator.domain.planning.plan_input import (
    DEPLOYED,
    FAILED,
    INSTALL,
    ROLLBACK,
    UNINSTALL,
    UNINSTALLED,
    UPGRADE,
    Attempt,
    AttemptOutcome,
    PastRevision,
    PlanInput,
)
from xapp_operator.errors import AccessDenied, XAppError

UNKNOWN_HEALTH_SECONDS: Final = 60.0
"""For so long after `spec.timeout`, health may still become known, as when the operator starts."""


def plan_after_failed_attempt(inputs: PlanInput) -> Action | None:
    """Back off, roll back or stall after a failed attempt at the same digests."""
    last = inputs.attempt
    if last is None or last.digests is None or last.digests != inputs.desired:
        return None
    if last.action == ROLLBACK:
        return _plan_after_failed_rollback(inputs, last)
    if last.action in (INSTALL, UPGRADE) and last.outcome is AttemptOutcome.FAILED:
        return _plan_after_helm_failure(inputs, last)
    if last.action in (INSTALL, UPGRADE) and last.outcome is AttemptOutcome.UNHEALTHY:
        return _plan_after_unhealthy(inputs, last)
    return None


def _plan_after_helm_failure(inputs: PlanInput, last: Attempt) -> Action | None:
    release = inputs.release
    if last.permanent or (inputs.timed_out(last) and not inputs.desired_is_deployed):
        if release is None or release.status != FAILED:
            return Wait(last.reason, last.message, stalled=True)
        rollback = _rollback_to_first(inputs, release.rollback_candidates)
        return rollback or _stall_without_rollback(inputs, last.reason, last.message)
    due = inputs.next_attempt_at(last)
    return Wait(last.reason, last.message, until=due) if inputs.now < due else None


def _plan_after_unhealthy(inputs: PlanInput, last: Attempt) -> Action | None:
    if inputs.desired_is_deployed:
        return None if inputs.health is HealthStatus.HEALTHY else plan_health_timeout(inputs, last)
    if last.action == INSTALL and (inputs.release is None or inputs.release.status == UNINSTALLED):
        return None  # somebody has removed what was never healthy: nothing is left that could become so
    return _retry_rollback(inputs) or Wait(last.reason, last.message, stalled=True)


def _plan_after_failed_rollback(inputs: PlanInput, last: Attempt) -> Action | None:
    """Continue after a rollback that failed or was interrupted; one that succeeded changes nothing."""
    if last.outcome not in (AttemptOutcome.FAILED, AttemptOutcome.RUNNING, AttemptOutcome.INTERRUPTED):
        return None
    if inputs.desired_is_deployed and inputs.health is HealthStatus.HEALTHY:
        return None
    if last.outcome is AttemptOutcome.FAILED and (last.permanent or inputs.timed_out(last)):
        return Wait(last.reason, last.message, stalled=True)
    if last.rollback_to:
        return None  # a request that was rejected since, because its revision is gone: the spec is in force, not undone
    if (waiting := backoff_wait(inputs, ROLLBACK, Reason.ROLLBACK_FAILED)) is not None:
        return waiting
    retry = _roll_back_unhealthy(inputs, last) if inputs.desired_is_deployed else _retry_rollback(inputs)
    message = (
        "the upgrade to this chart and these values was rolled back. Change the spec, or set the annotation retry-at."
    )
    return retry or Wait(Reason.UPGRADE_FAILED, last.message or message, stalled=True)


def plan_until_timeout(inputs: PlanInput, last: Attempt) -> Wait | None:
    """Return the wait for the end of the tries of a step that failed and cannot be tried again now."""
    due = last.first_at + inputs.spec.timeout_seconds
    waits = last.outcome is AttemptOutcome.FAILED and inputs.now < due
    return Wait(last.reason, last.message, until=due) if waits else None


def plan_health_timeout(inputs: PlanInput, last: Attempt) -> Action:
    """Return the action after `spec.timeout` without health: roll an upgrade back, or say so."""
    message = unhealthy_message(inputs.spec.timeout, inputs.root_cause)
    if last.action != UPGRADE:
        return Wait(Reason.HEALTH_CHECK_FAILED, message)
    return _roll_back_unhealthy(inputs, last) or _stall_without_rollback(inputs, Reason.HEALTH_CHECK_FAILED, message)


def may_be_rolled_back(inputs: PlanInput) -> bool:
    """Return whether the release is what the last attempt made of it, and there is a good revision to return to."""
    release = inputs.release
    if release is None or not (release.status == FAILED or inputs.desired_is_deployed):
        return False
    candidates = tuple(each for each in release.rollback_candidates if each.digests != inputs.desired)
    return _rollback_to_first(inputs, candidates) is not None


def unhealthy_message(timeout: str, root_cause: str) -> str:
    """Return why a release is not Ready after `spec.timeout`. The list of the dashboard leaves the beginning out."""
    return f"not healthy after {timeout} (spec.timeout): {root_cause}"


def describe_error(error: XAppError) -> str:
    """Return the message of an error; if a right is missing, with what to do.

    The operator does not notice when somebody grants it.
    """
    missing = error.missing if isinstance(error, AccessDenied) else ()
    if not missing or any(each.verb == "impersonate" for each in missing):  # that message says it
        return error.message
    return f"{error.message}. Grant that permission, then request a retry"


def backoff_wait(inputs: PlanInput, action: str, reason: Reason) -> Wait | None:
    """Return the wait before the next try of an action that failed, or None when it is due."""
    last = inputs.attempt
    if last is None or last.action != action or last.outcome is not AttemptOutcome.FAILED:
        return None
    due = inputs.next_attempt_at(last)
    stalled = action == UNINSTALL and last.permanent
    return Wait(last.reason or reason, last.message, stalled=stalled, until=due) if inputs.now < due else None


def _roll_back_unhealthy(inputs: PlanInput, last: Attempt) -> Action | None:
    """Roll back from an unhealthy revision, unless the previous one has the same chart and values and was good."""
    if inputs.health is HealthStatus.UNKNOWN:
        return _wait_for_unknown_health(inputs, last)
    kept = 1 if last.action == UPGRADE and last.count <= 1 else None  # an interrupted try is superseded, but never good
    candidates = inputs.release.rollback_candidates[:kept] if inputs.release is not None else ()
    return _rollback_to_first(inputs, tuple(each for each in candidates if each.digests != inputs.desired))


def _wait_for_unknown_health(inputs: PlanInput, last: Attempt) -> Wait:
    """Wait until an upgraded release is known to be healthy or not, as after a restart; if that never comes, stall."""
    cause = inputs.root_cause or "the health of the objects is not known"
    if last.action != UPGRADE:
        return Wait(Reason.PROGRESSING, cause)
    until = last.last_at + inputs.spec.timeout_seconds + UNKNOWN_HEALTH_SECONDS
    if inputs.now < until:
        return Wait(Reason.PROGRESSING, cause, until=until)
    return Wait(Reason.HEALTH_CHECK_FAILED, unhealthy_message(inputs.spec.timeout, cause), stalled=True)


def _retry_rollback(inputs: PlanInput) -> Action | None:
    """Repeat a rollback: when one fails, helm marks the revision that it started from as superseded."""
    if inputs.release is None or inputs.release.status != FAILED:
        return None
    return _rollback_to_first(
        inputs, tuple(each for each in inputs.release.rollback_candidates if each.digests != inputs.desired)
    )


def _rollback_to_first(inputs: PlanInput, candidates: tuple[PastRevision, ...]) -> Rollback | None:
    return Rollback(candidates[0].revision) if candidates and _is_rollback_wanted(inputs) else None


def _is_rollback_wanted(inputs: PlanInput) -> bool:
    """Return what the spec says about the failure that is undone: failed tests have a setting of their own."""
    last, spec = inputs.attempt, inputs.spec
    cause = None if last is None or last.action != ROLLBACK else last.rollback_cause
    is_undone = last is not None and last.outcome is AttemptOutcome.UNHEALTHY and last.reason == Reason.TEST_FAILED
    after_tests = is_undone or (cause is not None and cause.reason == Reason.TEST_FAILED)
    return (spec.test.on_failure if after_tests else spec.upgrade.on_failure) == "rollback"


def _stall_without_rollback(inputs: PlanInput, reason: str, message: str) -> Wait:
    """Stall at the revision that failed, and say so if a rollback is wanted but no earlier one was ever healthy."""
    release = inputs.release
    if release is None or release.rollback_candidates or inputs.spec.upgrade.on_failure != "rollback":
        return Wait(reason, message, stalled=True)
    if release.deployed_before:
        message = f"{message}; not rolled back: none of the earlier revisions was ever healthy"
    elif release.status == DEPLOYED:  # an upgrade, and with a small spec.maxHistory none of them is kept
        message = f"{message}; not rolled back: no earlier revision is kept that ever was healthy"
    return Wait(reason, message, stalled=True)
