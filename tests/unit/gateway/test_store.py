"""The store's indexes against sorting and filtering afresh, under any order of changes."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.gateway.xapps import raw_xapp, ready_status
from xapp_operator.gateway.records import SORTS, Entry, entry_of
from xapp_operator.gateway.store import VIEWS_KEPT, Filters, RecordStore, matcher


def entry(at: int, *, namespace: str = "a", organization: str = "acme", phase: str = "Deployed") -> Entry:
    return entry_of(
        raw_xapp(
            f"x-{at}",
            namespace=namespace,
            spec={"organization": organization, "version": f"0.{at}", "xAppName": f"App {at}"},
            status=ready_status(phase=phase),
            metadata={"creationTimestamp": f"2026-11-20T08:00:{at % 7:02}Z"},
        )
    )


changes = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "remove"]),
        st.integers(0, 12),
        st.sampled_from(["a", "b", "c", "c"]),
        st.sampled_from(["acme", "umbrella"]),
        st.sampled_from(["Deployed", "Failed"]),
    ),
    max_size=60,
)


@settings(max_examples=60, deadline=None)
@given(
    changes=changes,
    sort=st.sampled_from(SORTS),
    descending=st.booleans(),
    filters=st.builds(
        Filters,
        namespace=st.sampled_from([None, "a", "b", "nowhere"]),
        organization=st.sampled_from([None, "acme"]),
        phase=st.sampled_from([None, "Failed"]),
        search=st.sampled_from([None, "APP 1", "umbrella", "zzz"]),
    ),
    within=st.sampled_from([None, frozenset[str](), frozenset("a"), frozenset("ab"), frozenset("bcz")]),
)
def test_every_view_is_what_sorting_and_filtering_afresh_gives(
    changes: list[tuple[str, int, str, str, str]],
    sort: str,
    descending: bool,
    filters: Filters,
    within: frozenset[str] | None,
) -> None:
    store = RecordStore()
    known: dict[tuple[str, str], Entry] = {}
    for change, at, namespace, organization, phase in changes:
        one = entry(at, namespace=namespace, organization=organization, phase=phase)
        if change == "put":
            store.put(one)
            known[one.key] = one
        else:
            store.remove(*one.key)
            known.pop(one.key, None)
        store.view(filters, sort=sort, descending=descending, within=within)

    matches = matcher(filters)
    expected = sorted(
        (one for one in known.values() if matches(one) and (within is None or one.namespace in within)),
        key=lambda one: one.keys[SORTS.index(sort)],
        reverse=descending,
    )
    view = store.view(filters, sort=sort, descending=descending, within=within)
    assert list(view) == expected
    assert view[2:5] == expected[2:5]
    assert len(view) == len(expected)


def test_search_ignores_case_and_does_not_reach_across_fields() -> None:
    store = RecordStore()
    store.put(entry(1))

    assert len(store.view(Filters(search="aPP 1"), sort="name", descending=False)) == 1
    assert len(store.view(Filters(search="1app"), sort="name", descending=False)) == 0


def test_an_xapp_made_anew_under_its_name_replaces_the_old_one() -> None:
    store = RecordStore()
    store.put(entry_of(raw_xapp("x", uid="old")))
    store.put(entry_of(raw_xapp("x", uid="new")))

    assert [json.loads(one.record)["uid"] for one in store.view(Filters(), sort="name", descending=False)] == ["new"]


def test_only_what_a_caller_could_see_counts_as_a_change() -> None:
    store = RecordStore()
    heard: list[tuple[str, str]] = []
    end = store.subscribe(lambda change, one: heard.append((change, one.name)))
    store.put(entry_of(raw_xapp("x")))
    before = store.version
    store.put(entry_of(raw_xapp("x", metadata={"resourceVersion": "2"}, spec={"values": {"a": 1}})))

    assert store.version == before
    store.put(entry_of(raw_xapp("x", status=ready_status())))
    store.remove("ric-xapps", "x")
    end()
    store.put(entry_of(raw_xapp("y")))
    assert heard == [("added", "x"), ("modified", "x"), ("deleted", "x")]


def test_remembered_filters_are_bounded() -> None:
    store = RecordStore()
    store.put(entry(1))
    for at in range(VIEWS_KEPT * 2):
        store.view(Filters(search=str(at)), sort="name", descending=False)

    assert len(store._views) == VIEWS_KEPT


def test_the_part_that_a_caller_may_see_is_in_order_whether_it_is_small_or_large() -> None:
    store = RecordStore()
    for at in range(200):
        store.put(entry(at, namespace=f"n{at % 20}"))
    for few in (1, 2, 15):
        within = frozenset(f"n{at}" for at in range(few))
        view = store.view(Filters(), sort="created", descending=False, within=within)
        assert [one.keys[0] for one in view] == sorted(one.keys[0] for one in view)
        assert len(view) == 10 * few
        assert {one.namespace for one in view} == within


def test_what_a_caller_may_see_is_not_looked_through_again_while_nothing_changes() -> None:
    store = RecordStore()
    for at in range(20):
        store.put(entry(at, namespace=f"n{at % 4}"))
    within = frozenset({"n1", "n2"})
    first = store.view(Filters(), sort="name", descending=False, within=within)

    assert store.view(Filters(), sort="name", descending=True, within=frozenset({"n2", "n1"}))._keys is first._keys
    store.remove("n1", "x-1")
    assert len(store.view(Filters(), sort="name", descending=False, within=within)) == 9


def test_the_set_of_namespaces_stays_the_same_until_one_comes_or_goes() -> None:
    store = RecordStore()
    store.put(entry(1))
    known = store.namespaces
    store.put(entry(2))

    assert store.namespaces is known == {"a"}
    store.put(entry(1, namespace="b"))
    assert store.namespaces == {"a", "b"}
    store.remove("a", "x-1")
    store.remove("a", "x-2")
    assert store.namespaces == {"b"}
