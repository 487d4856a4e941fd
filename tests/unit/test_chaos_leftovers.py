"""What `make chaos` says of objects that a revision has left, and which of them it takes for explained."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.chaos import changes, faults_of_objects
from tests.chaos.campaign import _unrecorded
from tests.chaos.charts import GREETING_KEY, named_config_map
from tests.chaos.fleet import Fleet, Kind, ManagedXApp
from tests.chaos.invariants import losses
from tests.chaos.scene import Scene
from tests.chaos.snapshot import RELEASE, parse_snapshot, read_snapshot
from tests.chaos.system import System
from tests.localcluster import Cluster
from tests.support.chaos_fleet import CLUSTER, add_named, find, idle_scene, new_fleet, objects_of
from tests.support.release_records import pack_record, record_name

Json = dict[str, Any]


def converged(fleet: Fleet) -> list[Json]:
    return [item for each in fleet.xapps for item in objects_of(each)]


def lost(fleet: Fleet, items: list[Json]) -> list[str]:
    return losses(fleet, parse_snapshot(items), {}, {})


def of_kind(fleet: Fleet, kind: Kind) -> ManagedXApp:
    return next(each for each in fleet.xapps if each.kind is kind)


@pytest.mark.parametrize("kind", [Kind.PLAIN, Kind.STORED, Kind.FROM])
def test_an_object_of_another_revision_is_lost(kind: Kind) -> None:
    fleet = new_fleet()
    items, xapp = converged(fleet), of_kind(fleet, kind)
    add_named(items, xapp, "of a failed revision")
    name = named_config_map(xapp.name, "of a failed revision")
    assert lost(fleet, items) == [f"chaos-a/{xapp.name}: ConfigMap {name} is left of another revision"]


def test_an_object_of_the_revision_in_force_must_exist() -> None:
    fleet = new_fleet()
    items, xapp = converged(fleet), fleet.xapps[0]
    name = xapp.name_after(xapp.in_force)
    items.remove(find(items, "ConfigMap", name))
    assert lost(fleet, items) == [f"chaos-a/plain-0: ConfigMap {name} of the greeting in force does not exist"]


def test_what_is_left_without_an_xapp_is_lost_in_any_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = new_fleet()
    items = converged(fleet)
    named = {"namespace": "elsewhere", "name": "plain-0-12345678", "annotations": {RELEASE: "plain-0"}}
    items += [
        {"kind": "ConfigMap", "metadata": named, "data": {GREETING_KEY: "x"}},
        {"kind": "ConfigMap", "metadata": {"namespace": "kube-system", "name": "other"}, "data": None},
    ]
    monkeypatch.setattr(Cluster, "kubectl", lambda *_args, **_options: json.dumps({"items": items}))
    snapshot = read_snapshot(CLUSTER, ("chaos-a",))
    assert losses(fleet, snapshot, {}, {}) == ["elsewhere/plain-0: a ConfigMap is left, but no XApp"]


def test_the_deployed_revision_keeps_its_object_while_the_one_after_it_has_failed_and_stays() -> None:
    fleet = new_fleet()
    xapp = fleet.xapps[0]
    xapp.set_greeting("second")
    changes.refuse(xapp, "first", stays=True)
    items = converged(fleet)
    add_named(items, xapp, "first")
    assert not any("ConfigMap" in each for each in lost(fleet, items))
    add_named(items, xapp, "third")
    assert any("is left of another revision" in each for each in lost(fleet, items))
    xapp.set_greeting("second")
    assert sum("is left of another revision" in each for each in lost(fleet, items)) == 2, "it does not fail any more"


def test_a_refused_upgrade_that_does_not_stay_leaves_the_values_before_it() -> None:
    xapp = new_fleet().xapps[0]
    xapp.set_greeting("second")
    changes.refuse(xapp, "first", stays=False)
    assert (xapp.in_force, xapp.deployed, "upgrade" in xapp.spec) == ("first", "", False)
    assert xapp.stalled == {"UpgradeFailed"}


def with_record(items: list[Json], revision: int, greeting: str) -> None:
    record = find(items, "Secret", record_name("plain-0", revision))
    record["data"]["release"] = pack_record({"manifest": "x", "config": {"greeting": greeting}})


def test_only_the_object_of_a_record_that_the_fault_hits_is_explained() -> None:
    fleet = new_fleet()
    items, xapp = converged(fleet), fleet.xapps[0]
    for revision, greeting in ((1, "hit"), (2, "intact")):
        with_record(items, revision, greeting)
    scene = idle_scene(fleet)
    scene.hit_record(xapp, 1)
    scene.hit_record(xapp, 3)
    fleet.unrecorded |= set(_unrecorded(scene, parse_snapshot(items)))
    assert fleet.unrecorded == {(xapp.namespace, xapp.name_after("hit"))}
    add_named(items, xapp, "hit")
    assert lost(fleet, items) == []
    add_named(items, xapp, "intact")
    assert lost(fleet, items) == [f"chaos-a/plain-0: ConfigMap {xapp.name_after('intact')} is left of another revision"]


def test_what_is_left_when_an_xapp_is_deleted_is_lost_although_it_is_applied_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fleet = new_fleet()
    scene, xapp = idle_scene(fleet), fleet.xapps[0]
    cast("Any", scene.system).wait = lambda condition, _seconds: condition()
    items: list[Json] = []
    for greeting in ("explained", "left"):
        add_named(items, xapp, greeting)
    fleet.unrecorded.add((xapp.namespace, xapp.name_after("explained")))
    monkeypatch.setattr(Cluster, "kubectl", lambda *_args, **_options: "")
    monkeypatch.setattr(faults_of_objects, "read_snapshot", lambda *_: parse_snapshot(items))
    faults_of_objects.delete_and_apply(scene, [xapp])
    name = xapp.name_after("left")
    expected = f"chaos-a/plain-0: ConfigMap {name} is left of another revision, although the XApp is deleted"
    assert scene.lost == [expected]


def test_upgrades_that_are_refused_are_among_the_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cluster, "kubectl", lambda *_args, **_options: "")
    rng, found = random.Random(1), set[tuple[Kind, bool]]()
    for number in range(100):
        scene = Scene(cast("Any", SimpleNamespace(cluster=CLUSTER)), new_fleet(), rng, number)
        changed = changes.change_some(scene, len(scene.fleet.xapps))
        found |= {
            (each.kind, bool(each.deployed)) for each in changed if each.spec.get("values", {}).get("replicas") == -1
        }
    bases = {each.kind for each in new_fleet().xapps if each.base}
    assert found == {(kind, stays) for kind in changes.BREAKABLE - bases for stays in (True, False)}


def test_events_are_counted_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    system = System(tmp_path)
    system.cluster = CLUSTER
    counts = {"a": 1, "b": 2}

    def kubectl(*_args: object, **_options: object) -> str:
        return json.dumps({"items": [{"metadata": {"uid": uid}, "count": count} for uid, count in counts.items()]})

    monkeypatch.setattr(Cluster, "kubectl", kubectl)
    with system.charts:
        assert system.new_events("LeftoversDeleted") == 3
        counts |= {"b": 3, "c": 1}
        assert system.new_events("LeftoversDeleted") == 2
        assert system.new_events("LeftoversDeleted") == 0
