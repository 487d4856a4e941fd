"""The store keeps the newest of each object and knows who refers to what."""

from __future__ import annotations

from tests.unit.reconcile.xapps import raw
from xapp_operator.reconcile.xapp_cache import XAppCache

KEY = ("ns", "hello")


def test_older_event_never_overwrites_what_is_newer() -> None:
    store = XAppCache()
    newer, older = raw(owner="new"), raw(owner="old")
    newer["metadata"]["resourceVersion"] = "10"
    older["metadata"]["resourceVersion"] = "9"
    store.put(newer)
    store.put(older)
    entry = store.get(KEY)
    assert entry is not None
    assert entry.parse()[1].spec.owner == "new"


def test_object_made_anew_under_the_same_name_replaces_the_old_one() -> None:
    store = XAppCache()
    store.put(raw())
    again = raw(owner="new")
    again["metadata"].update(uid="u2", resourceVersion="7")
    store.put(again)
    entry = store.get(KEY)
    assert entry is not None
    assert entry.uid == "u2"
    assert not store.remove(KEY, "u1")
    assert store.get(KEY) is not None
    assert store.remove(KEY, "u2")
    assert store.get(KEY) is None


def test_late_event_of_the_object_before_does_not_hide_the_new_one() -> None:
    store = XAppCache()
    again, late = raw(), raw()
    again["metadata"].update(uid="u2", resourceVersion="9")
    late["metadata"]["resourceVersion"] = "8"
    store.put(again)
    assert store.put(late).uid == "u2"
    entry = store.get(KEY)
    assert entry is not None
    assert entry.uid == "u2"


def test_references_are_followed_and_forgotten() -> None:
    store = XAppCache()
    store.put(
        raw(
            archive={"secretRef": {"name": "chart-1", "key": "chart.tgz"}},
            valuesFrom=[{"kind": "ConfigMap", "name": "values"}],
            dependsOn=[{"name": "first"}],
            repoName="charts",
        )
    )
    for kind, name in (
        ("Secret", "chart-1"),
        ("ConfigMap", "values"),
        ("XApp", "first"),
        ("ChartRepository", "charts"),
    ):
        assert store.referrers("ns", kind, name) == {KEY}
        assert store.referrers("other", kind, name) == set()
    changed = raw()
    changed["metadata"]["resourceVersion"] = "6"
    store.put(changed)
    assert store.referrers("ns", "Secret", "chart-1") == set()


def test_integers_beyond_64_bits_in_values_are_kept() -> None:
    store = XAppCache()
    entry = store.put(raw(values={"big": 2**70}))
    assert str(2**70).encode() in entry.data


def test_managed_fields_are_not_kept() -> None:
    assert b"managedFields" not in XAppCache().put(raw()).data
