"""When the deletions of XApps were asked for."""

from __future__ import annotations

from xapp_operator.api.models import XApp
from xapp_operator.common.clock import JumpAwareClock
from xapp_operator.reconcile.work.work_queue import NamespacedName


class DeletionTimes:
    """When the deletions of XApps were asked for, in seconds since the epoch.

    A time in the future, from an API server with another clock, counts as the time at which it was first seen.
    """

    def __init__(self, clock: JumpAwareClock) -> None:
        self._clock = clock
        self._first_seen: dict[NamespacedName, float] = {}

    def get(self, xapp: XApp) -> float | None:
        """Return when the deletion of an XApp was asked for; None if it was not."""
        if xapp.metadata.deletion_timestamp is None:
            return None
        now, told = self._clock.now(), self._clock.corrected(xapp.metadata.deletion_timestamp.timestamp())
        if told > now:
            self._first_seen.setdefault(xapp.key, now)
        seen = self._first_seen.get(xapp.key)
        return told if seen is None else min(told, self._clock.corrected(seen))

    def forget(self, key: NamespacedName) -> None:
        self._first_seen.pop(key, None)
