"""The status of one XApp while it is being worked on: what is known so far, and how it becomes JSON at the end.

Lives in `reconcile`: verbs change a `Draft`, `report` renders it. Times are seconds since the epoch inside and RFC 3339
outside, as Kubernetes writes them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from xapp_operator.api.models import MESSAGE_MAX, HandledAnnotations, LastAttempt, ReleaseStatus, RevisionStatus, XApp
from xapp_operator.domain.plan_input import Attempt, AttemptOutcome, Digests


@dataclass(slots=True)
class StatusDraft:
    """What the verbs have found out or changed; everything else of the status is taken from what is there."""

    attempt: Attempt | None
    release: ReleaseStatus
    history: tuple[RevisionStatus, ...]
    held_revision: int | None
    handled: HandledAnnotations
    unlocked: bool = False

    @classmethod
    def from_status(cls, xapp: XApp) -> StatusDraft:
        """Return a draft that starts from the status that is there."""
        status = xapp.status
        return cls(
            attempt=attempt_from_status(status.last_attempt),
            release=status.release or ReleaseStatus(),
            history=tuple(status.history or ()),
            held_revision=status.held_revision,
            handled=status.handled or HandledAnnotations(),
        )


def requested_value(xapp: XApp, annotation: str) -> str | None:
    """Return what `annotation` asks for as the status notes it; a text too long for that stands as its digest."""
    value = xapp.metadata.annotations.get(annotation)
    if value is None or len(value) <= MESSAGE_MAX:
        return value
    return f"sha256:{hashlib.sha256(value.encode()).hexdigest()}"


def attempt_from_status(last: LastAttempt | None) -> Attempt | None:
    """Return the attempt that a status records, if it records one."""
    if last is None or last.action is None or last.outcome not in set(AttemptOutcome) or last.first_at is None:
        return None
    digests = None
    if last.chart_digest is not None and last.values_digest is not None:
        digests = Digests(last.chart_digest, last.values_digest)
    return Attempt(
        action=last.action,
        outcome=AttemptOutcome(last.outcome),
        digests=digests,
        first_at=last.first_at.timestamp(),
        last_at=(last.last_at or last.first_at).timestamp(),
        generation=-1 if last.generation is None else last.generation,
        count=last.count or 1,
        permanent=bool(last.permanent),
        reason=last.reason or "",
        message=last.message or "",
    )


def attempt_to_status(attempt: Attempt | None) -> LastAttempt | None:
    """Return `attempt` as the status records it."""
    if attempt is None:
        return None
    failed = attempt.outcome in (AttemptOutcome.FAILED, AttemptOutcome.UNHEALTHY)
    return LastAttempt(
        generation=attempt.generation,
        chart_digest=attempt.digests.chart if attempt.digests else None,
        values_digest=attempt.digests.values if attempt.digests else None,
        action=attempt.action,
        outcome=attempt.outcome.value,
        permanent=attempt.permanent if failed else None,
        reason=attempt.reason if failed else None,
        message=attempt.message if failed else None,
        count=attempt.count,
        first_at=utc(attempt.first_at),
        last_at=utc(attempt.last_at),
    )


def utc(seconds: float) -> datetime:
    """Return the time `seconds` since the epoch, in UTC, to the second as Kubernetes keeps it."""
    return datetime.fromtimestamp(int(seconds), UTC)


def start_attempt(
    previous: Attempt | None, *, action: str, digests: Digests | None, generation: int, now: float
) -> Attempt:
    """Return the attempt that starts now; it counts on where the same thing was tried and failed before."""
    first_attempt = Attempt(
        action=action, outcome=AttemptOutcome.RUNNING, digests=digests, first_at=now, last_at=now, generation=generation
    )
    same = (
        previous is not None
        and (previous.action, previous.digests) == (action, digests)
        and previous.outcome in (AttemptOutcome.FAILED, AttemptOutcome.RUNNING)
    )
    if previous is None or not same:
        return first_attempt
    # Time that passed while nobody worked on it does not count towards the timeout.
    first_at = previous.first_at if previous.outcome is AttemptOutcome.FAILED else now
    return replace(first_attempt, first_at=first_at, count=previous.count + 1)
