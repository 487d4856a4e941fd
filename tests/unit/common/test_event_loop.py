"""What the event loop logs of itself."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from xapp_operator.common.event_loop import new_event_loop


async def leave_future(error: Exception) -> None:
    asyncio.get_running_loop().create_future().set_exception(error)
    gc.collect()
    await asyncio.sleep(0)


async def leave_task(error: Exception) -> None:
    async def fail() -> None:
        raise error

    task = asyncio.create_task(fail())
    await asyncio.wait([task])
    del task
    gc.collect()


@pytest.mark.parametrize(
    ("leave", "error", "is_logged"),
    [
        (leave_future, ConnectionResetError(), False),
        (leave_future, BrokenPipeError(), False),
        (leave_future, ValueError("x"), True),
        (leave_task, ConnectionResetError(), True),
    ],
)
def test_only_a_connection_that_nobody_waits_for_is_no_error(
    leave: Callable[[Exception], Coroutine[Any, Any, None]],
    error: Exception,
    is_logged: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(leave(error))
    records = [each for each in caplog.records if each.levelno >= logging.INFO]
    assert bool(records) is is_logged
