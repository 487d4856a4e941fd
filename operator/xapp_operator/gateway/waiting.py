"""Waiting for an xApp to become ready, on the cache: nothing is polled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.requests import Request

from xapp_operator.gateway.records import Entry
from xapp_operator.gateway.store import RecordStore


async def settled(
    store: RecordStore, key: tuple[str, str], *, uid: str, generation: int, seconds: float, request: Request
) -> Entry | None:
    """Return the entry of an XApp once nothing more is to be waited for, or as it is after `seconds`.

    That is: ready or stalled as of `generation`, deleted, or the client gone. None when it is deleted.
    """
    done = asyncio.Event()

    def look() -> None:
        entry = store.get(*key)
        if entry is None or entry.uid != uid or _is_settled(entry, generation):
            done.set()

    def hear(_change: str, entry: Entry) -> None:
        if entry.key == key:
            look()

    look()
    end: Callable[[], None] = store.subscribe(hear)
    leaving = asyncio.create_task(_gone(request))
    waiting = asyncio.create_task(done.wait())
    try:
        await asyncio.wait({leaving, waiting}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        end()
        leaving.cancel()
        waiting.cancel()
    entry = store.get(*key)
    return entry if entry is not None and entry.uid == uid else None


def _is_settled(entry: Entry, generation: int) -> bool:
    return entry.observed_generation >= generation and (entry.ready or entry.stalled)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
