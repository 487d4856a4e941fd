"""A question that takes long holds nobody up, and its answer is not lost."""

from __future__ import annotations

import asyncio

import pytest

from xapp_operator.errors import SourceUnavailable
from xapp_operator.reconcile.patience import DeferredResolver
from xapp_operator.reconcile.work_queue import NamespacedName

KEY = ("ns", "hello")


class Desk:
    """Questions whose answers come when the test lets them."""

    def __init__(self) -> None:
        self.asked = 0
        self.answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.answered: asyncio.Queue[NamespacedName] = asyncio.Queue()
        self.patience: DeferredResolver[str] = DeferredResolver(seconds=0.01, on_answer=self.answered.put_nowait)

    async def question(self) -> str:
        self.asked += 1
        return await asyncio.shield(self.answer)

    async def ask(self, about: int = 1) -> str | None:
        return await self.patience.resolve(KEY, self.question, version=about)


async def test_quick_answer_is_returned_and_asked_for_again_the_next_time() -> None:
    desk = Desk()
    desk.answer.set_result("yes")
    assert [await desk.ask(), await desk.ask()] == ["yes", "yes"]
    assert desk.asked == 2
    assert desk.answered.empty()


async def test_late_answer_is_announced_and_kept_for_who_asks_again() -> None:
    desk = Desk()
    assert await desk.ask() is None
    assert await desk.ask() is None
    desk.answer.set_result("yes")
    assert await desk.answered.get() == KEY
    assert await desk.ask() == "yes"
    assert desk.asked == 1


async def test_late_failure_is_raised_for_who_asks_again() -> None:
    desk = Desk()
    assert await desk.ask() is None
    desk.answer.set_exception(SourceUnavailable("away"))
    await desk.answered.get()
    with pytest.raises(SourceUnavailable):
        await desk.ask()


async def test_question_about_something_newer_takes_the_place_of_the_old_one() -> None:
    desk = Desk()
    assert await desk.ask(about=1) is None
    assert await desk.ask(about=2) is None
    assert desk.asked == 2
    desk.answer.set_result("yes")
    await desk.answered.get()
    assert await desk.ask(about=2) == "yes"
    assert desk.answered.empty()


async def test_nothing_is_asked_after_the_end() -> None:
    desk = Desk()
    assert await desk.ask() is None
    await desk.patience.stop()
    assert desk.answered.empty()
