"""How callers, and the service accounts of one namespace, share the slots of a kind of request; in simulated time."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest

from tests.unit.gateway.http.http_connections import in_simulated_time, now, settle
from xapp_operator.config.settings import Settings
from xapp_operator.errors import TooManyConcurrentRequests
from xapp_operator.gateway.http.limits import CallerSlots, RequestLimits, per_caller

ACCOUNT = "system:serviceaccount:ric:"


def slots(capacity: int, each: int) -> CallerSlots:
    return CallerSlots(capacity, per_caller=each, what="open doors", hint="close some")


def held(some: CallerSlots, *callers: str) -> int:
    """Return how many of these callers get a slot, one after the other, until one is refused."""
    with ExitStack() as stack:
        for number, caller in enumerate(callers):
            try:
                stack.enter_context(some.hold(caller))
            except TooManyConcurrentRequests:
                return number
        return len(callers)


def refusal(some: CallerSlots, caller: str) -> str:
    with pytest.raises(TooManyConcurrentRequests) as caught, some.hold(caller):
        pass
    return caught.value.message


def test_the_service_accounts_of_a_namespace_share_twice_the_slots_of_one() -> None:
    some = slots(40, 2)
    accounts = [f"{ACCOUNT}{name}" for name in "aabbc"]
    assert held(some, *accounts) == 4
    with ExitStack() as stack:
        for each in accounts[:4]:
            stack.enter_context(some.hold(each))
        assert refusal(some, accounts[4]) == (
            "system:serviceaccount:ric has 4 open doors, the maximum for all its service accounts together: close some"
        )
        assert refusal(some, accounts[0]) == "you have 2 open doors, the maximum for one caller: close some"
        assert held(some, f"{ACCOUNT.replace('ric', 'other')}a") == 1
    assert some.in_use == 0


def test_a_group_gets_no_more_slots_than_there_are() -> None:
    assert held(slots(3, 2), *[f"{ACCOUNT}{name}" for name in "aabb"]) == 3
    assert held(slots(2, 5), "jane", "jane", "jane") == 2


def test_a_quarter_of_the_slots_is_for_those_who_hold_none() -> None:
    some = slots(8, 7)
    with ExitStack() as stack:
        for _ in range(6):
            stack.enter_context(some.hold("jane"))
        assert refusal(some, "jane") == "there are 6 open doors, the maximum for all callers: close some"
        stack.enter_context(some.hold("joe"))
        stack.enter_context(some.hold("ann"))
        assert refusal(some, "new") == "there are 8 open doors, the maximum for all callers: close some"


def test_a_caller_who_may_have_all_slots_gets_them() -> None:
    assert held(slots(8, 8), *["jane"] * 9) == 8
    assert held(slots(8, 9), *["jane"] * 9) == 8


def test_a_request_waits_for_a_minute() -> None:
    async def test() -> None:
        some = slots(1, 1)
        with some.hold("jane"):
            with pytest.raises(TooManyConcurrentRequests, match="you have 1 open doors"):
                async with some.wait("jane"):
                    pass
            assert now() == pytest.approx(60)
        async with some.wait("jane"):
            assert some.in_use == 1
            await asyncio.sleep(100)
        assert some.in_use == 0

    in_simulated_time(test)


@pytest.mark.parametrize(("callers", "most"), [(["jane"], 128), ([f"{ACCOUNT}{name}" for name in "abc"], 256)])
def test_so_many_requests_of_a_caller_and_of_a_group_wait(callers: list[str], most: int) -> None:
    async def test() -> None:
        some = slots(4, 1)
        done: list[str] = []

        async def request(caller: str) -> None:
            async with some.wait(caller):
                done.append(caller)

        with ExitStack() as stack:
            for name in callers[:2]:
                stack.enter_context(some.hold(name))
            tasks = [asyncio.create_task(request(callers[number % len(callers)])) for number in range(most)]
            await settle()
            with pytest.raises(TooManyConcurrentRequests):
                await request(callers[0])
            assert now() == 0
            assert not done
        await asyncio.gather(*tasks)
        assert len(done) == most
        await request(callers[0])
        assert not some._waiting.keys(), "who no longer waits is forgotten"

    in_simulated_time(test)


def test_the_limits_of_a_gateway() -> None:
    settings = Settings().model_copy(
        update={
            "auth": "kubernetes",
            "logs_per_caller": 3,
            "streams_per_caller": 4,
            "deployments_per_caller": 2,
            "deployments_concurrency": 5,
        }
    )
    limits = RequestLimits.from_settings(settings)
    jane = ["jane"] * 5000
    found = {name: held(getattr(limits, name), *jane) for name in ("logs", "streams", "downloads", "uploads")}
    assert found == {"logs": 3, "streams": 4, "downloads": 16, "uploads": 2}
    assert held(limits.deployments, *jane) == 2
    many = [f"user-{number}" for number in range(5000)]
    assert held(limits.logs, *many) == 256
    assert held(limits.streams, *many) == 4096
    assert held(limits.downloads, *many) == 64
    assert held(limits.uploads, *many) == 10
    assert held(limits.deployments, *many) == 5
    assert "XAPP_LOGS_PER_CALLER" in _refused(limits.logs)
    assert "XAPP_STREAMS_PER_CALLER" in _refused(limits.streams)
    assert per_caller(settings, 7, of=9) == 7
    assert per_caller(settings.model_copy(update={"auth": "none"}), 7, of=9) == 9


def _refused(some: CallerSlots) -> str:
    with ExitStack() as stack:
        for _ in range(10):
            try:
                stack.enter_context(some.hold("jane"))
            except TooManyConcurrentRequests as error:
                return error.message
    raise AssertionError


def test_a_request_that_waited_for_its_group_does_not_count_itself() -> None:
    async def test() -> None:
        some = slots(8, 7)
        with ExitStack() as stack:
            for _ in range(6):
                stack.enter_context(some.hold("jane"))
            with pytest.raises(TooManyConcurrentRequests, match="there are 6 open doors"):
                async with some.wait("jane"):
                    pass

    in_simulated_time(test)
