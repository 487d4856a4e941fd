"""Changes single values in a YAML text, so that the rest of it, with its comments, stays as it is. Pure.

Only simple changes are made in the text: a scalar that becomes another scalar, and a new key at the end of the text.
The result is read again: if it does not mean what the change means, there is none, and the caller sends the change.
"""

from __future__ import annotations

import json
from typing import Final

import yaml

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.domain.chart_values.values import apply_merge_patch, equal_values
from xapp_operator.domain.chart_values.values_text import dump_values_text
from xapp_operator.domain.chart_values.yaml_values import load_values
from xapp_operator.errors import ValuesInvalid

TEXT_MAX_BYTES: Final = 1024 * 1024
_BLOCK_STYLES: Final = frozenset({"|", ">"})


def patch_text(source: str, patch: JsonObject) -> str | None:
    """Return `source` after a JSON merge patch, or None if that cannot be done in the text."""
    try:
        before = load_values(source, source="values", max_bytes=TEXT_MAX_BYTES)
        root = yaml.compose(source, Loader=yaml.SafeLoader)
        if root is not None and not isinstance(root, yaml.MappingNode):
            return None
        result = _patched(source, root, patch)
        if result is None:
            return None
        after = load_values(result, source="values", max_bytes=TEXT_MAX_BYTES)
    except (ValuesInvalid, yaml.YAMLError, RecursionError):
        return None
    return result if equal_values(after, apply_merge_patch(before, patch)) else None


def _patched(source: str, root: yaml.MappingNode | None, patch: JsonObject) -> str | None:
    spans: list[tuple[int, int, str]] = []
    added: JsonObject = {}
    for key, value in patch.items():
        node = _member(root, key)
        if node is None:
            added[key] = value
        elif not _collect(node, value, spans):
            return None
    result = source
    for start, end, written in sorted(spans, reverse=True):
        result = result[:start] + written + result[end:]
    if not added:
        return result
    return result + ("" if result.endswith("\n") or not result else "\n") + dump_values_text(added)


def _collect(node: yaml.Node, value: Json, spans: list[tuple[int, int, str]]) -> bool:
    """Add what to write where to `spans`, and return whether that is possible."""
    if isinstance(value, dict):
        members = [(_member(node, key), below) for key, below in value.items()]
        return all(member is not None and _collect(member, below, spans) for member, below in members)
    if not isinstance(node, yaml.ScalarNode) or node.style in _BLOCK_STYLES or isinstance(value, list) or value is None:
        return False
    spans.append((node.start_mark.index, node.end_mark.index, _scalar(value)))
    return True


def _member(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    found: list[yaml.Node] = [value for name, value in node.value if name.value == key]
    return found[0] if len(found) == 1 else None


def _scalar(value: Json) -> str:
    if isinstance(value, str):
        return (
            dump_values_text({"x": value}).removeprefix("x: ").rstrip("\n") if "\n" not in value else json.dumps(value)
        )
    return json.dumps(value)
