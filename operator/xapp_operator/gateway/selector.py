"""Label selectors of Kubernetes, read strictly and matched in memory. Pure.

Lives in the gateway beside the other readers of queries: a list that comes from memory cannot leave the selector to the
API server. https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from xapp_operator.config import LABEL_KEY, LABEL_VALUE
from xapp_operator.errors import MalformedRequest
from xapp_operator.gateway.query import refused, shown

SELECTOR_MAX: Final = 2000
"""Characters of a selector."""

_TERM: Final = re.compile(
    r"\s*(?:!\s*(?P<absent>[\w./-]+)"
    r"|(?P<key>[\w./-]+)(?:\s*(?P<sign>==?|!=)\s*(?P<value>[\w.-]*)"
    r"|\s+(?P<word>in|notin)\s*\((?P<values>[\w.\s,-]*)\))?)\s*(?:,|\Z)",
    re.ASCII,
)
_NEGATIONS: Final = ("!=", "notin")
_FORM: Final = "a label selector such as app=ric,tier!=test,zone in (a,b),stage notin (dev),managed,!legacy"


class Requirement(NamedTuple):
    """One term: the label is there and, unless `values` is None, has one of them; or the opposite of that."""

    key: str
    values: frozenset[str] | None
    negated: bool

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether labels fulfil it; as in Kubernetes, what has no such label is never equal."""
        found = labels.get(self.key)
        return (found is not None and (self.values is None or found in self.values)) != self.negated


Selector: TypeAlias = tuple[Requirement, ...]
"""All of these must match."""


def read_selector(name: str, value: str) -> Selector:
    """Return what the query parameter `name` selects.

    Raises:
        MalformedRequest: for what is no selector by the rules of Kubernetes, or longer than SELECTOR_MAX.
    """
    if len(value) > SELECTOR_MAX:
        raise refused(name, f"may have at most {SELECTOR_MAX} characters, not {len(value)}: select by fewer labels")
    found: list[Requirement] = []
    at, ends_in_comma = 0, True
    while ends_in_comma:
        term = _TERM.match(value, at)
        if term is None:
            rest = value[at:].strip()
            where = f"at {shown(rest)} it is not" if rest else "a term is missing at its end"
            raise refused(name, f"must be {_FORM}: {where}")
        found.append(_requirement(name, term))
        at, ends_in_comma = term.end(), term[0].endswith(",")
    return tuple(found)


def _requirement(name: str, term: re.Match[str]) -> Requirement:
    key = term["absent"] or term["key"]
    if LABEL_KEY.fullmatch(key) is None:
        raise _refused_part(name, key, "is no key of a label")
    if term["sign"] is not None:
        values = [term["value"]]
    elif term["word"] is not None:
        values = [each.strip() for each in term["values"].split(",")]
    else:
        return Requirement(key, None, negated=term["absent"] is not None)
    for value in values:
        if LABEL_VALUE.fullmatch(value) is None:
            raise _refused_part(name, value, f"is no value of a label ({shown(key)})")
    return Requirement(key, frozenset(values), negated=(term["sign"] or term["word"]) in _NEGATIONS)


def _refused_part(name: str, part: str, what: str) -> MalformedRequest:
    rule = "at most 63 letters, digits, '-', '_' and '.', the first and the last a letter or digit"
    return refused(
        name, f"must be {_FORM}: {shown(part)} {what}, which has {rule}; a key may have a DNS prefix and '/'"
    )
