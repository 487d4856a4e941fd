"""Secrets inside texts are found, in linear time, and a partly masked text is restored."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain.masking.redaction_cases import CASES
from xapp_operator.api.json import JsonObject
from xapp_operator.domain.masking.redaction import MASK, redact, secret_texts, unmask
from xapp_operator.domain.masking.text_secrets import find_secrets, mask_secrets
from xapp_operator.errors import ValuesInvalid

PEM = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIIGl\n-----END EC PRIVATE KEY-----"
HEX = "465B5CE8B199B49FAA5F0A2EE238A6BC"


def _marked(text: str) -> str:
    return mask_secrets(text, lambda secret: f"«{secret}»")


@pytest.mark.parametrize(("marked", "what"), CASES["secretTexts"], ids=[what for _, what in CASES["secretTexts"]])
def test_a_secret_in_a_text_is_found(marked: str, what: str) -> None:
    text = marked.replace("«", "").replace("»", "")
    assert _marked(text) == (marked if marked.count("«") == marked.count("»") else f"{marked}»")


@pytest.mark.parametrize("text", CASES["plainTexts"])
def test_other_texts_stay_readable(text: str) -> None:
    assert _marked(text) == text


@pytest.mark.parametrize(
    "marked",
    [
        r"password=\"«secret1»\"\"«more1»\" x",
        r"""password=\"«secret1»\"'«more1»' x""",
        f"«{PEM}{PEM}»",
    ],
    ids=["escaped quotes", "escaped quotes and others", "two keys"],
)
def test_secrets_that_follow_each_other_without_a_blank_are_found(marked: str) -> None:
    assert _marked(marked.replace("«", "").replace("»", "")) == marked


CONFIG = f"[db]\nhost = a\npassword = s3cr3t\n[cache]\npassword = other1\nport = 1\n{PEM}\nend\n"
SHOWN = f"[db]\nhost = a\npassword = {MASK}\n[cache]\npassword = {MASK}\nport = 1\n{MASK}\nend\n"


@pytest.mark.parametrize(
    ("change", "restored"),
    [
        (("", ""), ("", "")),
        (("port = 1", "port = 2\nextra = 3"), ("port = 1", "port = 2\nextra = 3")),
        (("host = a", "host = b"), ("host = a", "host = b")),
        (("[db]", "[first]\nx = 1\n[db]"), ("[db]", "[first]\nx = 1\n[db]")),
        ((f"{MASK}\nend", f"{MASK}\nnew end"), (f"{PEM}\nend", f"{PEM}\nnew end")),
        (
            (f"password = {MASK}\n[cache]", "password = new\n[cache]"),
            ("password = s3cr3t\n[cache]", "password = new\n[cache]"),
        ),
    ],
)
def test_an_edited_text_keeps_its_secrets(change: tuple[str, str], restored: tuple[str, str]) -> None:
    assert redact({"config": CONFIG}) == {"config": SHOWN}
    assert unmask({"config": SHOWN.replace(*change)}, {"config": CONFIG}) == {"config": CONFIG.replace(*restored)}


@pytest.mark.parametrize(
    "text",
    [
        f"x: {MASK}",
        f"password: {MASK} (abc123)",
        f"[cache]\nhost = a\npassword = {MASK}\n[db]\nport = 1\npassword = {MASK}\nextra\n",  # which is which?
        SHOWN.replace("password =", "token ="),
        f"prefix{MASK}",
    ],
)
def test_a_mask_in_a_text_is_never_stored(text: str) -> None:
    with pytest.raises(ValuesInvalid) as refused:
        unmask({"config": text}, {"config": CONFIG})
    assert refused.value.errors[0].field == "values.config"
    with pytest.raises(ValuesInvalid):
        unmask({"new": [text]}, {"config": CONFIG})


def test_the_secrets_in_a_text_are_those_that_are_masked() -> None:
    assert secret_texts({"config": CONFIG}) == {"s3cr3t", "other1", PEM}


_WORDS = st.sampled_from(
    [
        "password",
        "token",
        "name",
        "value",
        ":",
        "=",
        " ",
        "\n",
        '"',
        "'",
        "\\",
        "|",
        "-",
        "--",
        "x",
        "s3cr3t",
        "@",
        "://",
        *(MASK, "[", "]", "{", "}", ",", "?", "&", "ki", HEX, "\r\n", "  ", "-----BEGIN PRIVATE KEY-----"),
        *(
            "<password>",
            "</password>",
            "<![CDATA[",
            "]]>",
            "requirepass",
            "machine",
            "me:s3cr3t@tcp(",
            "cookie",
            "auth",
        ),
    ]
)
TEXTS = st.lists(_WORDS, max_size=12).map("".join)


@given(TEXTS)
def test_any_redacted_text_is_restored(text: str) -> None:
    values: JsonObject = {"config": text}
    assert unmask(redact(values), values) == values


@given(TEXTS)
def test_spans_are_ordered_and_never_overlap(text: str) -> None:
    ends = [at for span in find_secrets(text) for at in span]
    assert ends == sorted(set(ends))


def test_a_line_that_is_there_once_keeps_its_secret_wherever_it_is_moved() -> None:
    old = "a: 1\npassword: hunter22\nb: 2\n"
    new = f"b: 3\nc: 3\npassword: {MASK}\nd: 3\n"
    assert unmask({"file": new}, {"file": old}) == {"file": new.replace(MASK, "hunter22")}


def test_a_line_with_two_masks_keeps_both_secrets() -> None:
    old = "first: 1\nargs: --password=hunter22 --token=hunter33 x\n"
    shown = redact({"file": old})
    assert str(shown["file"]).count(MASK) == 2
    new = f"added: 1\n{shown['file']}added: 2\n"
    kept = f"added: 1\n{old}added: 2\n"
    assert unmask({"file": new}, {"file": old}) == {"file": kept}


def test_lines_in_the_middle_of_a_text_keep_their_secrets() -> None:
    edited = f"first\n{SHOWN}last\n"
    assert unmask({"config": edited}, {"config": CONFIG}) == {"config": f"first\n{CONFIG}last\n"}


def test_a_line_with_a_mask_is_not_taken_for_another_line() -> None:
    old = "a: 1\npassword: x\nb: 2\n"
    with pytest.raises(ValuesInvalid):
        unmask({"config": f"z\na: {MASK}\nz\n"}, {"config": old})
