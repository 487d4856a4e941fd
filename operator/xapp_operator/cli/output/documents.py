"""Records as JSON and YAML. Pure."""

from __future__ import annotations

import json
from textwrap import indent

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.cli.output.visible_text import in_json, is_harmless
from xapp_operator.domain.chart_values.values_text import dump_values_text


def to_json(value: Json) -> str:
    """Return indented JSON with the same data, safe for a terminal."""
    return in_json(json.dumps(value, indent=2, ensure_ascii=False))


def to_yaml(value: Json) -> str:
    """Return YAML with the same data, safe for a terminal. What YAML cannot show harmlessly is JSON, which is YAML."""
    if isinstance(value, dict):
        return _object_to_yaml(value)
    if isinstance(value, list) and value and all(isinstance(item, dict) and item for item in value):
        items = (_object_to_yaml(item) for item in value if isinstance(item, dict))
        return "".join("- " + indent(item, "  ")[2:] for item in items)
    return to_json(value) + "\n"


def _object_to_yaml(value: JsonObject) -> str:
    try:
        text = dump_values_text(value)
    except UnicodeEncodeError:  # half of a surrogate pair
        text = ""
    return text if text and is_harmless(text) else to_json(value) + "\n"
