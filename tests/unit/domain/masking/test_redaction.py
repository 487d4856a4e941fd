"""Secrets in values: masked, kept when the mask comes back, and scrubbed from texts."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.unit.domain.masking.redaction_cases import CASES
from xapp_operator.api.json import Json, JsonObject
from xapp_operator.domain.masking.redaction import (
    MASK,
    SCRUB_QUICKLY_MAX,
    long_texts,
    redact,
    scrub,
    secret_texts,
    unmask,
)
from xapp_operator.domain.masking.secret_keys import is_secret_key
from xapp_operator.errors import ValuesInvalid

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----\n"
KEYS = st.sampled_from(["name", "password", "host", "apiKey", "env", "secretRef", "key", "items", "auth"])
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("abc", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
VALUES: st.SearchStrategy[dict[str, Any]] = st.dictionaries(KEYS, JSON, max_size=4)


def test_keys_that_look_like_secrets_are_secret() -> None:
    assert [key for key in CASES["secretKeys"] if not is_secret_key(key)] == []


def test_keys_that_name_or_describe_a_secret_are_plain() -> None:
    assert [key for key in CASES["plainKeys"] if is_secret_key(key)] == []


@pytest.mark.parametrize(("values", "expected"), CASES["values"])
def test_values_are_redacted(values: JsonObject, expected: JsonObject) -> None:
    before = copy.deepcopy(values)
    assert redact(values) == expected
    assert unmask(expected, values) == values == before


@given(VALUES)
def test_masked_values_that_are_sent_back_are_restored(values: JsonObject) -> None:
    assert unmask(redact(values), values) == values


@given(VALUES)
def test_redacting_twice_changes_nothing(values: JsonObject) -> None:
    assert redact(redact(values)) == redact(values)


OLD: JsonObject = {
    "password": "old",
    "users": [{"name": "ann", "token": "a"}, {"name": "bob", "token": "b"}],
    "hosts": [{"host": "x", "key": "kx"}, {"host": "y", "key": "ky"}],
    "tokens": ["t1", "t2"],
    "open": "text",
}


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ({"password": MASK, "extra": 1}, {"password": "old", "extra": 1}),
        ({"password": "new"}, {"password": "new"}),
        ({}, {}),
        ({"users": [{"name": "bob", "token": MASK}]}, {"users": [{"name": "bob", "token": "b"}]}),
        (
            {"users": [{"name": "bob", "token": MASK}, {"name": "eve", "token": "e"}, {"name": "ann", "token": MASK}]},
            {"users": [{"name": "bob", "token": "b"}, {"name": "eve", "token": "e"}, {"name": "ann", "token": "a"}]},
        ),
        (
            {"users": [{"name": "bob", "role": "admin", "token": MASK}]},
            {"users": [{"name": "bob", "role": "admin", "token": "b"}]},
        ),
        ({"hosts": [{"host": "y", "key": MASK}]}, {"hosts": [{"host": "y", "key": "ky"}]}),
        (
            {"hosts": [{"host": "y", "key": MASK}, {"host": "x", "key": MASK}]},
            {"hosts": [{"host": "y", "key": "ky"}, {"host": "x", "key": "kx"}]},
        ),
        (
            {"hosts": [{"host": "x", "key": MASK}, {"host": "z", "key": MASK}]},
            {"hosts": [{"host": "x", "key": "kx"}, {"host": "z", "key": "ky"}]},
        ),
        ({"tokens": [MASK, "new"]}, {"tokens": ["t1", "new"]}),
        ({"tokens": [MASK, MASK, "t3"]}, {"tokens": ["t1", "t2", "t3"]}),
    ],
)
def test_a_mask_sent_back_keeps_the_old_value(new: JsonObject, expected: JsonObject) -> None:
    assert unmask(new, OLD) == expected


@pytest.mark.parametrize(
    ("new", "field"),
    [
        ({"other": MASK}, "values.other"),
        ({"open": MASK}, "values.open"),
        ({"password": {"inner": MASK}}, "values.password.inner"),
        ({"tokens": [MASK]}, "values.tokens[0]"),
        ({"tokens": ["t0", MASK, MASK]}, "values.tokens[1]"),
        ({"users": [{"name": "eve", "token": MASK}]}, "values.users[0].token"),
        ({"hosts": [{"host": "z", "key": MASK}]}, "values.hosts[0].key"),
    ],
)
def test_a_mask_without_an_unambiguous_value_is_refused(new: JsonObject, field: str) -> None:
    with pytest.raises(ValuesInvalid) as refused:
        unmask(new, OLD)
    assert refused.value.errors[0].field == field
    assert "old" not in str(refused.value)


def test_all_unknown_masks_are_named() -> None:
    with pytest.raises(ValuesInvalid) as refused:
        unmask({"a": MASK, "b": [MASK]}, {})
    assert [error.field for error in refused.value.errors] == ["values.a", "values.b[0]"]


def test_the_secrets_of_values_are_those_that_are_masked() -> None:
    assert secret_texts(OLD) == {"old", "a", "b", "kx", "ky", "t1", "t2"}
    assert secret_texts({"pin": 1234, "password": ""}) == {"1234"}


@pytest.mark.parametrize(
    ("text", "secrets", "expected"),
    [
        ("login with hunter2 failed", ["hunter2"], f"login with {MASK} failed"),
        ("hunter2hunter2", ["hunter2"], MASK * 2),
        ("hunter22", ["hunter2", "hunter22"], MASK),
        (f"data: {base64.b64encode(b'hunter2').decode()}", ["hunter2"], f"data: {MASK}"),
        ('got "a\\"b\\\\c"', ['a"b\\c'], f'got "{MASK}"'),
        ('got "\u00e4\\"bc"', ['\u00e4"bc'], f'got "{MASK}"'),
        ('got "\\u00e4\\"bc"', ['\u00e4"bc'], f'got "{MASK}"'),
        ("http://u:p%40ss%2Fw@h", ["p@ss/w"], f"http://u:{MASK}@h"),
        ("at MIIEowIBAAKCAQEA here", [PEM], f"at {MASK} here"),
        ("a is not scrubbed", ["a", "", "is"], "a is not scrubbed"),
        ("nothing", [], "nothing"),
    ],
)
def test_texts_are_scrubbed(text: str, secrets: list[str], expected: str) -> None:
    assert scrub(text, secrets) == expected


@given(st.text(min_size=4, max_size=30), st.text(), st.text())
def test_a_scrubbed_text_never_contains_the_secret(secret: str, before: str, after: str) -> None:
    assume(secret not in MASK)  # a secret of the mask's own characters stands in every mask
    for spelled in (secret, json.dumps(secret)[1:-1], base64.b64encode(secret.encode()).decode()):
        assert spelled not in scrub(before + spelled + after, [secret])


def test_redaction_is_quick_on_hostile_texts() -> None:
    hostile: list[Json] = ["a" * 1_000_000, "://" + ":" * 500_000, "://a:" * 100_000, "-----BEGIN " * 50_000]
    assert redact({"texts": hostile}) == {"texts": hostile}


def test_strings_are_found_at_any_depth_except_short_words() -> None:
    values: JsonObject = {"a": {"b": ["long-enough", "short", 123456, None]}, "c": "another-text"}
    assert set(long_texts(values)) == {"long-enough", "another-text"}


def test_a_volume_that_names_everything_of_its_secret_is_no_secret() -> None:
    source: JsonObject = {"secretName": "s", "name": "n", "items": [], "defaultMode": 420, "optional": True}
    assert redact({"volumes": [{"secret": source}]}) == {"volumes": [{"secret": source}]}


@pytest.mark.parametrize(("length", "expected"), [(2 * 8192, False), (2 * 8192 + 1, True)])
def test_of_a_secret_beyond_16_kib_the_beginning_and_the_end_are_looked_for(length: int, expected: bool) -> None:
    secret = "".join(chr(0x4E00 + number) for number in range(length))
    assert scrub(f"it is {secret}.", [secret]) == f"it is {MASK if length == 2 * 8192 else MASK + secret[8192] + MASK}."
    assert (scrub(secret[:8192], [secret]) == MASK) is expected
    assert (scrub(secret[-8192:], [secret]) == MASK) is expected
    assert scrub(secret[1:8192], [secret]) == secret[1:8192]


@pytest.mark.parametrize("before", ["", "u", "ur", "usr", "user:"])
@pytest.mark.parametrize("after", ["", "x", "xy", "\n"])
@pytest.mark.parametrize("padding", [0, SCRUB_QUICKLY_MAX])
def test_a_secret_inside_of_a_text_in_base64_is_scrubbed(before: str, after: str, padding: int) -> None:
    """A chart writes `user:password` so, for a registry or for basic authentication."""
    encoded = base64.b64encode(f"{before}hunter2{after}".encode()).decode()
    shown = scrub(f"{' ' * padding}auth: {encoded}", ["hunter2"]).strip()
    assert shown.startswith("auth: ")
    assert MASK in shown
    rest = shown.removeprefix("auth: ").replace(MASK, "").rstrip("=")
    assert len(rest) <= len(base64.b64encode(f"{before}{after}".encode()).decode().rstrip("=")) + 3


def test_secrets_of_four_characters_are_scrubbed() -> None:
    assert scrub("an abcd", ["abcd"]) == f"an {MASK}"
    assert scrub("an abc", ["abc"]) == "an abc"
    assert scrub("it is YWJj", ["abc"]) == f"it is {MASK}"  # base64


@pytest.mark.parametrize(("before", "is_scrubbed"), [("", True), ("u", False), ("us", False)])
def test_eight_characters_of_base64_are_scrubbed_and_seven_are_not(before: str, is_scrubbed: bool) -> None:
    """What is before the secret decides how many characters come from it alone."""
    encoded = base64.b64encode(f"{before}s3cret".encode()).decode()
    assert (MASK in scrub(f"auth: {encoded}", ["s3cret"])) is is_scrubbed


def test_lines_of_eight_characters_of_a_secret_are_scrubbed() -> None:
    secret = "first\n  abcdefgh  \nabcdefg"
    assert scrub("an abcdefgh", [secret]) == f"an {MASK}"
    assert scrub("an abcdefg", [secret]) == "an abcdefg"


def test_a_text_of_six_characters_is_no_common_word() -> None:
    assert list(long_texts({"a": ["abcde", "abcdef"]})) == ["abcdef"]


def test_items_whose_names_are_masked_are_matched_by_what_is_readable() -> None:
    old: JsonObject = {"credentials": [{"login": {"name": MASK}, "token": "a"}]}
    assert unmask(redact(old), old) == old
    named: JsonObject = {"list": [{"name": MASK, "token": "a", "x": 1}, {"name": "b", "token": "c"}]}
    assert secret_texts(named) == {"a", "c"}
    twice: JsonObject = {"list": [{"name": "a", "token": "1"}, {"name": "a", "x": 2, "token": "2"}]}
    moved: JsonObject = {"list": [{"name": "a", "x": 2, "token": MASK}]}
    assert unmask(moved, twice) == {"list": [{"name": "a", "x": 2, "token": "2"}]}


def test_a_masked_name_says_nothing_about_an_item() -> None:
    old: JsonObject = {"list": [{"name": MASK, "token": "a", "x": 1}, {"name": "b", "token": "c"}]}
    with pytest.raises(ValuesInvalid):
        unmask({"list": [{"name": MASK, "token": MASK, "x": 2}]}, old)


def test_a_mask_alone_is_not_matched_by_itself() -> None:
    with pytest.raises(ValuesInvalid):
        unmask({"tokens": ["x", MASK]}, {"tokens": ["hunter22"]})


def test_a_secret_is_found_in_a_text_of_any_length() -> None:
    for length in (10, 100_000):
        text = "x" * length + "hunter22"
        assert scrub(text, ["hunter22"]) == "x" * length + MASK


def test_secrets_are_found_below_what_is_masked_in_part() -> None:
    values: JsonObject = {"list": [{"url": "http://me:hunter2@host"}, "--password=hunter3"], "a": {"b": ["x"]}}
    assert secret_texts(values) == {"hunter2", "hunter3"}


def test_items_are_matched_whatever_the_order_of_their_members_is() -> None:
    old: JsonObject = {"list": [{"login": "ann", "token": "a"}, {"login": "bob", "token": "b"}]}
    assert unmask({"list": [{"token": MASK, "login": "bob"}]}, old) == {"list": [{"login": "bob", "token": "b"}]}


def test_texts_that_are_masked_in_part_are_matched_by_what_is_readable() -> None:
    old: JsonObject = {"list": ["http://ann:first-1@a.example", "http://bob:second2@b.example", "plain"]}
    new: JsonObject = {"list": [f"http://bob:{MASK}@b.example"]}
    assert unmask(new, old) == {"list": ["http://bob:second2@b.example"]}
