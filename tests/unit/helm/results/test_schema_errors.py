"""Violations of a chart's schema, each with the path of its value. The texts are helm 4.3.1's."""

from typing import Any

import pytest

from tests.support.schema_messages import SCHEMA_MESSAGES
from xapp_operator.errors import ChartInvalid, ValuesInvalid
from xapp_operator.helm.results.error_rules import error_from_stderr
from xapp_operator.helm.results.schema_errors import HEADLINE, schema_error

MANY = f"""Error: {HEADLINE}
hello:
- at '': missing property 'must'
- at '/l/1': got number, want string
- at '/a': got string, want integer
- at '/b': value must be one of 'x', 'y'
- at '/c': validation failed
  - at '/c/d': 'SECRET1' does not match pattern '^[a-z]+$'
  - at '/c/p': minimum: got 1, want 3
  - at '/c': additional properties 'z', 'zz' not allowed


"""

SUBCHART = f"""Error: INSTALLATION FAILED: {HEADLINE}
par:
- at '/a': got string, want integer
sub:
- at '': missing property 'must'

"""


def errors(message: str, *, chart: str = "") -> list[tuple[str, str]]:
    error = error_from_stderr(message, chart=chart)
    assert isinstance(error, ValuesInvalid)
    return [(one.field, one.message) for one in error.errors]


def test_each_violation_is_one_field_error() -> None:
    assert errors(MANY) == [
        ("values.must", "is required"),
        ("values.l[1]", "must be a string, not a number"),
        ("values.a", "must be an integer, not a string"),
        ("values.b", "must be one of 'x', 'y'"),
        ("values.c.d", "must match ^[a-z]+$"),
        ("values.c.p", "must be at least 3"),
        ("values.c.z", "is not allowed by the chart's schema"),
        ("values.c.zz", "is not allowed by the chart's schema"),
    ]


def test_the_message_counts_the_violations_and_names_the_first() -> None:
    message = error_from_stderr(MANY).message
    assert "8 values" in message
    assert "values.must is required" in message


def test_no_value_is_quoted() -> None:
    error = error_from_stderr(MANY)
    assert "SECRET1" not in error.message + str(error.errors)


def test_values_of_a_subchart_have_its_name_in_their_path() -> None:
    assert errors(SUBCHART, chart="par") == [
        ("values.a", "must be an integer, not a string"),
        ("values.sub.must", "is required"),
    ]


def test_a_bound_is_a_plain_number_and_the_value_is_left_out() -> None:
    lines = (
        "- at '/f': maximum: got 12,345, want 1,000",
        "- at '/g': exclusiveMinimum: got -12,345.678, want 1\u00d710⁻⁰⁵",
        "- at '/a': maximum: got 9.9999999\u00d710⁰⁷, want 3.6\u00d710⁰⁶",
        "- at '/b': minimum: got -1,234, want -1.5",
        "- at '/c': maximum: got 9.007199254740992\u00d710¹⁵, want 1.234567890123\u00d710¹²",
        "- at '/d': maximum: got 1\u00d710³⁰⁸, want 1\u00d710³⁰⁰",
    )
    assert [message for _, message in errors("\n".join((f"Error: {HEADLINE}", "hello:", *lines)))] == [
        "must be at most 1000",
        "must be more than 0.00001",
        "must be at most 3600000",
        "must be at least -1.5",
        "must be at most 1234567890123",
        "must be at most 1\u00d710³⁰⁰",
    ]


@pytest.mark.parametrize("row", SCHEMA_MESSAGES, ids=lambda row: str(row["says"])[:60])
def test_each_rule_has_the_message_of_the_page(row: dict[str, Any]) -> None:
    found = errors("\n".join((f"Error: {HEADLINE}", "hello:", *row["helm"])))
    assert dict(found) == {f"values.{path}": message for path, message in row["says"].items()}
    assert len(found) == len(row["says"])


@pytest.mark.parametrize(
    ("lines", "field", "message"),
    [
        (["- at '/v': last 2 additionalItem(s) not allowed"], "values.v", "has 2 items too many"),
        (["- at '/v': last 1 additionalItem(s) not allowed"], "values.v", "has 1 item too many"),
        (
            [
                "- at '/v': min 2 items required to match contains schema, but none matched",
                "  - at '/v/0': got x, want y",
            ],
            "values.v",
            "has too few items that the chart's schema asks for: at least 2",
        ),
        (
            ["- at '/v': max 1,000 items required to match contains schema, but matched 1,001 items at 0 1"],
            "values.v",
            "has too many items that the chart's schema asks for: at most 1000",
        ),
        (
            ["- at '/elsewhere': invalid propertyName 'A'", "  - at '': 'A' does not match pattern '^[a-z]+$'"],
            "values",
            "has the key A, which the chart's schema refuses: must match ^[a-z]+$",
        ),
        (["- at '/v': value is not 'base64' encoded: illegal data"], "values.v", "must be encoded as base64"),
        (["- at '/v': value is not of mediatype 'a/b': x"], "values.v", "must have the media type a/b"),
        (["- at '/v': 'contentSchema' failed"], "values.v", "has content that the chart's schema refuses"),
        (["- at '/v': a rule of tomorrow"], "values.v", "a rule of tomorrow"),
        (["- at '/v': tomorrow: got 1, want 2"], "values.v", "tomorrow: got 1, want 2"),
    ],
)
def test_rules_that_the_page_words_otherwise_or_does_not_know(lines: list[str], field: str, message: str) -> None:
    assert errors("\n".join((f"Error: {HEADLINE}", "hello:", *lines))) == [(field, message)]


def test_keys_with_odd_characters_keep_their_names() -> None:
    error = schema_error(f"{HEADLINE}\nhello:\n- at '/a~1b/c~0d': got number, want string\n", chart="")
    assert error is not None
    assert error.errors[0].field == "values.a/b.c~d"


def test_the_number_of_violations_is_bounded() -> None:
    lines = "\n".join(f"- at '/v{n}': got number, want string" for n in range(1000))
    error = schema_error(f"{HEADLINE}\nhello:\n{lines}\n", chart="")
    assert error is not None
    assert len(error.errors) == 50
    assert "1000 values" in error.message


@pytest.mark.parametrize(
    "body",
    [
        "invalid character 'n' looking for beginning of object key string",
        '"file:///values.schema.json#" is not valid against metaschema: jsonschema validation failed with \'https://'
        "json-schema.org/draft/2020-12/schema#'\n- at '': 'allOf' failed\n  - at '/type': 'anyOf' failed\n    - at "
        "'/type': got string, want array",
    ],
)
def test_a_broken_schema_is_the_charts_fault(body: str) -> None:
    error = schema_error(f"{HEADLINE}\nhello:\n{body}\n", chart="hello")
    assert isinstance(error, ChartInvalid)
    assert "hello" in error.message


def test_other_texts_are_not_about_a_schema() -> None:
    assert schema_error("release: not found", chart="") is None
