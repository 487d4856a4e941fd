"""Parses helm's message about values that violate a chart's JSON schema: one `FieldError` for each violation. Pure.

For each chart of the tree, helm prints its name and an indented list of `- at '<JSON pointer>': <problem>`
(github.com/santhosh-tekuri/jsonschema v6). Values that it quotes are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import takewhile
from typing import Final

from xapp_operator.errors import ChartInvalid, FieldError, ValuesInvalid, XAppError

HEADLINE: Final = "values don't meet the specifications of the schema(s) in the following chart(s):"
SCHEMA_ERRORS_MAX: Final = 50

_CHART_LINE: Final = re.compile(r"^(?P<chart>[A-Za-z0-9][\w.-]*):$")
_VIOLATION_LINE: Final = re.compile(r"^(?P<indent> *)- at '(?P<pointer>(?:[^'\\]|\\.)*)': (?P<text>.*)$")
_QUOTED: Final = re.compile(r"'((?:[^'\\]++|\\.)*+)(?:(?P<end>')|\\?\Z)")
_GROUP_MESSAGES: Final = frozenset({"validation failed", "'allOf' failed"})
_ALTERNATIVE_MESSAGES: Final = ("'anyOf' failed", "'oneOf' failed, none matched")
_LEADING_VALUE: Final = re.compile(r"^(?:'(?:[^'\\]|\\.)*'|\S+) (?=does not match pattern |is not valid )")
_FORMAT_CAUSE: Final = re.compile(r"^(is not valid [^:]+): .*$", re.DOTALL)
_BOUND_MESSAGE: Final = re.compile(r"^(\w+): got .+?, want (.+)$")
_GO_NUMBER: Final = re.compile(r"^(-?[0-9]{1,3}(?:,[0-9]{3})*(?:\.[0-9]+)?)(?:\u00d710(⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}))?$")
_SUPERSCRIPTS: Final = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_PLAIN_EXPONENT_MAX: Final = 20


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
        if entry.text in _ALTERNATIVE_MESSAGES:
            inner = _nested_violations(entries[position:], entry.indent)
            position += len(inner)
            alternatives = dict.fromkeys(_without_value(one.text) for one in inner if one.text not in _GROUP_MESSAGES)
            yield FieldError(
                _field_path(prefix, entry.pointer), f"matches none of the alternatives: {'; '.join(alternatives)}"
            )
            continue
        yield from _field_errors_of(entry, prefix)


def _nested_violations(entries: Sequence[_Violation], indent: int) -> Sequence[_Violation]:
    return list(takewhile(lambda entry: entry.indent > indent, entries))


def _field_errors_of(entry: _Violation, prefix: str) -> Iterator[FieldError]:
    field = _field_path(prefix, entry.pointer)
    names = [_unescape_quotes(found[1]) for found in _QUOTED.finditer(entry.text) if found["end"]]
    if entry.text.startswith(("missing property ", "missing properties ")):
        yield from (FieldError(f"{field}.{name}", "is required") for name in names)
    elif entry.text.startswith("additional properties "):
        yield from (FieldError(f"{field}.{name}", "is not allowed by the chart's schema") for name in names)
    else:
        yield FieldError(field, _without_value(entry.text))


def _without_value(text: str) -> str:
    text = _FORMAT_CAUSE.sub(r"\1", _LEADING_VALUE.sub("", text))
    return _BOUND_MESSAGE.sub(lambda found: f"{found[1]}: want {_plain_number(found[2])}", text)


def _plain_number(text: str) -> str:
    """Return a bound as a schema has it: helm prints 1000 as `1,000`, and millions as a power of ten."""
    found = _GO_NUMBER.match(text)
    if found is None:
        return text
    exponent = int((found[2] or "0").translate(_SUPERSCRIPTS))
    if abs(exponent) > _PLAIN_EXPONENT_MAX:
        return text
    return f"{Decimal(found[1].replace(',', '')).scaleb(exponent):f}"


def _field_path(prefix: str, pointer: str) -> str:
    field = prefix
    for token in _unescape_quotes(pointer).split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        field += f"[{name}]" if name.isdecimal() else f".{name}"
    return field


def _unescape_quotes(text: str) -> str:
    return text.replace("\\'", "'").replace("\\\\", "\\")
