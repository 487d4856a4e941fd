"""The bytes of a watch become lines, however the network splits them, and lines become events."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from itertools import accumulate, pairwise

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xapp_operator.api.json import text
from xapp_operator.errors import ApiUnavailable, KubeError, WatchExpired
from xapp_operator.kube.watch.watch_events import parse_watch_event, read_watch_events

LINE_MAX_BYTES = 16 * 1024 * 1024


async def read_names(*chunks: bytes) -> list[str]:
    async def arrive() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    return [text(event.object, "name") async for event in read_watch_events(arrive())]


def event_line(name: str) -> bytes:
    return orjson.dumps({"type": "ADDED", "object": {"name": name}}) + b"\n"


@given(names=st.lists(st.text()), sizes=st.lists(st.integers(1, 9)))
async def test_events_are_complete_however_their_lines_are_split(names: list[str], sizes: list[int]) -> None:
    stream = b"\n".join(map(event_line, names))
    ends = [0, *accumulate(sizes), len(stream)]
    assert await read_names(*(stream[start:end] for start, end in pairwise(ends))) == names


async def test_a_line_of_several_megabytes_in_small_chunks_is_complete() -> None:
    name = "x" * 3_000_000
    stream = event_line(name) + event_line("next")[:-1]
    assert await read_names(*(stream[start : start + 16_384] for start in range(0, len(stream), 16_384))) == [name]


async def test_an_endless_line_is_refused() -> None:
    assert await read_names(b"x" * LINE_MAX_BYTES) == []
    with pytest.raises(ApiUnavailable, match=str(LINE_MAX_BYTES)):
        await read_names(b"x" * LINE_MAX_BYTES, b"x")
    begun = [event_line("a")[:5], event_line("a")[5:]]
    assert await read_names(*begun, b"x" * LINE_MAX_BYTES) == ["a"]
    with pytest.raises(ApiUnavailable, match=str(LINE_MAX_BYTES)):
        await read_names(*begun, b"x" * LINE_MAX_BYTES, b"x")


def test_an_event_has_its_type_and_object() -> None:
    event = parse_watch_event(b'{"type":"MODIFIED","object":{"metadata":{"name":"a"}}}')
    assert (event.type, event.object) == ("MODIFIED", {"metadata": {"name": "a"}})
    assert not event.ends_initial_events


def test_the_bookmark_that_ends_the_initial_events_is_recognised() -> None:
    metadata = {"resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}}
    for kind, ends in (("BOOKMARK", True), ("ADDED", False)):
        assert (
            parse_watch_event(orjson.dumps({"type": kind, "object": {"metadata": metadata}})).ends_initial_events
            is ends
        )


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ({"code": 410, "reason": "Expired", "message": "too old resource version: 1 (9)"}, WatchExpired),
        (
            {
                "code": 504,
                "message": "Too large resource version: 9, current: 1",
                "details": {"causes": [{"reason": "ResourceVersionTooLarge"}]},
            },
            WatchExpired,
        ),
        ({"code": 500, "message": "storage is (re)initializing"}, KubeError),
    ],
)
def test_an_error_event_becomes_its_error(status: dict[str, object], error: type[KubeError]) -> None:
    line = orjson.dumps({"type": "ERROR", "object": {"kind": "Status", **status}})
    with pytest.raises(error, match=re.escape(str(status["message"]))):
        parse_watch_event(line)


def test_an_error_event_without_code_and_message_is_an_internal_error() -> None:
    with pytest.raises(KubeError, match=r"^the Kubernetes API returned status 500$"):
        parse_watch_event(b'{"type":"ERROR","object":{}}')


def test_a_line_that_is_not_json_ends_the_watch() -> None:
    with pytest.raises(ApiUnavailable, match="not JSON"):
        parse_watch_event(b'{"type":"ADDED","obj')
