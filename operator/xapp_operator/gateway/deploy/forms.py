"""The deployment form: what of an XApp's spec a caller fills in, held against the rules of the CRD.

The model of the spec is the one source: its types and lengths are pydantic's, and those of its rules that are plain
`self.matches(…)` are evaluated here, so that all wrong fields are named in one answer, also where no API server looks
at the form (a dry run in a namespace that does not exist yet). What remains is refused by the API server's dry run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from pydantic import ValidationError

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.api.models import METHOD_REMOTE, METHOD_UPLOAD, XAppSpec
from xapp_operator.api.rules import VALIDATIONS_KEY, TextRule
from xapp_operator.charts.versions import parse_range
from xapp_operator.common.text import escape_input
from xapp_operator.config import Settings
from xapp_operator.domain.naming import composed_name
from xapp_operator.errors import FieldError, FormInvalid
from xapp_operator.gateway.http.bodies import BODY_ERRORS_MAX, decode_json_object
from xapp_operator.gateway.http.openapi import inline_definitions
from xapp_operator.gateway.http.query import suggest_name

FORM_PART: Final = "xAppForm"
FIELDS_SENT_AS_PARTS: Final = {"values": "values", "archive": "file"}
"""Fields of the spec that come as parts of the request, and the names of these parts."""

REQUIRED_REMOTE_FIELDS: Final = ("chartName", "url", "repoName")
IDENTITY_FIELDS: Final = ("xAppName", "organization", "team")

_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_TYPE_MESSAGES: Final = {
    "string_type": "must be a text in quotes",
    "int_type": "must be a whole number, without quotes",
    "bool_type": "must be true or false, without quotes",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
}


@dataclass(frozen=True, slots=True)
class Form:
    """A form that passed every check.

    `fields` are the fields of the spec that it gives, `cleared` those that it gives as null; the rest has its default
    in a deployment and stays as it is in an upgrade.
    """

    fields: JsonObject
    cleared: tuple[str, ...]
    spec: XAppSpec
    name: str
    """The composed name, `metadata.name` of an XApp made from it."""

    @property
    def is_upload(self) -> bool:
        """Tell whether the chart comes as a file."""
        return self.spec.method == METHOD_UPLOAD


def read_namespace(form: JsonObject) -> str | None:
    """Return the namespace that a form names, be the rest of it right or wrong."""
    namespace = form.get("namespace")
    return namespace if isinstance(namespace, str) and _NAMESPACE.fullmatch(namespace) else None


def decode_form(data: bytes) -> JsonObject:
    """Return the JSON object in the part xAppForm.

    Raises:
        MalformedRequest: when it is not JSON.
        FormInvalid: when it is JSON of another kind, or has a key twice.
    """
    return decode_json_object(data, what=FORM_PART)


def validate_form(form: JsonObject, *, settings: Settings) -> Form:
    """Return the form when every rule is kept; an upload's chartName, url and repoName are left out.

    Raises:
        FormInvalid: naming all fields that are wrong, and what mends them.
    """
    cleared = tuple(key for key, value in form.items() if value is None and key in _known_fields())
    given: JsonObject = {key: value for key, value in form.items() if key not in cleared}
    if given.get("method") == METHOD_UPLOAD:
        given = {key: value for key, value in given.items() if key not in REQUIRED_REMOTE_FIELDS}
    errors = list(_misplaced_part_errors(given))
    fields: JsonObject = {key: value for key, value in given.items() if key not in FIELDS_SENT_AS_PARTS}
    spec = None
    try:
        spec = XAppSpec.model_validate(fields, strict=True, extra="forbid", by_alias=True, by_name=False)
    except ValidationError as error:
        errors += [_field_error(each) for each in error.errors(include_url=False, include_input=False)]
    errors += _text_errors(fields)
    errors += _presence_errors(fields)
    errors += _chart_version_errors(fields)
    errors += _namespace_errors(fields.get("namespace"), settings)
    if errors or spec is None:
        raise _form_invalid(errors)
    return Form(
        fields=fields,
        cleared=cleared,
        spec=spec,
        name=composed_name(spec.organization, spec.team, spec.x_app_name),
    )


def form_schema() -> dict[str, Any]:
    """Return the JSON schema of the form, for the API's documentation."""
    schema = inline_definitions(XAppSpec.model_json_schema(by_alias=True))
    for field in FIELDS_SENT_AS_PARTS:
        schema["properties"].pop(field)
    schema.pop(VALIDATIONS_KEY, None)
    schema["title"] = "DeploymentForm"
    schema["description"] = "What should run: the deployment form, and what goes beyond it."
    schema["additionalProperties"] = False
    return schema


def _misplaced_part_errors(given: Mapping[str, Json]) -> Iterator[FieldError]:
    for field, part in FIELDS_SENT_AS_PARTS.items():
        if given.get(field) is not None:
            yield FieldError(f"{FORM_PART}.{field}", f"is no field of the form: send it as the part {part}")


def _field_error(error: Mapping[str, Any]) -> FieldError:
    path = f"{FORM_PART}." + ".".join(map(str, error["loc"]))
    return FieldError(path.rstrip("."), _error_message(error))


def _error_message(error: Mapping[str, Any]) -> str:
    error_type, context = error["type"], error.get("ctx", {})
    name = str(error["loc"][-1]) if error["loc"] else ""
    if error_type == "missing":
        return f"is required{_field_description(name)}"
    if error_type == "extra_forbidden":
        known = _known_fields() if len(error["loc"]) == 1 else ()
        suggestion = f" known fields are {', '.join(known)}" if known else " leave it out"
        return f"is no field of the form{suggest_name(name, known) or ':'}{suggestion}"
    if error_type == "literal_error":
        return f"must be {context['expected']}"
    if error_type in _TYPE_MESSAGES:
        return _TYPE_MESSAGES[error_type]
    return str(error["msg"]).replace("String should", "must").replace("Input should", "must")


def _field_description(name: str) -> str:
    found = _spec_schema()["properties"].get(name, {}).get("description", "")
    return f": {found}" if found else ""


@cache
def _spec_schema() -> dict[str, Any]:
    return XAppSpec.model_json_schema(by_alias=True)


@cache
def _known_fields() -> tuple[str, ...]:
    return tuple(name for name in _spec_schema()["properties"] if name not in FIELDS_SENT_AS_PARTS)


@cache
def _text_rules() -> Mapping[str, tuple[TextRule, ...]]:
    return {
        str(field.alias): tuple(rule for rule in field.metadata if isinstance(rule, TextRule))
        for field in XAppSpec.model_fields.values()
    }


def _text_errors(fields: Mapping[str, Json]) -> Iterator[FieldError]:
    for name, rules in _text_rules().items():
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
    """Say of what is no version and no range that no repository can have it; the default is the xApp's version."""
    name = "chartVersion" if fields.get("chartVersion") is not None else "version"
    version = fields.get(name)
    if fields.get("method") != METHOD_REMOTE or not isinstance(version, str) or not version:
        return
    try:
        parse_range(version)
    except FormInvalid as error:
        default = "" if name == "chartVersion" else "is left out, and the xApp's version, its default, "
        yield from (FieldError(f"{FORM_PART}.chartVersion", default + each.message) for each in error.errors)


def _namespace_errors(namespace: Json, settings: Settings) -> Iterator[FieldError]:
    if not isinstance(namespace, str):
        return
    if _NAMESPACE.fullmatch(namespace) is None:
        message = "must be a name of at most 63 lower-case letters, digits and '-', none of the '-' at an end"
        yield FieldError(f"{FORM_PART}.namespace", message)
    elif settings.namespaces and namespace not in settings.namespaces:
        message = f"must be one of the namespaces that are cared for here: {', '.join(settings.namespaces)}"
        yield FieldError(f"{FORM_PART}.namespace", message)


def _form_invalid(errors: list[FieldError]) -> FormInvalid:
    del errors[BODY_ERRORS_MAX:]
    first = errors[0]
    more = f" ({len(errors) - 1} more in errors)" if len(errors) > 1 else ""
    return FormInvalid(f"{escape_input(first.field)} {first.message}{more}", errors=tuple(errors))
