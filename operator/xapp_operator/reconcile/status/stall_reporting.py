"""Finds out when an XApp begins to be Stalled, which is an event unless a step of helm has told it. Pure."""

from __future__ import annotations

from xapp_operator.api.conditions import RELEASED, STALLED, Reason, find_condition
from xapp_operator.api.models import Condition, XApp
from xapp_operator.domain.planning.plan_input import AttemptOutcome


def find_begun_stall(before: XApp, after: XApp) -> Condition | None:
    """Return the condition Stalled of `after` if it tells something new since `before`, which is an event.

    That is another reason, or another message about a new spec. A message that changes with the cluster is no event,
    because it can change all the time. Nor is what the last step has told in its own event.
    """
    known, now = (find_condition(each.status.conditions, STALLED) for each in (before, after))
    if now is None or _is_told_by_step(after, now):
        return None
    if known is None or known.reason != now.reason:
        return now
    is_new_spec = known.observed_generation != now.observed_generation
    return now if is_new_spec and known.message != now.message else None


def _is_told_by_step(xapp: XApp, stalled: Condition) -> bool:
    """Return whether the last step of helm failed and has told this, or the rollback after it."""
    attempt, released = xapp.status.last_attempt, find_condition(xapp.status.conditions, RELEASED)
    if attempt is None or not attempt.message or not stalled.message.startswith(attempt.message.removesuffix("…")):
        return False
    was_rolled_back = released is not None and released.reason == Reason.ROLLBACK_SUCCEEDED
    return attempt.outcome == AttemptOutcome.FAILED or was_rolled_back
