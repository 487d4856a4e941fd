"""The deployment form: the part of an XApp's spec that a caller fills in, checked against the rules of the CRD.

Types and lengths are checked by the model of the spec, and its simple pattern rules are evaluated here, so that one
response names all invalid fields, even when no API server checks the form (a dry run in a namespace that does not
exist). The API server's dry run checks the other rules; `to_form_error` translates its errors to fields of the form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.api.models import METHOD_REMOTE, METHOD_UPLOAD, XAppSpec
from xapp_operator.api.rules import VALIDATIONS_KEY, TextRule
from xapp_operator.charts.versions import parse_range
from xapp_operator.config.settings import Settings
from xapp_operator.domain.naming import composed_name
from xapp_operator.errors import ContentTooLarge, FieldError, FormInvalid, Invalid, KubeError
from xapp_operator.gateway.http.openapi import inline_definitions
from xapp_operator.gateway.http.requests.validation import (
    DNS_LABEL_RULE,
    field_errors,
    form_invalid,
    is_dns_label,
    namespace_errors,
    require_no_control_characters,
)

FORM_PART: Final = "xAppForm"
FIELDS_SENT_AS_PARTS: Final = {"values": "values", "archive": "file"}
"""Spec field → part of the request that it is sent as."""

REQUIRED_REMOTE_FIELDS: Final = ("chartName", "url", "repoName")
IDENTITY_FIELDS: Final = ("xAppName", "organization", "team")

_TOO_LARGE_MESSAGE: Final = re.compile(
    r"object is too large|request is too large|Request entity too large|too large to be stored|message larger than max",
    re.IGNORECASE,
)
"""Messages of this project's client, etcd, the API server, and its connection to etcd."""

_PART_BY_SPEC_FIELD: Final = {"spec.values": "values", "spec.archive": "file"}
_COMPOSED_NAME_FIELD: Final = "metadata.name"
_TEXT_RULES: Final = {
    str(field.alias): tuple(rule for rule in field.metadata if isinstance(rule, TextRule))
    for field in XAppSpec.model_fields.values()
}
"""Every field of the spec → its rules."""


@dataclass(frozen=True, slots=True)
class Form:
    """A valid form.

    `fields` are the spec fields that it sets, `cleared` those that it sets to null. Other fields get their default in a
    deployment and are kept in an upgrade.
    """

    fields: JsonObject
    cleared: tuple[str, ...]
    spec: XAppSpec
    name: str
    """The composed name: `metadata.name` of an XApp created from the form."""

    @property
    def is_upload(self) -> bool:
        return self.spec.method == METHOD_UPLOAD


def read_namespace(form: JsonObject) -> str | None:
    """Return the namespace in a form or body if it is a valid name, whether or not the other fields are valid."""
    namespace = form.get("namespace")
    return namespace if isinstance(namespace, str) and is_dns_label(namespace) else None


def validate_form(form: JsonObject, *, settings: Settings) -> Form:
    """Return a valid form; chartName, url and repoName of an upload are dropped.

    Raises:
        FormInvalid: naming all invalid fields.
    """
    require_no_control_characters(form, path=FORM_PART, multiline=("values",))
    cleared = tuple(
        key for key, value in form.items() if value is None and key in _TEXT_RULES and key not in FIELDS_SENT_AS_PARTS
    )
    given: JsonObject = {key: value for key, value in form.items() if key not in cleared}
    if given.get("method") == METHOD_UPLOAD:
        given = {key: value for key, value in given.items() if key not in REQUIRED_REMOTE_FIELDS}
    errors = list(_misplaced_part_errors(given))
    fields: JsonObject = {key: value for key, value in given.items() if key not in FIELDS_SENT_AS_PARTS}
    spec = None
    try:
        spec = XAppSpec.model_validate(fields, strict=True, extra="forbid", by_alias=True, by_name=False)
    except ValidationError as error:
        errors += field_errors(error, XAppSpec, prefix=f"{FORM_PART}.", hidden=FIELDS_SENT_AS_PARTS)
    errors += _text_errors(fields)
    errors += _presence_errors(fields)
    errors += _chart_version_errors(fields)
    errors += _namespace_errors(fields.get("namespace"), settings)
    if errors or spec is None:
        raise form_invalid(errors)
    return Form(
        fields=fields,
        cleared=cleared,
        spec=spec,
        name=composed_name(spec.organization, spec.team, spec.x_app_name),
    )


def form_schema() -> dict[str, Any]:
    """Return the JSON schema of the form for the OpenAPI document."""
    schema = inline_definitions(XAppSpec.model_json_schema(by_alias=True))
    for field in FIELDS_SENT_AS_PARTS:
        schema["properties"].pop(field)
    schema.pop(VALIDATIONS_KEY, None)
    schema["title"] = "DeploymentForm"
    schema["description"] = "The deployment form: the desired state of an xApp."
    schema["additionalProperties"] = False
    return schema


def _misplaced_part_errors(given: Mapping[str, Json]) -> Iterator[FieldError]:
    for field, part in FIELDS_SENT_AS_PARTS.items():
        if given.get(field) is not None:
            yield FieldError(f"{FORM_PART}.{field}", f"is not a field of the form: send it as the part {part}")


def _text_errors(fields: Mapping[str, Json]) -> Iterator[FieldError]:
    for name, rules in _TEXT_RULES.items():
        value = fields.get(name)
        if isinstance(value, str):
            yield from (FieldError(f"{FORM_PART}.{name}", rule.message) for rule in rules if not rule.allows(value))


def _presence_errors(fields: Mapping[str, Json]) -> Iterator[FieldError]:
    method = fields.get("method")
    if method == METHOD_REMOTE:
        for name in REQUIRED_REMOTE_FIELDS:
            if name not in fields:
                message = (
                    f"is required with method '{METHOD_REMOTE}': add it, or use method '{METHOD_UPLOAD}' with a file"
                )
                yield FieldError(f"{FORM_PART}.{name}", message)
    elif method == METHOD_UPLOAD and "chartVersion" in fields:
        message = f"is forbidden with method '{METHOD_UPLOAD}': the uploaded chart has one version, leave it out"
        yield FieldError(f"{FORM_PART}.chartVersion", message)


def _chart_version_errors(fields: Mapping[str, Json]) -> Iterator[FieldError]:
    """Yield an error for a chart version that is neither a version nor a range; it defaults to the xApp's version."""
    name = "chartVersion" if fields.get("chartVersion") is not None else "version"
    version = fields.get(name)
    if fields.get("method") != METHOD_REMOTE or not isinstance(version, str) or not version:
        return
    try:
        parse_range(version)
    except FormInvalid as error:
        default = "" if name == "chartVersion" else "is not set, and its default, the xApp's version, "
        yield from (FieldError(f"{FORM_PART}.chartVersion", default + each.message) for each in error.errors)


def _namespace_errors(namespace: Json, settings: Settings) -> Iterator[FieldError]:
    if not isinstance(namespace, str):
        return
    if not is_dns_label(namespace):
        yield FieldError(f"{FORM_PART}.namespace", DNS_LABEL_RULE)
    else:
        yield from namespace_errors(namespace, settings, field=f"{FORM_PART}.namespace")


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
