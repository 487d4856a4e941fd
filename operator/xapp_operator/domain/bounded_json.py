"""JSON of the API server that is nested deeper than Python's decoders go.

The API server takes 10,000 levels, orjson and json stop at about 1,000: one XApp with such values would make every list
of XApps unreadable for operator and gateway. So what lies too deep is read as null; with LEVELS above the bound on
values, `values.merge` still refuses the XApp that has it, and only that one. Pure, and no slower where all is well.
"""

from __future__ import annotations

import re
from typing import Final, cast

import orjson

from xapp_operator.api.json import Json
from xapp_operator.domain.yaml_values import MAX_DEPTH

LEVELS_MAX: Final = MAX_DEPTH + 50
"""Values may have MAX_DEPTH levels, and lie a few levels deep in an object in a list."""

_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{\]}]', re.DOTALL)


def loads_bounded(data: bytes) -> Json:
    """Return decoded JSON; objects and lists more than LEVELS deep are read as null.

    Raises orjson.JSONDecodeError for what is no JSON.
    """
    try:
        return cast("Json", orjson.loads(data))
    except orjson.JSONDecodeError:
        pruned = _prune(data)
        if pruned is None:
            raise
        return cast("Json", orjson.loads(pruned))


def _prune(data: bytes) -> bytes | None:
    """Return `data` with null for each object or list that lies too deep, or None where nothing does."""
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
