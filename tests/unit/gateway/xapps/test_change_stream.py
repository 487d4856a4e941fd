"""Streams of changes over real HTTP: resume, reset, many listeners, slow listeners, the end."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import httpx
import pytest

from tests.localcluster.waiting import wait_until
from tests.support.gateway import GatewayServer, offline_gateway, serve_gateway
from tests.support.sse import ServerSentEvent, parse_events
from tests.unit.gateway.xapp_objects import raw_xapp, ready_status
from xapp_operator.gateway.catalog.change_feed import RING_BYTES_MAX
from xapp_operator.gateway.catalog.records import build_xapp_entry
from xapp_operator.gateway.state import Gateway
from xapp_operator.gateway.xapps import change_stream as streams

LISTENERS = 300


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[GatewayServer]:
    """A gateway that no other test changes."""
    settings, opened = offline_gateway(tmp_path)
    with serve_gateway(settings, opened) as one:
        yield one


def change(one: GatewayServer, name: str = "x", *, namespace: str = "a", phase: str = "Deployed") -> None:
    entry = build_xapp_entry(raw_xapp(name, namespace=namespace, status=ready_status(phase=phase)))
    one.run_in_loop(lambda gateway: gateway.store.put(entry))


@contextmanager
def listening(http: httpx.Client, query: str = "", **headers: str) -> Iterator[Iterator[ServerSentEvent]]:
    """Listen; the first event, a bare id, has come when the block begins."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with http.stream("GET", f"/api/stream{query}", headers=named) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield parse_events(answer.iter_lines())


def test_changes_arrive_as_they_happen_with_the_record(alone: GatewayServer) -> None:
    with alone.client() as http, listening(http) as events:
        first = next(events)
        change(alone)
        change(alone, phase="Failed")
        alone.run_in_loop(lambda gateway: gateway.store.remove("a", "x"))
        came = [next(events) for _ in range(3)]

    assert (first.name, first.data) == ("", None)
    assert [(each.name, each.data["name"], each.data["phase"]) for each in came] == [
        ("added", "x", "Deployed"),
        ("modified", "x", "Failed"),
        ("deleted", "x", "Failed"),
    ]
    assert len({first.id, *(each.id for each in came)}) == 4


def test_a_reconnecting_listener_misses_nothing(alone: GatewayServer) -> None:
    with alone.client() as http:
        with listening(http) as events:
            start = next(events).id
            change(alone, "one")
            seen = next(events).id
        change(alone, "two")
        change(alone, "three")
        with listening(http, Last_Event_ID=seen) as events:
            assert [event.data["name"] for event in (next(events), next(events), next(events)) if event.data] == [
                "two",
                "three",
            ]
        with listening(http, Last_Event_ID=start) as events:
            assert [next(events).id == start, next(events).data["name"]] == [True, "one"]


@pytest.mark.parametrize("query", ["", "?sort=name&order=desc", "?phase=Failed", "?phase=Deployed", "?namespace=a"])
def test_a_stream_goes_on_from_a_list_without_loss_and_without_repetition(alone: GatewayServer, query: str) -> None:
    change(alone, "listed")
    change(alone, "elsewhere", namespace="b")
    with alone.client() as http:
        listed = http.get(f"/api/xapps{query}")
        change(alone, "between")
        with listening(http, Last_Event_ID=listed.headers["last-event-id"]) as events:
            change(alone, "later")
            came = [next(events) for _ in range(3)]
        again = http.get(f"/api/xapps{query}")

    assert [event.data["name"] for event in came if event.data] == ["between", "later"]
    assert again.headers["last-event-id"] == came[-1].id


def test_a_list_that_did_not_change_says_where_its_stream_goes_on(alone: GatewayServer) -> None:
    change(alone, "listed")
    with alone.client() as http:
        listed = http.get("/api/xapps?phase=Deployed")
        change(alone, "hidden", phase="Failed")
        same = http.get("/api/xapps?phase=Deployed", headers={"If-None-Match": listed.headers["etag"]})
        with listening(http, "?phase=Deployed", Last_Event_ID=same.headers["last-event-id"]) as events:
            start = next(events)
            change(alone, "later")
            came = next(events)

    assert same.status_code == 304
    assert start.id == same.headers["last-event-id"] != listed.headers["last-event-id"]
    assert came.data["name"] == "later"


def test_only_the_first_page_of_a_walk_says_where_its_stream_goes_on(alone: GatewayServer) -> None:
    for name in ("one", "two"):
        change(alone, name)
    with alone.client() as http:
        first = http.get("/api/xapps?per_page=1&snapshot=new")
        change(alone, "between")
        second = http.get(first.links["next"]["url"])
        with listening(http, Last_Event_ID=first.headers["last-event-id"]) as events:
            came = [next(events), next(events)]

    assert "last-event-id" not in second.headers
    assert [event.data["name"] for event in came if event.data] == ["between"]


def test_a_list_that_is_too_old_leads_to_a_reset(tmp_path: Path) -> None:
    settings, opened = offline_gateway(tmp_path)
    with serve_gateway(settings, opened) as one, one.client() as http:
        one.run_in_loop(lambda gateway: setattr(gateway.feed, "_max_events", 2))
        listed = http.get("/api/xapps")
        for name in ("one", "two", "three"):
            change(one, name)
        with listening(http, Last_Event_ID=listed.headers["last-event-id"]) as events:
            reset = next(events)
        again = http.get("/api/xapps")

    assert reset.name == "reset"
    assert again.headers["last-event-id"] == reset.id


@pytest.mark.parametrize("unknown", ["of-another-replica", "0", "x" * 2000])
def test_a_listener_with_an_unknown_id_gets_a_reset_and_then_misses_nothing(alone: GatewayServer, unknown: str) -> None:
    change(alone, "before")
    with alone.client() as http, listening(http, Last_Event_ID=unknown) as events:
        reset = next(events)
        change(alone, "after")
        came = [next(events), next(events)]

    assert reset.name == "reset"
    assert "list" in reset.data["detail"]
    assert reset.id
    assert [each.data["name"] for each in came if each.data] == ["after"]


def test_a_stream_of_one_namespace_has_only_its_changes(alone: GatewayServer) -> None:
    with alone.client() as http, listening(http, "?namespace=b") as events:
        next(events)
        change(alone, "one", namespace="a")
        change(alone, "two", namespace="b")
        assert next(events).data["name"] == "two"


def test_a_stream_takes_the_filters_of_the_list(alone: GatewayServer) -> None:
    query = "?phase=Failed&phase=Degraded&namespace=b&namespace=c&name=two&name=three&fields=summary"
    with alone.client() as http, listening(http, query) as events:
        next(events)
        for name, namespace, phase in (("one", "b", "Failed"), ("two", "b", "Deployed"), ("two", "a", "Failed")):
            change(alone, name, namespace=namespace, phase=phase)
        change(alone, "three", namespace="c", phase="Degraded")
        change(alone, "two", namespace="b", phase="Failed")
        change(alone, "two", namespace="b", phase="Deployed")
        came = [next(events) for _ in range(3)]

    assert [(each.name, each.data["name"]) for each in came] == [
        ("added", "three"),
        ("added", "two"),
        ("deleted", "two"),
    ]
    assert "services" not in came[0].data


@pytest.mark.parametrize(
    "query", ["?no=such", "?phase=Sleeping", "?fields=all", "?page=1", "?fields=summary&fields=summary"]
)
def test_an_unknown_parameter_is_refused(alone: GatewayServer, query: str) -> None:
    with alone.client() as http:
        assert http.get(f"/api/stream{query}").status_code == 400


def test_a_quiet_stream_has_comments_that_advance_its_id(alone: GatewayServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "HEARTBEAT_SECONDS", 0.05)
    with alone.client() as http, listening(http, "?namespace=b") as events:
        start = next(events).id
        change(alone, namespace="a")
        latest = alone.run_in_loop(lambda gateway: gateway.feed.id_at(gateway.feed.position))
        while (beat := next(events)).id == start:
            assert beat.name == ":"

    assert (beat.name, beat.id, beat.data) == (":", latest, None)


def test_a_stream_has_comments_while_all_changes_are_hidden_from_it(
    alone: GatewayServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "HEARTBEAT_SECONDS", 0.2)

    phases = cycle(("Deployed", "Failed"))

    def change_elsewhere(gateway: Gateway) -> None:
        entry = build_xapp_entry(raw_xapp("x", namespace="b", status=ready_status(phase=next(phases))))
        gateway.store.put(entry)
        asyncio.get_running_loop().call_later(0.01, change_elsewhere, gateway)

    with alone.client() as http, listening(http, "?namespace=a") as events:
        ids = [next(events).id]
        alone.run_in_loop(change_elsewhere)
        ids += [next(events).id for _ in range(2)]
    assert len(set(ids)) == 3


def test_many_listeners_get_the_same_changes(
    alone: GatewayServer, record_property: Callable[[str, object], None]
) -> None:
    events = asyncio.run(_listen(alone))
    summary = f"{LISTENERS} listeners, the last one received 20 changes after {max(events):.3f} s"
    record_property("stream", summary)
    print(summary)
    assert len(events) == LISTENERS


async def _listen(one: GatewayServer) -> list[float]:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=one.url, timeout=60, trust_env=False, limits=limits) as http:
        ready = asyncio.Semaphore(0)

        async def listen() -> float:
            async with http.stream("GET", "/api/stream") as answer:
                lines = answer.aiter_lines()
                names = 0
                async for line in lines:
                    if line.startswith("id:") and not names:
                        ready.release()
                    names += line.startswith("event: ")
                    if names == 20:
                        return time.monotonic()
            return 0.0

        listeners = [asyncio.create_task(listen()) for _ in range(LISTENERS)]
        for _ in listeners:
            await ready.acquire()
        started = time.monotonic()
        for at in range(20):
            await asyncio.to_thread(change, one, f"x-{at}")
        return [(await each) - started for each in listeners]


def test_a_slow_listener_is_dropped_without_buffering(alone: GatewayServer) -> None:
    entries = [
        build_xapp_entry(raw_xapp(f"x-{at}", spec={"owner": f"{at}-" + "o" * 100_000}, status=ready_status()))
        for at in range(3 * RING_BYTES_MAX // 100_000)
    ]

    def flood(gateway: Gateway) -> None:
        for entry in entries:
            gateway.store.put(entry)

    with socket.create_connection(("127.0.0.1", alone.port), timeout=60) as slow:
        slow.sendall(b"GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        come = slow.recv(4096)
        while b"id: " not in come:
            come += slow.recv(4096)
        alone.run_in_loop(flood)
        kept = alone.run_in_loop(lambda gateway: sum(each.size for each in gateway.feed._changes.values()))
        text = b""
        while b"event: reset" not in text:
            text = text[-20:] + slow.recv(1 << 20)

    assert kept <= RING_BYTES_MAX


def test_streams_end_when_the_gateway_stops(tmp_path: Path) -> None:
    settings, opened = offline_gateway(tmp_path)
    with serve_gateway(settings, opened) as one, one.client() as http, listening(http) as events:
        next(events)
        one.stop()
        assert list(events) == []


def test_a_listener_that_disconnects_is_no_longer_counted(alone: GatewayServer) -> None:
    with alone.client() as http:
        with listening(http) as events:
            next(events)
            assert alone.run_in_loop(lambda gateway: gateway.limits.streams.in_use) == 1
        wait_until(
            lambda: alone.run_in_loop(lambda gateway: gateway.limits.streams.in_use) == 0,
            timeout=60,
            what="the stream to end",
        )


def test_head_of_a_stream_ends_at_once(alone: GatewayServer) -> None:
    with alone.client() as http:
        answer = http.head("/api/stream")
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer.headers["content-type"].startswith("text/event-stream")
        wait_until(
            lambda: alone.run_in_loop(lambda gateway: gateway.limits.streams.in_use) == 0,
            timeout=60,
            what="the stream to end",
        )


def test_there_is_no_stream_before_the_first_sync(tmp_path: Path) -> None:
    settings, opened = offline_gateway(tmp_path)
    with serve_gateway(settings, opened) as one, one.client() as http:
        one.run_in_loop(lambda gateway: gateway.cache.synced.clear())
        answer = http.get("/api/stream")
        assert answer.status_code == 503
        assert json.loads(answer.content)["title"] == "Not ready"
