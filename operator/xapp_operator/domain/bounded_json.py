"""Reads JSON from the API server that may be nested deeper than Python can handle. Pure.

The API server accepts 10,000 levels; json, orjson and copy.deepcopy stop at 254 to 1,000. One XApp with such values
would stop whoever reads a list or watch of XApps. Here, what is nested too deep becomes null. LEVELS_MAX is above the
bound on values, so `merge_values` still refuses the XApp with these values, and only that one.
"""

from __future__ import annotations

import re
from typing import Final, cast

import orjson

from xapp_operator.api.json import Json
from xapp_operator.domain.chart_values.yaml_values import MAX_DEPTH

LEVELS_MAX: Final = MAX_DEPTH + 50
"""Values may have MAX_DEPTH levels, and they are a few levels deep in an object in a list."""

_ENCODER_LEVELS_MAX: Final = 254
"""orjson.dumps refuses more levels."""

_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[{\]}]', re.DOTALL)


def loads_bounded(data: bytes) -> Json:
    """Return decoded JSON; objects and lists more than LEVELS_MAX deep become null.

    Raises orjson.JSONDecodeError when `data` is not JSON.
    """
    try:
        value: Json = orjson.loads(data)
        if _may_be_deep(data):
            _require_shallow(value)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        pruned = _prune(data)
        if pruned is None:
            raise
        return cast("Json", orjson.loads(pruned))
    return value


def prune_json(data: bytes) -> bytes:
    """Return `data` for another decoder: with null for objects and lists that are more than LEVELS_MAX deep.

    What is not JSON is returned too, so that the decoder reports it.
    """
    if _may_be_deep(data):
        try:
            _require_shallow(orjson.loads(data))
        except (orjson.JSONDecodeError, orjson.JSONEncodeError):
            return _prune(data) or data
    return data


def _may_be_deep(data: bytes) -> bool:
    return data.count(b"{") + data.count(b"[") > LEVELS_MAX


def _require_shallow(value: Json) -> None:
    """Raise orjson.JSONEncodeError if there are more than LEVELS_MAX levels.

    To encode the value takes half the time of decoding it; to count its levels in Python takes many times as long.
    """
    for _ in range(_ENCODER_LEVELS_MAX - LEVELS_MAX):
        value = [value]
    orjson.dumps(value)


def _prune(data: bytes) -> bytes | None:
    """Return `data` with null for each object or list that is nested too deep, or None if there is none."""
    parts: list[bytes] = []
    depth = resume_at = 0
    for token in _TOKEN.finditer(data):
        character = data[token.start()]
        if character in b"[{":
            depth += 1
            if depth == LEVELS_MAX + 1:
                parts += [data[resume_at : token.start()], b"null"]
        elif character in b"]}":
            if depth == LEVELS_MAX + 1:
                resume_at = token.end()
            depth -= 1
    return b"".join([*parts, data[resume_at:]]) if parts else None
