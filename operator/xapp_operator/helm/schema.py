"""What helm says of values that a chart's JSON schema refuses, as one `FieldError` a violation. Pure.

Helm prints, for each chart of the tree, its name and an indented list of `- at '<JSON pointer>': <what is wrong>`
(github.com/santhosh-tekuri/jsonschema v6). Values that it quotes are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from xapp_operator.errors import ChartInvalid, FieldError, ValuesInvalid, XAppError

HEADLINE: Final = "values don't meet the specifications of the schema(s) in the following chart(s):"
ERRORS_MAX: Final = 50

_SECTION: Final = re.compile(r"^(?P<chart>[A-Za-z0-9][\w.-]*):$")
_ENTRY: Final = re.compile(r"^(?P<indent> *)- at '(?P<pointer>(?:[^'\\]|\\.)*)': (?P<text>.*)$")
_QUOTED: Final = re.compile(r"'((?:[^'\\]|\\.)*)'")
_WRAPPERS: Final = frozenset({"validation failed", "'allOf' failed"})
_ALTERNATIVES: Final = ("'anyOf' failed", "'oneOf' failed, none matched")
_LEADING_VALUE: Final = re.compile(r"^(?:'(?:[^'\\]|\\.)*'|\S+) (?=does not match pattern |is not valid )")
_VALID_CAUSE: Final = re.compile(r"^(is not valid [^:]+): .*$", re.DOTALL)
_BOUND: Final = re.compile(r"^(\w+): got [^,]+, want (.+)$")


@dataclass(frozen=True, slots=True)
class _Entry:
    indent: int
    pointer: str
    text: str


def schema_error(message: str, *, chart: str) -> XAppError | None:
    """Return the error for helm's `message`, or None where it is not about a schema.

    `chart` is the name of the chart itself, so that fields of a subchart get its name in front; unknown when empty.
    A schema that is broken itself is ChartInvalid.
    """
    if HEADLINE not in message:
        return None
    errors: list[FieldError] = []
    for section, lines in _sections(message.split(HEADLINE, 1)[1]):
        entries = [entry for line in lines if (entry := _entry(line))]
        if not entries or "is not valid against metaschema" in " ".join(lines):
            return _broken(section, lines)
        prefix = "values" if not chart or section == chart else f"values.{section}"
        errors.extend(_violations(entries, prefix))
    if not errors:
        return _broken(chart, [])
    kept = tuple(errors[:ERRORS_MAX])
    fields = ", ".join(dict.fromkeys(error.field for error in kept[:5]))
    count = f"{len(errors)} value{'s' if len(errors) > 1 else ''}"
    return ValuesInvalid(
        f"the chart's schema refuses {count} ({fields}): first, {kept[0].field} {kept[0].message}; mend the values",
        errors=kept,
    )


def _sections(body: str) -> Iterator[tuple[str, list[str]]]:
    name, lines = "", list[str]()
    for line in body.splitlines():
        if matched := _SECTION.match(line):
            if name:
                yield name, lines
            name, lines = matched["chart"], []
        elif line.strip():
            lines.append(line)
    if name:
        yield name, lines


def _entry(line: str) -> _Entry | None:
    matched = _ENTRY.match(line)
    return _Entry(len(matched["indent"]), matched["pointer"], matched["text"]) if matched else None


def _broken(chart: str, lines: Sequence[str]) -> ChartInvalid:
    detail = lines[0].strip() if lines else "it cannot be read"
    return ChartInvalid(
        f"values.schema.json of chart {chart or 'itself'} is not a valid schema: {detail}; mend the chart"
    )


def _violations(entries: Sequence[_Entry], prefix: str) -> Iterator[FieldError]:
    position = 0
    while position < len(entries):
        entry = entries[position]
        position += 1
        if entry.text in _WRAPPERS:
            continue
        if entry.text in _ALTERNATIVES:
            inner = _below(entries, position, entry.indent)
            position += len(inner)
            said = dict.fromkeys(_plain(one.text) for one in inner if one.text not in _WRAPPERS)
            yield FieldError(_field(prefix, entry.pointer), f"fits none of the alternatives: {'; '.join(said)}")
            continue
        yield from _one(entry, prefix)


def _below(entries: Sequence[_Entry], start: int, indent: int) -> Sequence[_Entry]:
    end = start
    while end < len(entries) and entries[end].indent > indent:
        end += 1
    return entries[start:end]


def _one(entry: _Entry, prefix: str) -> Iterator[FieldError]:
    field = _field(prefix, entry.pointer)
    named = [_unescape(name) for name in _QUOTED.findall(entry.text)]
    if entry.text.startswith(("missing property ", "missing properties ")):
        yield from (FieldError(f"{field}.{name}", "is required") for name in named)
    elif entry.text.startswith("additional properties "):
        yield from (FieldError(f"{field}.{name}", "is not allowed by the chart's schema") for name in named)
    else:
        yield FieldError(field, _plain(entry.text))


def _plain(text: str) -> str:
    text = _VALID_CAUSE.sub(r"\1", _LEADING_VALUE.sub("", text))
    return _BOUND.sub(r"\1: want \2", text)


def _field(prefix: str, pointer: str) -> str:
    field = prefix
    for token in _unescape(pointer).split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        field += f"[{name}]" if name.isdecimal() else f".{name}"
    return field


def _unescape(text: str) -> str:
    return text.replace("\\'", "'").replace("\\\\", "\\")
