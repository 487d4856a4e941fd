"""No descriptor is closed twice: the second time, it may be that of another file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import pytest
import uvloop

from xapp_operator.common.loop_pipe import LoopPipe


class _LatePipe(LoopPipe):
    """When it is closed, another file is opened just before, as a thread may do it."""

    others: list[int]
    ended: asyncio.Event

    def close(self) -> None:
        self.others.append(os.open(os.devnull, os.O_RDONLY))
        super().close()
        self.ended.set()


@pytest.mark.parametrize("new_loop", [uvloop.new_event_loop, asyncio.new_event_loop])
def test_the_end_of_a_pipe_closes_no_other_file(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    others = list[int]()

    async def read_to_the_end() -> int:
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
        source, target = os.pipe()
        pipe = _LatePipe(source, loop)
        pipe.others, pipe.ended = others, asyncio.Event()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        os.write(target, b"all")
        os.close(target)
        assert await reader.read() == b"all"
        transport.close()
        await asyncio.wait_for(pipe.ended.wait(), 10)
        return source

    loop = new_loop()
    try:
        source = loop.run_until_complete(read_to_the_end())
    finally:
        loop.close()
    for other in others:
        os.fstat(other)
        os.close(other)
    if source not in others:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(source)
