"""Errors of the API server about an XApp, in terms of the form that the caller sent."""

from __future__ import annotations

import re
from typing import Final

from xapp_operator.errors import ContentTooLarge, FieldError, Invalid, KubeError
from xapp_operator.gateway.deploy.forms import FORM_PART

_TOO_LARGE_MESSAGE: Final = re.compile(
    r"object is too large|request is too large|Request entity too large|too large to be stored|message larger than max",
    re.IGNORECASE,
)
"""The messages of our own client, of etcd, of the API server and of its connection to etcd."""

_PART_BY_SPEC_FIELD: Final = {"spec.values": "values", "spec.archive": "file"}
_COMPOSED_NAME_FIELD: Final = "metadata.name"


def to_form_error(error: KubeError) -> KubeError | ContentTooLarge:
    """Return the error for the caller of the form from which a refused XApp was made."""
    if _TOO_LARGE_MESSAGE.search(error.message):
        message = "the form and the values together are larger than the cluster can store (about 1.5 MB): send less"
        return ContentTooLarge(message, errors=(FieldError("values", message),))
    if not isinstance(error, Invalid):
        return error
    errors = tuple(FieldError(_form_field(each.field), each.message) for each in error.errors)
    return Invalid(error.message, errors=errors)


def _form_field(field: str) -> str:
    for prefix, part in _PART_BY_SPEC_FIELD.items():
        if field == prefix or field.startswith((f"{prefix}.", f"{prefix}[")):
            return part + field[len(prefix) :]
    if field == _COMPOSED_NAME_FIELD:
        return f"{FORM_PART}.xAppName"
    first, _, rest = field.partition(".")
    if first == "spec":
        return f"{FORM_PART}.{rest}" if rest else FORM_PART
    return field
