"""Validation rules of the custom resources, each written beside the field that it guards.

Every rule becomes an entry of `x-kubernetes-validations` (Kubernetes: "Validation rules" of CustomResourceDefinitions),
so that the API server checks it. A TextRule can also be checked here, for callers that send a form to the gateway.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from xapp_operator.common.text import quote_input

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

VALIDATIONS_KEY: Final = "x-kubernetes-validations"

# The characters beyond U+00FF stand for themselves, because RE2 and Python have no common escape for them.
CONTROL_CHARACTERS: Final = "[\\x00-\\x1f\\x7f-\\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
"""Not allowed in names and texts of one line: control characters (Unicode Cc), which break logs and terminals; the line
separators; and the marks that change the direction of text (Bidi_Control), which make one name look like another."""

CONTROL_CHARACTERS_MESSAGE: Final = (
    "must not have control characters, such as line breaks, tabs, NUL, or marks of text direction: remove them"
)

_DURATION_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class CelRule:
    """One rule: its CEL expression, the message for users, and the field that it is about."""

    expression: str
    message: str
    field_path: str | None = None
    reason: str | None = None

    def as_schema(self) -> dict[str, str]:
        """Return the entry as the CRD schema spells it."""
        entry = {"rule": self.expression, "message": self.message}
        if self.field_path is not None:
            entry["fieldPath"] = self.field_path
        if self.reason is not None:
            entry["reason"] = self.reason
        return entry

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler(core_schema)
        schema[VALIDATIONS_KEY] = [*schema.get(VALIDATIONS_KEY, ()), self.as_schema()]
        return schema


@dataclass(frozen=True, slots=True)
class TextRule(CelRule):
    """A rule about one text that Python checks as the API server does: `allows` returns whether a text meets it."""

    allows: Callable[[str], bool] = field(kw_only=True)


def pattern_rule(pattern: str, message: str, *, negated: bool = False) -> TextRule:
    """Return the rule that a text matches `pattern` somewhere, or with `negated` that it does not.

    The pattern must mean the same to RE2, which CEL uses, and to Python.
    """
    # Python's `$` also matches before a line break at the end, RE2's does not.
    compiled = re.compile(pattern.removesuffix("$") + r"\Z" if pattern.endswith("$") else pattern)
    return TextRule(
        expression=f"{'!' if negated else ''}self.matches({cel_literal(pattern)})",
        message=message,
        allows=lambda text: (compiled.search(text) is None) == negated,
    )


def cel_literal(text: str) -> str:
    """Return `text`, which has no quotes, as a CEL string."""
    escaped = text.replace("\\", "\\\\")
    return "'" + "".join(char if char.isascii() else f"\\u{ord(char):04x}" for char in escaped) + "'"


def one_line_rule() -> TextRule:
    """Return the rule that a text has no CONTROL_CHARACTERS."""
    return pattern_rule(CONTROL_CHARACTERS, CONTROL_CHARACTERS_MESSAGE, negated=True)


def duration_rule(shortest: str, longest: str, *, examples: str) -> TextRule:
    """Return the rule that a text is a duration within these bounds."""

    def allows(text: str) -> bool:
        try:
            return parse_duration(shortest) <= parse_duration(text) <= parse_duration(longest)
        except ValueError:
            return False

    return TextRule(
        expression="self.matches('^([0-9]+(\\\\.[0-9]+)?(ms|s|m|h))+$') "
        f"&& duration(self) >= duration('{shortest}') && duration(self) <= duration('{longest}')",
        message=f"must be a duration between {shortest} and {longest}, such as {examples}",
        allows=allows,
    )


def cel_rules(*entries: CelRule) -> dict[str, Any]:
    """Return the `json_schema_extra` of a model with the rules `entries`."""
    return {VALIDATIONS_KEY: [entry.as_schema() for entry in entries]}


def parse_duration(text: str) -> float:
    """Return the seconds of a duration such as `1h30m` (Go's notation); raises ValueError when it is not one."""
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{quote_input(text)} is not a duration; write for example 90s, 5m or 1h30m")
    return sum(float(number) * _DURATION_UNITS[unit] for number, unit in parts)
