"""The ring of changes: its bounds, its ids and its listeners."""

from __future__ import annotations

import asyncio

import orjson

from tests.unit.gateway.xapp_objects import raw_xapp, ready_status
from xapp_operator.gateway.catalog.change_feed import ChangeFeed
from xapp_operator.gateway.catalog.records import build_xapp_entry
from xapp_operator.gateway.catalog.xapp_store import XAppRecordStore


def change(store: XAppRecordStore, name: str = "x", *, namespace: str = "a", message: str = "") -> None:
    status = ready_status()
    status["release"] = {"name": message}
    store.put(build_xapp_entry(raw_xapp(name, namespace=namespace, status=status)))


def test_each_change_is_encoded_once() -> None:
    store = XAppRecordStore()
    feed = ChangeFeed(store, is_synced=lambda: True)
    change(store)
    change(store, message="other")
    store.remove("a", "x")
    changes = feed.changes_after(0)

    assert changes is not None
    assert [each.event.split(b"\n")[0] for each in changes] == [b"event: added", b"event: modified", b"event: deleted"]
    again = feed.changes_after(0)
    assert again is not None
    assert all(one is other for one, other in zip(changes, again, strict=True))
    record = orjson.loads(changes[0].event.split(b"\ndata: ")[1])
    assert (record["namespace"], record["name"]) == ("a", "x")
    assert changes[0].event.endswith(b"\n\n")
    assert changes[0].event.count(b"\n") == 4


def test_filling_the_store_is_not_a_change() -> None:
    store = XAppRecordStore()
    synced = False
    feed = ChangeFeed(store, is_synced=lambda: synced)
    change(store)
    synced = True
    change(store, "y")

    assert feed.position == 1


def test_the_ring_is_bounded_in_number_and_bytes() -> None:
    store = XAppRecordStore()
    few, small = (
        ChangeFeed(store, is_synced=lambda: True, max_events=3),
        ChangeFeed(store, is_synced=lambda: True, max_bytes=2500),
    )
    start = few.id_at(0)
    for at in range(10):
        change(store, f"x-{at}")

    assert few.changes_after(6) is None
    assert [each.event for each in few.changes_after(7) or ()] != []
    assert len(few.changes_after(7) or ()) == 3
    assert few.position_of(start) is None
    assert few.position_of(few.id_at(7)) == 7
    assert few.position_of(few.id_at(10)) == 10
    assert len(few._positions) == 4
    kept = small.changes_after(small._first - 1)
    assert kept is not None
    assert 0 < sum(len(each.event) for each in kept) <= 2500
    change(store, "large", message="m" * 5000)
    assert len(small.changes_after(10) or ()) == 1


def test_event_ids_are_random_and_known_only_to_their_process() -> None:
    store, others = XAppRecordStore(), XAppRecordStore()
    feed, other = ChangeFeed(store, is_synced=lambda: True), ChangeFeed(others, is_synced=lambda: True)
    for at in range(5):
        change(store, f"x-{at}")
        change(others, f"x-{at}")
    ids = [feed.id_at(at) for at in range(6)]

    assert len(set(ids)) == 6
    assert set(ids).isdisjoint(other.id_at(at) for at in range(6))
    assert [other.position_of(each) for each in ids] == [None] * 6
    assert feed.position_of("") is feed.position_of("nonsense") is None


def test_a_namespace_that_has_just_lost_its_last_xapp_is_still_known() -> None:
    store = XAppRecordStore()
    feed = ChangeFeed(store, is_synced=lambda: True, max_events=3)
    change(store, namespace="a")
    change(store, namespace="b")
    known = feed.namespaces
    change(store, namespace="b", message="other")
    assert feed.namespaces is known == {"a", "b"}

    store.remove("a", "x")
    assert feed.namespaces == {"a", "b"}
    for message in ("one", "two", "three"):
        change(store, namespace="b", message=message)
    assert feed.namespaces == {"b"}


async def test_every_waiter_sees_a_change_and_the_close() -> None:
    store = XAppRecordStore()
    feed = ChangeFeed(store, is_synced=lambda: True)
    waiting = [asyncio.create_task(feed.wait_for_change(0, seconds=60)) for _ in range(100)]
    await asyncio.sleep(0)
    change(store)
    assert await asyncio.gather(*waiting) == [True] * 100
    assert await feed.wait_for_change(1, seconds=0) is False

    waiting = [asyncio.create_task(feed.wait_for_change(1, seconds=60)) for _ in range(100)]
    await asyncio.sleep(0)
    feed.close()
    assert await asyncio.gather(*waiting) == [True] * 100
    assert await feed.wait_for_change(1, seconds=60) is True
    change(store, "y")
    assert feed.position == 1
