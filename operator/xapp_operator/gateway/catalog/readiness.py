"""Waiting until an xApp is ready, by the changes of the store."""

from __future__ import annotations

import asyncio

from starlette.requests import Request

from xapp_operator.gateway.catalog.records import XAppEntry
from xapp_operator.gateway.catalog.xapp_store import XAppRecordStore
from xapp_operator.gateway.http.streaming import wait_for_disconnect


async def wait_until_settled(
    store: XAppRecordStore, key: tuple[str, str], *, uid: str, generation: int, seconds: float, request: Request
) -> XAppEntry | None:
    """Return the entry of an XApp when it is settled, or as it is after `seconds`; None if it is deleted.

    An XApp is settled when it is ready or stalled as of `generation`. The wait also ends when the client disconnects.
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
    unsubscribe = store.subscribe(on_change)
    disconnecting = asyncio.create_task(wait_for_disconnect(request.receive))
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
