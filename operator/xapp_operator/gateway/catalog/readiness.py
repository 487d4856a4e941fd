"""Waiting for an xApp to become ready, on the cache: nothing is polled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.requests import Request

from xapp_operator.gateway.catalog.records import XAppEntry
from xapp_operator.gateway.catalog.xapp_store import XAppRecordStore


async def wait_until_settled(
    store: XAppRecordStore, key: tuple[str, str], *, uid: str, generation: int, seconds: float, request: Request
) -> XAppEntry | None:
    """Return the entry of an XApp once nothing more is to be waited for, or as it is after `seconds`.

    That is: ready or stalled as of `generation`, deleted, or the client gone. None when it is deleted.
    """
    done = asyncio.Event()

    def check() -> None:
        entry = store.get(*key)
        if entry is None or entry.uid != uid or _is_settled(entry, generation):
            done.set()

    def on_change(_change: str, entry: XAppEntry) -> None:
        if entry.key == key:
            check()

    check()
    unsubscribe: Callable[[], None] = store.subscribe(on_change)
    disconnecting = asyncio.create_task(_wait_for_disconnect(request))
    waiting = asyncio.create_task(done.wait())
    try:
        await asyncio.wait({disconnecting, waiting}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        unsubscribe()
        disconnecting.cancel()
        waiting.cancel()
    entry = store.get(*key)
    return entry if entry is not None and entry.uid == uid else None


def _is_settled(entry: XAppEntry, generation: int) -> bool:
    return entry.observed_generation >= generation and (entry.ready or entry.stalled)


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
