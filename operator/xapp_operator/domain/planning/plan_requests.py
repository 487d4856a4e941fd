"""The rules of `plan` for what annotations ask for. Pure.

Each is acted on once. One that can have no effect is rejected: otherwise it would have it months later.
"""

from __future__ import annotations

from xapp_operator.api.conditions import Reason
from xapp_operator.domain.planning.actions import Action, Nothing, RejectRequest, RejectRollback, Rollback, Wait
from xapp_operator.domain.planning.plan_failures import backoff_wait
from xapp_operator.domain.planning.plan_input import (
    DEPLOYED,
    FAILED,
    ROLLBACK,
    AttemptOutcome,
    ObservedRelease,
    PlanInput,
)
from xapp_operator.errors import KubeError


def plan_requested_rollback(inputs: PlanInput) -> Action | None:
    """Roll back to the revision that rollback-to names, or say why not."""
    revision, release = inputs.requests.rollback_to, inputs.release
    if release is None or (revision is None and not inputs.requests.rollback_unreadable):
        return None
    problem = _find_rollback_problem(inputs, release)
    if problem is not None or revision is None:
        return RejectRollback(problem or "")
    return backoff_wait(inputs, ROLLBACK, Reason.ROLLBACK_FAILED) or Rollback(revision, hold=True)


def _find_rollback_problem(inputs: PlanInput, release: ObservedRelease) -> str | None:
    revision, failed = inputs.requests.rollback_to, inputs.failed_rollback_request
    stored = ", ".join(map(str, sorted(release.revisions)))
    if revision is None:
        return f"rollback-to names no revision. Set it to one of {stored}, or to REVISION@TEXT."
    if revision not in release.revisions:
        return f"rollback-to names revision {revision}, which is not stored. Set it to one of {stored}."
    if revision == release.revision and release.status == DEPLOYED:
        return f"rollback-to names revision {revision}, which is in force. There is nothing to do."
    if revision == release.revision and release.status == FAILED:
        return f"rollback-to names revision {revision}, which failed. To try it again, set retry-at."
    if failed is not None and inputs.timed_out(failed):
        return (
            f"the rollback to revision {revision} failed until spec.timeout ({inputs.spec.timeout}) had passed: "
            f"{failed.message}. To try again, set rollback-to to {revision}@again."
        )
    return None


def plan_held_revision(inputs: PlanInput) -> Action | None:
    """Keep the revision that rollback-to asked for in force until the generation changes, or the release is gone."""
    held, release = inputs.held_revision, inputs.release
    if held is None or release is None or not inputs.owned or not inputs.generation_observed:
        return None
    if release.status == DEPLOYED and release.revision <= held:
        return None  # another release: its revisions count from 1 again
    copies = inputs.observed.held_copies.intersection(release.revisions) - release.overtaken_by
    if release.status == DEPLOYED and release.revision in copies and not release.overtaken:
        return Nothing(
            f"rolled back to revision {held}, which is held until values, version or another field of the spec changes"
        )
    if not copies:
        stored = ", ".join(map(str, sorted(release.revisions)))
        message = (
            f"revision {held} is held, but is no longer in force, and no longer stored. Change values, version or "
            f"another field of the spec, or set rollback-to to one of {stored}."
        )
        return Wait(Reason.ROLLBACK_FAILED, message, stalled=True)
    return _restore_held_revision(inputs, held if held in copies else max(copies))


def _restore_held_revision(inputs: PlanInput, revision: int) -> Action:
    last = inputs.attempt
    failed = last is not None and last.action == ROLLBACK and last.outcome is AttemptOutcome.FAILED
    if last is None or not failed or last.rollback_to.partition("@")[0] != str(revision):
        return Rollback(revision, hold=True, again=True)
    if last.permanent or inputs.timed_out(last):
        message = f"{last.message}; revision {revision} is held: change the spec, or set the annotation retry-at"
        return Wait(last.reason, message, stalled=True)
    waiting = backoff_wait(inputs, ROLLBACK, Reason.ROLLBACK_FAILED)
    return waiting or Rollback(revision, hold=True, again=True)


def plan_request_without_effect(inputs: PlanInput, settled: Wait | Nothing) -> RejectRequest | None:
    """Reject what an annotation asks for where `settled`, which stays until something changes, gives it no effect.

    While the operator may not read what the XApp needs, nobody knows, and the requests wait.
    """
    suspended, observed = inputs.spec.suspend, inputs.observed
    unknown = (
        observed.helm_running or observed.releases_unavailable is not None or isinstance(inputs.desired, KubeError)
    )
    stays = isinstance(settled, Nothing) or settled.stalled or suspended
    if inputs.deleting or unknown or not stays:
        return None
    why = settled.note or "nothing is to be upgraded" if isinstance(settled, Nothing) else settled.message
    if inputs.requests.force:
        return RejectRequest("force-at", f"force-at has no effect now: {why}")
    if inputs.requests.rollback_to is not None or inputs.requests.rollback_unreadable:
        return RejectRequest("rollback-to", f"rollback-to has no effect now: {why}")
    testable = inputs.release is not None and inputs.release.status == DEPLOYED and inputs.owned and not suspended
    if inputs.requests.test and not testable:
        return RejectRequest("test-at", f"test-at has no effect now: {why}")
    return None
