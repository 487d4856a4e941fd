"""Layers of values, their digest, and the advertise address."""

from __future__ import annotations

import copy
import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.domain.chart_values.values import (
    advertise_address_layer,
    apply_merge_patch,
    equal_values,
    merge_values,
    values_digest,
    with_value_at,
)
from xapp_operator.errors import ValuesInvalid

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
JSON: st.SearchStrategy[Any] = st.recursive(
    SCALARS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=12,
)
VALUES: st.SearchStrategy[dict[str, Any]] = st.dictionaries(st.sampled_from("abcd"), JSON, max_size=4)


def nested(levels: int) -> JsonObject:
    value: JsonObject = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ([], {}),
        ([{"a": 1}], {"a": 1}),
        ([{"a": 1}, {"b": 2}], {"a": 1, "b": 2}),
        ([{"a": 1}, {"a": 2}], {"a": 2}),
        ([{"a": {"x": 1, "y": 2}}, {"a": {"y": 3}}], {"a": {"x": 1, "y": 3}}),
        ([{"a": [1, 2]}, {"a": [3]}], {"a": [3]}),
        ([{"a": {"x": 1}}, {"a": [1]}], {"a": [1]}),
        ([{"a": [1]}, {"a": {"x": 1}}], {"a": {"x": 1}}),
        ([{"a": {"x": 1}}, {"a": None}], {"a": None}),
        ([{"a": {"x": 1}}, {"a": {"x": None}}], {"a": {"x": None}}),
        ([{"a": {"x": 1}}, {"a": None}, {"a": {"y": 2}}], {"a": {"y": 2}}),
        ([{"a": {"x": 1}}, {"a": {}}], {"a": {"x": 1}}),
        ([{"a": 1}, {"a": {}}], {"a": {}}),
        ([{"a": [{"x": 1}]}, {"a": [{"y": 2}]}], {"a": [{"y": 2}]}),
    ],
)
def test_layers_merge(layers: list[JsonObject], expected: JsonObject) -> None:
    assert merge_values(*layers) == expected


@given(VALUES, VALUES, VALUES)
def test_merging_is_associative_and_changes_no_layer(a: JsonObject, b: JsonObject, c: JsonObject) -> None:
    before = copy.deepcopy((a, b, c))
    assert merge_values(merge_values(a, b), c) == merge_values(a, b, c)
    assert merge_values(a, a) == a
    assert merge_values({}, a) == merge_values(a, {}) == a
    assert (a, b, c) == before


def test_values_over_the_depth_limit_are_refused_before_a_recursion_error() -> None:
    assert merge_values(nested(100), nested(100)) == nested(100)
    deep: JsonObject = nested(50_000)
    try:
        with pytest.raises(ValuesInvalid, match="more than 100 levels"):
            merge_values({}, deep)
    finally:
        while deep:  # dismantled step by step, because freeing it at once would recurse
            inner = deep.pop("a")
            deep = inner if isinstance(inner, dict) else {}


def test_the_digest_is_that_of_the_canonical_json() -> None:
    canonical = b'{"a":[1,null,"\\u00e4"],"b":0.5}'
    assert values_digest({"b": 0.5, "a": [1.0, None, "\u00e4"]}) == hashlib.sha256(canonical).hexdigest()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": 1000}, {"a": 1e3}),
        ({"a": 0}, {"a": -0.0}),
        ({"a": 2**53 + 1}, {"a": float(2**53)}),
        ({"a": [{"x": 1.0}]}, {"a": [{"x": 1}]}),
    ],
)
def test_values_that_helm_reads_alike_have_the_same_digest(one: JsonObject, other: JsonObject) -> None:
    assert values_digest(one) == values_digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": "1"}),
        ({"a": 1}, {"a": True}),
        ({"a": 0}, {"a": False}),
        ({"a": None}, {}),
        ({"a": {}}, {"a": []}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ({"a": "ä"}, {"a": "a\u0308"}),
        ({"a": 2**53}, {"a": 2**53 + 2}),
        ({"a": 0.1}, {"a": 0.2}),
    ],
)
def test_values_that_helm_reads_differently_have_different_digests(one: JsonObject, other: JsonObject) -> None:
    assert values_digest(one) != values_digest(other)


@given(VALUES)
def test_the_digest_is_unchanged_by_a_json_round_trip(values: JsonObject) -> None:
    assert values_digest(json.loads(json.dumps(values))) == values_digest(values)


@pytest.mark.parametrize(
    ("values", "path", "expected"),
    [
        ({"global": {"kubeIp": ""}}, "global.kubeIp", True),
        ({"global": {"kubeIp": None}}, "global.kubeIp", True),
        ({"global": {}}, "global.kubeIp", False),
        ({"global": None}, "global.kubeIp", False),
        ({"global": "x"}, "global.kubeIp", False),
        ({"kubeIp": 1}, "kubeIp", True),
        ({"global.kubeIp": 1}, "global.kubeIp", False),
        ({}, "a.b.c", False),
    ],
)
def test_a_declared_path_is_found(values: JsonObject, path: str, expected: bool) -> None:
    assert bool(advertise_address_layer(values, (path,), "192.0.2.1")) is expected


def test_a_path_is_set_without_changing_other_values() -> None:
    values: JsonObject = {"global": {"a": 1}, "b": 2}
    assert with_value_at(values, "global.kubeIp", "10.0.0.1") == {"global": {"a": 1, "kubeIp": "10.0.0.1"}, "b": 2}
    assert with_value_at(values, "b.c", 3) == {"global": {"a": 1}, "b": {"c": 3}}
    assert values == {"global": {"a": 1}, "b": 2}


@pytest.mark.parametrize(
    ("chart", "expected"),
    [
        ({"global": {"kubeIp": "", "other": 1}}, {"global": {"kubeIp": "192.0.2.1"}}),
        ({"global": {"kubeIp": None}, "nodeIp": "x"}, {"global": {"kubeIp": "192.0.2.1"}, "nodeIp": "192.0.2.1"}),
        ({"global": {"kubeIp": {"address": ""}}}, {}),
        ({"global": {}}, {}),
        ({}, {}),
    ],
)
def test_the_advertise_address_is_set_only_where_the_chart_declares_it(chart: JsonObject, expected: Json) -> None:
    assert advertise_address_layer(chart, ("global.kubeIp", "nodeIp"), "192.0.2.1") == expected


@pytest.mark.parametrize(
    ("values", "patch", "expected"),
    [
        # the examples of RFC 7396, appendix A, whose both sides are objects
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_merge_patch_changes_only_its_keys(values: JsonObject, patch: JsonObject, expected: JsonObject) -> None:
    before = copy.deepcopy(values)
    assert apply_merge_patch(values, patch) == expected
    assert values == before


def test_values_that_are_no_json_have_no_digest() -> None:
    with pytest.raises(ValueError, match="JSON"):
        values_digest({"a": float("nan")})


@pytest.mark.parametrize(("one", "other"), [("ab", ["a", "b"]), (["a", "b"], "ab"), (1, [1]), ({}, []), ([1], [1, 2])])
def test_values_of_different_kinds_or_lengths_differ(one: Json, other: Json) -> None:
    assert not equal_values(one, other)
