"""The snapshots of lists that walks through their pages use, by token.

A token is random, and of use only to the caller who began the walk. A walk lasts SNAPSHOT_SECONDS at most. Their number
and memory are bounded, and shared by callers and their groups: whoever has most loses the walk that was used the
longest time ago.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from xapp_operator.domain.caller_groups import group_of_user
from xapp_operator.errors import MalformedRequest, SnapshotExpired

NEW_SNAPSHOT: Final = "new"
SNAPSHOT_SECONDS: Final = 300.0
SNAPSHOTS_MAX: Final = 256
SNAPSHOT_BYTES_MAX: Final = 64 * 1024 * 1024
"""About how much memory the snapshots may take, without the entries that they share with a store."""
SHARES_PER_GROUP: Final = 2
"""A group has as many shares of one caller."""

_TOKEN_BYTES: Final = 16
_EXPIRED: Final = (
    "the snapshot has expired, was displaced by newer ones, is unknown here, or shows what you may no longer see: "
    "begin again with snapshot=new"
)


class ListSnapshot(Protocol):
    """The items of a list at one instant; `closed` once they can no longer be read."""

    closed: bool

    @property
    def memory_bytes(self) -> int:
        """Return about how many bytes of memory belong to this snapshot alone."""
        ...

    def close(self) -> None:
        """Give its memory back."""
        ...


@dataclass(frozen=True, slots=True)
class _Walk:
    """One walk of one caller; `key` identifies the list with its filters and its order."""

    token: str
    caller: str
    group: str
    key: Hashable
    snapshot: ListSnapshot
    expires_at: float
    memory_bytes: int


class Snapshots:
    """The walks of one replica, the least recently used first."""

    def __init__(
        self,
        *,
        per_caller: int,
        max_snapshots: int = SNAPSHOTS_MAX,
        max_bytes: int = SNAPSHOT_BYTES_MAX,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Set the bounds; `clock` returns seconds."""
        self._per_caller = min(per_caller, max_snapshots)
        self._max_snapshots = max_snapshots
        self._max_bytes = max_bytes
        self._clock = clock
        self._walks: dict[str, _Walk] = {}

    def __len__(self) -> int:
        return len(self._walks)

    def begin(self, snapshot: ListSnapshot, *, caller: str, key: Hashable) -> str:
        """Keep a snapshot and return its token; `key` identifies the list with its filters and its order."""
        self.expire()
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        walk = _Walk(
            token=token,
            caller=caller,
            group=group_of_user(caller),
            key=key,
            snapshot=snapshot,
            expires_at=self._clock() + SNAPSHOT_SECONDS,
            memory_bytes=snapshot.memory_bytes,
        )
        self._end_oldest((each for each in self._walks.values() if each.caller == caller), beyond=self._per_caller)
        group = (each for each in self._walks.values() if each.group == walk.group)
        self._end_oldest(group, beyond=min(SHARES_PER_GROUP * self._per_caller, self._max_snapshots))
        self._walks[token] = walk
        while len(self._walks) > self._max_snapshots:
            self._end_of_largest_group(walk, lambda _: 1)
        while len(self._walks) > 1 and sum(each.memory_bytes for each in self._walks.values()) > self._max_bytes:
            self._end_of_largest_group(walk, lambda each: each.memory_bytes)
        # Otherwise the last walks would keep their memory until somebody begins another one.
        asyncio.get_running_loop().call_later(SNAPSHOT_SECONDS, self.expire)
        return token

    def find(self, token: str, *, caller: str, key: Hashable) -> ListSnapshot:
        """Return the snapshot of a walk that `caller` began.

        Raises:
            SnapshotExpired: when there is none, or no longer.
            MalformedRequest: when it is of another list, or of other filters or another order.
        """
        walk = self._walks.get(token)
        if walk is None or walk.caller != caller:
            raise SnapshotExpired(_EXPIRED)
        if walk.snapshot.closed or self._clock() >= walk.expires_at:
            self._end(walk)
            raise SnapshotExpired(_EXPIRED)
        if walk.key != key:
            raise MalformedRequest.for_field(
                "snapshot",
                "is of a list with other filters, another sort or another order: keep these parameters on all pages, "
                "or begin again with snapshot=new",
            )
        self._walks[token] = self._walks.pop(token)
        return walk.snapshot

    def end(self, token: str, *, caller: str) -> SnapshotExpired:
        """End a walk of `caller`, if there is one, because they may no longer see it; return the error for that."""
        walk = self._walks.get(token)
        if walk is not None and walk.caller == caller:
            self._end(walk)
        return SnapshotExpired(_EXPIRED)

    def expire(self) -> None:
        """End the walks whose time is over."""
        now = self._clock()
        for walk in [each for each in self._walks.values() if each.snapshot.closed or now >= each.expires_at]:
            self._end(walk)

    def _end_oldest(self, walks: Iterable[_Walk], *, beyond: int) -> None:
        """End the oldest of these walks until there is room for one more."""
        found = list(walks)
        for walk in found[: max(0, len(found) + 1 - beyond)]:
            self._end(walk)

    def _end_of_largest_group(self, newest: _Walk, weight: Callable[[_Walk], int]) -> None:
        shares: Counter[str] = Counter()
        for walk in self._walks.values():
            shares[walk.group] += weight(walk)
        # Of two equal groups, the one that wants more loses.
        largest = max(shares, key=lambda group: (shares[group], group == newest.group))
        self._end(next(walk for walk in self._walks.values() if walk.group == largest))

    def _end(self, walk: _Walk) -> None:
        del self._walks[walk.token]
        walk.snapshot.close()
