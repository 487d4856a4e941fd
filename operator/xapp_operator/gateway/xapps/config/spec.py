"""The spec of an XApp as its author could write it again: the deployment form, and the parts beside it."""

from __future__ import annotations

import asyncio

from xapp_operator.api.json import JsonObject, encode_json, integer, obj, text
from xapp_operator.domain.chart_values.yaml_values import MAX_DEPTH, deeper_than
from xapp_operator.domain.masking.redaction import redact
from xapp_operator.gateway.deploy.forms import FIELDS_SENT_AS_PARTS
from xapp_operator.gateway.xapps.context import XAppContext


async def get_spec(context: XAppContext) -> bytes:
    """Return the JSON of the spec, read with the caller's token; secrets in the values are masked.

    Raises:
        NoXAppResource: for an xApp that is known by its labels only.
        GatewayNotFound: when the XApp was deleted meanwhile.
    """
    context.require_xapp_resource()
    return await asyncio.to_thread(_encode_spec, await context.get_xapp())


def _encode_spec(xapp: JsonObject) -> bytes:
    spec = obj(xapp, "spec")
    values = spec.get("values")
    shown = redact(values) if isinstance(values, dict) and not deeper_than(values, MAX_DEPTH) else None
    metadata = obj(xapp, "metadata")
    return encode_json(
        {
            "uid": text(metadata, "uid"),
            "generation": integer(metadata, "generation"),
            "form": {name: value for name, value in spec.items() if name not in FIELDS_SENT_AS_PARTS},
            "values": shown,
            "archive": spec.get("archive"),
        }
    )
