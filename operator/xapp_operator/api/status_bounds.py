"""Cuts a status to what its schema allows, so that the API server never refuses it for a text that is too long. Pure.

The bounds are those of the CRD: `maxLength` of texts, `maxItems` of lists, 64 bits of integers. What a status says
comes from charts, clusters and repositories of others, so every field is cut here, once, before it is written.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from xapp_operator.api.crds import chart_repository_crd, xapp_crd
from xapp_operator.api.json import LONE_SURROGATE, Json, JsonObject, integer, items, obj
from xapp_operator.api.names import REPOSITORY_KIND, XAPP_KIND
from xapp_operator.common.text import shorten

INTEGER_MAX: Final = 2**63 - 1

_CRD_BY_KIND: Final[dict[str, Callable[[], JsonObject]]] = {XAPP_KIND: xapp_crd, REPOSITORY_KIND: chart_repository_crd}


@cache
def status_schema(kind: str) -> JsonObject:
    """Return the schema of the status of an XApp or a ChartRepository, as its CRD has it."""
    (version,) = items(obj(_CRD_BY_KIND[kind](), "spec"), "versions")
    return obj(obj(obj(obj(version, "schema"), "openAPIV3Schema"), "properties"), "status")


def fit_status(status: JsonObject, *, kind: str) -> JsonObject:
    """Return `status` with every text, list and integer cut to the bounds of its schema.

    Half a surrogate pair, which no JSON can carry, becomes a replacement character.
    """
    return _fit_object(status, status_schema(kind))


def _fit_object(value: JsonObject, schema: JsonObject) -> JsonObject:
    properties = obj(schema, "properties")
    return {key: _fit(member, obj(properties, key)) for key, member in value.items()}


def _fit(value: Json, schema: JsonObject) -> Json:
    if isinstance(value, dict):
        return _fit_object(value, schema)
    if isinstance(value, list):
        inner = obj(schema, "items")
        return [_fit(member, inner) for member in value[: integer(schema, "maxItems", len(value))]]
    if isinstance(value, str):
        return shorten(LONE_SURROGATE.sub("\ufffd", value), integer(schema, "maxLength", len(value)))
    if isinstance(value, int) and not isinstance(value, bool):
        return max(-INTEGER_MAX, min(value, INTEGER_MAX))
    return value
