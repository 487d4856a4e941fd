"""The difference of two statuses is the merge patch that turns one into the other, and nothing more."""

from __future__ import annotations

import pytest
from aiohttp import web
from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.kube.conftest import Connect
from xapp_operator.api.json import Json, JsonObject, obj, text
from xapp_operator.errors import Conflict
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
@example(old={"a": {}}, new={"a": {"b": 1}})
@example(old={"a": {"b": 1}}, new={"a": {"b": 2}})
@example(old={"a": [1]}, new={"a": [1, 2]})
@example(old={"a": [1]}, new={"a": [2]})
@example(old={"a": [{}]}, new={"a": [{"b": 1}]})
@example(old={"a": 1}, new={"a": {"b": 1}})
@example(old={"a": {"b": 1}}, new={"a": 1})
@example(old={"a": 1}, new={"a": [1]})
@example(old={"a": [1]}, new={"a": 1})
@example(old={"a": [[1]]}, new={"a": [{"b": 1}]})
@example(old={"a": [{"b": 1}]}, new={"a": [[1]]})
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


def stored(version: int, status: JsonObject, *, uid: str = "u") -> JsonObject:
    return {
        "kind": "XApp",
        "metadata": {"name": "a", "namespace": "ric", "uid": uid, "resourceVersion": str(version)},
        "status": status,
    }


class StatusServer:
    """Keeps one XApp; a write with an older version is a conflict, and `others` writes come before ours.

    They change `others_status`, or metadata only.
    """

    def __init__(self, *, others: int = 0, others_status: JsonObject | None = None) -> None:
        self.body = stored(7, {"phase": "Pending"})
        self.others = others
        self.others_status = others_status or {}
        self.requests: list[str] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request.method)
        if request.method == "GET":
            return web.json_response(self.body)
        if self.others:
            self.others -= 1
            self._store(merged(self.body["status"], self.others_status))
        patch = await request.json()
        if patch["metadata"]["resourceVersion"] != text(obj(self.body, "metadata"), "resourceVersion"):
            failure = {"kind": "Status", "status": "Failure", "reason": "Conflict", "code": 409, "message": "modified"}
            return web.json_response(failure, status=409)
        self._store(merged(self.body["status"], patch["status"]))
        return web.json_response(self.body)

    def _store(self, status: Json) -> None:
        assert isinstance(status, dict)
        metadata = obj(self.body, "metadata")
        self.body = stored(int(text(metadata, "resourceVersion")) + 1, status, uid=text(metadata, "uid"))


async def test_a_write_after_a_stale_read_starts_from_our_last_write(connect: Connect) -> None:
    server = StatusServer()
    writer = StatusWriter(await connect(server.handle))
    stale = server.body
    assert await writer.write(stale, {"phase": "Deployed"}) is not None
    assert await writer.write(stale, {"phase": "Deployed"}) is None, "the second write would say nothing"
    assert await writer.write(stale, {"phase": "Pending"}) is not None, "the first write is undone"
    assert server.requests == ["PATCH", "PATCH"], "without a conflict"
    assert server.body["status"] == {"phase": "Pending"}


async def test_what_is_stored_is_not_cut_to_the_bounds_again(connect: Connect) -> None:
    """A status that has not changed, as in most reconciles, costs one comparison."""
    server = StatusServer()
    writer = StatusWriter(await connect(server.handle))
    body = stored(7, {"progress": {"step": "x" * 100_000}})
    assert await writer.write(body, {"progress": {"step": "x" * 100_000}}) is None
    assert server.requests == []


async def test_a_newer_read_counts_more_than_our_last_write(connect: Connect) -> None:
    server = StatusServer()
    writer = StatusWriter(await connect(server.handle))
    await writer.write(server.body, {"phase": "Deployed"})
    newer = server.body = stored(30, {"phase": "Failed"})
    await writer.write(newer, {"phase": "Deployed"})
    assert server.requests == ["PATCH", "PATCH"]
    assert server.body["status"] == {"phase": "Deployed"}


@pytest.mark.parametrize("others", [1, 2])
async def test_a_conflict_with_a_change_of_metadata_is_resolved_by_reading_again(connect: Connect, others: int) -> None:
    server = StatusServer(others=others)
    writer = StatusWriter(await connect(server.handle))
    assert await writer.write(server.body, {"phase": "Deployed"}) is not None
    assert server.body["status"] == {"phase": "Deployed"}
    assert server.requests == ["PATCH", *["GET", "PATCH"] * others]


async def test_what_others_have_written_since_the_status_was_read_is_not_replaced(connect: Connect) -> None:
    """A former leader that continues does not know which annotations the new one has handled."""
    server = StatusServer(others=1, others_status={"heldRevision": 2})
    writer = StatusWriter(await connect(server.handle))
    with pytest.raises(Conflict, match="written by others since it was read"):
        await writer.write(server.body, {"phase": "Deployed"})
    assert server.body["status"] == {"phase": "Pending", "heldRevision": 2}
    assert server.requests == ["PATCH", "GET"]


async def test_the_third_conflict_in_a_row_is_raised(connect: Connect) -> None:
    server = StatusServer(others=3)
    writer = StatusWriter(await connect(server.handle))
    with pytest.raises(Conflict):
        await writer.write(server.body, {"phase": "Deployed"})
    assert server.requests == ["PATCH", "GET", "PATCH", "GET", "PATCH"]


async def test_the_status_of_another_object_with_the_same_name_is_not_written(connect: Connect) -> None:
    server = StatusServer()
    writer = StatusWriter(await connect(server.handle))
    before = server.body
    server.body = stored(9, {}, uid="other")
    with pytest.raises(Conflict, match="another object"):
        await writer.write(before, {"phase": "Deployed"})
    assert server.requests == ["PATCH", "GET"]
