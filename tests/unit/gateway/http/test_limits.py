"""Limits on concurrent requests."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest

from tests.support.eventually import eventually
from xapp_operator.config.settings import Settings
from xapp_operator.errors import TooManyConcurrentRequests
from xapp_operator.gateway.http import limits
from xapp_operator.gateway.http.limits import CallerSlots, RequestLimits


def slots(capacity: int = 3, per_caller: int = 2) -> CallerSlots:
    return CallerSlots(capacity, per_caller=per_caller, what="open doors", hint="close some")


def test_a_caller_over_their_share_is_refused_while_another_is_served() -> None:
    some = slots()
    with some.hold("jane"), some.hold("jane"):
        with pytest.raises(TooManyConcurrentRequests, match=r"you have 2 open doors.*close some"), some.hold("jane"):
            pass
        with some.hold("joe"):
            assert some.in_use == 3
            with pytest.raises(TooManyConcurrentRequests, match="there are 3 open doors"), some.hold("ann"):
                pass


def test_a_slot_is_released_after_success_and_error() -> None:
    one = slots(1, 1)
    with pytest.raises(KeyError), one.hold("jane"):
        raise KeyError
    with one.hold("jane"):
        pass
    assert one.in_use == 0


async def test_waiting_requests_of_a_caller_let_another_caller_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WAITING_PER_CALLER_MAX", 3)
    some = slots()
    release = asyncio.Event()
    served = list[str]()

    async def request(caller: str) -> None:
        async with some.wait(caller):
            served.append(caller)
            await release.wait()

    async with asyncio.TaskGroup() as group:
        janes = [group.create_task(request("jane")) for _ in range(5)]
        await eventually(lambda: len(served) == 2, what="two requests")
        with pytest.raises(TooManyConcurrentRequests, match="you have 2"):
            await request("jane")  # three wait already
        group.create_task(request("joe"))
        await eventually(lambda: "joe" in served, what="the request of joe")
        assert served == ["jane", "jane", "joe"]
        release.set()
    assert all(each.done() for each in janes)
    assert (served.count("jane"), some.in_use) == (5, 0)


async def test_a_request_that_waited_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WAITING_SECONDS_MAX", 0.01)
    some = slots()
    with some.hold("jane"), some.hold("jane"), pytest.raises(TooManyConcurrentRequests):
        async with some.wait("jane"):
            pass


def test_without_authentication_one_caller_may_have_all_slots() -> None:
    anonymous = RequestLimits.from_settings(Settings(auth="none"))
    known = RequestLimits.from_settings(Settings(auth="kubernetes"))
    with ExitStack() as held:
        for _ in range(33):
            held.enter_context(anonymous.logs.hold(""))
        for _ in range(32):
            held.enter_context(known.logs.hold("jane"))
        with pytest.raises(TooManyConcurrentRequests, match="32 open logs"), known.logs.hold("jane"):
            pass
