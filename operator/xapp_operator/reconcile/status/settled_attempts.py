"""What becomes of the last attempt once its objects are healthy, late, or no longer what is wanted. Pure."""

from __future__ import annotations

from dataclasses import replace

from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus
from xapp_operator.domain.planning.actions import Nothing, Wait
from xapp_operator.domain.planning.plan_input import ROLLBACK, Attempt, AttemptOutcome, Digests
from xapp_operator.errors import XAppError
from xapp_operator.reconcile.status.status_draft import StatusDraft


def settle_attempt(
    draft: StatusDraft,
    decision: Wait | Nothing,
    health: HealthStatus,
    *,
    desired: Digests | XAppError | None,
    generation: int,
) -> StatusDraft:
    """Return the draft whose attempt says that its objects have become healthy, or did not in time.

    At rest, an attempt at other digests than `desired` is over, as when a bad version was withdrawn. It must not tell
    what `generation` has: the step that made the deployed revision takes its place.
    """
    settled = _settle_outcome(draft, decision, health)
    at_rest = isinstance(decision, Nothing) and draft.held_revision is None
    if not at_rest or not isinstance(desired, Digests):
        return settled
    if settled.attempt is not None and settled.attempt.digests == desired:
        return settled
    if settled.attempt is None and health is not HealthStatus.HEALTHY:
        return settled  # retry-at has cleared it: nothing is known of these objects but that they are not healthy
    step = _find_deployed_step(draft, desired, generation=generation)
    if step is None:
        return draft if settled.attempt is not None else settled  # the other attempt has not succeeded
    return replace(draft, attempt=step)


def _settle_outcome(draft: StatusDraft, decision: Wait | Nothing, health: HealthStatus) -> StatusDraft:
    attempt = draft.attempt
    if attempt is None:
        return draft
    if isinstance(decision, Wait) and decision.reason == Reason.HEALTH_CHECK_FAILED:
        attempt = replace(
            attempt,
            outcome=AttemptOutcome.UNHEALTHY,
            permanent=True,
            reason=decision.reason,
            message=decision.message,
            rollback_cause=None,
        )
    if not decision.at_rest or health is not HealthStatus.HEALTHY:
        return draft if attempt is draft.attempt else replace(draft, attempt=attempt)
    if attempt.action == ROLLBACK and attempt.outcome in (AttemptOutcome.RUNNING, AttemptOutcome.INTERRUPTED):
        return replace(draft, attempt=None)  # it did not take place
    if attempt.outcome in (AttemptOutcome.FAILED, AttemptOutcome.SUCCEEDED):
        return draft
    return replace(draft, attempt=replace(attempt, outcome=AttemptOutcome.SUCCEEDED, rollback_cause=None))


def _find_deployed_step(draft: StatusDraft, digests: Digests, *, generation: int) -> Attempt | None:
    """Return the step that made the deployed revision, if the history tells which one it was."""
    step = next((each for each in draft.history if each.revision == draft.release.revision), None)
    if step is None or step.action is None or step.deployed_at is None:
        return None
    ended_at = step.deployed_at.timestamp()
    return Attempt(step.action, AttemptOutcome.SUCCEEDED, digests, ended_at, ended_at, generation)
