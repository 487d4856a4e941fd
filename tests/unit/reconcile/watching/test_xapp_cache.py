"""The cache stores the newest state of each XApp and knows which objects it refers to."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.reconcile.xapps import raw
from xapp_operator.api.json import obj
from xapp_operator.api.names import ANNOTATION_VALUES_TEXT
from xapp_operator.reconcile.watching.xapp_cache import XAppCache, keep_written
from xapp_operator.reconcile.work.work_queue import WorkQueue

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


def test_managed_fields_and_the_text_of_the_values_are_not_stored() -> None:
    body = raw()
    body["metadata"]["annotations"] = {ANNOTATION_VALUES_TEXT: "a: 1 # one", "kept": "yes"}
    metadata = obj(XAppCache().put(body).parse()[0], "metadata")
    assert "managedFields" not in metadata
    assert metadata["annotations"] == {"kept": "yes"}


def test_the_first_and_the_last_xapp_of_a_namespace_are_reported() -> None:
    reported: list[tuple[str, int]] = []
    cache = XAppCache(on_namespace=lambda namespace: reported.append((namespace, len(cache.in_namespace(namespace)))))
    bodies = [raw() for _ in range(3)]
    for number, body in enumerate(bodies):
        body["metadata"] = {**body["metadata"], "name": f"x{number}", "uid": f"u{number}"}
    bodies[2]["metadata"]["namespace"] = "other"

    newer = {**bodies[2], "metadata": {**bodies[2]["metadata"], "resourceVersion": "6"}}
    for body in (*bodies, bodies[0], newer):
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


class _Namespace:
    """XApps of one namespace, and which of them their changes woke."""

    def __init__(self) -> None:
        self._woken: set[str] = set()
        self._version = 0
        self.cache = XAppCache(on_related=lambda key: self._woken.add(key[1]))

    def put(
        self,
        name: str,
        *depends_on: str,
        ready: bool = False,
        deleting: bool = False,
        generation: int = 2,
        release_name: str | None = None,
    ) -> set[str]:
        """Store an XApp; return which others were woken."""
        body = raw(dependsOn=[{"name": other} for other in depends_on], releaseName=release_name)
        self._version += 1
        body["metadata"].update(name=name, uid=f"u-{name}", generation=generation, resourceVersion=str(self._version))
        if deleting:
            body["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        if ready:
            body["status"] = {"observedGeneration": 2, "conditions": [{"type": "Ready", "status": "True"}]}
        self.cache.put(body)
        return self.woken()

    def remove(self, name: str) -> set[str]:
        assert self.cache.remove(("ns", name), f"u-{name}")
        return self.woken()

    def woken(self) -> set[str]:
        woken, self._woken = self._woken, set()
        return woken


def test_a_dependency_that_becomes_ready_wakes_those_that_wait_for_it() -> None:
    apps = _Namespace()
    apps.put("other")
    assert apps.put("second", "first", "zeroth") == set()
    assert not apps.cache.is_ready(("ns", "first"))
    assert apps.put("first") == {"second"}
    assert apps.put("first", ready=True) == {"second"}
    assert apps.cache.is_ready(("ns", "first"))
    assert apps.put("first", ready=True) == set()
    assert apps.put("first", ready=True, generation=3) == {"second"}  # Ready was about the spec before
    assert apps.put("first", ready=True) == {"second"}
    assert apps.put("first", ready=True, deleting=True) == {"second"}
    assert not apps.cache.is_ready(("ns", "first"))
    assert apps.remove("first") == {"second"}


def test_an_xapp_that_goes_wakes_those_that_wait_for_its_release() -> None:
    apps = _Namespace()
    apps.put("other")
    assert apps.put("second", release_name="first") == set()
    assert apps.put("first") == set()
    assert apps.put("third", release_name="fourth") == set()
    assert apps.put("fourth") == set()
    assert apps.remove("first") == {"second"}
    assert apps.remove("third") == {"fourth"}
    assert apps.remove("other") == set()


def test_the_installers_of_a_release_are_known_by_its_name() -> None:
    apps = _Namespace()
    apps.put("first")
    apps.put("second", release_name="first")
    apps.put("third", release_name="fourth")
    apps.put("fourth", release_name="third")
    assert apps.cache.installers("ns", "first") == {("ns", "first"), ("ns", "second")}
    assert apps.cache.installers("ns", "fourth") == {("ns", "third")}
    assert apps.cache.installers("ns", "second") == set()
    assert apps.cache.installers("other", "first") == set()


def test_a_dependent_that_goes_or_no_longer_depends_wakes_its_dependency() -> None:
    apps = _Namespace()
    apps.put("first", deleting=True)
    assert apps.put("second", "first") == {"first"}
    assert apps.put("third", "first") == {"first"}
    assert apps.cache.dependents(("ns", "first")) == ("second", "third")
    assert apps.put("third") == {"first"}
    assert apps.remove("second") == {"first"}
    assert apps.cache.dependents(("ns", "first")) == ()


def test_a_cycle_wakes_all_its_members_when_it_closes_and_when_it_opens() -> None:
    apps = _Namespace()
    apps.put("a", "b")
    apps.put("b", "c")
    apps.put("outside", "a")
    assert apps.cache.dependency_cycle(("ns", "a")) == ()
    assert apps.put("c", "a") == {"a", "b"}
    assert apps.cache.dependency_cycle(("ns", "a")) == ("a", "b", "c", "a")
    assert apps.cache.dependency_cycle(("ns", "outside")) == ()
    assert apps.cache.dependency_cycle(("ns", "gone")) == ()
    assert apps.cache.dependents(("ns", "a")) == ("outside",)
    assert apps.put("c") == {"a", "b"}
    assert apps.cache.dependency_cycle(("ns", "b")) == ()


def test_xapps_of_other_namespaces_are_no_dependents() -> None:
    apps = _Namespace()
    apps.put("first")
    body = raw(dependsOn=[{"name": "first"}])
    body["metadata"].update(namespace="other", name="second", uid="u9", resourceVersion="99")
    apps.cache.put(body)
    assert apps.woken() == set()
    assert apps.cache.dependents(("ns", "first")) == ()


def test_deletions_are_woken_once_all_xapps_of_the_first_list_are_known() -> None:
    apps = _Namespace()
    apps.cache.expect([("ns", "first"), ("ns", "second"), ("ns", "third"), ("ns", "gone")])
    apps.put("first", deleting=True)
    apps.put("second", "first")
    apps.put("third")
    apps.woken()
    complete = [apps.cache.is_complete]
    assert not apps.cache.remove(("ns", "gone"), "u-gone")
    complete.append(apps.cache.is_complete)
    assert complete == [False, True]
    assert apps.woken() == {"first"}


def test_what_never_comes_is_not_expected_for_ever() -> None:
    apps = _Namespace()
    apps.put("first", deleting=True)
    apps.cache.expect([("ns", "never")])
    complete = [apps.cache.is_complete]
    apps.cache.expect([])
    complete.append(apps.cache.is_complete)
    assert complete == [False, True]
    assert apps.woken() == {"first"}


TIME = "2026-11-20T08:00:0{}Z"
SECOND_0 = 1795161600.0


def put_with_ready(
    cache: XAppCache, status: str | None, *, version: int, suspend: bool = False, deleting: bool = False
) -> None:
    body = raw(suspend=suspend)
    body["metadata"].update(resourceVersion=str(version), creationTimestamp=TIME.format(0))
    if deleting:
        body["metadata"]["deletionTimestamp"] = TIME.format(3)
    if status is not None:
        body["status"]["conditions"] = [
            {"type": "Ready", "status": status, "lastTransitionTime": TIME.format(2), "reason": "X", "message": ""}
        ]
    cache.put(body)


def test_it_knows_since_when_an_xapp_is_not_ready() -> None:
    cache = XAppCache()
    put_with_ready(cache, None, version=6)
    assert list(cache.not_ready_since()) == [SECOND_0]
    states: tuple[tuple[str, list[float]], ...] = (("False", [SECOND_0 + 2]), ("True", []), ("Unknown", [SECOND_0 + 2]))
    for version, (status, expected) in enumerate(states, start=7):
        put_with_ready(cache, status, version=version)
        assert list(cache.not_ready_since()) == expected, status
    put_with_ready(cache, "True", version=20, deleting=True)
    assert list(cache.not_ready_since()) == [SECOND_0 + 3]
    assert cache.remove(KEY, "u1")
    assert not cache.not_ready_since()


def test_a_suspended_xapp_does_not_count_as_not_ready() -> None:
    cache = XAppCache()
    put_with_ready(cache, "False", version=6)
    put_with_ready(cache, "False", version=7, suspend=True)
    assert not cache.not_ready_since()


CHANGES = [
    ({"status": {"phase": "Deployed"}}, True),
    ({"metadata": {"managedFields": [{"manager": "kubectl"}]}}, True),
    ({"metadata": {"generation": 3}}, False),
    ({"metadata": {"annotations": {"xapp-operator.io/retry-at": "now"}}}, False),
    ({"metadata": {"finalizers": []}}, False),
    ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, False),
]
"""What the response to a write of the status brings, and whether it is the operator's own alone."""


def written(changed: dict[str, Any], *, version: int) -> dict[str, Any]:
    body = raw()
    metadata = {**body["metadata"], "resourceVersion": str(version), **changed.get("metadata", {})}
    return {**body, **changed, "metadata": metadata}


def work_on_key() -> tuple[XAppCache, WorkQueue]:
    """Return a cache with the XApp, and a queue of which a job has taken its key."""
    cache, queue = XAppCache(), WorkQueue()
    cache.put(raw())
    queue.add(KEY)
    assert queue.take("ns") == KEY
    return cache, queue


@pytest.mark.parametrize(("changed", "own_write"), CHANGES)
def test_write_is_no_reason_to_look_again_unless_it_brings_a_change(
    changed: dict[str, Any], *, own_write: bool
) -> None:
    cache, queue = work_on_key()
    queue.add(KEY, version=6)  # the event of this write came first
    keep_written(cache, queue, raw(), written(changed, version=6))
    entry = cache.get(KEY)
    assert entry is not None
    assert (entry.resource_version, entry.own_write, len(queue)) == (6, own_write, int(not own_write))


@pytest.mark.parametrize(("changed", "own_write"), CHANGES)
def test_change_that_a_write_brings_is_looked_at_although_another_write_comes_before_its_event(
    changed: dict[str, Any], *, own_write: bool
) -> None:
    cache, queue = work_on_key()
    first = written(changed, version=6)
    keep_written(cache, queue, raw(), first)
    keep_written(cache, queue, first, {**first, "metadata": {**first["metadata"], "resourceVersion": "7"}})
    assert cache.put(first).own_write  # the event is no news any more
    assert len(queue) == int(not own_write)
