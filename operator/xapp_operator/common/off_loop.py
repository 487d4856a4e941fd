"""Keeps long work on foreign input away from the event loop, so that leases, probes and other callers do not wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

LOOP_MAX_BYTES: Final = 16 * 1024
"""More input than this is worked on in a thread; less would take longer to hand over.

Measured: at most 2 ms for each KiB of the worst texts.
"""

_DECODERS: Final = ThreadPoolExecutor(2, thread_name_prefix="decode")


async def run_sized(size: int, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Return `work(…)`, called in a thread when its input has more than LOOP_MAX_BYTES bytes or characters."""
    if size <= LOOP_MAX_BYTES:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)


async def decode_sized(size: int, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Like `run_sized`, for what the API server sends, in threads of its own.

    The others are shared by the work for all tenants. It may take seconds for a manifest or a chart, and without
    watches nobody would be served meanwhile.
    """
    if size <= LOOP_MAX_BYTES:
        return work(*args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_DECODERS, partial(work, *args, **kwargs))
