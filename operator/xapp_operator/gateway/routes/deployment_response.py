"""The response to every change of an XApp: 202 with its record and Location; with `wait`, 200 once it is ready."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.json import JsonObject, integer, obj
from xapp_operator.config import Settings
from xapp_operator.gateway.catalog.records import XAppEntry, build_xapp_entry
from xapp_operator.gateway.catalog.xapp_store import XAppRecordStore
from xapp_operator.gateway.http.openapi import PRETTY_PARAMETER, document_parameter
from xapp_operator.gateway.http.query import StrictQuery
from xapp_operator.gateway.http.responses import json_response
from xapp_operator.gateway.http.streaming import run_until_one_ends, wait_for_disconnect
from xapp_operator.gateway.state import get_gateway

WRITE_PARAMETERS: Final = ("dryRun", "wait", "pretty")

WRITE_PARAMETER_DOCS: Final = (
    document_parameter(
        "dryRun", "Only check and render; change nothing.", schema={"type": "boolean", "default": False}
    ),
    document_parameter(
        "wait",
        "Wait at most this many seconds for the xApp to become ready: 200 if it does, 202 if not.",
        schema={"type": "number", "minimum": 0},
    ),
    PRETTY_PARAMETER,
)
_LOCATION_HEADER: Final = {"Location": "Path of the xApp's record."}
LOCATION_HEADERS: Final = {202: _LOCATION_HEADER, 200: _LOCATION_HEADER}


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The query parameters of a change; `wait` in seconds."""

    dry_run: bool
    wait: float | None
    pretty: bool

    @classmethod
    def from_query(cls, query: StrictQuery, settings: Settings) -> WriteOptions:
        """Read the query.

        Raises:
            MalformedRequest: for an invalid value.
        """
        return cls(
            dry_run=query.boolean("dryRun"),
            wait=query.seconds("wait", high=settings.wait_max_seconds),
            pretty=query.boolean("pretty"),
        )


async def deployment_response(request: Request, xapp: JsonObject, options: WriteOptions) -> Response:
    """Return the record of an XApp that was just written, after waiting for it when `options` ask for that."""
    gateway = get_gateway(request)
    gateway.cache.store_written(xapp)
    entry, status = build_xapp_entry(xapp), 202
    if options.wait is not None:
        generation = integer(obj(xapp, "metadata"), "generation")
        await _wait_until_settled(request, gateway.store, entry, generation=generation, seconds=options.wait)
        current = gateway.store.get(*entry.key)
        if current is not None and current.uid == entry.uid:
            entry = current
            status = 200 if current.ready else 202
    location = f"/api/xapps/{entry.namespace}/{entry.name}"
    return json_response(entry.record_json, status=status, pretty=options.pretty, headers={"Location": location})


async def _wait_until_settled(
    request: Request, store: XAppRecordStore, entry: XAppEntry, *, generation: int, seconds: float
) -> None:
    """Wait until the XApp is ready or stalled at `generation`, or deleted; or the client leaves, or `seconds` pass."""
    settled = asyncio.Event()

    def check() -> None:
        current = store.get(*entry.key)
        if (
            current is None
            or current.uid != entry.uid
            or (current.observed_generation >= generation and (current.ready or current.stalled))
        ):
            settled.set()

    def on_change(_change: str, changed: XAppEntry, _before: XAppEntry | None) -> None:
        if changed.key == entry.key:
            check()

    check()
    unsubscribe = store.subscribe(on_change)
    try:
        await run_until_one_ends(settled.wait(), wait_for_disconnect(request.receive), seconds=seconds)
    finally:
        unsubscribe()
