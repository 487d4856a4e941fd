"""What every change of an XApp answers: 202 with its record and Location, or 200 once it is ready, when asked to wait.

Lives in the gateway, above the store, below the routes that change something.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.json import JsonObject, integer, obj
from xapp_operator.gateway.documented import PRETTY, parameter
from xapp_operator.gateway.query import Query
from xapp_operator.gateway.records import entry_of
from xapp_operator.gateway.responses import json_response
from xapp_operator.gateway.runtime import Gateway
from xapp_operator.gateway.waiting import settled

PARAMETERS: Final = ("dryRun", "wait", "pretty")

PARAMETER_DOCS: Final = (
    parameter("dryRun", "Check and render only; nothing is changed.", schema={"type": "boolean", "default": False}),
    parameter(
        "wait",
        "Seconds to wait for the xApp to become ready: 200 when it does, otherwise 202.",
        schema={"type": "number", "minimum": 0},
    ),
    PRETTY,
)
_LOCATED: Final = {"Location": "Path of the xApp's record."}
LOCATION: Final = {202: _LOCATED, 200: _LOCATED}


@dataclass(frozen=True, slots=True)
class Options:
    """The query of a change; `wait` in seconds."""

    dry_run: bool
    wait: float | None
    pretty: bool

    @classmethod
    def of(cls, query: Query, gateway: Gateway) -> Options:
        """Read the query.

        Raises:
            MalformedRequest: for a value that is none.
        """
        return cls(
            dry_run=query.boolean("dryRun"),
            wait=query.seconds("wait", high=gateway.settings.wait_max_seconds),
            pretty=query.boolean("pretty"),
        )


async def accepted(request: Request, gateway: Gateway, stored: JsonObject, options: Options) -> Response:
    """Answer with the record of what was written, after waiting for it where that is asked for."""
    gateway.cache.put(stored)
    entry, status = entry_of(stored), 202
    if options.wait is not None:
        found = await settled(
            gateway.store,
            entry.key,
            uid=entry.uid,
            generation=integer(obj(stored, "metadata"), "generation"),
            seconds=options.wait,
            request=request,
        )
        entry = found or entry
        status = 200 if found is not None and found.ready else 202
    location = f"/api/xapps/{entry.namespace}/{entry.name}"
    return json_response(entry.record, status=status, pretty=options.pretty, headers={"Location": location})
