"""Lines of a log as events, and where a listener resumes."""

from __future__ import annotations

import tracemalloc

import pytest

from xapp_operator.errors import MalformedRequest
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.xapps.logs.log_responses import (
    LOG_LINE_MAX_BYTES,
    LogEventEncoder,
    LogPosition,
    parse_event_id,
    resume_options,
)
from xapp_operator.gateway.xapps.logs.log_target import LogRequest
from xapp_operator.kube.request_encoding import PodLogOptions

AT = "2026-11-20T08:00:00"
ONE = f"{AT}.1Z one\n".encode()
TWO = f"{AT}.1Z two\n".encode()
THREE = f"{AT}.25Z three\n".encode()
ID = f"{AT}.100000000Z"


def test_each_line_is_an_event_with_its_time() -> None:
    assert LogEventEncoder().feed(ONE) == f"id: {ID}\ndata: one\n\n".encode()


def test_lines_are_the_same_however_they_are_cut_into_chunks() -> None:
    whole = ONE + TWO + THREE
    expected = LogEventEncoder().feed(whole)
    for size in (1, 3, 7):
        lines = LogEventEncoder()
        pieces = [lines.feed(whole[at : at + size]) for at in range(0, len(whole), size)]
        assert b"".join(pieces) == expected


def test_lines_with_the_same_time_have_different_ids() -> None:
    assert f"id: {ID}#1\ndata: two".encode() in LogEventEncoder().feed(ONE + TWO)


@pytest.mark.parametrize(("last", "expected"), [("", 3), (ID, 2), (f"{ID}#1", 1), (f"{AT}.250000000Z", 0)])
def test_a_listener_resumes_after_the_last_event_id(last: str, expected: int) -> None:
    events = LogEventEncoder(parse_event_id(last) if last else None).feed(ONE + TWO + THREE)
    assert events.count(b"data: ") == expected


def test_every_event_id_can_be_parsed() -> None:
    events = LogEventEncoder().feed(ONE + TWO + THREE).decode()
    ids = [line.removeprefix("id: ") for line in events.splitlines() if line.startswith("id: ")]
    assert [parse_event_id(each).id for each in ids] == ids


def test_times_with_an_offset_are_converted_to_utc() -> None:
    assert LogEventEncoder().feed(b"2026-11-20T10:00:00.1+02:00 one\n") == LogEventEncoder().feed(ONE)


def test_carriage_returns_do_not_break_an_event() -> None:
    events = LogEventEncoder().feed(f"{AT}Z 10%\r20%\rdone\r\n".encode())
    assert events.endswith(b"data: 10%\ndata: 20%\ndata: done\n\n")


def test_a_line_without_a_time_has_no_id() -> None:
    assert LogEventEncoder().feed(b"unable to read\n") == b"data: unable to read\n\n"


def test_an_unfinished_line_is_sent_at_the_end() -> None:
    lines = LogEventEncoder()
    assert lines.feed(ONE[:-1]) == b""
    assert lines.finish() == LogEventEncoder().feed(ONE)
    assert lines.finish() == b""


def test_invalid_utf8_is_replaced() -> None:
    assert "data: \ufffd\n".encode() in LogEventEncoder().feed(f"{AT}Z ".encode() + b"\xff\n")


def test_a_long_line_uses_bounded_memory_and_the_next_one_is_complete() -> None:
    lines = LogEventEncoder()
    chunk = b"x" * LOG_LINE_MAX_BYTES
    lines.feed(f"{AT}Z ".encode())
    tracemalloc.start()
    try:
        for _ in range(200):
            assert lines.feed(chunk) == b""
        assert tracemalloc.get_traced_memory()[1] < 10 * LOG_LINE_MAX_BYTES
    finally:
        tracemalloc.stop()
    events = lines.feed(b"\n" + ONE).decode()
    long, one = events.split("\n\n")[:2]
    assert len(long.encode()) < LOG_LINE_MAX_BYTES + 200
    assert long.endswith("… (the rest of this line is left out)")
    assert one.endswith("data: one")


@pytest.mark.parametrize(
    "last", ["x", AT, f"{ID}#0", f"{ID}#-1", "9999-99-99T00:00:00.000000000Z", f"{ID} ", ID + "\n"]
)
def test_an_event_id_of_another_stream_is_refused(last: str) -> None:
    with pytest.raises(MalformedRequest):
        parse_event_id(last)


def test_no_line_is_lost_on_resume() -> None:
    options = PodLogOptions(container="main", tail_lines=5, since_seconds=60, follow=True)
    on = resume_options(options, LogPosition(1_700_000_000, 5, 2))
    assert (on.tail_lines, on.since_seconds, on.since_time) == (None, None, "2023-11-14T22:13:20Z")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("since=10m", 600),
        ("since=1h30m", 5400),
        ("since=500ms", 1),
        ("since=90", 90),
        ("since=", None),
        ("since=2026-11-20T08:00:00Z", "2026-11-20T08:00:00Z"),
        ("since=2026-11-20T10:00:00%2B02:00", "2026-11-20T08:00:00Z"),
        ("since=2026-11-20T10:00:00+02:00", "2026-11-20T08:00:00Z"),
        ("since=2026-11-20T08:00:00.123456789Z", "2026-11-20T08:00:00Z"),
        ("since=2026-11-20t08:00:00z", "2026-11-20T08:00:00Z"),
    ],
)
def test_since_is_a_duration_or_a_time(query: str, expected: int | str | None) -> None:
    assert LogRequest.from_query(StrictQuery(query.encode())).since == expected


@pytest.mark.parametrize(
    "query",
    [
        *("since=0", "since=-5", "since=0s", "since=1d", "since=yesterday", "since=99999999999", "since=9e9h"),
        *(
            "since=2026-13-20T08:00:00Z",
            "since=2026-11-20",
            "since=2026-11-20T08:00:00",
            "since=0001-01-01T00:00:00%2B14:00",
        ),
        *("tail=-1", "tail=10001", "tail=x", "follow=1", "previous=y"),
    ],
)
def test_a_parameter_out_of_bounds_is_refused(query: str) -> None:
    with pytest.raises(MalformedRequest) as refused:
        LogRequest.from_query(StrictQuery(query.encode()))
    assert refused.value.errors[0].field == query.partition("=")[0]


def test_a_read_log_is_bounded_and_a_followed_log_has_times() -> None:
    read = LogRequest.from_query(StrictQuery(b"")).log_options("main").query_params()
    assert read == {"container": "main", "tailLines": "500", "limitBytes": "10485761"}
    followed = LogRequest.from_query(StrictQuery(b"follow=true&tail=0&since=5")).log_options("main").query_params()
    assert followed == {
        "container": "main",
        "tailLines": "0",
        "sinceSeconds": "5",
        "follow": "true",
        "timestamps": "true",
    }


def test_the_log_of_a_previous_run_ends_also_as_events() -> None:
    options = LogRequest.from_query(StrictQuery(b"follow=true&previous=true")).log_options("main").query_params()
    assert options == {"container": "main", "tailLines": "500", "previous": "true", "timestamps": "true"}
