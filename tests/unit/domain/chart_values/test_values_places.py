"""Where values stand in a values file, and which numbers helm rounds."""

from __future__ import annotations

import json
import tracemalloc
from typing import Final

import pytest

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.domain.chart_values.value_layers import ValuesLayer, effective_values
from xapp_operator.domain.chart_values.values import equal_values
from xapp_operator.domain.chart_values.values_places import ValuesPlaces, rounding_warnings
from xapp_operator.errors import FieldError, ValuesInvalid

TEXT: Final = """\
# comment
a:
  b: 1
  list:
    - x
    - name: y
      value: 2
8080: port
'on': c
base: &base {q: 1}
copy: *base
merged:
  <<: {r: 1}
  s: 2
"x.y": 3
"""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("values.a", (2, 1)),
        ("values.a.b", (3, 3)),
        ("values.a.list[0]", (5, 7)),
        ("values.a.list[1].value", (7, 7)),
        ("values.8080", (8, 1)),
        ("values[8080]", (8, 1)),
        ("values.on", (9, 1)),
        ("values.base.q", (10, 14)),
        ("values.a.bc", (2, 1)),
        ("values.x.y", (15, 1)),
        ("values.copy.q", (11, 1)),
        ("values.merged.r", (13, 8)),
        ("values.a.b.missing[3].x", (3, 3)),
        ("values.a.list[9]", (4, 3)),
        ("values.absent", None),
        ("values", None),
        ("valuesFrom[0].name", None),
        ("xAppForm.version", None),
    ],
)
def test_a_value_or_what_is_around_it_is_found(path: str, place: tuple[int, int] | None) -> None:
    assert ValuesPlaces(TEXT).find(path) == place


@pytest.mark.parametrize("text", ["", "# x", "[1, 2]", "a: [", "? {a: b}\n: c\n", "a: &x [*x]", "\x00", "- - -"])
def test_any_text_can_be_searched(text: str) -> None:
    assert ValuesPlaces(text).find("values.b.c") is None


def test_errors_get_their_places_once() -> None:
    error = ValuesInvalid(
        "no", errors=(FieldError("values.a.b", "x"), FieldError("values.z", "y"), FieldError("values.a.b", "z", 9, 9))
    )
    located = ValuesPlaces(TEXT).locate(error)
    assert [(each.line, each.column) for each in located.errors] == [(3, 3), (None, None), (9, 9)]
    assert (type(located), located.message) == (ValuesInvalid, "no")


@pytest.mark.parametrize(
    ("number", "rounded"),
    [
        (2**53, False),
        (2**53 + 1, True),
        (2**53 + 2, False),
        (-(2**53) - 1, True),
        (2**63 - 1, True),
        (-(2**63), False),
        (True, False),
        (0.1, False),
        ("9007199254740993", False),
    ],
)
def test_a_number_that_no_float_holds_is_rounded(number: Json, rounded: bool) -> None:
    assert bool(rounding_warnings({"a": [number]})) == rounded


def test_each_rounded_number_is_named_by_its_path() -> None:
    large = 2**53 + 1
    warnings = rounding_warnings({"a": {"b": large, "c": [1, large]}, "d": large})
    assert [each.split(" ")[0] for each in warnings] == ["values.a.b", "values.a.c[1]", "values.d"]


def test_many_rounded_numbers_are_counted() -> None:
    warnings = rounding_warnings({"a": [2**53 + 1] * 25}, file="Secret/s")
    assert len(warnings) == 21
    assert warnings[-1] == "helm rounds 5 more numbers of Secret/s"


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}, True),
        ({"a": 2**63 - 1}, {"a": 2**63 - 2}, False),
        ({"a": 2**63 - 1}, {"a": float(2**63 - 1)}, False),
        ({"a": True}, {"a": 1}, False),
        ({"a": None}, {}, False),
        ({"a": [1, {"b": 0}]}, {"a": [1, {"b": False}]}, False),
        ({"a": [1, 2]}, {"a": [2, 1]}, False),
        ({"a": "1"}, {"a": 1}, False),
    ],
)
def test_values_are_equal_if_kubernetes_stores_the_same(one: JsonObject, other: JsonObject, equal: bool) -> None:
    assert equal_values(one, other) == equal_values(other, one) == equal


def test_of_a_secret_only_the_keys_are_shown() -> None:
    layers = (
        ValuesLayer("chart", {"a": 1, "b": {"c": "x"}, "on": False}),
        ValuesLayer("Secret/s", {"b": {"c": "hidden", "d": [3]}, "on": True, "n": None}, "b: hidden # hidden\n"),
        ValuesLayer("yours", {"a": 2}),
    )
    assert effective_values(layers) == {
        "a": 2,
        "b": {"c": "••••••", "d": ["••••••"]},
        "on": True,
        "n": None,
    }
    assert "hidden" not in (layers[1].shown_text or "hidden")
    assert effective_values((*layers, ValuesLayer("ConfigMap/c", None))) is None


def test_a_layer_is_shown_as_it_was_written_where_nothing_is_secret() -> None:
    text = "a: 1  # why\n"
    assert ValuesLayer("yours", {"a": 1}, text).shown_text == text
    assert ValuesLayer("yours", {"a": 1}).shown_text == "a: 1\n"
    assert ValuesLayer("yours", {"a": 1}, "a: 1\na: 1\n").shown_text == "a: 1\n"  # not certain to be masked


def test_values_that_are_nested_too_deeply_are_not_shown() -> None:
    deep: Json = 1
    for _ in range(101):
        deep = {"a": deep}
    layer = ValuesLayer("yours", {"a": deep})
    assert layer.masked is None
    assert layer.shown_text is None


def test_the_effective_values_have_numbers_as_helm_rounds_them() -> None:
    layers = (
        ValuesLayer("chart", {"a": 2**53 + 1, "list": [{"b": 2**63 - 1}]}),
        ValuesLayer("yours", {"c": 2**53 - 1}),
    )
    assert effective_values(layers) == {"a": 2**53, "list": [{"b": 2**63}], "c": 2**53 - 1}
    whole: JsonObject = {"yes": True, "far": 1e300, "half": 0.5, "text": str(2**53 + 1)}
    assert json.dumps(effective_values([ValuesLayer("chart", whole)])) == json.dumps(whole)


def test_long_keys_above_many_values_take_no_more_memory_than_the_text() -> None:
    levels = 90
    text = "".join(f"{' ' * depth}{'k' * 900}:\n" for depth in range(levels))
    items = "".join(f"{' ' * levels}- {2**53 + 1}\n" for _ in range(2000))
    tracemalloc.start()
    try:
        found = ValuesPlaces(text + items).find("values" + ("." + "k" * 900) * levels + "[1999]")
        assert found == (levels + 2000, levels + 3)
        assert tracemalloc.get_traced_memory()[1] < 8 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_a_key_that_helm_refuses_is_found_by_its_text() -> None:
    assert ValuesPlaces("a:\n  !!int x: 1\n").find("values.a.x") == (2, 3)


def test_a_warning_names_the_file_the_line_and_500_characters_of_the_path() -> None:
    rule = " is a number that helm rounds to a 64-bit float, so the chart gets another one: write it in quotes if the "
    rule += "chart takes a text"
    text = f"a:\n  b: {2**53 + 1}\n"
    values: JsonObject = {"a": {"b": 2**53 + 1}}
    assert rounding_warnings(values) == [f"values.a.b{rule}"]
    assert rounding_warnings(values, text=text) == [f"line 2: values.a.b{rule}"]
    assert rounding_warnings(values, text=text, file="Secret/s") == [f"Secret/s, line 2: values.a.b{rule}"]
    assert rounding_warnings(values, text="b: 1", file="Secret/s") == [f"Secret/s: values.a.b{rule}"]
    longest = "values." + "k" * 493
    assert rounding_warnings({"k" * 493: 2**53 + 1}) == [f"{longest}{rule}"]
    assert rounding_warnings({"k" * 494: 2**53 + 1}) == [f"{longest[:-1]}…{rule}"]
    assert rounding_warnings({"a": [2**53 + 1] * 21})[-1] == "helm rounds 1 more numbers of the values"
    assert len(rounding_warnings({"a": [2**53 + 1] * 20})) == 20


def test_places_are_known_down_to_a_hundred_levels_and_up_to_100000_values() -> None:
    def nested(levels: int) -> str:
        return "".join(f"{' ' * depth}a:\n" for depth in range(levels - 1)) + " " * (levels - 1) + "a: 1\n"

    assert ValuesPlaces(nested(99)).find("values" + ".a" * 99) == (99, 99)
    assert ValuesPlaces(nested(101)).find("values" + ".a" * 101) == (100, 100)
    many = "a: [" + "1, " * 100_000 + "1]\n"
    assert ValuesPlaces(many).find("values.a[99998]") == (1, 5 + 3 * 99_998)
    assert ValuesPlaces(many).find("values.a[99999]") == (1, 1)


def test_lists_are_known_down_to_a_hundred_levels() -> None:
    text = "a: " + "[" * 98 + "x" + "]" * 98
    assert ValuesPlaces(text).find("values.a" + "[0]" * 98) == (1, 102)
    assert ValuesPlaces(f"a: {'[' * 101}x{']' * 101}").find("values.a" + "[0]" * 101) == (1, 103)


def test_an_error_about_another_field_gets_no_place() -> None:
    error = ValuesInvalid("", errors=(FieldError(".a", "of something else"),))
    assert ValuesPlaces(TEXT).locate(error) is error


def test_line_and_column_are_told_apart() -> None:
    error = ValuesInvalid("no", errors=(FieldError("values.a.list[1].value", "x"),))
    assert [(each.line, each.column) for each in ValuesPlaces("a:\n  list: [1, {value: 2}]").locate(error).errors] == [
        (2, 14)
    ]
