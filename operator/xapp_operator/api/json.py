"""The type of decoded JSON, and access to its members without exceptions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final, TypeAlias

import orjson

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = dict[str, Json]

LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


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


def decode_json(
    data: bytes, *, encoding: str = "utf-8", pairs: Callable[[list[tuple[str, Json]]], JsonObject] | None = None
) -> Json:
    """Return the JSON in `data` as helm reads it: half a surrogate pair becomes a replacement character.

    Unlike orjson, it keeps integers beyond 64 bits. `pairs` makes an object of its members.

    Raises:
        ValueError: when it is not JSON in this encoding, or has an integer of thousands of digits.
        RecursionError: when it is nested too deeply.
    """
    value: Json = json.loads(data.decode(encoding), object_pairs_hook=pairs)
    return _without_lone_surrogates(value) if b"\\ud" in data or b"\\uD" in data else value


def _without_lone_surrogates(value: Json) -> Json:
    if isinstance(value, str):
        return LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_lone_surrogates(each) for each in value]
    if isinstance(value, dict):
        return {LONE_SURROGATE.sub("\ufffd", key): _without_lone_surrogates(each) for key, each in value.items()}
    return value


def encode_json(value: Json) -> bytes:
    """Return `value` as compact JSON; integers beyond 64 bits, which values may hold, are kept."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def encode_sorted(value: Json) -> bytes:
    """Return `value` as JSON that is the same for all equal values; integers beyond 64 bits are kept."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return json.dumps(value, sort_keys=True).encode()


def pack_json(value: Json) -> bytes:
    """Return `value` as compact JSON that is to be kept: what orjson returns holds a buffer of at least 8 KiB."""
    return bytes(memoryview(orjson.dumps(value)))
