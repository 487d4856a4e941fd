"""JSON deeper than Python's decoders support is read without its deepest levels."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xapp_operator.api.json import items, obj
from xapp_operator.domain.bounded_json import LEVELS_MAX, loads_bounded, prune_json
from xapp_operator.domain.chart_values.values import merge_values
from xapp_operator.domain.chart_values.yaml_values import MAX_DEPTH
from xapp_operator.errors import ValuesInvalid
from xapp_operator.kube.request_encoding import decode_object
from xapp_operator.kube.watch.watch_events import parse_watch_event

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.text('"\\[]{}a', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('"\\]}', max_size=2), inner, max_size=3),
)


def nested(levels: int, inner: bytes = b"1") -> bytes:
    return b'{"a":' * levels + inner + b"}" * levels


def depth_of(value: Any) -> int:
    levels = 0
    while isinstance(value, dict):
        value, levels = value["a"], levels + 1
    return levels


def depth_of_any(value: Any) -> int:
    levels, layer = 0, [value]
    while layer := [each for each in layer if isinstance(each, dict | list)]:
        levels += 1
        layer = [member for each in layer for member in (each.values() if isinstance(each, dict) else each)]
    return levels


@pytest.mark.parametrize("levels", [1, LEVELS_MAX - 1, LEVELS_MAX, 200, 300, 1_000, 1_100, 10_000, 100_000])
def test_only_values_beyond_the_depth_limit_are_dropped(levels: int) -> None:
    value = loads_bounded(b'{"before": [1], "deep": ' + nested(levels) + b', "after": "]}"}')
    assert isinstance(value, dict)
    assert (value["before"], value["after"]) == ([1], "]}")
    assert depth_of(value["deep"]) == min(levels, LEVELS_MAX - 1)


def test_every_value_beyond_the_depth_limit_is_dropped() -> None:
    deep = b"[" * 5_000 + b'"]\\"["' + b"]" * 5_000
    value = loads_bounded(b"[" + deep + b", 1, " + deep + b', {"b": 2}]')
    assert isinstance(value, list)
    assert value[1::2] == [1, {"b": 2}]
    assert value[0] == value[2]


@given(JSON, JSON)
def test_brackets_in_strings_are_not_counted(one: Any, other: Any) -> None:
    inner = orjson.dumps(other)
    value = loads_bounded(b"[" + orjson.dumps(one) + b"," + nested(2_000, inner) + b"," + inner + b"]")
    assert isinstance(value, list)
    assert (value[0], value[2]) == (one, other)


@pytest.mark.parametrize("data", [b"", b"{", b"nonsense", b"[" * 5_000, b'{"a": "' + b"[" * 5_000, b"]" * 5_000])
def test_invalid_json_is_still_refused(data: bytes) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        loads_bounded(data)


@pytest.mark.parametrize(
    ("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]"), (b'{"a":[', b"]}")]
)
@pytest.mark.parametrize("inner", [b"1", b"[]", b"{}"])
def test_objects_and_lists_count_alike(opening: bytes, closing: bytes, inner: bytes) -> None:
    for count in range(70, LEVELS_MAX + 2):
        data = opening * count + inner + closing * count
        whole = orjson.loads(data)
        shallow = depth_of_any(whole) <= LEVELS_MAX
        assert (loads_bounded(data) == whole) is shallow
        assert (prune_json(data) == data) is shallow
        assert depth_of_any(loads_bounded(data)) <= LEVELS_MAX


@given(JSON, JSON, st.sampled_from([1, 140, 160, 600, 2_000]))
def test_pruned_json_is_what_bounded_json_is_read_from(one: Any, other: Any, levels: int) -> None:
    data = b"[ " + orjson.dumps(one) + b"," + nested(levels, orjson.dumps(other)) + b"]"
    pruned = prune_json(data)
    assert orjson.loads(pruned) == loads_bounded(data)
    assert (pruned == data) == (depth_of_any(orjson.loads(data)) <= LEVELS_MAX if levels < 1_000 else False)


@pytest.mark.parametrize("data", [b"", b"{", b"nonsense", b"[" * 100 + b"]"])
def test_what_is_not_json_is_not_pruned(data: bytes) -> None:
    assert prune_json(data) == data


def test_only_truncated_values_are_refused() -> None:
    listed = decode_object(b'{"items": [{"spec": {"values": {"a": 1}}}, {"spec": {"values": ' + nested(9_000) + b"}}]}")
    good, bad = (obj(obj(item, "spec"), "values") for item in items(listed, "items"))
    assert merge_values(good) == {"a": 1}
    with pytest.raises(ValuesInvalid, match=f"more than {MAX_DEPTH} levels"):
        merge_values(bad)


def test_a_watch_continues_after_a_truncated_object() -> None:
    event = parse_watch_event(
        b'{"type": "ADDED", "object": {"kind": "XApp", "spec": {"values": ' + nested(9_000) + b"}}}"
    )
    assert (event.type, event.object["kind"]) == ("ADDED", "XApp")
