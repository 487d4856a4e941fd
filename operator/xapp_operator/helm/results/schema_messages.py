"""Messages about values that break a chart's JSON schema, from those of helm. They follow the name of a value. Pure.

The page that edits values has the same (`operator/dashboard/src/lib/schema/schemaMessages.ts`). Values that helm quotes
are left out. The texts are those of github.com/santhosh-tekuri/jsonschema v6 (`kind/kind.go`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Final

RULE_CHARACTERS_MAX: Final = 200
"""A longer pattern or list of values is not repeated."""

NOT_ALLOWED: Final = "is not allowed by the chart's schema"
REQUIRED: Final = "is required"

_QUOTED: Final = re.compile(r"'((?:[^'\\]++|\\.)*+)(?:(?P<end>')|\\?\Z)")
_LEADING_VALUE: Final = re.compile(r"^(?:'(?:[^'\\]|\\.)*'|\S+) (?=does not match pattern |is not valid )")
_FORMAT_CAUSE: Final = re.compile(r"^is not valid ([^:]+): .*$", re.DOTALL)
_BOUND: Final = re.compile(r"^(\w+): got .+?, want (.+)$")
_GO_NUMBER: Final = re.compile(r"^(-?[0-9]{1,3}(?:,[0-9]{3})*(?:\.[0-9]+)?)(?:\u00d710(⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}))?$")
_SUPERSCRIPTS: Final = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_PLAIN_EXPONENT_MAX: Final = 20

_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "null": "null",
        "boolean": "a boolean",
        "number": "a number",
        "integer": "an integer",
        "string": "a string",
        "array": "an array",
        "object": "an object",
    }
)
_BOUNDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "minLength": "is too short: at least {} character{s}",
        "maxLength": "is too long: at most {} character{s}",
        "minItems": "has too few items: at least {}",
        "maxItems": "has too many items: at most {}",
        "minProperties": "has too few keys: at least {}",
        "maxProperties": "has too many keys: at most {}",
        "minimum": "must be at least {}",
        "maximum": "must be at most {}",
        "exclusiveMinimum": "must be more than {}",
        "exclusiveMaximum": "must be less than {}",
        "multipleOf": "must be a multiple of {}",
    }
)
_LONG_RULES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "must match ": "must match the pattern in the chart's schema",
        "must be ": "must be one of the values in the chart's schema",
    }
)
_WHOLE_TEXTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "false schema": NOT_ALLOWED,
        "'not' failed": NOT_ALLOWED,
        "'enum' failed": "must be one of the values in the chart's schema",
        "'const' failed": "must be the value in the chart's schema",
        "'contentSchema' failed": "has content that the chart's schema refuses",
        "no items match contains schema": "has no item that the chart's schema asks for",
    }
)


def schema_message(text: str) -> str:
    """Return for example `must be at most 10` for helm's `maximum: got 11, want 10`; unknown texts stay as they are."""
    text = _LEADING_VALUE.sub("", text)
    if text in _WHOLE_TEXTS:
        return _WHOLE_TEXTS[text]
    if found := _BOUND.match(text):
        return _bound_message(found[1], plain_number(found[2]), text)
    return next((message(text) for start, message in _MESSAGES.items() if text.startswith(start)), text)


def quoted_texts(text: str) -> list[str]:
    """Return what helm has in quotes; a quote that does not end is left out."""
    return [unescape_quotes(found[1]) for found in _QUOTED.finditer(text) if found["end"]]


def unescape_quotes(text: str) -> str:
    return text.replace("\\'", "'").replace("\\\\", "\\")


def plain_number(text: str) -> str:
    """Return a bound as a schema has it: helm prints 1000 as `1,000`, and millions as a power of ten."""
    found = _GO_NUMBER.match(text)
    if found is None:
        return text
    exponent = int((found[2] or "0").translate(_SUPERSCRIPTS))
    if abs(exponent) > _PLAIN_EXPONENT_MAX:
        return text
    return f"{Decimal(found[1].replace(',', '')).scaleb(exponent):f}"


def _bound_message(keyword: str, bound: str, text: str) -> str:
    template = _BOUNDS.get(keyword)
    return text if template is None else template.format(bound, s="" if bound == "1" else "s")


def _type_message(text: str) -> str:
    got, _, want = text.removeprefix("got ").partition(", want ")
    wanted = " or ".join(_TYPES.get(each, each) for each in want.split(" or "))
    is_said = got == "number" and "an integer" in wanted
    return f"must be {wanted}" if is_said else f"must be {wanted}, not {_TYPES.get(got, got)}"


def _values_message(text: str) -> str:
    return _shortened("must be ", unescape_quotes(text.removeprefix("value must be ")).replace("<nil>", "null"))


def _pattern_message(text: str) -> str:
    return _shortened("must match ", unescape_quotes(text.removeprefix("does not match pattern ")[1:-1]))


def _shortened(start: str, rule: str) -> str:
    return start + rule if len(rule) <= RULE_CHARACTERS_MAX else _LONG_RULES[start]


def _format_message(text: str) -> str:
    return _FORMAT_CAUSE.sub(r"must have the format \1", text)


def _encoding_message(text: str) -> str:
    return f"must be encoded as {_first_quoted(text)}"


def _media_type_message(text: str) -> str:
    return f"must have the media type {_first_quoted(text)}"


def _first_quoted(text: str) -> str:
    return next(iter(quoted_texts(text)), "in the chart's schema")


def _surplus_message(text: str) -> str:
    count = plain_number(text.split()[1])
    return f"has {count} item{'' if count == '1' else 's'} too many"


def _equal_items_message(text: str) -> str:
    words = text.split()
    return f"has equal items: [{plain_number(words[2])}] and [{plain_number(words[4])}]"


def _contains_message(text: str) -> str:
    bound, count = ("at least", "few") if text.startswith("min ") else ("at most", "many")
    return f"has too {count} items that the chart's schema asks for: {bound} {plain_number(text.split()[1])}"


_MESSAGES: Final[Mapping[str, Callable[[str], str]]] = MappingProxyType(
    {
        "got ": _type_message,
        "value must be ": _values_message,
        "does not match pattern ": _pattern_message,
        "is not valid ": _format_message,
        "value is not of mediatype ": _media_type_message,
        "value is not ": _encoding_message,
        "last ": _surplus_message,
        "items at ": _equal_items_message,
        "min ": _contains_message,
        "max ": _contains_message,
        "'oneOf' failed, subschemas ": lambda _: "matches several alternatives of the chart's schema, not exactly one",
    }
)
