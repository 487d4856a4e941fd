"""A tenant whose chart, object or repository has huge texts: every field of a status is cut to what its schema allows.

A text that is too long would make the API server refuse the whole status.
"""

from __future__ import annotations

from collections.abc import Iterator

import jsonschema
import pytest

from xapp_operator.api.json import Json, JsonObject, integer, obj
from xapp_operator.api.names import REPOSITORY_KIND, XAPP_KIND
from xapp_operator.api.status_bounds import INTEGER_MAX, fit_status, status_schema

Path = tuple[str, ...]

KINDS = (XAPP_KIND, REPOSITORY_KIND)
LIST = "[]"
CHARACTERS = ("x", "\u00e9", "\U0001f600", "\ud800", "\x00")


def fields(schema: JsonObject, path: Path = ()) -> Iterator[tuple[Path, JsonObject]]:
    """Yield the path and the schema of every field below `schema`, and of the items of lists."""
    for name, inner in obj(schema, "properties").items():
        assert isinstance(inner, dict)
        yield (*path, name), inner
        yield from fields(inner, (*path, name))
        if "items" in inner:
            yield (*path, name, LIST), obj(inner, "items")
            yield from fields(obj(inner, "items"), (*path, name, LIST))


FIELDS = [(kind, path, schema) for kind in KINDS for path, schema in fields(status_schema(kind))]
IDS = [f"{kind}.{'.'.join(path)}" for kind, path, _ in FIELDS]


def hostile_values(schema: JsonObject) -> Iterator[Json]:
    """Yield values of the type of a field, far beyond its bounds too."""
    if schema.get("type") == "array":
        yield [{} for _ in range(integer(schema, "maxItems") + 1)]
    elif schema.get("type") == "integer":
        yield from (INTEGER_MAX + 1, -(2**80), 10**40)
    elif "maxLength" in schema:
        bound = integer(schema, "maxLength")
        yield from (character * size for character in CHARACTERS for size in (1, bound, bound + 1, 4 * bound))


def status_with(path: Path, value: Json) -> JsonObject:
    """Return a status with one field."""
    for name in reversed(path):
        value = [value] if name == LIST else {name: value}
    assert isinstance(value, dict)
    return value


def without_required(schema: Json) -> Json:
    if isinstance(schema, dict):
        return {key: without_required(inner) for key, inner in schema.items() if key != "required"}
    return [without_required(inner) for inner in schema] if isinstance(schema, list) else schema


def test_the_schemas_have_fields() -> None:
    assert {"XApp.conditions.[].message", "XApp.lastAttempt.message", "ChartRepository.conditions.[].message"} <= {*IDS}


@pytest.mark.parametrize(("kind", "path", "schema"), FIELDS, ids=IDS)
def test_every_text_and_list_of_a_status_has_a_bound(kind: str, path: Path, schema: JsonObject) -> None:
    assert kind
    assert path
    if schema.get("type") == "array":
        assert integer(schema, "maxItems") > 0
    elif schema.get("type") == "string" or schema.get("x-kubernetes-int-or-string"):
        assert "enum" in schema or schema.get("format") == "date-time" or integer(schema, "maxLength") > 0
    else:
        assert schema.get("type") in ("object", "integer", "boolean")


@pytest.mark.parametrize(("kind", "path", "schema"), FIELDS, ids=IDS)
def test_any_value_of_a_field_is_valid_after_the_cut(kind: str, path: Path, schema: JsonObject) -> None:
    whole = without_required(status_schema(kind))
    assert isinstance(whole, dict)
    for value in hostile_values(schema):
        fitted = fit_status(status_with(path, value), kind=kind)
        assert jsonschema.Draft202012Validator(whole).is_valid(fitted)
        assert fit_status(fitted, kind=kind) == fitted
        found: Json = fitted
        for name in path:
            found = found[0] if isinstance(found, list) else obj({"status": found}, "status")[name]
        if isinstance(found, str):
            found.encode()  # no half of a surrogate pair
        elif isinstance(found, int):
            assert abs(found) <= INTEGER_MAX


@pytest.mark.parametrize("kind", KINDS)
def test_a_status_within_its_bounds_is_not_changed(kind: str) -> None:
    for path, schema in fields(status_schema(kind)):
        value = "x" * integer(schema, "maxLength") if "maxLength" in schema else None
        assert fit_status(status_with(path, value), kind=kind) == status_with(path, value)
