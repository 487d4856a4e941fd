"""How an xApp is called: the composed name of its identity, and texts made fit for label values.

Lives in `domain` because the gateway composes the name and the operator labels by the same rule. Source of the lengths:
Helm release names (53), Kubernetes label values (63).
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from xapp_operator.errors import FieldError, FormInvalid

COMPOSED_NAME_MAX: Final = 53
"""Characters of a Helm release name."""

LABEL_VALUE_MAX: Final = 63
"""Characters of a Kubernetes label value."""

_PREFIX_LENGTH: Final = 40
_HASH_DIGITS: Final = 12
_ASCII_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_NON_ALPHANUMERIC: Final = re.compile(r"[^a-z0-9]+")


def sanitise(text: str) -> str:
    """Return `text` in lower case, every run of other characters than a-z and 0-9 as one `-`, none at either end.

    Only ASCII letters are lowered: the Kelvin sign is not a `k`.
    """
    return _NON_ALPHANUMERIC.sub("-", text.translate(_ASCII_LOWER)).strip("-")


def composed_name(organization: str, team: str, xapp_name: str) -> str:
    """Return the name of an xApp, at most 53 characters: a DNS label and a Helm release name.

    A longer one is its first 40 characters, `-`, and 12 hex digits of the sha256 of the whole.

    Raises FormInvalid naming each part in which no letter or digit of ASCII is left.
    """
    parts = {"organization": organization, "team": team, "xAppName": xapp_name}
    empty = tuple(
        FieldError(field=field, message="needs at least one of a-z, A-Z, 0-9, since the xApp's name is made of it")
        for field, text in parts.items()
        if not sanitise(text)
    )
    if empty:
        named = ", ".join(error.field for error in empty)
        raise FormInvalid(f"{named}: the xApp's name cannot be composed: give at least one of a-z, 0-9", errors=empty)
    full_name = sanitise("-".join(parts.values()))
    if len(full_name) <= COMPOSED_NAME_MAX:
        return full_name
    return f"{full_name[:_PREFIX_LENGTH]}-{hashlib.sha256(full_name.encode()).hexdigest()[:_HASH_DIGITS]}"


def label_value(text: str) -> str:
    """Return `text` sanitised and cut to a label value; empty when nothing is left, which a label value may be."""
    return sanitise(text)[:LABEL_VALUE_MAX].rstrip("-")
