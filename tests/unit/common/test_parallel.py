"""Work for many arguments at a time."""

from __future__ import annotations

import asyncio

import pytest

from xapp_operator.common.parallel import run_parallel, tasks_together


def test_results_are_in_the_order_of_the_arguments() -> None:
    async def work(number: int) -> int:
        for _ in range(10 - number):
            await asyncio.sleep(0)
        return number * number

    assert asyncio.run(run_parallel(work, range(10), at_once=3)) == [number * number for number in range(10)]
    assert asyncio.run(run_parallel(work, (), at_once=3)) == []


@pytest.mark.parametrize("at_once", [1, 4, 100])
def test_no_more_run_at_a_time_than_allowed(at_once: int) -> None:
    running, most = 0, 0

    async def work(_: int) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    asyncio.run(run_parallel(work, range(20), at_once=at_once))
    assert most == min(at_once, 20)


def test_the_first_error_ends_all_of_them() -> None:
    begun, ended = list[int](), list[int]()

    async def work(number: int) -> None:
        begun.append(number)
        if number == 1:
            raise KeyError(number)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(number)

    async def run() -> None:
        with pytest.raises(KeyError) as raised:
            await run_parallel(work, range(1000), at_once=3)
        assert raised.value.args == (1,)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())
    assert (begun, sorted(ended)) == ([0, 1, 2], [0, 2])


def test_the_end_of_the_caller_ends_all_of_them() -> None:
    begun = list[int]()

    async def work(number: int) -> None:
        begun.append(number)
        await asyncio.Event().wait()

    async def run() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await run_parallel(work, range(1000), at_once=3)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())
    assert begun == [0, 1, 2]


def test_an_error_in_a_group_within_a_group_is_raised_as_itself() -> None:
    async def fail(_: int) -> None:
        raise KeyError

    async def run() -> None:
        async with tasks_together() as group:
            group.create_task(run_parallel(fail, range(3), at_once=2))

    with pytest.raises(KeyError):
        asyncio.run(run())
