"""Errors of the cluster about an XApp, translated to fields of the caller's form."""

from __future__ import annotations

import re
from typing import Final

from xapp_operator.errors import ContentTooLarge, FieldError, Invalid, KubeError
from xapp_operator.gateway.deploy.forms import FORM_PART

_TOO_LARGE_MESSAGE: Final = re.compile(
    r"object is too large|request is too large|Request entity too large|too large to be stored|message larger than max",
    re.IGNORECASE,
)
"""Messages of this project's client, etcd, the API server, and its connection to etcd."""

_PART_BY_SPEC_FIELD: Final = {"spec.values": "values", "spec.archive": "file"}
_COMPOSED_NAME_FIELD: Final = "metadata.name"


def to_form_error(error: KubeError) -> KubeError | ContentTooLarge:
    """Return the cluster's error about an XApp with the names of form fields."""
    if _TOO_LARGE_MESSAGE.search(error.message):
        message = (
            "form and values together exceed the size that the cluster can store (about 1.5 MB): shorten the values"
        )
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
