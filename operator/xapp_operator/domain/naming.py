"""The name of an xApp, composed of its identity, the name of a ChartArchive, and texts as label values. Pure."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from xapp_operator.api.names import RELEASE_NAME_MAX
from xapp_operator.errors import FieldError, FormInvalid

LABEL_VALUE_MAX: Final = 63
"""Characters of a Kubernetes label value."""

_PREFIX_LENGTH: Final = 40
_HASH_DIGITS: Final = 12
_OBJECT_NAME_MAX: Final = 253
_LABEL_VALUE: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_ASCII_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_NON_ALPHANUMERIC: Final = re.compile(r"[^a-z0-9]+")


def sanitise(text: str) -> str:
    """Return `text` in lower case, with every run of characters other than a-z and 0-9 as one `-`, none at either end.

    Only ASCII letters are lowered: the Kelvin sign is not a `k`.
    """
    return _NON_ALPHANUMERIC.sub("-", text.translate(_ASCII_LOWER)).strip("-")


def composed_name(organization: str, team: str, xapp_name: str) -> str:
    """Return the name of an xApp, at most 53 characters: a DNS label and a Helm release name.

    A longer name becomes its first 40 characters, `-`, and 12 hex digits of the sha256 of the whole name.

    Raises FormInvalid with each part that has no ASCII letter or digit.
    """
    parts = {"organization": organization, "team": team, "xAppName": xapp_name}
    empty = tuple(
        FieldError(
            field=field,
            message="must contain at least one ASCII letter or digit, because the xApp's name is composed of it",
        )
        for field, text in parts.items()
        if not sanitise(text)
    )
    if empty:
        named = ", ".join(error.field for error in empty)
        raise FormInvalid(
            f"the xApp's name cannot be composed: {named} must contain at least one ASCII letter or digit", errors=empty
        )
    full_name = sanitise("-".join(parts.values()))
    if len(full_name) <= RELEASE_NAME_MAX:
        return full_name
    return f"{full_name[:_PREFIX_LENGTH]}-{hashlib.sha256(full_name.encode()).hexdigest()[:_HASH_DIGITS]}"


def archive_name(chart: str, version: str, digest: str) -> str:
    """Return the name of the ChartArchive with the chart that has this sha256 (hex digits).

    It is `<chart>-<version>-<first 12 digits>`, in which other characters than a-z, 0-9 and `.` become `-`.
    """
    labels = (sanitise(label) for label in f"{chart}-{version}".split("."))
    base = ".".join(label for label in labels if label) or "chart"
    return f"{base[: _OBJECT_NAME_MAX - _HASH_DIGITS - 1].rstrip('-.')}-{digest[:_HASH_DIGITS]}"


def label_value(text: str) -> str:
    """Return `text` sanitised and cut to a label value, which may be empty."""
    return sanitise(text)[:LABEL_VALUE_MAX].rstrip("-")


def label_text(text: str) -> str:
    """Return `text` where it is a label value as it is, else sanitised and cut to one."""
    return text if _LABEL_VALUE.fullmatch(text) else label_value(text)
