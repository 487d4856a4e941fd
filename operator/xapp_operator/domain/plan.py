"""The decision: what to do about one XApp, given what is wanted and what is there. Pure: no I/O, no clock.

`plan` asks its rules in order; the first that answers wins. Every state of a Helm release has an answer, and a release
that once was deployed is never uninstalled by a remedy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus
from xapp_operator.domain.actions import (
    Action,
    Adopt,
    CorrectDrift,
    Install,
    Nothing,
    Rollback,
    Test,
    Uninstall,
    Unlock,
    Upgrade,
    Wait,
)
from xapp_operator.domain.plan_input import (
    DEPLOYED,
    FAILED,
    HEALTH_PENDING,
    INSTALL,
    PENDING,
    ROLLBACK,
    UNINSTALL,
    UNINSTALLED,
    UNINSTALLING,
    UPGRADE,
    Attempt,
    AttemptOutcome,
    Digests,
    ObservedRelease,
    PastRevision,
    PlanInput,
)
from xapp_operator.errors import InputError, XAppError


def plan(inputs: PlanInput) -> Action:
    """Return what to do next about one XApp."""
    effective = _without_cleared_attempt(inputs)
    last_known = _last_known_digests(effective)
    if last_known is not None:
        action = _first_match(replace(effective, desired=last_known))
        if not isinstance(action, Install | Upgrade):  # these two need what is away
            return action
    return _first_match(effective)


def _first_match(inputs: PlanInput) -> Action:
    for rule in _PLAN_RULES:
        action = rule(inputs)
        if action is not None:
            return action
    return _plan_release(inputs)


def _without_cleared_attempt(inputs: PlanInput) -> PlanInput:
    last = inputs.attempt
    return replace(inputs, attempt=None) if last is not None and inputs.requests.clears_attempt(last) else inputs


def _last_known_digests(inputs: PlanInput) -> Digests | None:
    """Return what this generation is known to want although its source is away; refused input is not away."""
    last = inputs.attempt
    if last is None or not isinstance(inputs.desired, XAppError) or isinstance(inputs.desired, InputError):
        return None
    return last.digests if last.generation == inputs.generation else None


def _backoff_wait(inputs: PlanInput, action: str, reason: Reason) -> Wait | None:
    last = inputs.attempt
    if last is None or last.action != action or last.outcome is not AttemptOutcome.FAILED:
        return None
    due = inputs.next_attempt_at(last)
    return Wait(reason, last.message, until=due) if inputs.now < due else None


def _plan_deletion(inputs: PlanInput) -> Action | None:
    if not inputs.deleting:
        return None
    if inputs.observed.helm_running:
        return Wait(Reason.PROGRESSING, "waiting for the running helm step to end")
    release = inputs.release
    if inputs.spec.deletion_policy == "Orphan" or release is None or not inputs.owned:
        return Nothing()
    hooks = release.status != UNINSTALLING and not inputs.observed.namespace_terminating
    return _backoff_wait(inputs, UNINSTALL, Reason.UNINSTALL_FAILED) or Uninstall(hooks=hooks)


def _plan_suspended(inputs: PlanInput) -> Action | None:
    return Wait(Reason.SUSPENDED, "suspended by spec.suspend: nothing is changed") if inputs.spec.suspend else None


def _plan_while_helm_runs(inputs: PlanInput) -> Action | None:
    return Wait(Reason.PROGRESSING, "helm is at work on the release") if inputs.observed.helm_running else None


def _plan_pending(inputs: PlanInput) -> Action | None:
    release = inputs.release
    if release is None or release.status not in PENDING or not inputs.owned_or_adoptable:
        return None
    if inputs.owned and release.has_own_attempt:
        return Unlock(release.revision)
    return _wait_for_other_helm(inputs, release) or Unlock(release.revision)


def _plan_uninstalling(inputs: PlanInput) -> Action | None:
    release = inputs.release
    if release is None or release.status != UNINSTALLING or not inputs.owned_or_adoptable:
        return None
    other = None if inputs.owned else _wait_for_other_helm(inputs, release)
    return other or _backoff_wait(inputs, UNINSTALL, Reason.UNINSTALL_FAILED) or Uninstall(hooks=False)


def _wait_for_other_helm(inputs: PlanInput, release: ObservedRelease) -> Wait | None:
    due = release.modified_at + inputs.spec.timeout_seconds
    if inputs.now >= due:
        return None
    message = (
        f"revision {release.revision} is {release.status} by another helm; it is taken for left behind when "
        f"spec.timeout ({inputs.spec.timeout}) has passed"
    )
    return Wait(Reason.PROGRESSING, message, until=due)


def _plan_foreign_release(inputs: PlanInput) -> Action | None:
    release = inputs.release
    if release is None or inputs.owned_or_adoptable:
        return None
    if release.owner is None:
        message = (
            "a Helm release of this name exists already and was not made by this XApp: set adopt: true to take it "
            "over, or choose another releaseName in a new XApp"
        )
    else:
        message = (
            f"the Helm release of this name belongs to the XApp {release.owner}: choose another releaseName in a new "
            "XApp"
        )
    return Wait(Reason.ACCESS_DENIED, message, stalled=True)


def _plan_requested_rollback(inputs: PlanInput) -> Action | None:
    revision = inputs.requests.rollback_to
    if revision is None or inputs.release is None or revision not in inputs.release.revisions:
        return None
    return _backoff_wait(inputs, ROLLBACK, Reason.ROLLBACK_FAILED) or Rollback(revision, hold=True)


def _plan_held_revision(inputs: PlanInput) -> Action | None:
    if (
        inputs.held_revision is None
        or not inputs.generation_observed
        or inputs.release is None
        or inputs.release.status != DEPLOYED
    ):
        return None
    return Nothing(f"revision {inputs.held_revision} is held by rollback-to until the spec changes")


def _plan_unavailable_source(inputs: PlanInput) -> Action | None:
    """Answer for a chart or values that could not be had."""
    problem = inputs.desired
    if problem is None:
        return Wait(Reason.PROGRESSING, "chart and values are not known yet")
    if isinstance(problem, XAppError):
        return Wait(problem.reason or Reason.CHART_PULL_FAILED, problem.message, stalled=problem.permanent)
    return None


def _plan_after_failed_attempt(inputs: PlanInput) -> Action | None:
    """Answer for an attempt at these same digests that failed: back off, roll back or stall."""
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
        rollback = (
            _rollback_to_first(inputs, release.rollback_candidates[:1])
            if release is not None and release.status == FAILED
            else None
        )
        return rollback or Wait(last.reason, last.message, stalled=True)
    due = inputs.next_attempt_at(last)
    return Wait(last.reason, last.message, until=due) if inputs.now < due else None


def _plan_after_unhealthy(inputs: PlanInput, last: Attempt) -> Action | None:
    if inputs.desired_is_deployed:
        return None if inputs.health is HealthStatus.HEALTHY else _plan_health_timeout(inputs, last)
    return _retry_rollback(inputs) or Wait(last.reason, last.message, stalled=True)


def _plan_after_failed_rollback(inputs: PlanInput, last: Attempt) -> Action | None:
    """Answer for a rollback that failed or was broken off; one that succeeded is no obstacle to anything."""
    if last.outcome not in (AttemptOutcome.FAILED, AttemptOutcome.RUNNING, AttemptOutcome.INTERRUPTED):
        return None
    if inputs.desired_is_deployed and inputs.health is HealthStatus.HEALTHY:
        return None
    if last.outcome is AttemptOutcome.FAILED and (last.permanent or inputs.timed_out(last)):
        return Wait(last.reason, last.message, stalled=True)
    waiting = _backoff_wait(inputs, ROLLBACK, Reason.ROLLBACK_FAILED)
    if waiting is not None:
        return waiting
    retry = _roll_back_unhealthy(inputs) if inputs.desired_is_deployed else _retry_rollback(inputs)
    message = "the upgrade to this chart and these values was undone; change the spec, or set the annotation retry-at"
    return retry or Wait(Reason.UPGRADE_FAILED, last.message or message, stalled=True)


def _plan_health_timeout(inputs: PlanInput, last: Attempt) -> Action:
    message = f"not healthy within spec.timeout ({inputs.spec.timeout}): {inputs.root_cause}"
    if last.action != UPGRADE:
        return Wait(Reason.HEALTH_CHECK_FAILED, message)
    return _roll_back_unhealthy(inputs) or Wait(Reason.HEALTH_CHECK_FAILED, message, stalled=True)


def _roll_back_unhealthy(inputs: PlanInput) -> Action | None:
    """Return from a revision that is not healthy, unless the one before has the same chart and values."""
    if inputs.health is HealthStatus.UNKNOWN:
        return Wait(Reason.PROGRESSING, "the health of the objects is not known yet")
    candidates = inputs.release.rollback_candidates[:1] if inputs.release is not None else ()
    return _rollback_to_first(inputs, tuple(each for each in candidates if each.digests != inputs.desired))


def _retry_rollback(inputs: PlanInput) -> Action | None:
    """Try a rollback again; helm calls every revision superseded that a failed rollback began from."""
    if inputs.release is None or inputs.release.status != FAILED:
        return None
    return _rollback_to_first(
        inputs, tuple(each for each in inputs.release.rollback_candidates if each.digests != inputs.desired)
    )


def _rollback_to_first(inputs: PlanInput, candidates: tuple[PastRevision, ...]) -> Rollback | None:
    if not candidates or inputs.spec.upgrade.on_failure != "rollback":
        return None
    return Rollback(candidates[0].revision)


def _plan_release(inputs: PlanInput) -> Action:
    action = _plan_by_status(inputs)
    if isinstance(action, Install | Upgrade) and inputs.observed.unready_dependencies:
        names = ", ".join(inputs.observed.unready_dependencies)
        return Wait(Reason.DEPENDENCY_NOT_READY, f"waiting for XApps named in dependsOn to be Ready: {names}")
    return action


def _plan_by_status(inputs: PlanInput) -> Action:
    release = inputs.release
    if release is None:
        return Install(take_ownership=inputs.spec.adopt)
    if release.status == DEPLOYED:
        return _plan_deployed(inputs)
    if release.status == UNINSTALLED or (release.status == FAILED and not release.rollback_candidates):
        return Install(replace=True, take_ownership=inputs.spec.adopt)
    return Upgrade(take_ownership=inputs.spec.adopt)


def _plan_deployed(inputs: PlanInput) -> Action:
    release = inputs.release
    if not inputs.desired_is_deployed or release is None or release.digests is None or inputs.requests.force:
        return Upgrade(take_ownership=inputs.spec.adopt)
    if not inputs.owned:
        return Adopt(release.revision, release.digests)
    awaited = _plan_awaiting_health(inputs)
    if awaited is not None:
        return awaited
    if inputs.requests.test:
        return Test()
    if inputs.drifted and inputs.spec.drift_detection.mode == "enabled":
        return CorrectDrift()
    return Nothing()


def _plan_awaiting_health(inputs: PlanInput) -> Action | None:
    """Answer for objects that are not yet healthy, also when the operator ended before it could note the release."""
    last = inputs.attempt
    if last is None or last.digests != inputs.desired or last.outcome not in HEALTH_PENDING:
        return None
    if inputs.health is HealthStatus.HEALTHY:
        return None
    deadline = last.last_at + inputs.spec.timeout_seconds
    if inputs.now >= deadline:
        return _plan_health_timeout(inputs, last)
    return Wait(Reason.PROGRESSING, inputs.root_cause or "waiting for the objects to become healthy", until=deadline)


_PLAN_RULES: tuple[Callable[[PlanInput], Action | None], ...] = (
    _plan_deletion,
    _plan_suspended,
    _plan_while_helm_runs,
    _plan_pending,
    _plan_uninstalling,
    _plan_foreign_release,
    _plan_requested_rollback,
    _plan_held_revision,
    _plan_unavailable_source,
    _plan_after_failed_attempt,
)
