"""How patiently labels that somebody removed are put back: at once the first time, then ever later while it goes on.

Lives in `reconcile`. Without it, an operator and another controller that wants those labels gone would write in turns
for ever. Times are monotonic seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xapp_operator.domain.backoff import Backoff
from xapp_operator.reconcile.work_queue import NamespacedName

RESET_SECONDS: Final = 60.0
"""After so long without a loss, or twice the last pause if that is longer, the next loss counts as the first."""


@dataclass(slots=True)
class _LastRepair:
    count: int
    repaired_at: float
    delay: float


class LabelBackoff:
    """The labels put back lately, by XApp."""

    def __init__(self, *, first: float, longest: float) -> None:
        """Take the first and the longest pause, in seconds."""
        self._backoff = Backoff(first, longest)
        self._known: dict[NamespacedName, _LastRepair] = {}

    def next_repair_at(self, key: NamespacedName) -> float:
        """Return when labels of an XApp may be put back; what is past means now."""
        known = self._known.get(key)
        return known.repaired_at + known.delay if known is not None else 0.0

    def record_repair(self, key: NamespacedName, *, now: float) -> None:
        """Note that labels have been put back."""
        known = self._known.get(key)
        again = known is not None and now - known.repaired_at < max(RESET_SECONDS, 2 * known.delay)
        count = known.count + 1 if known is not None and again else 1
        pause = self._backoff.delay(count)
        self._known[key] = _LastRepair(count, now, pause)

    def forget(self, key: NamespacedName) -> None:
        """Forget an XApp."""
        self._known.pop(key, None)
