"""The type of decoded JSON, and access to its members without exceptions."""

from __future__ import annotations

import json
from typing import TypeAlias

import orjson

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = dict[str, Json]


def obj(value: Json | None, key: str) -> JsonObject:
    """Return `value[key]` when both are objects, else an empty object."""
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def items(value: Json | None, key: str) -> list[JsonObject]:
    """Return the objects in the list `value[key]`, or none."""
    inner = value.get(key) if isinstance(value, dict) else None
    return [item for item in inner if isinstance(item, dict)] if isinstance(inner, list) else []


def text(value: Json | None, key: str, default: str = "") -> str:
    """Return `value[key]` when it is a string, else `default`."""
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, str) else default


def integer(value: Json | None, key: str, default: int = 0) -> int:
    """Return `value[key]` when it is an integer, else `default`."""
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, int) and not isinstance(inner, bool) else default


def encode_json(value: Json) -> bytes:
    """Return `value` as compact JSON; integers beyond 64 bits, which values may hold, are kept."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def pack_json(value: Json) -> bytes:
    """Return `value` as compact JSON that is to be kept: what orjson returns holds a buffer of at least 8 KiB."""
    return bytes(memoryview(orjson.dumps(value)))
