"""Values as text for people: written so that helm reads the same values, and masked without losing comments."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given

from tests.unit.domain.chart_values.test_yaml_values import VALUES, load, same
from tests.unit.domain.chart_values.values_files import SCALARS
from xapp_operator.api.json import Json, JsonObject
from xapp_operator.domain.chart_values.values_text import (
    KEPT_TEXT_MAX_BYTES,
    dump_values_text,
    is_text_of,
    mask_values_text,
    text_to_keep,
)
from xapp_operator.domain.chart_values.yaml_values import MAX_DEPTH
from xapp_operator.domain.masking.redaction import MASK, redact

PRIVATE = "of-the-owner"


@given(VALUES)
def test_written_values_are_read_as_the_same_values(values: dict[str, Any]) -> None:
    known = load(dump_values_text(values))
    assert same(load(dump_values_text(known)), known)


def test_texts_that_helm_reads_as_something_else_are_quoted() -> None:
    values: JsonObject = {"texts": [text for text, _ in SCALARS]}
    assert load(dump_values_text(values)) == values


def test_written_values_are_for_people() -> None:
    values: JsonObject = {"z": 9223372036854775807, "a": {"list": [1, {"b": None}], "text": "one\ntwo\n"}, "empty": {}}
    assert dump_values_text(values) == (
        "z: 9223372036854775807\na:\n  list:\n  - 1\n  - b: null\n  text: |\n    one\n    two\nempty: {}\n"
    )
    assert dump_values_text({}) == ""


@pytest.mark.parametrize(
    "text",
    [
        "# first\nb: 1 # one\n\na:   2\n# last",
        "big: 9223372036854775807\nsmall: -9223372036854775808\nhex: 0x10\n",
        '{"a": 1, "b": [true, null]}\n',
        "base: &base {a: 1}\nother:\n  <<: *base\n",
        "8080: a\n'on': b\nyes: c\n",
        "",
        "# nothing but a comment\n",
    ],
)
def test_a_text_without_secrets_stays_as_it_is(text: str) -> None:
    assert mask_values_text(text) == text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"# who\npassword: {PRIVATE} # why\n", f'# who\npassword: "{MASK}" # why\n'),
        (f"a: 1 # it was {PRIVATE}\ntoken: '{PRIVATE}'\n", f'a: 1 # it was {MASK}\ntoken: "{MASK}"\n'),
        (f"# password: {PRIVATE}\na: 1\n", f"# password: {MASK}\na: 1\n"),
        (
            f"env: |\n  A=1\n  PASSWORD={PRIVATE}\n# end\n",
            f"env: |\n  A=1\n  PASSWORD={MASK}\n# end\n",
        ),
        (f"env: | # PASSWORD={PRIVATE}\n  PASSWORD={PRIVATE}\n", f"env: |\n  PASSWORD={MASK}\n"),
        (f"text: | # password: {PRIVATE}\n  x\n", f"text: | # password: {MASK}\n  x\n"),
        (f"env: |2\n    A=1\n  PASSWORD={PRIVATE}\n", f"env: |2\n    A=1\n  PASSWORD={MASK}\n"),
        (f"url: http://bob:{PRIVATE}@host\n", f'url: "http://bob:{MASK}@host"\n'),
        ("pin: 123456\nport: 8080\n", f'pin: "{MASK}"\nport: 8080\n'),
        ("password: 123456\n", f'password: "{MASK}"\n'),
        (f"- no object\n- {PRIVATE}\n", None),
        (f"password: {PRIVATE}\npassword: b\n", None),
        ("a: [\n", None),
        ("a: .inf\n", None),
        ("a: 1\n---\nb: 1\n", None),
        (f"&k password: a1\nother:\n  *k : {PRIVATE}\n", f'&k password: "{MASK}"\nother:\n  *k : "{MASK}"\n'),
        (f"a: &k token\n*k : {PRIVATE}\n", f'a: &k token\n*k : "{MASK}"\n'),
        ("a: &k [token]\n*k : b\n", None),
        ("a: &k {token: b}\n*k : b\n", None),
        ("? [a]\n: b\n", None),
        ("*k : b\n", None),
        ("16: a\n0x10: b\n", None),
        ("16: a\n'0x10': b\n", "16: a\n'0x10': b\n"),
        ("'16': a\n0x10: b\n", None),
        ("a: &k 16\n16: b\n*k : c\n", None),
    ],
)
def test_secrets_are_masked_where_they_stand(text: str, masked: str | None) -> None:
    assert mask_values_text(text) == masked
    if masked is not None:
        assert load(masked) == redact(load(text))


@pytest.mark.parametrize("text", ["a#b: 1#2\n", "a: 'x # y'\n", 'a: "x # y"\n', "a: |\n  x # y\n", "a: x#\n"])
def test_what_only_looks_like_a_comment_is_none(text: str) -> None:
    assert mask_values_text(f"password: {PRIVATE}\n{text}") == f'password: "{MASK}"\n{text}'


def test_a_small_text_that_repeats_itself_is_not_masked() -> None:
    lines = ["a: &a0 " + "x" * 1000, *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))]
    assert mask_values_text("\n".join(lines)) is None


@pytest.mark.parametrize("text", ["", "  \n", "a: [", "a: 2\n", "# " + "x" * KEPT_TEXT_MAX_BYTES])
def test_a_text_is_not_kept_unless_it_says_what_the_values_say(text: str) -> None:
    assert text_to_keep(text, {"a": 1}) is None


def test_a_text_is_kept_with_its_secrets_masked() -> None:
    text = "a: 1  # why\npassword: hunter22\n"
    kept = text_to_keep(text, {"a": 1, "password": "hunter22"})
    assert kept is not None
    assert "# why" in kept
    assert "hunter22" not in kept


def test_a_kept_text_counts_only_while_it_says_what_the_values_say() -> None:
    deep: Json = 1
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]
    longest = "a: 1 #"
    longest += "x" * (2 * KEPT_TEXT_MAX_BYTES - len(longest))
    assert is_text_of(longest, {"a": 1})
    for text, values in (
        (longest + "x", {"a": 1}),
        ("a: 1", {"a": 2}),
        ("a: 1\x07", {"a": 1}),
        ("a: [", {"a": 1}),
        ("a: 1", {"a": deep}),
    ):
        assert not is_text_of(text, cast("JsonObject", values))


def test_what_values_repeat_is_written_out() -> None:
    shared: JsonObject = {"b": [1]}
    assert dump_values_text({"a": shared, "c": shared}) == "a:\n  b:\n  - 1\nc:\n  b:\n  - 1\n"


@pytest.mark.parametrize("text", ["ü", "中" * 100])
def test_other_letters_than_those_of_ascii_are_written_as_they_are(text: str) -> None:
    assert dump_values_text({"a": text}) == f"a: {text}\n"


def test_what_looks_like_a_comment_in_a_text_is_none() -> None:
    text = f'password: {PRIVATE}\nnote: "a # {PRIVATE}"\n'
    assert mask_values_text(text) == f'password: "{MASK}"\nnote: "a # {PRIVATE}"\n'


def test_lines_of_windows_are_masked_too() -> None:
    text = f"env: |\r\n  A=1\r\n  PASSWORD={PRIVATE}\r\n  B=2\r\n"
    masked = mask_values_text(text)
    assert masked is not None
    assert load(masked) == redact(load(text))


def test_a_long_text_stays_on_its_line() -> None:
    words = "word " * 500 + "end"
    assert dump_values_text({"a": words}) == f"a: {words}\n"


@pytest.mark.parametrize("text", [" a\nb", "a \nb", "a\n b", "a\n\nb\n\n", "a\tb\nc"])
def test_texts_of_several_lines_are_read_as_they_were(text: str) -> None:
    assert load(dump_values_text({"a": text})) == {"a": text}


@pytest.mark.parametrize("text", [" a\nb", "a\nb ", "a\xa0\nb"])
def test_a_text_whose_lines_begin_or_end_with_a_space_is_quoted(text: str) -> None:
    assert "|" not in dump_values_text({"a": text})


def test_a_comment_stays_a_comment_although_a_secret_begins_like_one() -> None:
    text = 'password: "#hunter22" #hunter22\n'
    masked = mask_values_text(text)
    assert masked is not None
    assert load(masked) == redact(load(text))


def test_a_text_of_a_mebibyte_is_masked_with_its_aliases_expanded() -> None:
    half = 512 * 1024  # of which the key takes one
    for length, is_masked in ((half - 1, True), (half, False)):
        text = f"a: &a {'x' * length}\nb: *a\n"
        assert (mask_values_text(text) == text) is is_masked


def test_a_secret_of_six_characters_is_looked_for_in_comments() -> None:
    assert mask_values_text("password: abcdef # abcdef\n") == f'password: "{MASK}" # {MASK}\n'
    assert mask_values_text("password: abcde # abcde\n") == f'password: "{MASK}" # abcde\n'


def test_the_longest_256_secrets_are_looked_for_in_comments() -> None:
    secrets = [f"{'x' * (6 + number)}" for number in range(257)]
    tokens = "".join(f"- {each}\n" for each in secrets)
    masked = mask_values_text(f"tokens:\n{tokens}# {secrets[0]}\n# {secrets[1]}\n")
    assert masked is not None
    assert masked.endswith(f"# {secrets[0]}\n# {MASK}\n")


def test_a_text_of_64_kib_is_kept() -> None:
    longest = "a: 1 #".ljust(64 * 1024, "x")
    assert text_to_keep(longest, {"a": 1}) == longest
    assert text_to_keep(f"{longest}x", {"a": 1}) is None
    assert text_to_keep("{}", {}) is None
    assert text_to_keep("# a", {}) == "# a"


def test_texts_that_helm_refuses_unquoted_are_quoted() -> None:
    values: JsonObject = {"a": ".inf", "b": "<<", "c": "1e3", "d": "plain"}
    assert dump_values_text(values) == 'a: ".inf"\nb: "<<"\nc: "1e3"\nd: plain\n'
