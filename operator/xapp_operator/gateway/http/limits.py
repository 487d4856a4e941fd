"""Limits on simultaneous requests that last: streams, logs, proxied requests, deployments. Callers share them.

A user has a share, and so has their group (`group_of_user`), because a tenant can have any number of users. A part of
the slots is for groups that hold none.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Final, Self

from xapp_operator.common.fair_slots import FairSlots, NoFreeSlot
from xapp_operator.config.settings import Settings
from xapp_operator.domain.caller_groups import group_of_user
from xapp_operator.errors import TooManyConcurrentRequests

OPEN_LOGS_MAX: Final = 256
"""Logs open at a time in one gateway: each holds a connection to the API server and one to a kubelet."""

STREAMS_MAX: Final = 4096

DOWNLOADS_MAX: Final = 64
"""Charts that are sent at a time: each stays in the cache until then, beyond its limit too."""
DOWNLOADS_PER_CALLER: Final = 16

SHARES_PER_GROUP: Final = 2
"""A group gets as many shares of one caller, and waits with as many requests."""
RESERVED_DIVISOR: Final = 4
"""A quarter of the slots is for groups that hold none."""
UPLOADS_PER_DEPLOYMENT: Final = 2
"""Bodies that are received, or wait to be rendered, for each request that is rendered."""

WAITING_PER_CALLER_MAX: Final = 128
"""Requests of one caller that wait for a slot. Up to 256 KiB of each body is in memory meanwhile."""
WAITING_SECONDS_MAX: Final = 60.0


class CallerSlots:
    """Slots for one kind of request. A caller is a user, since a user can have many tokens."""

    def __init__(self, capacity: int, *, per_caller: int, what: str, hint: str) -> None:
        """Set the limits; `what` names the requests in errors, and `hint` says what to do."""
        self._capacity = capacity
        self._per_caller = min(per_caller, capacity)
        self._per_group = min(SHARES_PER_GROUP * self._per_caller, capacity)
        self._what = what
        self._hint = hint
        # One caller who may have all slots leaves nothing to reserve.
        reserved = capacity // RESERVED_DIVISOR if self._per_caller < capacity else 0
        self._groups = FairSlots(capacity, per_key=self._per_group, reserved=reserved)
        self._callers = FairSlots(sys.maxsize, per_key=self._per_caller)
        self._waiting: Counter[str] = Counter()

    @property
    def in_use(self) -> int:
        return self._groups.in_use

    @contextmanager
    def hold(self, caller: str) -> Iterator[None]:
        """Hold a slot inside the block.

        Raises:
            TooManyConcurrentRequests: when none is free for the caller.
        """
        with ExitStack() as held:
            try:
                held.enter_context(self._callers.slot_now(caller))
                held.enter_context(self._groups.slot_now(group_of_user(caller)))
            except NoFreeSlot:
                held.close()  # so that the error does not count this request
                raise self._refusal(caller) from None
            yield

    @asynccontextmanager
    async def wait(self, caller: str) -> AsyncIterator[None]:
        """Wait for a slot and hold it inside the block.

        Raises:
            TooManyConcurrentRequests: when too many requests of the caller or their group wait already, or this one has
                waited for WAITING_SECONDS_MAX.
        """
        async with AsyncExitStack() as held:
            with self._counted_as_waiting(caller):
                try:
                    async with asyncio.timeout(WAITING_SECONDS_MAX):
                        await held.enter_async_context(self._callers.slot(caller))
                        await held.enter_async_context(self._groups.slot(group_of_user(caller)))
                except TimeoutError:
                    await held.aclose()
                    raise self._refusal(caller) from None
            yield

    @contextmanager
    def _counted_as_waiting(self, caller: str) -> Iterator[None]:
        limits = {f"user {caller}": WAITING_PER_CALLER_MAX}
        limits[f"group {group_of_user(caller)}"] = SHARES_PER_GROUP * WAITING_PER_CALLER_MAX
        if any(self._waiting[key] >= limit for key, limit in limits.items()):
            raise self._refusal(caller)
        self._waiting.update(limits.keys())
        try:
            yield
        finally:
            self._waiting.subtract(limits.keys())
            for key in limits:
                if not self._waiting[key]:
                    del self._waiting[key]

    def _refusal(self, caller: str) -> TooManyConcurrentRequests:
        group = group_of_user(caller)
        if self._callers.held_by(caller) >= self._per_caller:
            text = f"you have {self._per_caller:,} {self._what}, the maximum for one caller"
        elif self._groups.held_by(group) >= self._per_group:
            text = f"{group} has {self._per_group:,} {self._what}, the maximum for all its service accounts together"
        else:
            text = f"there are {self.in_use:,} {self._what}, the maximum for all callers"
        return TooManyConcurrentRequests(f"{text}: {self._hint}")


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """The slots of one gateway.

    A deployment request first takes one of `uploads`, while its body is received too, and then one of `deployments`: a
    slow client keeps nobody from rendering.
    """

    logs: CallerSlots
    streams: CallerSlots
    downloads: CallerSlots
    uploads: CallerSlots
    deployments: CallerSlots

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        return cls(
            logs=CallerSlots(
                OPEN_LOGS_MAX,
                per_caller=per_caller(settings, settings.logs_per_caller, of=OPEN_LOGS_MAX),
                what="open logs",
                hint="close some, or try again in a second (XAPP_LOGS_PER_CALLER)",
            ),
            streams=CallerSlots(
                STREAMS_MAX,
                per_caller=per_caller(settings, settings.streams_per_caller, of=STREAMS_MAX),
                what="open streams of changes",
                hint="close some, or try again later (XAPP_STREAMS_PER_CALLER)",
            ),
            downloads=CallerSlots(
                DOWNLOADS_MAX,
                per_caller=per_caller(settings, DOWNLOADS_PER_CALLER, of=DOWNLOADS_MAX),
                what="downloads of charts in progress",
                hint="read the ones that you have begun, or try again in a second",
            ),
            uploads=CallerSlots(
                UPLOADS_PER_DEPLOYMENT * settings.deployments_concurrency,
                per_caller=per_caller(
                    settings,
                    settings.deployments_per_caller,
                    of=UPLOADS_PER_DEPLOYMENT * settings.deployments_concurrency,
                ),
                what="uploads and deployment requests in progress",
                hint="send fewer at a time (XAPP_DEPLOYMENTS_PER_CALLER, XAPP_DEPLOYMENTS_CONCURRENCY)",
            ),
            deployments=CallerSlots(
                settings.deployments_concurrency,
                per_caller=per_caller(settings, settings.deployments_per_caller, of=settings.deployments_concurrency),
                what="uploads and deployment requests in progress",
                hint="send fewer at a time (XAPP_DEPLOYMENTS_PER_CALLER, XAPP_DEPLOYMENTS_CONCURRENCY)",
            ),
        )


def per_caller(settings: Settings, limit: int, *, of: int) -> int:
    """Return how many of the slots one caller may have: all of them if callers cannot be told apart."""
    return of if settings.auth == "none" else limit
