"""Views of the store compared with sorting and filtering all entries, after any order of changes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.gateway.xapp_objects import raw_xapp, ready_status
from xapp_operator.gateway.catalog.object_store import SCAN_CACHE_SIZE
from xapp_operator.gateway.catalog.records import XAPP_SORTS, XAppEntry, build_xapp_entry
from xapp_operator.gateway.catalog.xapp_filters import FACETS, HasFilterFields, XAppFilters
from xapp_operator.gateway.catalog.xapp_store import FACET_VALUES_MAX, XAppRecordStore


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


FILTERS = st.builds(
    XAppFilters,
    namespace=st.sampled_from([(), ("a",), ("b",), ("a", "c"), ("nowhere",)]),
    organization=st.sampled_from([(), ("acme",), ("acme", "umbrella")]),
    phase=st.sampled_from([(), ("Failed",)]),
    attention=st.sampled_from([(), ("true",), ("false",), ("false", "true")]),
    search=st.sampled_from([(), ("APP 1",), ("umbrella",), ("zzz",), ("App 1", "app 2")]),
)
WITHIN = st.sampled_from([None, frozenset[str](), frozenset("a"), frozenset("ab"), frozenset("bcz")])


@given(
    changes=changes,
    sort=st.sampled_from(XAPP_SORTS),
    descending=st.booleans(),
    filters=FILTERS,
    within=WITHIN,
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
    if filters.namespace:
        namespaces = namespaces & set(filters.namespace)
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


@given(
    changes=changes,
    facet=st.sampled_from(FACETS),
    filters=FILTERS,
    within=WITHIN,
    prefix=st.sampled_from(["", "A", "d", "zzz"]),
)
def test_the_counts_of_facets_equal_counting_all_entries(
    changes: list[tuple[str, int, str, str, str]],
    facet: str,
    filters: XAppFilters,
    within: frozenset[str] | None,
    prefix: str,
) -> None:
    store = XAppRecordStore()
    for change, at, namespace, organization, phase in changes:
        one = entry(at, namespace=namespace, organization=organization, phase=phase)
        store.put(one) if change == "put" else store.remove(*one.key)
        store.facet_values(facet, filters, prefix=prefix, within=within)

    listed = store.select(filters, sort="name", within=within)
    counts = Counter(one.filter_fields.facets[FACETS.index(facet)] for one in listed[:])
    expected = sorted((-count, value) for value, count in counts.items() if value.lower().startswith(prefix.lower()))
    found = store.facet_values(facet, filters, prefix=prefix, within=within)
    assert [(-each.count, each.value) for each in found] == expected


def test_the_most_frequent_values_of_a_facet_come_first_and_empty_ones_never() -> None:
    store = XAppRecordStore()
    for at in range(FACET_VALUES_MAX * 2):
        store.put(entry(at, organization=f"org-{at:03}"))
    for at in range(3):
        store.put(entry(at, namespace="b", organization="org-099"))
        store.put(entry(at, namespace="c", organization=""))

    found = store.facet_values("organization", XAppFilters())
    assert (len(found), found[0].value, found[0].count) == (FACET_VALUES_MAX, "org-099", 4)
    assert [each.value for each in found[1:]] == [f"org-{at:03}" for at in range(FACET_VALUES_MAX - 1)]


def test_a_filter_that_few_pass_looks_at_those_only() -> None:
    store = XAppRecordStore()
    for at in range(400):
        store.put(entry(at, phase="Failed" if at % 100 == 0 else "Deployed"))
    looked_at: list[str] = []

    class Filters(XAppFilters):
        __slots__ = ()

        def predicate(self) -> Callable[[HasFilterFields], bool] | None:
            matches = super().predicate()
            assert matches is not None

            def noting(one: HasFilterFields) -> bool:
                looked_at.append(one.filter_fields.facets[0])
                return matches(one)

            return noting

    assert len(store.select(Filters(attention=("true",)), sort="name")) == 4
    assert len(looked_at) == 4


def test_search_ignores_case_and_does_not_match_across_fields() -> None:
    store = XAppRecordStore()
    store.put(entry(1))

    assert len(store.select(XAppFilters(search=("aPP 1",)), sort="name", descending=False)) == 1
    assert len(store.select(XAppFilters(search=("1app",)), sort="name", descending=False)) == 0


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
    end = store.subscribe(lambda change, one, _: reported.append((change, one.name)))
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
        store.select(XAppFilters(search=(str(at),)), sort="name", descending=False)

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
