"""The cache stores the newest state of each XApp and knows which objects it refers to."""

from __future__ import annotations

from tests.unit.reconcile.xapps import raw
from xapp_operator.reconcile.xapp_cache import XAppCache

KEY = ("ns", "hello")


def test_older_event_never_overwrites_a_newer_object() -> None:
    cache = XAppCache()
    newer, older = raw(owner="new"), raw(owner="old")
    newer["metadata"]["resourceVersion"] = "10"
    older["metadata"]["resourceVersion"] = "9"
    cache.put(newer)
    cache.put(older)
    entry = cache.get(KEY)
    assert entry is not None
    assert entry.parse()[1].spec.owner == "new"


def test_new_object_of_the_same_name_replaces_the_old_one() -> None:
    cache = XAppCache()
    cache.put(raw())
    again = raw(owner="new")
    again["metadata"].update(uid="u2", resourceVersion="7")
    cache.put(again)
    entry = cache.get(KEY)
    assert entry is not None
    assert entry.uid == "u2"
    assert not cache.remove(KEY, "u1")
    assert cache.get(KEY) is not None
    assert cache.remove(KEY, "u2")
    assert cache.get(KEY) is None


def test_late_event_of_the_object_before_does_not_hide_the_new_one() -> None:
    cache = XAppCache()
    again, late = raw(), raw()
    again["metadata"].update(uid="u2", resourceVersion="9")
    late["metadata"]["resourceVersion"] = "8"
    cache.put(again)
    assert cache.put(late).uid == "u2"
    entry = cache.get(KEY)
    assert entry is not None
    assert entry.uid == "u2"


def test_references_are_followed_and_forgotten() -> None:
    cache = XAppCache()
    cache.put(
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
        assert cache.referrers("ns", kind, name) == {KEY}
        assert cache.referrers("other", kind, name) == set()
    changed = raw()
    changed["metadata"]["resourceVersion"] = "6"
    cache.put(changed)
    assert cache.referrers("ns", "Secret", "chart-1") == set()


def test_integers_beyond_64_bits_are_stored() -> None:
    cache = XAppCache()
    entry = cache.put(raw(values={"big": 2**70}))
    assert str(2**70).encode() in entry.data


def test_managed_fields_are_not_stored() -> None:
    assert b"managedFields" not in XAppCache().put(raw()).data


def test_the_first_and_the_last_xapp_of_a_namespace_are_reported() -> None:
    reported: list[tuple[str, int]] = []
    cache = XAppCache(on_namespace=lambda namespace: reported.append((namespace, len(cache.in_namespace(namespace)))))
    bodies = [raw() for _ in range(3)]
    for number, body in enumerate(bodies):
        body["metadata"] = {**body["metadata"], "name": f"x{number}", "uid": f"u{number}"}
    bodies[2]["metadata"]["namespace"] = "other"

    for body in (*bodies, bodies[0]):
        cache.put(body)
    assert reported == [("ns", 1), ("other", 1)]
    assert set(cache.in_namespace("ns")) == {("ns", "x0"), ("ns", "x1")}
    assert len(cache.in_namespace(None)) == 3

    cache.remove(("ns", "x0"), "u0")
    cache.remove(("ns", "x0"), "u0")
    assert reported == [("ns", 1), ("other", 1)]
    cache.remove(("ns", "x1"), "u1")
    assert reported == [("ns", 1), ("other", 1), ("ns", 0)]
    cache.put(bodies[0])
    assert reported[3:] == [("ns", 1)]
