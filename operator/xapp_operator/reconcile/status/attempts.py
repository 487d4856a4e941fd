"""Attempts of helm steps: how one begins, and what one becomes whose upgrade was rolled back. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from xapp_operator.api.conditions import Reason
from xapp_operator.api.status_parts import RollbackCause
from xapp_operator.domain.planning.plan_input import HELM_SUCCEEDED, UPGRADE, Attempt, AttemptOutcome, Digests
from xapp_operator.errors import HelmNotStarted, XAppError

UNHEALTHY_REASONS: Final = (Reason.HEALTH_CHECK_FAILED, Reason.TEST_FAILED)
"""Why an upgrade is rolled back that helm has finished."""
HELM_FINISHED: Final = HELM_SUCCEEDED | {AttemptOutcome.UNHEALTHY}
"""Outcomes of steps whose revision was in force, perhaps until a rollback."""


def start_attempt(
    previous: Attempt | None,
    *,
    action: str,
    digests: Digests | None,
    generation: int,
    now: float,
    revision_before: int = 0,
    rollback_to: str = "",
    request_digest: str = "",
    rollback_cause: RollbackCause | None = None,
) -> Attempt:
    """Return a new attempt; it continues the count of `previous` if that was the same action and did not succeed."""
    first_attempt = Attempt(
        action=action,
        outcome=AttemptOutcome.RUNNING,
        digests=digests,
        first_at=now,
        last_at=now,
        generation=generation,
        revision_before=revision_before,
        rollback_to=rollback_to,
        request_digest=request_digest,
        rollback_cause=rollback_cause,
    )
    if previous is None or previous.outcome not in (AttemptOutcome.FAILED, AttemptOutcome.RUNNING):
        return first_attempt
    if (previous.action, previous.digests, previous.rollback_to) != (action, digests, rollback_to):
        return first_attempt
    # Time during which no operator worked on it does not count towards the timeout.
    first_at = previous.first_at if previous.outcome is AttemptOutcome.FAILED else now
    return replace(first_attempt, first_at=first_at, count=previous.count + 1)


def failed_attempt(attempt: Attempt, error: XAppError, *, reason: str, message: str, now: float) -> Attempt:
    """Return `attempt` as failed because of `error`.

    Time during which helm could not be started does not count towards the timeout: the operator is the reason.
    """
    return replace(
        attempt,
        outcome=AttemptOutcome.FAILED,
        first_at=now if isinstance(error, HelmNotStarted) else attempt.first_at,
        last_at=now,
        permanent=error.permanent,
        reason=reason,
        message=message,
    )


def rolled_back_attempt(attempt: Attempt, cause: RollbackCause) -> Attempt:
    """Return an attempt as the upgrade that was rolled back: its digests are not tried again.

    `attempt` is the upgrade, or a rollback whose upgrade is no longer known.
    """
    unhealthy = cause.reason in UNHEALTHY_REASONS
    advice = f"rolled back to revision {cause.revision}; change spec, chart or values, or set the annotation retry-at"
    return replace(
        attempt,
        action=UPGRADE,
        outcome=AttemptOutcome.UNHEALTHY if unhealthy else AttemptOutcome.FAILED,
        permanent=True,
        reason=cause.reason,
        message=f"{cause.message}; {advice}",
        rollback_cause=None,
    )
