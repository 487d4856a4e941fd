"""A clock that a test owns, and an event loop that never waits: its time jumps to the next timer."""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import itertools
import selectors
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")

START = 1_800_000_000.0
"""Seconds since the epoch at which every history begins."""


WORK_TURNS, WORK_SECONDS = 1000, 1e-6
"""So many turns of the loop take so long, even if it never waits."""

TURNS_MAX = 200_000
"""Turns of the loop at one time; the largest history needs a small part of them."""


class Spins(Exception):
    """The loop never comes to a pause: something works again and again without one."""


class NothingLeft(Exception):
    """The loop waits for something that no timer will bring: the test has forgotten it."""


class FakeClock:
    """The time of one history. The wall clock may jump, the other never does."""

    def __init__(self, elapsed: float = 0.0) -> None:
        self._elapsed = elapsed
        self.offset = START

    def now(self) -> float:
        return self.offset + self._elapsed

    def monotonic(self) -> float:
        return self._elapsed

    def advance(self, seconds: float) -> None:
        self._elapsed += seconds


class WrongClock:
    """The clock of a machine that is so many seconds ahead of another clock; negative: behind."""

    def __init__(self, right: FakeClock, *, ahead: float = 0.0) -> None:
        self._right = right
        self.ahead = ahead

    def now(self) -> float:
        return self._right.now() + self.ahead

    def monotonic(self) -> float:
        return self._right.monotonic()


class _NoWaiting(selectors.SelectSelector):
    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock
        self._turns = 0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise NothingLeft
        self._turns = 0 if timeout > 0 else self._turns + 1
        if self._turns > TURNS_MAX:
            raise Spins
        # Working takes time too: otherwise a delay that is too short to change the time would never be over.
        self._clock.advance(timeout or (0.0 if self._turns % WORK_TURNS else WORK_SECONDS))
        # The loop itself has one file. Others are pipes whose other end is in this process too.
        return super().select(0) if len(self.get_map()) > 1 else []


class _Timer(asyncio.TimerHandle):
    """A timer that runs after those of the same time that were set before it, as time passes in between really."""

    __slots__ = ("order",)
    order: tuple[float, int]

    def __lt__(self, other: _Timer) -> bool:  # type: ignore[override] # all timers of the loop are of this class
        return self.order < other.order


class FakeTimeLoop(asyncio.SelectorEventLoop):
    """An event loop on a FakeClock. Work for threads runs at once, in the loop; its end is told in the next turn."""

    def __init__(self, clock: FakeClock) -> None:
        self._numbers = itertools.count()
        self.time = clock.monotonic  # type: ignore[method-assign]
        super().__init__(_NoWaiting(clock))

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        # As the loop itself does, without its checks: histories call this hundreds of times each.
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)  # type: ignore[attr-defined]
        return handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        timer = _Timer(when, callback, args, self, context)
        timer.order = when, next(self._numbers)
        heapq.heappush(self._scheduled, timer)  # type: ignore[attr-defined] # as the loop itself does
        timer._scheduled = True  # type: ignore[attr-defined]
        return timer

    def run_in_executor(  # type: ignore[override]
        self, executor: object, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        future = self.create_future()
        try:
            hand_over = partial(future.set_result, func(*args))
        except BaseException as error:  # as a thread hands it over
            hand_over = partial(future.set_exception, error)
        self.call_soon(lambda: None if future.done() else hand_over())
        return future


def run_in_fake_time(main: Coroutine[Any, Any, T], clock: FakeClock | None = None) -> T:
    """Run a coroutine on a loop of its own that never waits."""
    loop = FakeTimeLoop(clock or FakeClock())
    try:
        asyncio.set_event_loop(loop)
        return loop.run_until_complete(main)
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        asyncio.set_event_loop(None)
        loop.close()
