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

from xapp_operator.api.base import RULES
from xapp_operator.api.json import Json, JsonObject
from xapp_operator.api.models import REMOTE, UPLOAD, XAppSpec, parse_duration
from xapp_operator.charts.versions import parse_range
from xapp_operator.config import Settings
from xapp_operator.domain.naming import composed_name
from xapp_operator.errors import FieldError, FormInvalid
from xapp_operator.gateway.bodies import ERRORS_MAX, decode_object, shown_field
from xapp_operator.gateway.documented import inlined
from xapp_operator.gateway.query import nearest

FORM: Final = "xAppForm"
FROM_PARTS: Final = {"values": "values", "archive": "file"}
"""Fields of the spec that come as parts of the request, and the names of these parts."""

REMOTE_ONLY: Final = ("chartName", "url", "repoName")
IDENTITY: Final = ("xAppName", "organization", "team")

_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_MATCHES_RULE: Final = re.compile(r"(?P<negated>!?)self\.matches\('(?P<pattern>[^']*)'\)")
_TIMEOUT_SECONDS: Final = (1.0, 24 * 3600.0)
_KINDS: Final = {
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
        return self.spec.method == UPLOAD


def namespace_in(form: JsonObject) -> str | None:
    """Return the namespace that a form names, be the rest of it right or wrong."""
    namespace = form.get("namespace")
    return namespace if isinstance(namespace, str) and _NAMESPACE.fullmatch(namespace) else None


def decode_form(data: bytes) -> JsonObject:
    """Return the JSON object in the part xAppForm.

    Raises:
        MalformedRequest: when it is not JSON.
        FormInvalid: when it is JSON of another kind, or has a key twice.
    """
    return decode_object(data, what=FORM)


def checked_form(form: JsonObject, *, settings: Settings) -> Form:
    """Return the form when every rule is kept; an upload's chartName, url and repoName are left out.

    Raises:
        FormInvalid: naming all fields that are wrong, and what mends them.
    """
    cleared = tuple(key for key, value in form.items() if value is None and key in _known_fields())
    given: JsonObject = {key: value for key, value in form.items() if key not in cleared}
    if given.get("method") == UPLOAD:
        given = {key: value for key, value in given.items() if key not in REMOTE_ONLY}
    errors = list(_parts_in_form(given))
    fields: JsonObject = {key: value for key, value in given.items() if key not in FROM_PARTS}
    spec = None
    try:
        spec = XAppSpec.model_validate(fields, strict=True, extra="forbid", by_alias=True, by_name=False)
    except ValidationError as error:
        errors += [_field_error(each) for each in error.errors(include_url=False, include_input=False)]
    errors += _broken_rules(fields)
    errors += _presence(fields)
    errors += _chart_version(fields)
    errors += _namespace(fields.get("namespace"), settings)
    if errors or spec is None:
        raise _invalid(errors)
    return Form(
        fields=fields,
        cleared=cleared,
        spec=spec,
        name=composed_name(spec.organization, spec.team, spec.x_app_name),
    )


def form_schema() -> dict[str, Any]:
    """Return the JSON schema of the form, for the API's documentation."""
    schema = inlined(XAppSpec.model_json_schema(by_alias=True))
    for field in FROM_PARTS:
        schema["properties"].pop(field)
    schema.pop(RULES, None)
    schema["title"] = "DeploymentForm"
    schema["description"] = "What should run: the deployment form, and what goes beyond it."
    schema["additionalProperties"] = False
    return schema


def _parts_in_form(given: Mapping[str, Json]) -> Iterator[FieldError]:
    for field, part in FROM_PARTS.items():
        if given.get(field) is not None:
            yield FieldError(f"{FORM}.{field}", f"is no field of the form: send it as the part {part}")


def _field_error(error: Mapping[str, Any]) -> FieldError:
    path = f"{FORM}." + ".".join(map(str, error["loc"]))
    return FieldError(path.rstrip("."), _sentence(error))


def _sentence(error: Mapping[str, Any]) -> str:
    kind, context = error["type"], error.get("ctx", {})
    name = str(error["loc"][-1]) if error["loc"] else ""
    if kind == "missing":
        return f"is required{_meaning(name)}"
    if kind == "extra_forbidden":
        known = _known_fields() if len(error["loc"]) == 1 else ()
        words = f" known fields are {', '.join(known)}" if known else " leave it out"
        return f"is no field of the form{nearest(name, known) or ':'}{words}"
    if kind == "literal_error":
        return f"must be {context['expected']}"
    if kind in _KINDS:
        return _KINDS[kind]
    return str(error["msg"]).replace("String should", "must").replace("Input should", "must")


def _meaning(name: str) -> str:
    found = _json_schema()["properties"].get(name, {}).get("description", "")
    return f": {found}" if found else ""


@cache
def _json_schema() -> dict[str, Any]:
    return XAppSpec.model_json_schema(by_alias=True)


@cache
def _known_fields() -> tuple[str, ...]:
    return tuple(name for name in _json_schema()["properties"] if name not in FROM_PARTS)


@cache
def _patterns() -> Mapping[str, tuple[tuple[re.Pattern[str], bool, str], ...]]:
    # (pattern, whether it must match, what is said otherwise) of each field. RE2, which CEL uses, and Python agree on
    # the patterns of these models; a test holds both against the same texts.
    found: dict[str, tuple[tuple[re.Pattern[str], bool, str], ...]] = {}
    for name, schema in _json_schema()["properties"].items():
        schemas = [schema, *schema.get("anyOf", ())]
        rules = [rule for each in schemas for rule in each.get(RULES, ())]
        parsed = [(_MATCHES_RULE.fullmatch(rule["rule"]), rule["message"]) for rule in rules]
        found[name] = tuple(
            (_compiled(match["pattern"]), not match["negated"], message)
            for match, message in parsed
            if match is not None
        )
    return found


def _compiled(pattern: str) -> re.Pattern[str]:
    # As CEL escapes it; and Python's `$` would let a line break at the end pass.
    unescaped = pattern.replace("\\\\", "\\")
    return re.compile(unescaped.removesuffix("$") + r"\Z" if unescaped.endswith("$") else unescaped)


def _broken_rules(fields: Mapping[str, Json]) -> Iterator[FieldError]:
    for name, patterns in _patterns().items():
        value = fields.get(name)
        if not isinstance(value, str):
            continue
        for pattern, wanted, message in patterns:
            if (pattern.search(value) is not None) != wanted:
                yield FieldError(f"{FORM}.{name}", message)
    timeout = fields.get("timeout")
    if isinstance(timeout, str) and not _is_timeout(timeout):
        yield FieldError(f"{FORM}.timeout", "must be a duration between 1s and 24h, such as 90s, 5m or 1h30m")


def _is_timeout(value: str) -> bool:
    low, high = _TIMEOUT_SECONDS
    try:
        return low <= parse_duration(value) <= high
    except ValueError:
        return False


def _presence(fields: Mapping[str, Json]) -> Iterator[FieldError]:
    method = fields.get("method")
    if method == REMOTE:
        for name in REMOTE_ONLY:
            if name not in fields:
                message = f"is required with method '{REMOTE}': add it, or use method '{UPLOAD}' with a file"
                yield FieldError(f"{FORM}.{name}", message)
    elif method == UPLOAD and "chartVersion" in fields:
        message = f"is forbidden with method '{UPLOAD}': the uploaded chart has one version, leave it out"
        yield FieldError(f"{FORM}.chartVersion", message)


def _chart_version(fields: Mapping[str, Json]) -> Iterator[FieldError]:
    """Say of what is no version and no range that no repository can have it; the default is the xApp's version."""
    name = "chartVersion" if fields.get("chartVersion") is not None else "version"
    wanted = fields.get(name)
    if fields.get("method") != REMOTE or not isinstance(wanted, str) or not wanted:
        return
    try:
        parse_range(wanted)
    except FormInvalid as error:
        default = "" if name == "chartVersion" else "is left out, and the xApp's version, its default, "
        yield from (FieldError(f"{FORM}.chartVersion", default + each.message) for each in error.errors)


def _namespace(namespace: Json, settings: Settings) -> Iterator[FieldError]:
    if not isinstance(namespace, str):
        return
    if _NAMESPACE.fullmatch(namespace) is None:
        message = "must be a name of at most 63 lower-case letters, digits and '-', none of the '-' at an end"
        yield FieldError(f"{FORM}.namespace", message)
    elif settings.namespaces and namespace not in settings.namespaces:
        message = f"must be one of the namespaces that are cared for here: {', '.join(settings.namespaces)}"
        yield FieldError(f"{FORM}.namespace", message)


def _invalid(errors: list[FieldError]) -> FormInvalid:
    del errors[ERRORS_MAX:]
    first = errors[0]
    more = f" ({len(errors) - 1} more in errors)" if len(errors) > 1 else ""
    return FormInvalid(f"{shown_field(first.field)} {first.message}{more}", errors=tuple(errors))
