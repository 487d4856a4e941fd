"""Cuts a status to what its schema allows, so that the API server never refuses it for a text that is too long. Pure.

The bounds are those of the CRD: `maxLength` of texts, `maxItems` of lists, 64 bits of integers. What a status says
comes from charts, clusters and repositories of others, so every field is cut here, once, before it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
    return _fit_object(status, _status_bounds(kind))


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The bounds of a value and of what is in it; None means no bound."""

    length: int | None = None
    count: int | None = None
    members: Mapping[str, _Bounds] = field(default_factory=dict)
    items: _Bounds | None = None

    @classmethod
    def of(cls, schema: JsonObject) -> _Bounds:
        return cls(
            length=integer(schema, "maxLength") if "maxLength" in schema else None,
            count=integer(schema, "maxItems") if "maxItems" in schema else None,
            members={name: cls.of(obj(obj(schema, "properties"), name)) for name in obj(schema, "properties")},
            items=cls.of(obj(schema, "items")) if "items" in schema else None,
        )


_UNBOUNDED: Final = _Bounds()


@cache
def _status_bounds(kind: str) -> _Bounds:
    return _Bounds.of(status_schema(kind))


def _fit_object(value: JsonObject, bounds: _Bounds) -> JsonObject:
    return {key: _fit(member, bounds.members.get(key, _UNBOUNDED)) for key, member in value.items()}


def _fit(value: Json, bounds: _Bounds) -> Json:
    if isinstance(value, str):
        valid = LONE_SURROGATE.sub("\ufffd", value)
        return valid if bounds.length is None else shorten(valid, bounds.length)
    if isinstance(value, dict):
        return _fit_object(value, bounds)
    if isinstance(value, list):
        return [_fit(member, bounds.items or _UNBOUNDED) for member in value[: bounds.count]]
    if isinstance(value, int) and not isinstance(value, bool):
        return max(-INTEGER_MAX, min(value, INTEGER_MAX))
    return value
