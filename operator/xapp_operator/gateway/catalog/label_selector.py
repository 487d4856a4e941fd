"""Label selectors of Kubernetes, parsed strictly and matched in memory. Pure.

https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from xapp_operator.common.text import quote_input
from xapp_operator.errors import MalformedRequest
from xapp_operator.label_sets import LABEL_KEY, LABEL_VALUE

LABEL_SELECTOR_MAX: Final = 2000
"""Characters of a selector."""

_TERM: Final = re.compile(
    r"\s*+(?:!\s*+(?P<absent>[\w./-]++)"
    r"|(?P<key>[\w./-]++)(?:\s*+(?P<sign>==?|!=)\s*+(?P<value>[\w.-]*+)"
    r"|\s++(?P<word>in|notin)\s*+\((?P<values>[\w.\s,-]*+)\))?)\s*+(?:,|\Z)",
    re.ASCII,
)
_NEGATIONS: Final = ("!=", "notin")
_EXPECTED: Final = "a label selector such as app=ric,tier!=test,zone in (a,b),stage notin (dev),managed,!legacy"


class LabelRequirement(NamedTuple):
    """One term: the label exists and, unless `values` is None, has one of them; `negated` is the opposite."""

    key: str
    values: frozenset[str] | None
    negated: bool

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether labels fulfil it; as in Kubernetes, an object without the label fulfils `!=` and `notin`."""
        found = labels.get(self.key)
        return (found is not None and (self.values is None or found in self.values)) != self.negated


LabelSelector: TypeAlias = tuple[LabelRequirement, ...]
"""All requirements must match."""


def parse_label_selector(name: str, value: str) -> LabelSelector:
    """Parse the query parameter `name`.

    Raises:
        MalformedRequest: for a value that is not a label selector, or longer than LABEL_SELECTOR_MAX.
    """
    if len(value) > LABEL_SELECTOR_MAX:
        raise MalformedRequest.for_field(
            name, f"may have at most {LABEL_SELECTOR_MAX} characters, not {len(value)}: select by fewer labels"
        )
    found: list[LabelRequirement] = []
    at, ends_in_comma = 0, True
    while ends_in_comma:
        term = _TERM.match(value, at)
        if term is None:
            rest = value[at:].strip()
            where = f"there is an error at {quote_input(rest)}" if rest else "a term is missing at its end"
            raise MalformedRequest.for_field(name, f"must be {_EXPECTED}: {where}")
        found.append(_build_requirement(name, term))
        at, ends_in_comma = term.end(), term[0].endswith(",")
    return tuple(found)


def _build_requirement(name: str, term: re.Match[str]) -> LabelRequirement:
    key = term["absent"] or term["key"]
    if LABEL_KEY.fullmatch(key) is None:
        raise _term_error(name, key, "is not a label key")
    if term["sign"] is not None:
        values = [term["value"]]
    elif term["word"] is not None:
        values = [each.strip() for each in term["values"].split(",")]
    else:
        return LabelRequirement(key, None, negated=term["absent"] is not None)
    for value in values:
        if LABEL_VALUE.fullmatch(value) is None:
            raise _term_error(name, value, f"is not a label value ({quote_input(key)})")
    return LabelRequirement(key, frozenset(values), negated=(term["sign"] or term["word"]) in _NEGATIONS)


def _term_error(name: str, part: str, what: str) -> MalformedRequest:
    rule = "at most 63 letters, digits, '-', '_' and '.', the first and the last a letter or digit"
    return MalformedRequest.for_field(
        name, f"must be {_EXPECTED}: {quote_input(part)} {what}, which has {rule}; a key may have a DNS prefix and '/'"
    )
