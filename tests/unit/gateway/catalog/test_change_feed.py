"""The ring of changes: its bounds, its ids and its listeners."""

from __future__ import annotations

import asyncio

import orjson

from tests.unit.gateway.xapp_objects import raw_xapp, ready_status
from xapp_operator.gateway.catalog.change_feed import ChangeFeed, ListenerFilter
from xapp_operator.gateway.catalog.records import build_xapp_entry
from xapp_operator.gateway.catalog.xapp_filters import XAppFilters
from xapp_operator.gateway.catalog.xapp_store import XAppRecordStore


def change(store: XAppRecordStore, name: str = "x", *, namespace: str = "a", message: str = "") -> None:
    status = ready_status()
    status["release"] = {"name": message}
    store.put(build_xapp_entry(raw_xapp(name, namespace=namespace, status=status)))


EVERYTHING = ListenerFilter(XAppFilters())


def seen(feed: ChangeFeed, shown: ListenerFilter = EVERYTHING) -> list[tuple[str, str]]:
    """Return event and name of what a listener from the beginning sees."""
    changes = feed.changes_after(0)
    assert changes is not None
    events = [shown.event(change).decode() for change in changes]
    return [
        (event.split("\n")[0].removeprefix("event: "), orjson.loads(event.split("\ndata: ")[1])["name"])
        for event in events
        if event
    ]


def test_a_listener_with_filters_sees_xapps_come_into_them_and_leave_them() -> None:
    store = XAppRecordStore()
    feed = ChangeFeed(store, is_synced=lambda: True)
    for phase in ("Deployed", "Failed", "Failed", "Deployed", "Failed"):
        message = str(feed.position)
        store.put(build_xapp_entry(raw_xapp("x", status=ready_status(phase=phase) | {"release": {"name": message}})))
    store.remove("ric-xapps", "x")
    store.put(build_xapp_entry(raw_xapp("y", status=ready_status(phase="Failed"))))
    failed = ListenerFilter(XAppFilters(phase=("Failed",)))

    assert seen(feed, failed) == [
        ("added", "x"),
        ("modified", "x"),
        ("deleted", "x"),
        ("added", "x"),
        ("deleted", "x"),
        ("added", "y"),
    ]
    assert [name for name, _ in seen(feed)] == ["added", *["modified"] * 4, "deleted", "added"]
    assert seen(feed, ListenerFilter(XAppFilters(), names=("y", "z"))) == [("added", "y")]
    assert seen(feed, ListenerFilter(XAppFilters(attention=("true",)), names=("y",))) == [("added", "y")]


def test_a_summary_has_neither_chart_nor_services() -> None:
    store = XAppRecordStore()
    feed = ChangeFeed(store, is_synced=lambda: True)
    change(store)
    changes = feed.changes_after(0)
    assert changes is not None

    whole, summary = (
        orjson.loads(ListenerFilter(XAppFilters(), summary=short).event(changes[0]).split(b"\ndata: ")[1])
        for short in (False, True)
    )
    assert whole.keys() - summary.keys() == {"chart", "services"}
    assert summary.items() <= whole.items()


def test_each_change_is_encoded_once() -> None:
    store = XAppRecordStore()
    feed = ChangeFeed(store, is_synced=lambda: True)
    change(store)
    change(store, message="other")
    store.remove("a", "x")
    changes = feed.changes_after(0)

    assert changes is not None
    events = [EVERYTHING.event(each) for each in changes]
    assert [event.split(b"\n")[0] for event in events] == [b"event: added", b"event: modified", b"event: deleted"]
    again = feed.changes_after(0)
    assert again is not None
    assert all(one is other for one, other in zip(changes, again, strict=True))
    record = orjson.loads(events[0].split(b"\ndata: ")[1])
    assert (record["namespace"], record["name"]) == ("a", "x")
    assert events[0].endswith(b"\n\n")
    assert events[0].count(b"\n") == 4


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
    assert len(few.changes_after(7) or ()) == 3
    assert few.position_of(start) is None
    assert few.position_of(few.id_at(7)) == 7
    assert few.position_of(few.id_at(10)) == 10
    assert len(few._positions) == 4
    kept = small.changes_after(small._first - 1)
    assert kept is not None
    assert 0 < sum(each.size for each in kept) <= 2500
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
