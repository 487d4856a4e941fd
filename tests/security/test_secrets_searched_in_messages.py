"""Threat: Secrets of many MB, all of whose texts are looked for in each message of helm, keep a processor busy."""

from __future__ import annotations

import base64
import json
import time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xapp_operator.domain.masking.redaction import MASK, SCRUB_CHARACTERS_MAX, SCRUB_MIN, SCRUB_QUICKLY_MAX, scrub
from xapp_operator.helm.results.stderr import MESSAGE_READ_CHARACTERS, SECRETS_MAX, WITHHELD, presentable_message


def test_too_many_secrets_withhold_the_message() -> None:
    secrets = [f"secret-{number}" for number in range(SECRETS_MAX + 1)]
    assert presentable_message(f"broken: {secrets[-1]}", secrets=secrets) == WITHHELD
    assert presentable_message(f"broken: {secrets[0]}", secrets=secrets[:SECRETS_MAX]) == f"broken: {MASK}"


def test_secrets_that_are_not_in_the_message_cost_little() -> None:
    def seconds(secrets: list[str]) -> float:
        start = time.process_time()
        presentable_message("broken " * 1000, secrets=secrets)
        return time.process_time() - start

    all_in_message = [f"broken {number}" for number in range(2000)]
    none_in_message = [f"other-{number}" for number in range(2000)]
    assert min(seconds(none_in_message) for _ in range(3)) < min(seconds(all_in_message) for _ in range(3)) / 3


@pytest.mark.parametrize("at", range(0, 4000, 250))
def test_a_part_of_a_secret_is_not_shown_where_the_message_is_cut(at: int) -> None:
    secret = base64.b64encode(b"x" * 1500).decode()
    message = "a " * (at // 2) + secret + " b" * MESSAGE_READ_CHARACTERS
    shown = presentable_message(message, secrets=[secret])
    assert secret[100:120] not in shown
    shown = presentable_message(message[::-1], secrets=[secret[::-1]])
    assert secret[::-1][100:120] not in shown


def test_the_ends_of_a_very_long_secret_are_masked() -> None:
    secret = "".join(f"{number:06}" for number in range(4 * SCRUB_CHARACTERS_MAX))
    for part in (secret[:SCRUB_CHARACTERS_MAX], secret[-SCRUB_CHARACTERS_MAX:]):
        assert scrub(f"x {part} y", [secret]) == f"x {MASK} y"


TEXTS = st.text(alphabet='ab1 é"\\\n', min_size=SCRUB_MIN, max_size=12)


@given(TEXTS, TEXTS, st.sampled_from(range(5)))
def test_secrets_that_are_ruled_out_quickly_are_not_in_the_text(secret: str, around: str, spelling: int) -> None:
    written = (
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        base64.b64encode(secret.encode()).decode(),
        quote(secret, safe=""),
    )[spelling]
    text = f"{around}{written}{around}"
    long_text = text + "\0" * SCRUB_QUICKLY_MAX  # too long to rule out anything
    assert scrub(text, [secret]) == scrub(long_text, [secret]).rstrip("\0")
    assert written not in scrub(text, [secret]) or written in MASK
