"""JSON that is compared."""

from __future__ import annotations

import pytest

from xapp_operator.api.json import Json, encode_sorted


@pytest.mark.parametrize("beyond", [1, 2**80, "\ud800"])
def test_equal_values_are_encoded_alike(beyond: Json) -> None:
    assert encode_sorted({"a": {"c": beyond, "d": 2}, "b": 1}) == encode_sorted({"b": 1, "a": {"d": 2, "c": beyond}})


@pytest.mark.parametrize(("one", "other"), [(True, 1), ({"a": 2**80}, {"a": 2**80 + 1}), ([False], [0])])
def test_others_are_not(one: Json, other: Json) -> None:
    assert encode_sorted(one) != encode_sorted(other)
