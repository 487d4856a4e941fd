"""The difference of two statuses is the merge patch that turns one into the other, and nothing more."""

from __future__ import annotations

import pytest
from aiohttp import web
from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.kube.conftest import Connect
from xapp_operator.api.json import Json, JsonObject
from xapp_operator.kube.status_writer import StatusWriter, merge_patch

SCALARS: st.SearchStrategy[Json] = st.one_of(st.booleans(), st.integers(-2, 2), st.sampled_from(["", "a"]))
VALUES: st.SearchStrategy[Json] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=8,
)
STATUSES: st.SearchStrategy[JsonObject] = st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4)


def merged(target: Json, patch: Json) -> Json:
    """Apply a JSON merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def exact(value: Json) -> object:
    """Return `value` so that true and 1 are different, as in JSON."""
    if isinstance(value, dict):
        return {key: exact(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [exact(inner) for inner in value]
    return (type(value).__name__, value)


@example(old={"a": [{"b": 1}]}, new={"a": [{"b": True}]})
@given(old=STATUSES, new=STATUSES)
def test_applying_the_difference_to_the_old_status_gives_the_new_one(old: JsonObject, new: JsonObject) -> None:
    assert exact(merged(old, merge_patch(old, new))) == exact(new)


@given(status=STATUSES)
def test_equal_statuses_have_no_difference(status: JsonObject) -> None:
    assert merge_patch(status, dict(status)) == {}


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"b": 3}),
        ({"a": 1, "b": 2}, {"a": 1}, {"b": None}),
        ({"a": 1, "b": 2}, {"a": 1, "b": None}, {"b": None}),
        ({}, {"a": None}, {}),
        ({"r": {"x": 1, "y": 2}}, {"r": {"x": 1, "z": 3}}, {"r": {"y": None, "z": 3}}),
        ({"l": [{"t": "Ready", "s": 1}]}, {"l": [{"t": "Ready", "s": 2}]}, {"l": [{"t": "Ready", "s": 2}]}),
        ({"a": 1}, {"a": True}, {"a": True}),
    ],
)
def test_only_differences_are_sent_and_lists_as_a_whole(old: JsonObject, new: JsonObject, patch: JsonObject) -> None:
    found = merge_patch(old, new)
    assert (found, repr(found)) == (patch, repr(patch))


async def test_fields_of_a_newer_version_are_kept(connect: Connect) -> None:
    patches: list[JsonObject] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        patches.append(await request.json())
        return web.json_response({"metadata": {"resourceVersion": "8"}})

    writer = StatusWriter(await connect(handler))
    body: JsonObject = {
        "kind": "XApp",
        "metadata": {"name": "a", "namespace": "ric", "uid": "u", "resourceVersion": "7"},
        "status": {"phase": "Pending", "heldRevision": 3, "ofTomorrow": {"a": 1}},
    }
    await writer.write(body, {"phase": "Deployed"})
    status = {"phase": "Deployed", "heldRevision": None}
    assert patches == [{"metadata": {"resourceVersion": "7"}, "status": status}]
