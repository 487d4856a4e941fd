"""Snapshots of a store that changes meanwhile: whole, cheap, and bounded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.gateway.catalog.test_xapp_store import FILTERS, WITHIN, entry
from xapp_operator.gateway.catalog.object_store import ObjectStore
from xapp_operator.gateway.catalog.records import XAPP_SORTS, XAppEntry
from xapp_operator.gateway.catalog.store_history import CHANGE_BYTES, StoreHistory, StoreSnapshot
from xapp_operator.gateway.catalog.xapp_filters import XAppFilters
from xapp_operator.gateway.catalog.xapp_store import XAppRecordStore


@dataclass
class Walk:
    """A walk, the entries that it began with, and those seen so far."""

    snapshot: StoreSnapshot[XAppEntry]
    expected: list[XAppEntry]
    seen: list[XAppEntry] = field(default_factory=list)

    def step(self) -> None:
        self.seen += self.snapshot[len(self.seen) : len(self.seen) + 2]


steps = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["put", "put", "put", "remove"]),
            st.integers(0, 12),
            st.sampled_from(["a", "b", "c"]),
            st.sampled_from(["Deployed", "Failed"]),
        ),
        st.tuples(st.just("begin"), FILTERS, WITHIN, st.sampled_from(XAPP_SORTS), st.booleans()),
        st.tuples(st.sampled_from(["step", "step", "step", "end"]), st.integers(0, 3)),
    ),
    max_size=80,
)


class Churn:
    """A store that changes while walks go through it."""

    def __init__(self) -> None:
        self.store = XAppRecordStore()
        self.walks: list[Walk] = []
        for at in range(8):
            self.put(at, "a", "Deployed")

    def put(self, at: int, namespace: str, phase: str) -> None:
        self.store.put(entry(at, namespace=namespace, phase=phase))

    def remove(self, at: int, namespace: str, _phase: str) -> None:
        self.store.remove(namespace, f"x-{at}")

    def begin(self, filters: XAppFilters, within: frozenset[str] | None, sort: str, descending: bool) -> None:
        listed = self.store.select(filters, sort=sort, descending=descending, within=within)[:]
        snapshot = self.store.snapshot(filters, sort=sort, descending=descending, within=within)
        self.walks.append(Walk(snapshot, listed))

    def step(self, at: int) -> None:
        for walk in self.walks[at : at + 1]:
            walk.step()

    def end(self, at: int) -> None:
        for walk in self.walks[at : at + 1]:
            walk.snapshot.close()
            self.walks.remove(walk)


@given(steps=steps)
def test_every_walk_sees_its_instant_whole_under_any_churn(steps: list[tuple[str, *tuple[Any, ...]]]) -> None:
    churn = Churn()
    for kind, *arguments in steps:
        getattr(churn, kind)(*arguments)
    for walk in churn.walks:
        assert len(walk.snapshot) == len(walk.expected)
        while len(walk.seen) < len(walk.expected):
            walk.step()
        assert walk.seen == walk.expected
        walk.snapshot.close()
    assert churn.store._history.kept_bytes == 0
    assert churn.store._history._newest is None


def test_an_xapp_that_lives_throughout_is_seen_once_while_all_others_come_and_go() -> None:
    store = XAppRecordStore()
    for at in range(100):
        store.put(entry(at))
    snapshot = store.snapshot(XAppFilters(), sort="updated")
    seen: list[str] = []
    for page in range(10):
        seen += [one.name for one in snapshot[page * 10 : page * 10 + 10]]
        for at in range(100):
            store.put(entry(at, organization=f"other-{page}")) if at % 2 else store.remove("a", f"x-{at}")
        store.put(entry(1000 + page))

    assert sorted(seen) == sorted(f"x-{at}" for at in range(100))


@dataclass(frozen=True)
class Large:
    """An entry of 100 KB."""

    uid: str
    namespace: str
    revision: int = 0
    memory_bytes: int = 100_000

    @property
    def name(self) -> str:
        return self.uid

    @property
    def sort_keys(self) -> tuple[tuple[str, str], ...]:
        return ((self.uid, self.uid),)


@dataclass(frozen=True)
class AnyLarge:
    namespace: tuple[str, ...] = ()

    def predicate(self) -> None:
        return None


def changed_all(store: ObjectStore[Large], namespace: str, revision: int) -> Iterator[int]:
    for at in range(20):
        store.put(Large(f"{namespace}-{at}", namespace, revision))
        yield store._history.kept_bytes


def test_snapshots_share_what_has_not_changed_and_keep_each_change_once() -> None:
    store: ObjectStore[Large] = ObjectStore(sorts=("name",))
    list(changed_all(store, "a", 0))
    first = store.snapshot(AnyLarge(), sort="name")
    second = store.snapshot(AnyLarge(), sort="name")
    assert store._history.kept_bytes == 0
    list(changed_all(store, "a", 1))
    kept = store._history.kept_bytes
    assert kept == 20 * (100_000 + CHANGE_BYTES)
    list(changed_all(store, "a", 2))
    assert store._history.kept_bytes == kept
    third = store.snapshot(AnyLarge(), sort="name")
    list(changed_all(store, "a", 3))
    assert store._history.kept_bytes == 2 * kept
    first.close()
    second.close()
    assert store._history.kept_bytes == kept
    assert {one.revision for one in third[:]} == {2}


def test_an_earlier_snapshot_takes_over_what_a_later_one_kept() -> None:
    store: ObjectStore[Large] = ObjectStore(sorts=("name",))
    list(changed_all(store, "a", 0))
    early = store.snapshot(AnyLarge(), sort="name")
    store.put(Large("a-0", "a", 1))
    late = store.snapshot(AnyLarge(), sort="name")
    store.put(Large("a-1", "a", 1))
    late.close()
    now = store.snapshot(AnyLarge(), sort="name")

    assert {one.revision for one in early[:]} == {0}
    assert sum(one.revision for one in now[:]) == 2


def test_one_namespace_that_changes_too_much_ends_only_the_snapshots_that_show_it() -> None:
    store: ObjectStore[Large] = ObjectStore(sorts=("name",))
    store._history = StoreHistory(store._by_uid, max_bytes=1_000_000)
    for namespace in ("calm", "wild"):
        list(changed_all(store, namespace, 0))
    calm = store.snapshot(AnyLarge(namespace=("calm",)), sort="name")
    wild = store.snapshot(AnyLarge(), sort="name", within=frozenset({"calm", "wild"}))
    everything = store.snapshot(AnyLarge(), sort="name")
    store.put(Large("calm-0", "calm", 1))
    kept = [bytes_kept for revision in (1, 2) for bytes_kept in changed_all(store, "wild", revision)]

    assert max(kept) <= 1_000_000
    assert (calm.closed, wild.closed, everything.closed) == (False, True, True)
    assert [one.revision for one in calm[:]] == [0] * 20
    calm.close()
    assert store._history.kept_bytes == 0
