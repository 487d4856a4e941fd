"""Which keys have secret values: the borders that the cases of redaction leave open."""

from __future__ import annotations

import pytest

from xapp_operator.api.json import Json
from xapp_operator.domain.masking.secret_keys import is_secret_scalar, may_be_secret_scalar
from xapp_operator.domain.masking.text_secrets import is_value_of_option


@pytest.mark.parametrize(
    ("value", "secret"), [("12", True), (123456789, False), (1234567890, True), (True, False), (None, False)]
)
def test_a_number_is_the_key_of_a_sim_card_from_ten_digits_on(value: Json, secret: bool) -> None:
    assert is_secret_scalar("ki", value) is secret


@pytest.mark.parametrize(
    ("key", "possible"),
    [("ki", True), ("simKi", True), ("imsiOp", True), ("opName", False), ("name", False), ("--", False), ("", False)],
)
def test_only_keys_of_sim_cards_may_have_secret_scalars(key: str, possible: bool) -> None:
    assert may_be_secret_scalar(key) is possible


@pytest.mark.parametrize(
    ("option", "value", "secret"),
    [
        ("--user", "name:pass1234", True),
        ("-u", "name:pass1234", True),
        ("--user", "name", False),
        ("--address", "host:port1234", False),
        ("--password", "hunter22", True),
        ("--password", "--next", False),
        (1, "hunter22", False),
    ],
)
def test_the_value_after_an_option_is_a_secret_by_the_option(option: object, value: str, secret: bool) -> None:
    assert is_value_of_option(option, value) is secret
