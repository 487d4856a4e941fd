"""Finds references in a values schema that leave the schema.

Helm fetches what a `$ref` in values.schema.json names, over HTTP or from its own disk, and also a `$schema` that is not
a published draft. A chart from a third party must not trigger this, so Helm then runs without the schemas.
"""

from __future__ import annotations

import json
import re
from typing import Final

from xapp_operator.api.json import Json, JsonObject

_REFERENCE_KEYS: Final = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))
_KNOWN_DRAFT: Final = re.compile(
    r"https?://json-schema\.org/(?:schema|draft-0[467]/schema|draft/(?:2019-09|2020-12)/schema)#?"
)


def read_schema(data: bytes) -> tuple[Json, bool]:
    """Return the decoded schema, and whether anything in it refers to another document.

    Every member of an object counts, even one that a duplicate key hides: parsers differ in which one they keep.
    Raises ValueError when the data is not JSON, RecursionError when it is nested too deeply.
    """
    has_external_refs = False

    def pairs(members: list[tuple[str, Json]]) -> JsonObject:
        nonlocal has_external_refs
        has_external_refs = has_external_refs or any(_is_external(key, value) for key, value in members)
        return dict(members)

    schema: Json = json.loads(data.decode("utf-8-sig"), object_pairs_hook=pairs)
    return schema, has_external_refs


def _is_external(key: str, value: Json) -> bool:
    if not isinstance(value, str):
        return False
    if key in _REFERENCE_KEYS:
        return not value.startswith("#")
    return key == "$schema" and not _KNOWN_DRAFT.fullmatch(value)
