"""FormInvalid from a model's validation errors: all invalid fields by name, none of their values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError

from xapp_operator.api.json import JsonObject
from xapp_operator.common.text import escape_input
from xapp_operator.config.settings import Settings
from xapp_operator.domain.control_characters import control_character_errors
from xapp_operator.errors import FieldError, FormInvalid
from xapp_operator.gateway.http.requests.query import suggest_name

FIELD_ERRORS_MAX: Final = 50
"""Fields that one response names."""

_TYPE_MESSAGES: Final = {
    "string_type": "must be a string in quotes",
    "int_type": "must be a whole number without quotes",
    "bool_type": "must be true or false, without quotes",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
}

_DNS_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
DNS_LABEL_RULE: Final = "must be at most 63 lower-case letters, digits and '-', with no '-' at the start or end"

M = TypeVar("M", bound=BaseModel)


def is_dns_label(text: str) -> bool:
    """Return whether a text is the name of a namespace (RFC 1123); DNS_LABEL_RULE says the rule."""
    return _DNS_LABEL.fullmatch(text) is not None


def validate_body(body: JsonObject, model: type[M], *, unchecked: Collection[str] = ()) -> M:
    """Return a JSON body as an instance of its model. The fields `unchecked` may have control characters.

    Raises:
        FormInvalid: naming the invalid fields.
    """
    require_no_control_characters({key: value for key, value in body.items() if key not in unchecked})
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise form_invalid(list(field_errors(error, model))) from None


def require_no_control_characters(body: JsonObject, *, path: str = "", multiline: Collection[str] = ()) -> None:
    """Refuse a body in which a key or a text has control characters; see `control_character_errors`.

    Raises:
        FormInvalid: naming the fields.
    """
    errors = list(islice(control_character_errors(body, path=path, multiline=multiline), FIELD_ERRORS_MAX))
    if errors:
        raise form_invalid(errors)


def field_errors(
    error: ValidationError,
    model: type[BaseModel],
    *,
    prefix: str = "",
    hidden: Collection[str] = (),
    pattern_rules: Mapping[str, str] | None = None,
) -> Iterator[FieldError]:
    """Yield an error for each field that pydantic rejects, at most FIELD_ERRORS_MAX.

    Args:
        error: what `model` raised.
        model: names the known fields and describes required ones.
        prefix: stands before each field path.
        hidden: fields of the model that a body must not have.
        pattern_rules: top-level field → what to say when its pattern does not match.
    """
    fields = {field.alias or name: field.description for name, field in model.model_fields.items()}
    known = [name for name in fields if name not in hidden]
    errors = error.errors(include_url=False, include_input=False)
    # A misspelt field comes first: it explains the missing one.
    for each in sorted(errors, key=lambda each: each["type"] != "extra_forbidden")[:FIELD_ERRORS_MAX]:
        path, kind = [str(part) for part in each["loc"]], each["type"]
        name = path[-1] if path else ""
        message = str(each["msg"]).replace("String should", "must").replace("Input should", "must")
        if kind == "missing":
            description = fields.get(name)
            message = f"is required: {description}" if description else "is required"
        elif kind == "extra_forbidden":
            names = known if len(path) == 1 else []
            path[-1] = escape_input(name)
            remedy = f"known fields are {', '.join(names)}" if names else "remove it"
            message = f"is not a known field{suggest_name(name, names) or ':'} {remedy}"
        elif kind == "literal_error":
            message = f"must be {each['ctx']['expected']}"
        elif kind == "string_pattern_mismatch":
            message = (pattern_rules or {}).get(name, message)
        yield FieldError((prefix + ".".join(path)).rstrip("."), _TYPE_MESSAGES.get(kind, message))


def namespace_errors(namespace: str, settings: Settings, *, field: str) -> Iterator[FieldError]:
    """Yield an error for a namespace that this gateway does not serve."""
    if settings.namespaces and namespace not in settings.namespaces:
        served = ", ".join(settings.namespaces)
        yield FieldError(field, f"must be one of the namespaces that this gateway serves: {served}")


def form_invalid(errors: list[FieldError]) -> FormInvalid:
    """Return the error that names the first of FIELD_ERRORS_MAX `errors` in its message, and lists all of them."""
    del errors[FIELD_ERRORS_MAX:]
    first = errors[0]
    more = f" ({len(errors) - 1} more in errors)" if len(errors) > 1 else ""
    return FormInvalid(f"{escape_input(first.field)} {first.message}{more}", errors=tuple(errors))
