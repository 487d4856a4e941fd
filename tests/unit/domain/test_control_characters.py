"""Control characters are found in keys and texts, and every path is named."""

from __future__ import annotations

import pytest

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.domain.control_characters import (
    control_character_errors,
    has_control_characters,
    on_one_line,
    require_plain_values,
)
from xapp_operator.errors import ValuesInvalid

REFUSED = [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), *"\u2028\u2029\u202e\u2066\u200f\u061c\ud800\udfff"]
ALLOWED = ["", " ", "é", "日本", "\U0001f680", "a-b_c.d/e", "\u200d", "\ufeff", "\ue000"]


@pytest.mark.parametrize("char", REFUSED, ids=ascii)
def test_control_characters_are_refused_in_names(char: str) -> None:
    assert has_control_characters(f"a{char}b")


@pytest.mark.parametrize("text", ALLOWED, ids=ascii)
def test_other_characters_are_allowed(text: str) -> None:
    assert not has_control_characters(text)
    require_plain_values({"key" + text: text})


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"a": "x\0"}, ["a"]),
        ({"a": [{"b": "x\n"}]}, ["a[0].b"]),
        ({"a\n": 1}, ["a\\n"]),
        ({"ca": "x\ny", "b": "x\ny"}, ["b"]),
        ({"ca": "x\0y"}, ["ca"]),
        ({"ca": {"a\tb": "x"}}, ["ca.a\\tb"]),
        ([1, None, True, "ok"], []),
    ],
)
def test_fields_of_a_body_are_named(body: Json, fields: list[str]) -> None:
    assert [error.field for error in control_character_errors(body, multiline=("ca",))] == fields


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"a": {"b": "x\0"}}, "values.a.b"),
        ({"a": ["x", "\x1b[31m"]}, "values.a[1]"),
        ({"a\tb": 1}, "values.a\\tb"),
        ({"a": {"\u202eb": 1}}, "values.a.\\u202eb"),
        ({"a": "\ud800"}, "values.a"),
    ],
)
def test_values_with_control_characters_are_refused(values: JsonObject, field: str) -> None:
    with pytest.raises(ValuesInvalid) as refused:
        require_plain_values(values)
    assert [error.field for error in refused.value.errors] == [field]


def test_texts_in_values_may_have_several_lines() -> None:
    require_plain_values({"config": "a:\r\n\tb\n\u2028\u0085"})


def test_a_foreign_description_is_put_on_one_line() -> None:
    assert on_one_line(" a\n\tb\0\u202ec\n") == "a b c"


def test_the_first_twenty_places_are_named() -> None:
    with pytest.raises(ValuesInvalid) as refused:
        require_plain_values({"list": ["\0"] * 21})
    assert [each.field for each in refused.value.errors] == [f"values.list[{index}]" for index in range(20)]
    with pytest.raises(ValuesInvalid) as named:
        require_plain_values({"a": "\0"}, source="valuesFrom[0]")
    assert named.value.message.startswith("valuesFrom[0].a must not have control characters")


def test_a_body_may_have_a_name_in_errors() -> None:
    assert [each.field for each in control_character_errors({"a": "\0", "b\0": 1}, path="body")] == [
        "body.a",
        "body.b\\u0000",
    ]
