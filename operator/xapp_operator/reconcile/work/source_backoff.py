"""Back-off between tries of a source that is not available: a chart repository, a values object, an archive."""

from __future__ import annotations

from dataclasses import dataclass

from xapp_operator.api.models import Metadata
from xapp_operator.domain.planning.backoff import Backoff
from xapp_operator.domain.planning.progress import NO_RETRIES, SourceRetries
from xapp_operator.reconcile.work.work_queue import NamespacedName


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

    def record_wait(self, xapp: Metadata, *, now: float) -> float:
        """Record that the source of an XApp is not available, and return when it is tried again.

        A reconcile before that time, for example after a write of the status, counts as no try. A new generation
        starts again.
        """
        key = (xapp.namespace, xapp.name)
        last = self._tries.get(key)
        count = 0 if last is None or last.generation != xapp.generation else last.count
        # A clock that was set back must not make a wait longer.
        if last is None or count == 0 or not now < last.next_at <= now + self._backoff.maximum:
            last = _LastTry(xapp.generation, count + 1, now + self._backoff.jittered(count + 1))
            self._tries[key] = last
        return last.next_at

    def retries(self, key: NamespacedName) -> SourceRetries:
        """Return how often the source was tried in a row, and when it is tried again."""
        last = self._tries.get(key)
        return NO_RETRIES if last is None else SourceRetries(last.count, last.next_at)

    def forget(self, key: NamespacedName) -> None:
        self._tries.pop(key, None)
