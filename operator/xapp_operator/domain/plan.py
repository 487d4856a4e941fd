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
from xapp_operator.domain.situation import (
    AWAITED,
    DEPLOYED,
    FAILED,
    INSTALL,
    PENDING,
    ROLLBACK,
    UNINSTALL,
    UNINSTALLED,
    UNINSTALLING,
    UPGRADE,
    Attempt,
    Digests,
    Earlier,
    Outcome,
    Release,
    Situation,
)
from xapp_operator.errors import InputError, XAppError


def plan(situation: Situation) -> Action:
    """Return what to do next about one XApp."""
    now = _forgiven(situation)
    known = _known_digests(now)
    if known is not None:
        action = _decide(replace(now, desired=known))
        if not isinstance(action, Install | Upgrade):  # these two need what is away
            return action
    return _decide(now)


def _decide(now: Situation) -> Action:
    for rule in _RULES:
        action = rule(now)
        if action is not None:
            return action
    return _release_states(now)


def _forgiven(now: Situation) -> Situation:
    last = now.attempt
    return replace(now, attempt=None) if last is not None and now.requests.forgive(last) else now


def _known_digests(now: Situation) -> Digests | None:
    """Return what this generation is known to want although its source is away; refused input is not away."""
    last = now.attempt
    if last is None or not isinstance(now.desired, XAppError) or isinstance(now.desired, InputError):
        return None
    return last.digests if last.generation == now.generation else None


def _backing_off(now: Situation, action: str, reason: Reason) -> Wait | None:
    last = now.attempt
    if last is None or last.action != action or last.outcome is not Outcome.FAILED:
        return None
    due = now.backoff.due(last)
    return Wait(reason, last.message, until=due) if now.now < due else None


def _deletion(now: Situation) -> Action | None:
    if not now.deleting:
        return None
    if now.observed.helm_running:
        return Wait(Reason.PROGRESSING, "waiting for the running helm step to end")
    release = now.release
    if now.spec.deletion_policy == "Orphan" or release is None or not now.owned:
        return Nothing()
    hooks = release.status != UNINSTALLING and not now.observed.namespace_terminating
    return _backing_off(now, UNINSTALL, Reason.UNINSTALL_FAILED) or Uninstall(hooks=hooks)


def _suspended(now: Situation) -> Action | None:
    return Wait(Reason.SUSPENDED, "suspended by spec.suspend: nothing is changed") if now.spec.suspend else None


def _busy(now: Situation) -> Action | None:
    return Wait(Reason.PROGRESSING, "helm is at work on the release") if now.observed.helm_running else None


def _pending(now: Situation) -> Action | None:
    release = now.release
    if release is None or release.status not in PENDING or not now.may_touch:
        return None
    if now.owned and release.attempt_is_ours:
        return Unlock(release.revision)
    return _by_another_helm(now, release) or Unlock(release.revision)


def _uninstalling(now: Situation) -> Action | None:
    release = now.release
    if release is None or release.status != UNINSTALLING or not now.may_touch:
        return None
    other = None if now.owned else _by_another_helm(now, release)
    return other or _backing_off(now, UNINSTALL, Reason.UNINSTALL_FAILED) or Uninstall(hooks=False)


def _by_another_helm(now: Situation, release: Release) -> Wait | None:
    due = release.modified_at + now.spec.timeout_seconds
    if now.now >= due:
        return None
    message = (
        f"revision {release.revision} is {release.status} by another helm; it is taken for left behind when "
        f"spec.timeout ({now.spec.timeout}) has passed"
    )
    return Wait(Reason.PROGRESSING, message, until=due)


def _ownership(now: Situation) -> Action | None:
    release = now.release
    if release is None or now.may_touch:
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


def _rollback_to(now: Situation) -> Action | None:
    wanted = now.requests.rollback_to
    if wanted is None or now.release is None or wanted not in now.release.revisions:
        return None
    return _backing_off(now, ROLLBACK, Reason.ROLLBACK_FAILED) or Rollback(wanted, hold=True)


def _hold(now: Situation) -> Action | None:
    if now.held_revision is None or not now.current or now.release is None or now.release.status != DEPLOYED:
        return None
    return Nothing(f"revision {now.held_revision} is held by rollback-to until the spec changes")


def _source(now: Situation) -> Action | None:
    """Answer for a chart or values that could not be had."""
    problem = now.desired
    if problem is None:
        return Wait(Reason.PROGRESSING, "chart and values are not known yet")
    if isinstance(problem, XAppError):
        return Wait(problem.reason or Reason.CHART_PULL_FAILED, problem.message, stalled=problem.permanent)
    return None


def _failed_attempt(now: Situation) -> Action | None:
    """Answer for an attempt at these same digests that failed: back off, roll back or stall."""
    last = now.attempt
    if last is None or last.digests is None or last.digests != now.desired:
        return None
    if last.action == ROLLBACK:
        return _broken_rollback(now, last)
    if last.action in (INSTALL, UPGRADE) and last.outcome is Outcome.FAILED:
        return _after_failure(now, last)
    if last.action in (INSTALL, UPGRADE) and last.outcome is Outcome.UNHEALTHY:
        return _after_unhealthy(now, last)
    return None


def _after_failure(now: Situation, last: Attempt) -> Action | None:
    release = now.release
    if last.permanent or (now.timed_out(last) and not now.runs):
        back = _back_to(now, release.good[:1]) if release is not None and release.status == FAILED else None
        return back or Wait(last.reason, last.message, stalled=True)
    due = now.backoff.due(last)
    return Wait(last.reason, last.message, until=due) if now.now < due else None


def _after_unhealthy(now: Situation, last: Attempt) -> Action | None:
    if now.runs:
        return None if now.health is HealthStatus.HEALTHY else _not_healthy_in_time(now, last)
    return _half_way_back(now) or Wait(last.reason, last.message, stalled=True)


def _broken_rollback(now: Situation, last: Attempt) -> Action | None:
    """Answer for a rollback that failed or was broken off; one that succeeded is no obstacle to anything."""
    if last.outcome not in (Outcome.FAILED, Outcome.RUNNING, Outcome.INTERRUPTED):
        return None
    if now.runs and now.health is HealthStatus.HEALTHY:
        return None
    if last.outcome is Outcome.FAILED and (last.permanent or now.timed_out(last)):
        return Wait(last.reason, last.message, stalled=True)
    waiting = _backing_off(now, ROLLBACK, Reason.ROLLBACK_FAILED)
    if waiting is not None:
        return waiting
    again = _undo(now) if now.runs else _half_way_back(now)
    message = "the upgrade to this chart and these values was undone; change the spec, or set the annotation retry-at"
    return again or Wait(Reason.UPGRADE_FAILED, last.message or message, stalled=True)


def _not_healthy_in_time(now: Situation, last: Attempt) -> Action:
    message = f"not healthy within spec.timeout ({now.spec.timeout}): {now.culprit}"
    if last.action != UPGRADE:
        return Wait(Reason.HEALTH_CHECK_FAILED, message)
    return _undo(now) or Wait(Reason.HEALTH_CHECK_FAILED, message, stalled=True)


def _undo(now: Situation) -> Action | None:
    """Return from a revision that is not healthy, unless the one before has the same chart and values."""
    if now.health is HealthStatus.UNKNOWN:
        return Wait(Reason.PROGRESSING, "the health of the objects is not known yet")
    before = now.release.good[:1] if now.release is not None else ()
    return _back_to(now, tuple(each for each in before if each.digests != now.desired))


def _half_way_back(now: Situation) -> Action | None:
    """Try a rollback again; helm calls every revision superseded that a failed rollback began from."""
    if now.release is None or now.release.status != FAILED:
        return None
    return _back_to(now, tuple(each for each in now.release.good if each.digests != now.desired))


def _back_to(now: Situation, candidates: tuple[Earlier, ...]) -> Rollback | None:
    if not candidates or now.spec.upgrade.on_failure != "rollback":
        return None
    return Rollback(candidates[0].revision)


def _release_states(now: Situation) -> Action:
    action = _by_status(now)
    if isinstance(action, Install | Upgrade) and now.observed.waiting_for:
        names = ", ".join(now.observed.waiting_for)
        return Wait(Reason.DEPENDENCY_NOT_READY, f"waiting for XApps named in dependsOn to be Ready: {names}")
    return action


def _by_status(now: Situation) -> Action:
    release = now.release
    if release is None:
        return Install(take_ownership=now.spec.adopt)
    if release.status == DEPLOYED:
        return _deployed(now)
    if release.status == UNINSTALLED or (release.status == FAILED and not release.good):
        return Install(replace=True, take_ownership=now.spec.adopt)
    return Upgrade(take_ownership=now.spec.adopt)


def _deployed(now: Situation) -> Action:
    release = now.release
    if not now.runs or release is None or release.digests is None or now.requests.force:
        return Upgrade(take_ownership=now.spec.adopt)
    if not now.owned:
        return Adopt(release.revision, release.digests)
    awaited = _awaited(now)
    if awaited is not None:
        return awaited
    if now.requests.test:
        return Test()
    if now.drifted and now.spec.drift_detection.mode == "enabled":
        return CorrectDrift()
    return Nothing()


def _awaited(now: Situation) -> Action | None:
    """Answer for objects that are not yet healthy, also when the operator ended before it could note the release."""
    last = now.attempt
    if last is None or last.digests != now.desired or last.outcome not in AWAITED:
        return None
    if now.health is HealthStatus.HEALTHY:
        return None
    deadline = last.last_at + now.spec.timeout_seconds
    if now.now >= deadline:
        return _not_healthy_in_time(now, last)
    return Wait(Reason.PROGRESSING, now.culprit or "waiting for the objects to become healthy", until=deadline)


_RULES: tuple[Callable[[Situation], Action | None], ...] = (
    _deletion,
    _suspended,
    _busy,
    _pending,
    _uninstalling,
    _ownership,
    _rollback_to,
    _hold,
    _source,
    _failed_attempt,
)
