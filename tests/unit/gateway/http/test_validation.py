"""Invalid bodies are refused with the names of their invalid fields, and none of their values."""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from xapp_operator.api.json import JsonObject
from xapp_operator.config.settings import Settings
from xapp_operator.errors import FieldError, FormInvalid
from xapp_operator.gateway.http.requests.validation import field_errors, form_invalid, namespace_errors, validate_body

FIELD_ERRORS_MAX = 50


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    size: int = 0


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(min_length=1, max_length=3, description="The name.")
    mode: Literal["a", "b"] = "a"
    flag: bool = Field(False, alias="theFlag")
    inner: Inner = Inner()


def refusal(body: JsonObject) -> FormInvalid:
    with pytest.raises(FormInvalid) as found:
        validate_body(body, Body)
    return found.value


def test_a_valid_body_is_returned() -> None:
    assert validate_body({"name": "x", "theFlag": True}, Body).flag


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ({}, "name", "is required: The name."),
        ({"name": 1}, "name", "must be a string in quotes"),
        ({"name": ""}, "name", "must have at least 1 character"),
        ({"name": "secret"}, "name", "must have at most 3 characters"),
        ({"name": "x", "mode": "c"}, "mode", "must be 'a' or 'b'"),
        ({"name": "x", "theFlag": "true"}, "theFlag", "must be true or false, without quotes"),
        ({"name": "x", "inner": []}, "inner", "must be an object"),
        ({"name": "x", "inner": {"size": "1"}}, "inner.size", "must be a whole number without quotes"),
        ({"name": "x", "inner": {"sizes": 1}}, "inner.sizes", "is not a known field: remove it"),
        ({"name": "x", "flag": True}, "flag", "known fields are name, mode, theFlag, inner"),
    ],
)
def test_the_invalid_field_is_named_with_its_rule(body: JsonObject, field: str, message: str) -> None:
    error = refusal(body)
    assert [each.field for each in error.errors] == [field]
    assert message in error.errors[0].message
    assert error.message == f"{field} {error.errors[0].message}"
    assert "secret" not in error.message


def test_a_misspelt_field_is_named_before_the_missing_one() -> None:
    error = refusal({"nmae": "x"})
    assert [each.field for each in error.errors] == ["nmae", "name"]
    assert "name" in error.errors[0].message
    assert error.message.endswith("(1 more in errors)")


def test_a_response_names_a_bounded_number_of_fields() -> None:
    error = refusal({"name": "x", **{f"unknown-{at}": at for at in range(FIELD_ERRORS_MAX + 10)}})
    assert len(error.errors) == FIELD_ERRORS_MAX


def test_an_error_names_the_first_of_a_bounded_number_of_fields() -> None:
    errors = [FieldError(f"field-{at}", "is wrong") for at in range(FIELD_ERRORS_MAX + 10)]
    error = form_invalid(errors)
    assert error.message == "field-0 is wrong (49 more in errors)"
    assert [each.field for each in error.errors] == [f"field-{at}" for at in range(FIELD_ERRORS_MAX)]


def test_a_body_has_control_characters_in_unchecked_fields_only() -> None:
    body: JsonObject = {"name": "a\x00"}
    assert validate_body(body, Body, unchecked=("name",)).name == "a\x00"
    assert [each.field for each in refusal(body).errors] == ["name"]
    many: JsonObject = {f"unknown-{at}": "\x00" for at in range(FIELD_ERRORS_MAX + 10)}
    assert len(refusal(many).errors) == FIELD_ERRORS_MAX


@pytest.mark.parametrize(
    ("served", "errors"),
    [
        ((), []),
        (("ric", "other"), []),
        (
            ("other", "third"),
            [FieldError("ns", "must be one of the namespaces that this gateway serves: other, third")],
        ),
    ],
)
def test_a_namespace_that_is_not_served_is_an_error(served: tuple[str, ...], errors: list[FieldError]) -> None:
    settings = Settings().model_copy(update={"namespaces": served})
    assert list(namespace_errors("ric", settings, field="ns")) == errors


class Pattern(BaseModel):
    name: str = Field(pattern="^a$")
    secret: str = ""

    model_config = ConfigDict(extra="forbid")


@pytest.mark.parametrize(
    ("rules", "message"),
    [(None, "must match pattern '^a$'"), ({}, "must match pattern '^a$'"), ({"name": "must be a"}, "must be a")],
)
def test_the_rule_of_a_pattern_can_be_told_in_words(rules: dict[str, str] | None, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Pattern.model_validate({"name": "b", "c": 1})
    found = list(field_errors(caught.value, Pattern, prefix="form.", hidden=("secret",), pattern_rules=rules))
    assert found == [
        FieldError("form.c", "is not a known field: known fields are name"),
        FieldError("form.name", message),
    ]


def test_an_unknown_field_is_shortened() -> None:
    [error] = refusal({"name": "x", "y" * 1000: 1}).errors
    assert len(error.field) < 100
