"""The loader of values: accepted and refused input."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.properties import must_occur, occurred
from tests.unit.domain.chart_values.values_files import FILES, LAXER, REFUSED_FILES, REFUSED_SCALARS, SCALARS, STRICTER
from xapp_operator.api.json import Json, JsonObject
from xapp_operator.domain.chart_values.yaml_values import (
    MAX_DEPTH,
    MAX_KEY_BYTES,
    MAX_NODES,
    dump_values,
    load_json,
    load_stated_values,
    load_values,
)
from xapp_operator.errors import ValuesInvalid

MIB = 1024 * 1024
ODD_TEXT = st.text(
    st.characters(codec="utf-8")
    | st.sampled_from("\x00\x07\x7f\x85\u2028\u2029\ufeff\ufffe\uffff\U0001f600\"\\'\t\n:#-[{"),
    max_size=12,
)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | ODD_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD_TEXT, inner, max_size=3),
    max_leaves=10,
)
VALUES: st.SearchStrategy[dict[str, Any]] = st.dictionaries(ODD_TEXT, JSON, max_size=4)


def load(data: bytes | str) -> JsonObject:
    return load_values(data, source="values", max_bytes=MIB)


def same(one: Json, other: Json) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def message_of(data: bytes | str) -> str:
    with pytest.raises(ValuesInvalid) as refused:
        load(data)
    assert refused.value.errors[0].field == "values"
    return str(refused.value)


def test_scalars_are_read_as_in_helm() -> None:
    loaded = {text: load(f"v: {text}\n") for text, _ in SCALARS}
    assert {text: loaded[text] for text, expected in SCALARS if not same(loaded[text], {"v": expected})} == {}


@pytest.mark.parametrize(("data", "expected"), [*FILES.values(), *LAXER.values()], ids=[*FILES, *LAXER])
def test_a_file_is_read(data: bytes, expected: JsonObject) -> None:
    assert same(load(data), expected)
    assert same(load(data.decode()), expected)


def test_refused_scalars_are_named_with_their_line() -> None:
    assert [text for text in REFUSED_SCALARS if "line " not in message_of(f"v: {text}\n")] == []


@pytest.mark.parametrize("data", REFUSED_FILES.values(), ids=REFUSED_FILES)
def test_a_file_is_refused_with_its_line(data: bytes) -> None:
    assert "line " in message_of(data)


@pytest.mark.parametrize(("data", "place"), STRICTER.values(), ids=STRICTER)
def test_values_that_helm_would_drop_are_refused(data: bytes, place: str) -> None:
    assert place in message_of(data)


@pytest.mark.parametrize(
    "data",
    [
        "a: hunter2\na: hunter2\n",
        "a: *hunter2\n",
        "a: !!int hunter2\n",
        "a: !!binary hunter2\n",
        "hunter2\n",
        "a: {hunter2: 1, hunter2: 2}\n",
        "a: hunter2: b\n",
        'a: "hunter2\n',
        "a: @hunter2\n",
        "a: !hunter2!x 1\n",
        "a: hunter2\x00\n",
        "a: {[hunter2]: 1}\n",
        "z: {<<: hunter2}\n",
        "%hunter2\n---\n",
    ],
)
def test_an_error_does_not_repeat_the_input(data: str) -> None:
    assert "hunter2" not in message_of(data)


def test_the_line_of_a_control_character_is_named() -> None:
    assert "line 3" in message_of('a: 1\nb: 2\nc: "\x01"\n')


def test_a_file_over_the_cap_is_refused_unread() -> None:
    with pytest.raises(ValuesInvalid, match=r"has 101 bytes; at most 100 are allowed"):
        load_values(b"a" * 101, source="values", max_bytes=100)
    assert load_values(b"a: " + b"x" * 97, source="values", max_bytes=100)


def test_an_error_has_its_line_and_its_column() -> None:
    for data, place in (("a: 1\nb: [\n", (3, 1)), ("a: 1\nb: !!int x\n", (2, 4)), ("a: " + "[" * 101, (1, 103))):
        with pytest.raises(ValuesInvalid) as refused:
            load(data)
        assert (refused.value.errors[0].line, refused.value.errors[0].column) == place


def test_an_error_names_the_input() -> None:
    with pytest.raises(ValuesInvalid, match=r"^valuesFrom\[0\] ") as refused:
        load_values("- a", source="valuesFrom[0]", max_bytes=100)
    assert refused.value.errors[0].field == "valuesFrom[0]"


def test_more_levels_than_the_bound_are_refused() -> None:
    assert f"more than {MAX_DEPTH} levels" in message_of("a: " + "[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert f"more than {MAX_DEPTH} levels" in message_of("a: " + "[" * 100_000)
    assert f"more than {MAX_DEPTH} levels" in message_of("a: " + "{a: " * 5_000)
    deep = "a: &a " + "[" * 60 + "]" * 60 + "\nb: " + "[" * 60 + "*a" + "]" * 60
    assert f"more than {MAX_DEPTH} levels" in message_of(deep)


def test_levels_up_to_the_bound_are_read_also_through_an_alias() -> None:
    assert load("a: " + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1))
    anchored = "a: &a " + "[" * 60 + "]" * 60 + "\nb: "
    assert load(anchored + "[" * 39 + "*a" + "]" * 39)
    assert f"more than {MAX_DEPTH} levels" in message_of(anchored + "[" * 40 + "*a" + "]" * 40)
    assert load_json("[" * MAX_DEPTH + "]" * MAX_DEPTH, source="form")
    assert load_json('{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH, source="form")


def test_more_values_than_the_bound_are_refused() -> None:
    whole_and_list = 2
    assert load("a: [" + "1," * (MAX_NODES - whole_and_list) + "]")
    assert f"more than {MAX_NODES:,} values" in message_of("a: [" + "1," * (MAX_NODES - whole_and_list + 1) + "]")


def test_aliases_count_what_they_repeat_and_no_more() -> None:
    assert load("a: &a 1\nb: [" + "*a," * (MAX_NODES - 3) + "]")
    assert load("p: [" + "1," * 60_000 + "]\na: &a [1]\nb: [*a, *a, *a]")
    assert load("p: " + "x" * 600_000 + "\na: &a [x]\nb: [*a, *a, *a]")
    assert f"more than {MAX_NODES:,} values" in message_of("a: &a [1, 1]\nb: [" + "*a," * 40_000 + "]")


def test_an_alias_bomb_is_refused_at_the_alias_that_exceeds_the_bound() -> None:
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]" for i in range(1, 40)]
    assert message_of("\n".join(lines)).startswith("values is refused at line 5,")


def test_a_merge_bomb_is_refused() -> None:
    lines = ["l0: &l0 {a: [x, x, x, x, x, x, x, x, x, x]}"]
    lines += [f"l{i}: &l{i} {{<<: *l{i - 1}, a: [{', '.join([f'*l{i - 1}'] * 10)}]}}" for i in range(1, 40)]
    assert f"more than {MAX_NODES:,} values" in message_of("\n".join(lines))


def test_aliases_of_a_long_text_are_refused_by_their_expanded_size() -> None:
    data = "a: &a " + "x" * 500_000 + "\nb: [*a, *a, *a]\n"
    assert "more than 1,048,576 characters, aliases expanded" in message_of(data)


def test_aliases_as_keys_count() -> None:
    data = "a: &a " + "x" * 1_000 + "\n" + "".join(f"b{i}: {{*a : 1}}\n" for i in range(1_100))
    assert "aliases expanded" in message_of(data)


def test_repeated_aliases_are_copies() -> None:
    loaded = load("a: &a {p: [1]}\nb: *a\nc: {<<: *a}\n")
    assert isinstance(loaded["b"], dict)
    loaded["b"]["p"] = 2
    assert loaded["a"] == loaded["c"] == {"p": [1]}
    loaded = load("a: &a [1]\nb: *a\n")
    assert isinstance(loaded["b"], list)
    loaded["b"].append(2)
    assert loaded["a"] == [1]


def test_an_unknown_alias_and_a_recursive_alias_have_different_errors() -> None:
    assert "without its anchor before it" in message_of("a: *x\n")
    assert "inside the value that it repeats" in message_of("a: &x [*x]\n")


@given(VALUES)
def test_dumped_values_are_read_back_unchanged(values: JsonObject) -> None:
    dumped = dump_values(values)
    assert b"\n" not in dumped
    back = load(dumped)
    assert back == values
    assert load_json(dumped, source="values") == back


yaml_texts = st.text(max_size=40) | st.text("a1:-[]{}&*!|>'\"#%@`?,~ \n\t.<", max_size=40)


@must_occur(read=10)
@given(yaml_texts | yaml_texts.map("a: {}".format))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        loaded = load(text)
    except ValuesInvalid:
        return
    if loaded:
        occurred("read")
    assert load(dump_values(loaded)) == loaded


def test_a_key_that_helm_cannot_read_is_not_dumped() -> None:
    assert dump_values({"k" * (MAX_KEY_BYTES - 2): {"x": 1}})
    with pytest.raises(ValuesInvalid, match=r"a key of 1,001 bytes; at most 1,000"):
        dump_values({"a": [{"k" * (MAX_KEY_BYTES - 1): 1}]})
    with pytest.raises(ValuesInvalid, match=r"a key of 1,202 bytes"):
        dump_values({"\x85" * 200: 1})


def test_an_unpaired_surrogate_is_dumped_as_the_replacement_character() -> None:
    assert dump_values({"a": "\ud800"}) == b'{"a":"\\ufffd"}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", {}),
        ("[1, 2.0, 1e3, -0, null, true]", [1, 2, 1000, 0, None, True]),
        ('"\\ud83d\\ude00"', "\U0001f600"),
        ('\ufeff{"a": 1}', {"a": 1}),
        ("[9223372036854775807, -9223372036854775808]", [2**63 - 1, -(2**63)]),
        ("1e30", 1e30),
        ("9007199254740993", 9007199254740993),
        ('{"yes": "no"}', {"yes": "no"}),
    ],
)
def test_json_is_read(text: str, expected: Json) -> None:
    assert same(load_json(text, source="form"), expected)
    assert same(load_json(text.encode(), source="form"), expected)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not JSON: line 1, column 1"),
        ("{", "not JSON: line 1, column 2"),
        ('{"a": 1,\n "b": }', "not JSON: line 2, column 7"),
        ("{'a': 1}", "not JSON"),
        ("{} {}", "not JSON"),
        ('{"a": 1, "a": 2}', 'the key "a" twice'),
        ('[{"x": {"a": 1, "b": 1, "b": 2}}]', 'the key "b" twice'),
        ('{"\\u0061": 1, "a": 2}', 'the key "a" twice'),
        ("9223372036854775808", "a whole number of more than 64 bits"),
        ("[-123456789012345678901234567890]", "a whole number of more than 64 bits"),
        ("[NaN]", "NaN, which JSON cannot represent"),
        ("[-Infinity]", "-Infinity, which"),
        ("[1e400]", "no 64-bit float"),
        ("[" + "9" * 5000 + "]", "no 64-bit float"),
        ('["\\ud800"]', "half of a surrogate"),
        ('{"\\udc00": 1}', "half of a surrogate"),
        ("[" * 101 + "]" * 101, "more than 100 levels"),
        ("[" * 200_000, "more than 100 levels"),
        ('{"a":' * 200_000, "more than 100 levels"),
    ],
    ids=range(19),
)
def test_invalid_json_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValuesInvalid) as refused:
        load_json(text, source="form")
    assert str(refused.value).startswith("form ")
    assert problem in str(refused.value)


def test_json_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(ValuesInvalid, match="form is not UTF-8: line 2"):
        load_json(b'{\n"a": "\xff"}', source="form")


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("", None),
        ("# a: 1\n", None),
        ("---\n# c\n", None),
        ("null\n", None),
        ("{}", {}),
        ("# c\n{}\n", {}),
        ("a:", {"a": None}),
    ],
)
def test_a_text_without_an_object_is_told_from_an_empty_object(text: str, stated: JsonObject | None) -> None:
    assert load_stated_values(text, source="values", max_bytes=MIB) == stated
    assert load_values(text, source="values", max_bytes=MIB) == (stated or {})


@pytest.mark.parametrize("code", [0xD800, 0xDBFF, 0xDC00, 0xDFFF])
def test_each_half_of_a_pair_is_dumped_as_the_replacement_character(code: int) -> None:
    assert load(dump_values({"a": chr(code)})) == {"a": "\ufffd"}


def test_the_length_of_a_key_is_that_of_its_utf8() -> None:
    assert load(dump_values({"ü" * 499: 1})) == {"ü" * 499: 1}


def test_a_file_has_up_to_100000_values_100_levels_and_keys_of_1000_bytes() -> None:
    assert len(cast("list[Json]", load(f"a: [{'1,' * 99_998}]")["a"])) == 99_998  # with the list and the object
    assert "more than 100,000 values" in message_of(f"a: [{'1,' * 99_999}]")
    assert load(f"a: {'[' * 99}{']' * 99}")
    assert "nested more than 100 levels" in message_of(f"a: {'[' * 100}{']' * 100}")
    assert load(dump_values({"k" * 998: 1})) == {"k" * 998: 1}  # with its quotes
    with pytest.raises(ValuesInvalid, match="a key of 1,001 bytes; at most 1,000"):
        dump_values({"k" * 999: 1})
