"""The clocks and the loop of the fakes do what the real ones do. The real ones need no cluster, so both are here."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import partial
from typing import Any, TypeVar

import pytest

from tests.contracts.clock import ClockContract, TimeSubject
from tests.support.fakes.clock import START, FakeClock, WrongClock, run_in_fake_time
from xapp_operator.common.clock import SYSTEM_CLOCK, Clock, JumpAwareClock, ServerClock
from xapp_operator.common.event_loop import new_event_loop

T = TypeVar("T")


def unchanged(clock: Clock) -> Clock:
    return clock


def server_clock(machine: Clock) -> ServerClock:
    clock = ServerClock(machine)
    clock.learn(START)
    return clock


def run_as_our_processes(main: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)


class TestFakeTime(ClockContract):
    """The fakes keep the contract."""

    @pytest.fixture(params=[unchanged, partial(WrongClock, ahead=-7200.0)], ids=["FakeClock", "WrongClock"])
    def time(self, request: pytest.FixtureRequest) -> TimeSubject:
        right, make = FakeClock(1000.0), request.param
        return TimeSubject(make(right), partial(run_in_fake_time, clock=right))


class TestRealTime(ClockContract):
    """The clocks of the operator, and the loop of our processes, keep the contract."""

    @pytest.fixture(
        params=[unchanged, server_clock, JumpAwareClock], ids=["SystemClock", "ServerClock", "JumpAwareClock"]
    )
    def time(self, request: pytest.FixtureRequest) -> TimeSubject:
        return TimeSubject(request.param(SYSTEM_CLOCK), run_as_our_processes)


class TestLoopOfAsyncio(ClockContract):
    """The loop of the command line and of the tests keeps the contract."""

    @pytest.fixture
    def time(self) -> TimeSubject:
        return TimeSubject(SYSTEM_CLOCK, asyncio.run)
