"""What the cluster says of an XApp, said of the form that the caller sent."""

from __future__ import annotations

import re
from typing import Final

from xapp_operator.errors import FieldError, Invalid, KubeError, TooLarge
from xapp_operator.gateway.forms import FORM

_TOO_LARGE: Final = re.compile(
    r"object is too large|request is too large|Request entity too large|too large to be stored|message larger than max",
    re.IGNORECASE,
)
"""What is said by our own client, by etcd, by the API server, and by its connection to etcd."""

_PARTS: Final = {"spec.values": "values", "spec.archive": "file"}
_COMPOSED: Final = "metadata.name"


def refusal_of(error: KubeError) -> KubeError | TooLarge:
    """Return the error that tells a caller of the form why the cluster refused the XApp made from it."""
    if _TOO_LARGE.search(error.message):
        message = "the form and the values are together larger than the cluster can store (about 1.5 MB): send less"
        return TooLarge(message, errors=(FieldError("values", message),))
    if not isinstance(error, Invalid):
        return error
    errors = tuple(FieldError(_in_form(each.field), each.message) for each in error.errors)
    return Invalid(error.message, errors=errors)


def _in_form(field: str) -> str:
    for prefix, part in _PARTS.items():
        if field == prefix or field.startswith((f"{prefix}.", f"{prefix}[")):
            return part + field[len(prefix) :]
    if field == _COMPOSED:
        return f"{FORM}.xAppName"
    first, _, rest = field.partition(".")
    if first == "spec":
        return f"{FORM}.{rest}" if rest else FORM
    return field
