"""The response to every change of an XApp: 202 with its record and Location, or 200 once it is ready (`wait`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.json import JsonObject, integer, obj
from xapp_operator.config import Settings
from xapp_operator.gateway.catalog.readiness import wait_until_settled
from xapp_operator.gateway.catalog.records import build_xapp_entry
from xapp_operator.gateway.http.openapi import PRETTY_PARAMETER, document_parameter
from xapp_operator.gateway.http.query import StrictQuery
from xapp_operator.gateway.http.responses import json_response
from xapp_operator.gateway.state import get_gateway

WRITE_PARAMETERS: Final = ("dryRun", "wait", "pretty")

WRITE_PARAMETER_DOCS: Final = (
    document_parameter(
        "dryRun", "Check and render only; nothing is changed.", schema={"type": "boolean", "default": False}
    ),
    document_parameter(
        "wait",
        "Seconds to wait for the xApp to become ready: 200 when it does, otherwise 202.",
        schema={"type": "number", "minimum": 0},
    ),
    PRETTY_PARAMETER,
)
_LOCATION_HEADER: Final = {"Location": "Path of the xApp's record."}
LOCATION_HEADERS: Final = {202: _LOCATION_HEADER, 200: _LOCATION_HEADER}


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The query of a change; `wait` in seconds."""

    dry_run: bool
    wait: float | None
    pretty: bool

    @classmethod
    def from_query(cls, query: StrictQuery, settings: Settings) -> WriteOptions:
        """Read the query.

        Raises:
            MalformedRequest: for a value that is not valid.
        """
        return cls(
            dry_run=query.boolean("dryRun"),
            wait=query.seconds("wait", high=settings.wait_max_seconds),
            pretty=query.boolean("pretty"),
        )


async def deployment_response(request: Request, xapp: JsonObject, options: WriteOptions) -> Response:
    """Answer with the record of the XApp that was written; `options` may ask to wait until it is ready."""
    gateway = get_gateway(request)
    gateway.cache.store_written(xapp)
    entry, status = build_xapp_entry(xapp), 202
    if options.wait is not None:
        settled_entry = await wait_until_settled(
            gateway.store,
            entry.key,
            uid=entry.uid,
            generation=integer(obj(xapp, "metadata"), "generation"),
            seconds=options.wait,
            request=request,
        )
        entry = settled_entry or entry
        status = 200 if settled_entry is not None and settled_entry.ready else 202
    location = f"/api/xapps/{entry.namespace}/{entry.name}"
    return json_response(entry.record_json, status=status, pretty=options.pretty, headers={"Location": location})
