"""Parses helm's message about values that violate a chart's JSON schema: one `FieldError` for each violation. Pure.

For each chart of the tree, helm prints its name and an indented list of `- at '<JSON pointer>': <problem>`
(github.com/santhosh-tekuri/jsonschema v6). `schema_messages.py` words the problems.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from xapp_operator.errors import ChartInvalid, FieldError, ValuesInvalid, XAppError
from xapp_operator.helm.results.schema_messages import (
    NOT_ALLOWED,
    REQUIRED,
    quoted_texts,
    schema_message,
    unescape_quotes,
)

HEADLINE: Final = "values don't meet the specifications of the schema(s) in the following chart(s):"
SCHEMA_ERRORS_MAX: Final = 50

_CHART_LINE: Final = re.compile(r"^(?P<chart>[A-Za-z0-9][\w.-]*):$")
_VIOLATION_LINE: Final = re.compile(r"^(?P<indent> *)- at '(?P<pointer>(?:[^'\\]|\\.)*)': (?P<text>.*)$")
_GROUP_MESSAGES: Final = frozenset({"validation failed", "'allOf' failed"})
_ALTERNATIVE_MESSAGES: Final = ("'anyOf' failed", "'oneOf' failed, none matched")
_PROPERTY_NAME: Final = "invalid propertyName "
_CONTAINS: Final = ("no items match contains schema", "min ", "max ")
"""The items that do not count are listed below."""


@dataclass(frozen=True, slots=True)
class _Violation:
    indent: int
    pointer: str
    text: str


def schema_error(message: str, *, chart: str) -> XAppError | None:
    """Return the error for helm's `message`, or None if it is not about a schema.

    `chart` is the name of the chart itself, empty if unknown; fields of other charts get the subchart's name in front.
    A schema that is invalid itself is ChartInvalid.
    """
    if HEADLINE not in message:
        return None
    errors: list[FieldError] = []
    for section, lines in _sections_by_chart(message.split(HEADLINE, 1)[1]):
        entries = [entry for line in lines if (entry := _parse_violation(line))]
        if not entries or "is not valid against metaschema" in " ".join(lines):
            return _invalid_schema(section, lines)
        prefix = "values" if not chart or section == chart else f"values.{section}"
        errors.extend(_violation_errors(entries, prefix))
    if not errors:
        return _invalid_schema(chart, [])
    reported = tuple(errors[:SCHEMA_ERRORS_MAX])
    fields = ", ".join(dict.fromkeys(error.field for error in reported[:5]))
    count = f"{len(errors)} value{'s' if len(errors) > 1 else ''}"
    return ValuesInvalid(
        f"the chart's schema refuses {count} ({fields}). First, {reported[0].field} {reported[0].message}. "
        "Fix the values",
        errors=reported,
    )


def _sections_by_chart(body: str) -> Iterator[tuple[str, list[str]]]:
    name, lines = "", list[str]()
    for line in body.splitlines():
        if matched := _CHART_LINE.match(line):
            if name:
                yield name, lines
            name, lines = matched["chart"], []
        elif line.strip():
            lines.append(line)
    if name:
        yield name, lines


def _parse_violation(line: str) -> _Violation | None:
    matched = _VIOLATION_LINE.match(line)
    return _Violation(len(matched["indent"]), matched["pointer"], matched["text"]) if matched else None


def _invalid_schema(chart: str, lines: Sequence[str]) -> ChartInvalid:
    detail = lines[0].strip() if lines else "it cannot be read"
    name = f"chart {chart}" if chart else "the chart"
    return ChartInvalid(f"values.schema.json of {name} is not a valid schema: {detail}. Fix the chart")


def _violation_errors(entries: Sequence[_Violation], prefix: str) -> Iterator[FieldError]:
    position = 0
    while position < len(entries):
        entry = entries[position]
        position += 1
        if entry.text in _GROUP_MESSAGES:
            continue
        is_outer = entry.text in _ALTERNATIVE_MESSAGES or entry.text.startswith((_PROPERTY_NAME, *_CONTAINS))
        inner = _nested_violations(entries, position, entry.indent) if is_outer else ()
        position += len(inner)
        if entry.text in _ALTERNATIVE_MESSAGES:
            alternatives = _messages_below(inner, entry, prefix)
            yield FieldError(_field_path(prefix, entry.pointer), f"matches none of the alternatives: {alternatives}")
        elif entry.text.startswith(_PROPERTY_NAME):
            # Its pointer, and those below, are wrong in jsonschema v6.
            name = "".join(quoted_texts(entry.text)[:1])
            reasons = _messages_below(inner, entry, prefix)
            yield FieldError(prefix, f"has the key {name}, which the chart's schema refuses: {reasons}")
        else:
            yield from _field_errors_of(entry, prefix)


def _nested_violations(entries: Sequence[_Violation], start: int, indent: int) -> Sequence[_Violation]:
    following = (entries[at] for at in range(start, len(entries)))
    return list(takewhile(lambda entry: entry.indent > indent, following))


def _messages_below(inner: Sequence[_Violation], outer: _Violation, prefix: str) -> str:
    """Return the messages of the violations inside of another one, each once, with their paths below it."""
    base = _field_path(prefix, outer.pointer)
    headings = {*_GROUP_MESSAGES, *_ALTERNATIVE_MESSAGES}
    errors = [error for one in inner if one.text not in headings for error in _field_errors_of(one, prefix)]
    return "; ".join(dict.fromkeys(f"{_path_below(base, error.field)}{error.message}" for error in errors))


def _path_below(base: str, field: str) -> str:
    return f"{field[len(base) :].removeprefix('.')} " if field.startswith((f"{base}.", f"{base}[")) else ""


def _field_errors_of(entry: _Violation, prefix: str) -> Iterator[FieldError]:
    field, text = _field_path(prefix, entry.pointer), entry.text
    if text.startswith(("missing property ", "missing properties ")):
        yield from (FieldError(f"{field}.{name}", REQUIRED) for name in quoted_texts(text))
    elif text.startswith("additional properties "):
        yield from (FieldError(f"{field}.{name}", NOT_ALLOWED) for name in quoted_texts(text))
    elif text.startswith("properties "):
        *names, given = quoted_texts(text) or [""]
        yield from (FieldError(f"{field}.{name}", f"{REQUIRED} if {given} is given") for name in names)
    else:
        yield FieldError(field, schema_message(text))


def _field_path(prefix: str, pointer: str) -> str:
    field = prefix
    for token in unescape_quotes(pointer).split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        field += f"[{name}]" if name.isdecimal() else f".{name}"
    return field
