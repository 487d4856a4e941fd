"""What the operator relies on in its clock and in the event loop that waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

import pytest

from xapp_operator.common.clock import Clock

T = TypeVar("T")

SHORT_SECONDS: Final = 0.02
LONGER_SECONDS: Final = 0.06
NEVER_SECONDS: Final = 3600.0
EARLY_SECONDS: Final = 0.002
"""A timer may be so early: the loop of our processes (uvloop) counts milliseconds."""
AGREEMENT_SECONDS: Final = 0.5
"""Between two looks at the clocks, less time passes."""


class Run(Protocol):
    """Runs a coroutine on a loop of its own."""

    def __call__(self, main: Coroutine[Any, Any, T]) -> T: ...


@dataclass
class TimeSubject:
    """A clock, and what runs a coroutine on a loop whose time it tells."""

    clock: Clock
    run: Run


@dataclass
class Order:
    """What has happened, in its order."""

    events: list[object] = field(default_factory=list)

    def noting(self, event: object) -> Callable[[], None]:
        return lambda: self.events.append(event)


class PassesThrough(BaseException):
    """Work in a thread that ends with it has been killed, not failed."""


class ClockContract:
    """`time` is the subject."""

    # The clock

    def test_a_sleep_takes_at_least_its_time_by_both_clocks(self, time: TimeSubject) -> None:
        async def main() -> tuple[float, float]:
            now, monotonic = time.clock.now(), time.clock.monotonic()
            await asyncio.sleep(SHORT_SECONDS)
            return time.clock.now() - now, time.clock.monotonic() - monotonic

        by_now, by_monotonic = time.run(main())
        assert by_monotonic >= SHORT_SECONDS - EARLY_SECONDS
        assert by_now == pytest.approx(by_monotonic, abs=AGREEMENT_SECONDS)
        assert by_now > 0.0

    def test_the_loop_tells_the_time_of_the_monotonic_clock(self, time: TimeSubject) -> None:
        async def main() -> tuple[float, float, float]:
            before = time.clock.monotonic()
            await asyncio.sleep(SHORT_SECONDS)  # the loop may look at its clock only once in each turn
            return before, asyncio.get_running_loop().time(), time.clock.monotonic()

        before, shown, after = time.run(main())
        assert before + SHORT_SECONDS - EARLY_SECONDS <= shown <= after + EARLY_SECONDS

    def test_the_monotonic_clock_never_goes_back(self, time: TimeSubject) -> None:
        async def main() -> list[float]:
            looks = []
            for _ in range(100):
                looks.append(time.clock.monotonic())
                await asyncio.sleep(0)
            return looks

        looks = time.run(main())
        assert looks == sorted(looks)

    def test_time_passes_however_short_the_waits_are(self, time: TimeSubject) -> None:
        """Whoever waits until a moment with delays that are too short to change the time gets there."""

        async def main() -> None:
            loop, later, start = asyncio.get_running_loop(), asyncio.Event(), time.clock.monotonic()

            def look() -> None:
                if time.clock.monotonic() > start:
                    later.set()
                else:
                    loop.call_later(1e-14, look)

            look()
            await later.wait()

        time.run(main())

    # Timers

    def test_timers_run_in_the_order_of_their_times(self, time: TimeSubject) -> None:
        async def main() -> list[object]:
            loop, order, done = asyncio.get_running_loop(), Order(), asyncio.Event()
            start = loop.time()
            loop.call_at(start + LONGER_SECONDS, done.set)
            loop.call_at(start + SHORT_SECONDS, order.noting("second"))
            loop.call_at(start - NEVER_SECONDS, order.noting("first"))
            await done.wait()
            assert loop.time() - start >= LONGER_SECONDS - EARLY_SECONDS
            return order.events

        assert time.run(main()) == ["first", "second"]

    def test_timers_of_the_same_delay_run_in_the_order_in_which_they_were_set(self, time: TimeSubject) -> None:
        async def main() -> list[object]:
            loop, order, done = asyncio.get_running_loop(), Order(), asyncio.Event()
            for number in range(10):
                loop.call_later(SHORT_SECONDS, order.noting(number))
            loop.call_later(SHORT_SECONDS, done.set)
            await done.wait()
            return order.events

        assert time.run(main()) == list(range(10))

    def test_tasks_that_sleep_equally_long_go_on_in_their_order(self, time: TimeSubject) -> None:
        order = Order()

        async def sleep(number: int) -> None:
            await asyncio.sleep(SHORT_SECONDS)
            order.noting(number)()

        async def main() -> None:
            await asyncio.gather(*(sleep(number) for number in range(10)))

        time.run(main())
        assert order.events == list(range(10))

    def test_timeouts_of_equal_length_end_in_their_order(self, time: TimeSubject) -> None:
        order = Order()

        async def wait(number: int) -> None:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(SHORT_SECONDS):
                    await asyncio.Event().wait()
            order.noting(number)()

        async def main() -> None:
            await asyncio.gather(*(wait(number) for number in range(10)))

        time.run(main())
        assert order.events == list(range(10))

    def test_a_timer_never_runs_within_the_call_that_sets_it(self, time: TimeSubject) -> None:
        async def main() -> list[object]:
            loop, order, done = asyncio.get_running_loop(), Order(), asyncio.Event()
            loop.call_soon(order.noting("queued before"))
            loop.call_later(0.0, order.noting("timer"))
            loop.call_later(SHORT_SECONDS, done.set)
            order.noting("set")()
            await done.wait()
            return order.events

        assert time.run(main()) == ["set", "queued before", "timer"]

    def test_a_cancelled_timer_does_not_run(self, time: TimeSubject) -> None:
        async def main() -> list[object]:
            loop, order = asyncio.get_running_loop(), Order()
            loop.call_later(SHORT_SECONDS, order.noting("cancelled")).cancel()
            loop.call_later(SHORT_SECONDS, order.noting("kept"))
            await asyncio.sleep(LONGER_SECONDS)
            return order.events

        assert time.run(main()) == ["kept"]

    # Timeouts

    def test_a_timeout_cancels_what_it_waits_for(self, time: TimeSubject) -> None:
        async def main() -> tuple[list[object], float]:
            order, since = Order(), time.clock.monotonic()

            async def wait() -> None:
                try:
                    await asyncio.sleep(NEVER_SECONDS)
                except asyncio.CancelledError:
                    order.noting("cancelled")()
                    raise

            with pytest.raises(TimeoutError):
                await asyncio.wait_for(wait(), SHORT_SECONDS)
            order.noting("told")()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(SHORT_SECONDS):
                    await wait()
            return order.events, time.clock.monotonic() - since

        events, seconds = time.run(main())
        assert events == ["cancelled", "told", "cancelled"]
        assert seconds >= 2 * (SHORT_SECONDS - EARLY_SECONDS)

    def test_a_result_in_time_ends_the_timeout(self, time: TimeSubject) -> None:
        async def main() -> str:
            async with asyncio.timeout(NEVER_SECONDS):
                return await asyncio.wait_for(asyncio.sleep(SHORT_SECONDS, "result"), NEVER_SECONDS)

        assert time.run(main()) == "result"

    def test_waiting_for_several_returns_those_that_are_not_done(self, time: TimeSubject) -> None:
        async def main() -> tuple[bool, bool]:
            short = asyncio.create_task(asyncio.sleep(SHORT_SECONDS))
            never = asyncio.create_task(asyncio.sleep(NEVER_SECONDS))
            done, pending = await asyncio.wait({short, never}, timeout=LONGER_SECONDS)
            never.cancel()
            return done == {short}, pending == {never}

        assert time.run(main()) == (True, True)

    # Threads

    def test_work_in_a_thread_returns_its_result(self, time: TimeSubject) -> None:
        async def main() -> int:
            return await asyncio.to_thread(lambda: 5)

        assert time.run(main()) == 5

    @pytest.mark.parametrize("error", [ValueError("failed"), PassesThrough("killed")])
    def test_work_in_a_thread_raises_through_its_future(self, time: TimeSubject, error: BaseException) -> None:
        def fail() -> None:
            raise error

        async def main() -> None:
            future = asyncio.get_running_loop().run_in_executor(None, fail)
            with pytest.raises(type(error)) as raised:
                await future
            assert raised.value is error

        time.run(main())

    def test_others_go_on_while_work_is_in_a_thread(self, time: TimeSubject) -> None:
        async def main() -> list[object]:
            loop, order = asyncio.get_running_loop(), Order()
            loop.call_soon(order.noting("other"))
            future = loop.run_in_executor(None, lambda: None)
            assert not future.done()
            await future
            order.noting("done")()
            return order.events

        assert time.run(main()) == ["other", "done"]

    def test_who_waits_for_a_thread_can_be_cancelled(self, time: TimeSubject) -> None:
        order = Order()

        async def work() -> None:
            await asyncio.to_thread(lambda: None)
            order.noting("went on")()

        async def main() -> None:
            task = asyncio.create_task(work())
            await asyncio.sleep(0)  # it has begun
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.sleep(SHORT_SECONDS)

        time.run(main())
        assert "went on" not in order.events
