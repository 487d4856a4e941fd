"""Back-off between repeated repairs of one XApp, because another controller may keep undoing them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xapp_operator.domain.planning.backoff import Backoff
from xapp_operator.reconcile.work.work_queue import NamespacedName

RESET_SECONDS: Final = 60.0
"""After this time without a repair, or twice the last delay if that is longer, the back-off starts again."""


@dataclass(frozen=True, slots=True)
class _LastRepair:
    count: int
    repaired_at: float
    delay: float


class RepeatBackoff:
    """Delays repeated repairs.

    Times are monotonic seconds, so that a clock that is set back delays nothing.
    """

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = backoff
        self._repairs: dict[NamespacedName, _LastRepair] = {}

    def next_repair_at(self, key: NamespacedName) -> float:
        last = self._repairs.get(key)
        return last.repaired_at + last.delay if last is not None else 0.0

    def record_repair(self, key: NamespacedName, *, now: float) -> None:
        """Record a repair, whether it succeeded or not."""
        last = self._repairs.get(key)
        count = 1 if last is None or now - last.repaired_at >= max(RESET_SECONDS, 2 * last.delay) else last.count + 1
        self._repairs[key] = _LastRepair(count, now, self._backoff.delay(count))

    def forget(self, key: NamespacedName) -> None:
        self._repairs.pop(key, None)
