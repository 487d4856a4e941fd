"""Back-off between tries of a source that is not available: a chart repository, a values object, an archive."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import Metadata
from xapp_operator.domain.planning.actions import Nothing, Wait
from xapp_operator.domain.planning.backoff import Backoff
from xapp_operator.domain.planning.plan_input import Digests
from xapp_operator.domain.planning.progress import NO_RETRIES, SourceRetries
from xapp_operator.errors import SourcePending, XAppError
from xapp_operator.reconcile.work.work_queue import NamespacedName

SLOW_RECHECK_SECONDS: Final = 30.0
"""How often an XApp is looked at whose change would bring it back by itself."""
_REASONS_WITHOUT_BACKOFF: Final = frozenset({Reason.SUSPENDED, Reason.HEALTH_CHECK_FAILED, Reason.DEPENDENCY_NOT_READY})


@dataclass(frozen=True, slots=True)
class _LastTry:
    generation: int
    count: int
    next_at: float


class SourceBackoff:
    """Counts tries and says when the next one is due. Times are seconds since the epoch."""

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = backoff
        self._tries: dict[NamespacedName, _LastTry] = {}

    def requeue_delay(
        self, xapp: Metadata, decision: Wait | Nothing, desired: Digests | XAppError | None, *, now: float
    ) -> float:
        """Return the seconds until an XApp is planned for again; waits without an end back off.

        So does whatever was decided while the source is not available for a passing reason: it may have news.
        """
        due = decision.until if isinstance(decision, Wait) else None
        delay = math.inf if due is None else due - now
        if isinstance(desired, SourcePending) and isinstance(decision, Nothing):
            return delay  # no failure, and its end brings the key back
        if isinstance(desired, XAppError) and not (desired.permanent or isinstance(desired, SourcePending)):
            return min(delay, self.record_wait(xapp, now=now) - now)
        if due is not None:
            return delay
        if not isinstance(decision, Wait) or decision.stalled or decision.reason in _REASONS_WITHOUT_BACKOFF:
            self.forget((xapp.namespace, xapp.name))
            return delay
        if decision.step is not None:  # likewise
            return SLOW_RECHECK_SECONDS
        return self.record_wait(xapp, now=now) - now

    def record_wait(self, xapp: Metadata, *, now: float) -> float:
        """Record that the source of an XApp is not available, and return when it is tried again.

        A reconcile before that time, for example after a write of the status, counts as no try. A new generation
        starts again.
        """
        key = (xapp.namespace, xapp.name)
        last = self._tries.get(key)
        if last is None or last.generation != xapp.generation:
            last = _LastTry(xapp.generation, 0, -math.inf)
        # A clock that was set back must not make a wait longer.
        if not now < last.next_at <= now + self._backoff.maximum:
            count = last.count + 1
            last = self._tries[key] = _LastTry(xapp.generation, count, now + self._backoff.jittered(count))
        return last.next_at

    def retries(self, key: NamespacedName) -> SourceRetries:
        """Return how often the source was tried in a row, and when it is tried again."""
        last = self._tries.get(key)
        return NO_RETRIES if last is None else SourceRetries(last.count, last.next_at)

    def forget(self, key: NamespacedName) -> None:
        self._tries.pop(key, None)
