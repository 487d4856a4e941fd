"""Views of the store compared with sorting and filtering all entries, after any order of changes."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.gateway.xapp_objects import raw_xapp, ready_status
from xapp_operator.gateway.catalog.object_store import SCAN_CACHE_SIZE
from xapp_operator.gateway.catalog.records import XAPP_SORTS, XAppEntry, XAppFilters, XAppRecordStore, build_xapp_entry


def entry(at: int, *, namespace: str = "a", organization: str = "acme", phase: str = "Deployed") -> XAppEntry:
    return build_xapp_entry(
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


@given(
    changes=changes,
    sort=st.sampled_from(XAPP_SORTS),
    descending=st.booleans(),
    filters=st.builds(
        XAppFilters,
        namespace=st.sampled_from([None, "a", "b", "nowhere"]),
        organization=st.sampled_from([None, "acme"]),
        phase=st.sampled_from([None, "Failed"]),
        search=st.sampled_from([None, "APP 1", "umbrella", "zzz"]),
    ),
    within=st.sampled_from([None, frozenset[str](), frozenset("a"), frozenset("ab"), frozenset("bcz")]),
)
def test_every_view_equals_sorting_and_filtering_all_entries(
    changes: list[tuple[str, int, str, str, str]],
    sort: str,
    descending: bool,
    filters: XAppFilters,
    within: frozenset[str] | None,
) -> None:
    store = XAppRecordStore()
    known: dict[tuple[str, str], XAppEntry] = {}
    for change, at, namespace, organization, phase in changes:
        one = entry(at, namespace=namespace, organization=organization, phase=phase)
        if change == "put":
            store.put(one)
            known[one.key] = one
        else:
            store.remove(*one.key)
            known.pop(one.key, None)
        store.select(filters, sort=sort, descending=descending, within=within)

    namespaces = {"a", "b", "c"} if within is None else within
    if filters.namespace is not None:
        namespaces = namespaces & {filters.namespace}
    matches = filters.predicate() or (lambda _: True)
    expected = sorted(
        (one for one in known.values() if one.namespace in namespaces and matches(one)),
        key=lambda one: one.sort_keys[XAPP_SORTS.index(sort)],
        reverse=descending,
    )
    view = store.select(filters, sort=sort, descending=descending, within=within)
    assert view[:] == expected
    assert view[2:5] == expected[2:5]
    assert len(view) == len(expected)


def test_search_ignores_case_and_does_not_match_across_fields() -> None:
    store = XAppRecordStore()
    store.put(entry(1))

    assert len(store.select(XAppFilters(search="aPP 1"), sort="name", descending=False)) == 1
    assert len(store.select(XAppFilters(search="1app"), sort="name", descending=False)) == 0


def test_a_recreated_xapp_replaces_the_old_one() -> None:
    store = XAppRecordStore()
    store.put(build_xapp_entry(raw_xapp("x", uid="old")))
    store.put(build_xapp_entry(raw_xapp("x", uid="new")))

    assert [
        json.loads(one.record_json)["uid"] for one in store.select(XAppFilters(), sort="name", descending=False)[:]
    ] == ["new"]


def test_only_what_a_caller_could_see_counts_as_a_change() -> None:
    store = XAppRecordStore()
    reported: list[tuple[str, str]] = []
    end = store.subscribe(lambda change, one: reported.append((change, one.name)))
    store.put(build_xapp_entry(raw_xapp("x")))
    before = store.version
    store.put(build_xapp_entry(raw_xapp("x", metadata={"resourceVersion": "2"}, spec={"values": {"a": 1}})))

    assert store.version == before
    store.put(build_xapp_entry(raw_xapp("x", status=ready_status())))
    store.remove("ric-xapps", "x")
    end()
    store.put(build_xapp_entry(raw_xapp("y")))
    assert reported == [("added", "x"), ("modified", "x"), ("deleted", "x")]


def test_the_number_of_cached_scans_is_bounded() -> None:
    store = XAppRecordStore()
    store.put(entry(1))
    for at in range(SCAN_CACHE_SIZE * 2):
        store.select(XAppFilters(search=str(at)), sort="name", descending=False)

    assert len(store._scans) == SCAN_CACHE_SIZE


def test_allowed_namespaces_are_in_order_whether_few_or_many() -> None:
    store = XAppRecordStore()
    for at in range(200):
        store.put(entry(at, namespace=f"n{at % 20}"))
    for few in (1, 2, 15):
        within = frozenset(f"n{at}" for at in range(few))
        view = store.select(XAppFilters(), sort="created", descending=False, within=within)
        assert [one.sort_keys[0] for one in view[:]] == sorted(one.sort_keys[0] for one in view[:])
        assert len(view) == 10 * few
        assert {one.namespace for one in view[:]} == within


def test_a_scan_is_reused_while_nothing_changes() -> None:
    store = XAppRecordStore()
    for at in range(20):
        store.put(entry(at, namespace=f"n{at % 4}"))
    within = frozenset({"n1", "n2"})
    first = store.select(XAppFilters(), sort="name", descending=False, within=within)

    assert (
        store.select(XAppFilters(), sort="name", descending=True, within=frozenset({"n2", "n1"}))._keys is first._keys
    )
    store.remove("n1", "x-1")
    assert len(store.select(XAppFilters(), sort="name", descending=False, within=within)) == 9


def test_the_set_of_namespaces_is_reused_until_one_is_added_or_removed() -> None:
    store = XAppRecordStore()
    store.put(entry(1))
    known = store.namespaces
    store.put(entry(2))

    assert store.namespaces is known == {"a"}
    store.put(entry(1, namespace="b"))
    assert store.namespaces == {"a", "b"}
    store.remove("a", "x-1")
    store.remove("a", "x-2")
    assert store.namespaces == {"b"}
