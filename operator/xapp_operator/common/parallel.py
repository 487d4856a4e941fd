"""Work for many arguments at a time. The first error ends all: `asyncio.gather` would let the others go on unseen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TypeVar

A = TypeVar("A")
R = TypeVar("R")


async def run_parallel(work: Callable[[A], Awaitable[R]], arguments: Iterable[A], *, at_once: int) -> list[R]:
    """Return `work(…)` of each argument, in their order, with at most `at_once` of them at a time.

    An error, like the end of the caller, cancels those that run, and no other one begins. Raises the first error.
    """
    given = tuple(arguments)
    results: dict[int, R] = {}
    remaining = iter(enumerate(given))

    async def run_remaining() -> None:
        for number, each in remaining:
            results[number] = await work(each)

    async with tasks_together() as group:
        for _ in range(min(at_once, len(given))):
            group.create_task(run_remaining())
    return [results[number] for number in range(len(given))]


@asynccontextmanager
async def tasks_together() -> AsyncIterator[asyncio.TaskGroup]:
    """Give a group of tasks that end together; its first error is raised as itself."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except* Exception as errors:
        raise _first_exception(errors) from None


def _first_exception(errors: BaseExceptionGroup[Exception]) -> Exception:
    first = errors.exceptions[0]
    return _first_exception(first) if isinstance(first, BaseExceptionGroup) else first
