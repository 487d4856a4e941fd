"""Limits on simultaneous requests that last: streams, logs, proxied requests, deployments. Callers share them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Final, Self

from xapp_operator.common.fair_slots import FairSlots, NoFreeSlot
from xapp_operator.config import Settings
from xapp_operator.errors import TooManyConcurrentRequests

OPEN_LOGS_MAX: Final = 256
"""Logs open at a time in one gateway: each holds a connection to the API server and one to a kubelet."""

STREAMS_MAX: Final = 4096
SIGN_INS_MAX: Final = 64
SIGN_INS_PER_ADDRESS: Final = 16

WAITING_PER_CALLER_MAX: Final = 128
"""Requests of one caller that wait for a slot. Up to 256 KiB of each body is in memory meanwhile."""
WAITING_SECONDS_MAX: Final = 60.0


class CallerSlots:
    """Slots for one kind of request. The key of a caller is their user name, since a user can have many tokens."""

    def __init__(self, capacity: int, *, per_caller: int, what: str, hint: str) -> None:
        """Set the limits; `what` names the requests in errors, and `hint` says what to do."""
        self._capacity = capacity
        self._per_caller = min(per_caller, capacity)
        self._what = what
        self._hint = hint
        self._slots = FairSlots(capacity, per_key=self._per_caller)
        self._waiting: Counter[str] = Counter()

    @property
    def in_use(self) -> int:
        return self._slots.in_use

    @contextmanager
    def hold(self, caller: str) -> Iterator[None]:
        """Hold a slot inside the block.

        Raises:
            TooManyConcurrentRequests: when none is free for the caller.
        """
        slot = self._slots.slot_now(caller)
        try:
            slot.__enter__()
        except NoFreeSlot:
            raise self._refusal(caller) from None
        try:
            yield
        finally:
            slot.__exit__(None, None, None)

    @asynccontextmanager
    async def wait(self, caller: str) -> AsyncIterator[None]:
        """Wait for a slot and hold it inside the block.

        Raises:
            TooManyConcurrentRequests: when too many requests of the caller wait already, or this one has waited for
                WAITING_SECONDS_MAX.
        """
        if self._waiting[caller] >= WAITING_PER_CALLER_MAX:
            raise self._refusal(caller)
        self._waiting[caller] += 1
        try:
            async with asyncio.timeout(WAITING_SECONDS_MAX):
                await self._slots.acquire(caller)
        except TimeoutError:
            raise self._refusal(caller) from None
        finally:
            self._waiting[caller] -= 1
            if not self._waiting[caller]:
                del self._waiting[caller]
        try:
            yield
        finally:
            self._slots.release(caller)

    def _refusal(self, caller: str) -> TooManyConcurrentRequests:
        if self._slots.held_by(caller) >= self._per_caller:
            return TooManyConcurrentRequests(
                f"you have {self._per_caller:,} {self._what}, the maximum for one caller: {self._hint}"
            )
        return TooManyConcurrentRequests(
            f"there are {self._capacity:,} {self._what}, the maximum for all callers: {self._hint}"
        )


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """The slots of one gateway. `sign_ins` has addresses as keys."""

    logs: CallerSlots
    streams: CallerSlots
    deployments: CallerSlots
    sign_ins: CallerSlots

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
            deployments=CallerSlots(
                settings.deployments_concurrency,
                per_caller=per_caller(settings, settings.deployments_per_caller, of=settings.deployments_concurrency),
                what="uploads and deployment requests in progress",
                hint="send fewer at a time (XAPP_DEPLOYMENTS_PER_CALLER, XAPP_DEPLOYMENTS_CONCURRENCY)",
            ),
            sign_ins=CallerSlots(
                SIGN_INS_MAX,
                per_caller=SIGN_INS_PER_ADDRESS,
                what="sign-ins in progress from your address",
                hint="try again in a second",
            ),
        )


def per_caller(settings: Settings, limit: int, *, of: int) -> int:
    """Return how many of the slots one caller may have: all of them if callers cannot be told apart."""
    return of if settings.auth == "none" else limit
