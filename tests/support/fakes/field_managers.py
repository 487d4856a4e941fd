"""Who manages which field of an object: `metadata.managedFields`."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any

import orjson

from tests.support.fakes.json_patch import Json
from tests.support.fakes.list_keys import element, has_keys

Path = tuple[str, ...]

_ATOMIC = {("Deployment", "selector")}
"""Structures that one manager owns as a whole."""


def managed_fields(body: Json, *, manager: str, operation: str = "Apply") -> list[Json]:
    """Return `metadata.managedFields` for the fields of an applied object."""
    kind = str(body["kind"])
    fields = {
        f"f:{key}": _fields(kind, value) for key, value in body.items() if key not in ("apiVersion", "kind", "metadata")
    }
    metadata = body.get("metadata", {})
    named = {f"f:{key}": _fields(kind, metadata[key]) for key in ("annotations", "labels") if metadata.get(key)}
    if named:
        fields["f:metadata"] = named
    if kind == "Deployment":
        fields["f:spec"].update({f"f:{key}": {} for parent, key in _ATOMIC if parent == kind})
    return [
        {
            "manager": manager,
            "operation": operation,
            "apiVersion": body["apiVersion"],
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
    ]


def _fields(kind: str, value: Any) -> Json:
    if isinstance(value, dict):
        return {f"f:{key}": _fields(kind, each) for key, each in value.items()}
    if has_keys(value):
        return {element(each): {".": {}, **_fields(kind, each)} for each in value}
    return {}


def fields_of(live: Json, manager: str) -> tuple[Json, list[Json]]:
    """Return the fields that a manager has applied, and those of each other one."""
    own: Json = {}
    others = []
    for each in live["metadata"].get("managedFields", []):
        if (each["manager"], each.get("operation")) == (manager, "Apply"):
            own = each["fieldsV1"]
        else:
            others.append(each.get("fieldsV1", {}))
    return own, others


def hand_over(before: Json, after: Json, *, manager: str = "") -> list[Json]:
    """Return the entries after an update: `manager` manages what it has changed, and nobody what is gone.

    An update may set the entries, if they are valid.
    """
    parts, new_parts = _managed_parts(before), _managed_parts(after)
    equal = {key for key, part in parts.items() if key in new_parts and new_parts[key] == part}
    old, new = dict(_leaves(parts, without=equal)), dict(_leaves(new_parts, without=equal))
    written = after["metadata"].get("managedFields", [])
    valid = bool(written) and all("fieldsV1" in each for each in written)
    entries: list[Json] = orjson.loads(orjson.dumps(written if valid else before["metadata"].get("managedFields", [])))
    for path in [path for path, value in old.items() if path not in new or new[path] != value]:
        for entry in entries:
            _drop(entry["fieldsV1"], path)
    changed = [path for path, value in new.items() if path not in old or old[path] != value]
    if manager and changed:
        own = next((each for each in entries if (each["manager"], each["operation"]) == (manager, "Update")), None)
        if own is None:
            own = {"manager": manager, "operation": "Update", "apiVersion": after["apiVersion"], "fieldsV1": {}}
            entries.append({**own, "fieldsType": "FieldsV1"})
        for path in changed:
            fields = own["fieldsV1"]
            for key in path:
                fields = fields.setdefault(key, {})
    return [each for each in entries if each["fieldsV1"]]


def _managed_parts(body: Json) -> Json:
    metadata = {key: value for key, value in body["metadata"].items() if key in ("annotations", "labels")}
    parts = {key: value for key, value in body.items() if key not in ("apiVersion", "kind", "status")}
    return {**parts, "metadata": metadata}


def _leaves(parts: Json, *, without: Set[str]) -> Iterator[tuple[Path, Any]]:
    return _leaves_below((), {key: value for key, value in parts.items() if key not in without})


def _leaves_below(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves_below((*path, f"f:{key}"), each)
    elif value and has_keys(value):
        for each in value:
            yield (*path, element(each), "."), None
            yield from _leaves_below((*path, element(each)), each)
    else:
        yield path, value


def _drop(fields: Json, path: Path) -> None:
    key, *rest = path
    if key not in fields:
        return
    _drop(fields[key], tuple(rest)) if rest else fields[key].clear()
    if not fields[key] or list(fields[key]) == ["."]:
        del fields[key]
