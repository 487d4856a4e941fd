"""Runs of tests go on beside reconciles, end on request, and report once."""

from __future__ import annotations

import asyncio

import pytest

from xapp_operator.domain.planning.plan_input import TestOutcome, TestRun
from xapp_operator.reconcile.chart_test_runs import TestRuns
from xapp_operator.reconcile.work.work_queue import NamespacedName

KEY = ("ns", "hello")
PASSED = TestRun(revision=1, outcome=TestOutcome.SUCCEEDED, first_at=1.0, last_at=2.0)


class _Run:
    """A run of tests that ends when the test says so."""

    def __init__(self) -> None:
        self.may_end, self.has_begun, self.has_ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def __call__(self) -> TestRun:
        self.has_begun.set()
        try:
            await self.may_end.wait()
        finally:
            self.has_ended.set()
        return PASSED


@pytest.fixture
def done() -> asyncio.Queue[NamespacedName]:
    return asyncio.Queue()


@pytest.fixture
def runs(done: asyncio.Queue[NamespacedName]) -> TestRuns:
    return TestRuns(helm_waiting=8, on_done=done.put_nowait)


async def test_the_result_is_there_once(runs: TestRuns, done: asyncio.Queue[NamespacedName]) -> None:
    run = _Run()
    runs.start(KEY, run)
    assert runs.is_running(KEY)
    assert runs.take_result(KEY) is None
    run.may_end.set()
    assert await done.get() == KEY
    assert not runs.is_running(KEY)
    assert runs.take_result(KEY) == PASSED
    assert runs.take_result(KEY) is None


async def test_the_result_of_a_run_is_dropped_when_it_is_ended(
    runs: TestRuns, done: asyncio.Queue[NamespacedName]
) -> None:
    run = _Run()
    runs.start(KEY, run)
    run.may_end.set()
    assert await done.get() == KEY
    await runs.end(KEY)
    assert runs.take_result(KEY) is None


async def test_a_run_that_is_ended_has_no_result(runs: TestRuns, done: asyncio.Queue[NamespacedName]) -> None:
    run = _Run()
    runs.start(KEY, run)
    await run.has_begun.wait()
    await runs.end(KEY)
    assert run.has_ended.is_set()
    assert not runs.is_running(KEY)
    assert runs.take_result(KEY) is None
    assert done.empty()


async def test_an_xapp_has_one_run_at_a_time(runs: TestRuns) -> None:
    runs.start(KEY, _Run())
    with pytest.raises(ValueError, match="run already"):
        runs.start(KEY, _Run())
    runs.forget(KEY)
    runs.start(KEY, _Run())
    await runs.stop()
    assert not runs.is_running(KEY)


async def test_a_forgotten_run_reports_nothing(runs: TestRuns, done: asyncio.Queue[NamespacedName]) -> None:
    run = _Run()
    runs.start(KEY, run)
    await run.has_begun.wait()
    runs.forget(KEY)
    await run.has_ended.wait()
    assert runs.take_result(KEY) is None
    assert done.empty()


async def test_endless_tests_leave_places_for_helm_to_others_and_to_their_own_namespace(runs: TestRuns) -> None:
    endless = [_Run() for _ in range(8)]
    for number, run in enumerate(endless):
        runs.start(("hostile", f"x{number}"), run)
    other = _Run()
    runs.start(KEY, other)
    await other.has_begun.wait()
    assert [run.has_begun.is_set() for run in endless] == [True] * 2 + [False] * 6
    await runs.end(("hostile", "x0"))
    await endless[2].has_begun.wait()
    await runs.end(("hostile", "x7"))  # one that waits
    await runs.stop()
    assert not endless[7].has_begun.is_set()


@pytest.mark.parametrize(("helm_waiting", "running"), [(1, 1), (2, 1), (7, 1), (11, 2), (12, 3)])
async def test_a_namespace_tests_one_xapp_at_a_time_or_as_many_as_a_quarter_of_the_places_for_helm(
    helm_waiting: int, running: int
) -> None:
    runs = TestRuns(helm_waiting=helm_waiting, on_done=lambda _: None)
    endless = [_Run() for _ in range(5)]
    for number, run in enumerate(endless):
        runs.start(("ns", f"x{number}"), run)
    await asyncio.wait_for(endless[running - 1].has_begun.wait(), 5.0)
    assert [run.has_begun.is_set() for run in endless] == [True] * running + [False] * (5 - running)
    await runs.stop()


async def test_endless_tests_of_many_namespaces_delay_those_of_no_other(runs: TestRuns) -> None:
    for namespace in range(10):
        for number in range(3):
            runs.start((f"hostile{namespace}", f"x{number}"), _Run())
    other = _Run()
    runs.start(KEY, other)
    await asyncio.wait_for(other.has_begun.wait(), 5.0)
    await runs.stop()
