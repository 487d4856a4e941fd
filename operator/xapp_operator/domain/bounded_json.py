"""Decodes JSON from the API server that may be nested deeper than Python can decode. Pure.

The API server accepts 10,000 levels; orjson and json stop at about 1,000. One XApp with such values would make every
list of XApps unreadable. Here, what is nested too deep becomes null. LEVELS_MAX is above the bound on values, so
`merge_values` still refuses the XApp with these values, and only that one.
"""

from __future__ import annotations

import re
from typing import Final, cast

import orjson

from xapp_operator.api.json import Json
from xapp_operator.domain.chart_values.yaml_values import MAX_DEPTH

LEVELS_MAX: Final = MAX_DEPTH + 50
"""Values may have MAX_DEPTH levels, and they are a few levels deep in an object in a list."""

_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[{\]}]', re.DOTALL)


def loads_bounded(data: bytes) -> Json:
    """Return decoded JSON; objects and lists more than LEVELS_MAX deep become null.

    Raises orjson.JSONDecodeError when `data` is not JSON.
    """
    try:
        return cast("Json", orjson.loads(data))
    except orjson.JSONDecodeError:
        pruned = _prune(data)
        if pruned is None:
            raise
        return cast("Json", orjson.loads(pruned))


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
