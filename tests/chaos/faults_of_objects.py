"""Faults of objects: what people and programs do to XApps, releases and namespaces behind the operator's back."""

from __future__ import annotations

import base64
import json
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from tests.chaos.changes import BREAKABLE, refuse
from tests.chaos.faults_of_processes import HELM_SECONDS
from tests.chaos.fleet import ARCHIVES, EDITED_IMAGE, NAMESPACES, RETRY_AT, WORKLOADS, Kind, ManagedXApp
from tests.chaos.invariants import leftovers
from tests.chaos.scene import Fault, Scene, WithoutEffect
from tests.chaos.snapshot import read_snapshot
from tests.localcluster import KubectlFailed
from tests.support.helm_user import HelmUser
from tests.support.release_records import (
    UnreadableRecord,
    copy_record,
    read_record,
    record_name,
    set_record_dates,
    set_record_status,
)
from tests.support.xapps import XAppClient

DAMAGED: Final = json.dumps({"data": {"release": base64.b64encode(b"damaged").decode()}})
GONE_SECONDS: Final = 120.0
ADOPTION_SECONDS: Final = 2.0
REACTION_SECONDS: Final = 60.0
HOUR: Final = 3600
YEAR: Final = 365 * 24 * HOUR
HALF: Final = 0.5
FORCE_AT: Final = "xapp-operator.io/force-at"


Meanwhile: TypeAlias = Callable[[Scene, list[ManagedXApp]], None]
"""What happens to these XApps while the operator works on them."""


def _revisions(scene: Scene, xapp: ManagedXApp) -> list[int]:
    path = "jsonpath={.items[*].metadata.labels.version}"
    found = scene.kubectl(xapp, "get", "secrets", "-l", f"owner=helm,name={xapp.name}", "-o", path)
    return sorted(map(int, found.split()))


def _on_records(
    count: int, act: Callable[[Scene, ManagedXApp, list[int]], None], *, least: int = 1
) -> Callable[[Scene], None]:
    """Act on the records of XApps that have at least `least`."""

    def inject(scene: Scene) -> None:
        acted = False
        for xapp in scene.victims(count):
            revisions = _revisions(scene, xapp)
            scene.notes.append(f"{'/'.join(xapp.key)} of revisions {revisions}")
            if len(revisions) >= least:
                act(scene, xapp, revisions)
                acted = True
        if not acted:
            raise WithoutEffect("too few revisions")

    return inject


def _delete_record(scene: Scene, xapp: ManagedXApp, revision: int) -> None:
    scene.hit_record(xapp, revision)
    scene.kubectl(xapp, "delete", "secret", record_name(xapp.name, revision), "--ignore-not-found")


def _damage_record(scene: Scene, xapp: ManagedXApp, revision: int) -> None:
    scene.hit_record(xapp, revision)
    scene.kubectl(xapp, "patch", "secret", record_name(xapp.name, revision), "--type=merge", "-p", DAMAGED)


def _delete_newest(scene: Scene, xapp: ManagedXApp, revisions: list[int]) -> None:
    """Delete the newest record, and those before it that an earlier fault has damaged, as the message asks for."""
    *older, newest = revisions
    _delete_record(scene, xapp, newest)
    for revision in reversed(older):
        try:
            read_record(_client(scene, xapp), xapp.name, revision)
        except UnreadableRecord:
            _remove_and_retry(scene, xapp, revision)
        else:
            return


def _delete_middle(scene: Scene, xapp: ManagedXApp, revisions: list[int]) -> None:
    _delete_record(scene, xapp, revisions[-2])


def _delete_all(scene: Scene, xapp: ManagedXApp, revisions: list[int]) -> None:
    scene.history_lost.add(xapp.key)
    for revision in revisions:
        scene.hit_record(xapp, revision)
    scene.kubectl(xapp, "delete", "secrets", "-l", f"owner=helm,name={xapp.name}")


def _damage_newest(scene: Scene, xapp: ManagedXApp, revisions: list[int]) -> None:
    """Damage the newest record, change the spec, and remove the record after some time, as the message asks for."""
    _damage_record(scene, xapp, revisions[-1])
    xapp.set_greeting(scene.greeting(xapp))
    scene.fleet.apply([xapp])
    scene.system.pause(scene.rng.uniform(1, 5))
    _remove_and_retry(scene, xapp, revisions[-1])


def _remove_and_retry(scene: Scene, xapp: ManagedXApp, revision: int) -> None:
    _delete_record(scene, xapp, revision)
    scene.request(xapp, RETRY_AT)


def _damage_old(scene: Scene, xapp: ManagedXApp, revisions: list[int]) -> None:
    for revision in revisions[:-1]:
        _damage_record(scene, xapp, revision)


def _call_old_ones_deployed(scene: Scene, xapp: ManagedXApp, revisions: list[int]) -> None:
    for revision in revisions[:-1]:
        with suppress(UnreadableRecord):
            set_record_status(_client(scene, xapp), xapp.name, revision, "deployed")


def _copy_newest(scene: Scene, xapp: ManagedXApp, revisions: list[int]) -> None:
    """Restore a record under another name, and change the spec."""
    copy_record(_client(scene, xapp), xapp.name, revisions[-1], f"restored-{xapp.name}-{scene.number}")
    xapp.set_greeting(scene.greeting(xapp))
    scene.fleet.apply([xapp])


def _copy_as_next_revision(scene: Scene, xapp: ManagedXApp, revisions: list[int]) -> None:
    """Restore a record as the next revision; then delete and apply the XApp, or remove the record and retry."""
    copied = revisions[-1] + 1
    scene.hit_record(xapp, copied)
    copy_record(_client(scene, xapp), xapp.name, revisions[-1], record_name(xapp.name, copied))
    scene.system.pause(scene.rng.uniform(0, 3))
    if xapp.base or scene.rng.random() < HALF:
        _remove_and_retry(scene, xapp, copied)
    else:
        scene.notes.append("deleted and applied")
        delete_and_apply(scene, [xapp])


def _date_records(scene: Scene) -> None:
    """Date the records of XApps, and what their statuses say of steps, an hour or a year ahead or back."""
    ahead = timedelta(seconds=scene.rng.choice((HOUR, -HOUR, YEAR, -YEAR)))
    when = datetime.now(UTC) + ahead
    for xapp in scene.victims(3):
        client = _client(scene, xapp)
        for revision in _revisions(scene, xapp):
            with suppress(UnreadableRecord):
                set_record_dates(client, xapp.name, revision, when)
        written = f"{when:%Y-%m-%dT%H:%M:%SZ}"
        status = {"status": {"lastAttempt": {"firstAt": written, "lastAt": written}}}
        scene.kubectl(
            xapp, "patch", "xapp", xapp.name, "--subresource=status", "--type=merge", "-p", json.dumps(status)
        )
        if scene.rng.random() < HALF:
            xapp.set_greeting(scene.greeting(xapp))
            scene.fleet.apply([xapp])


def _client(scene: Scene, xapp: ManagedXApp) -> XAppClient:
    return XAppClient(scene.system.cluster, xapp.namespace)


def _apply_again(scene: Scene, meanwhile: Meanwhile = lambda *_: None) -> None:
    chosen = scene.victims(2, suits=lambda each: not each.base)
    delete_and_apply(scene, chosen, meanwhile)


def delete_and_apply(scene: Scene, chosen: list[ManagedXApp], meanwhile: Meanwhile = lambda *_: None) -> None:
    """Delete XApps, and apply them again when they are gone."""
    scene.history_lost |= {each.key for each in chosen}
    for xapp in chosen:
        scene.kubectl(xapp, "delete", "xapp", xapp.name, "--wait=false")
    try:
        meanwhile(scene, chosen)
    finally:
        scene.system.wait(lambda: all(_is_gone(scene, each) for each in chosen), GONE_SECONDS)
        scene.lost += _left_without_xapp(scene, chosen)
        scene.fleet.apply(chosen)


def _left_without_xapp(scene: Scene, chosen: list[ManagedXApp]) -> list[str]:
    """Return what is left under the names of greetings of those XApps that are gone."""
    found: list[str] = []

    def look() -> bool:
        snapshot = read_snapshot(scene.system.cluster, NAMESPACES)
        gone = [each for each in chosen if each.key not in snapshot.xapps]
        found[:] = [
            f"{'/'.join(each.key)}: {left}" for each in gone for left in leftovers(scene.fleet, snapshot, each.key)
        ]
        return True

    scene.system.wait(look, REACTION_SECONDS)
    return [f"{each}, although the XApp is deleted" for each in found]


def _replace_failed(scene: Scene) -> None:
    """Let upgrades fail for good, then change or delete the XApps, and kill the operator while it goes on."""
    chosen = scene.victims(3, suits=lambda each: not each.base, kinds=BREAKABLE)
    for xapp in chosen:
        before = xapp.in_force
        xapp.set_greeting(scene.greeting(xapp, ", refused"))
        refuse(xapp, before, stays=True)
    scene.fleet.apply(chosen)

    def have_failed() -> bool:
        snapshot = read_snapshot(scene.system.cluster, NAMESPACES)
        return not any(each.difference(snapshot) for each in chosen)

    scene.system.wait(have_failed, REACTION_SECONDS)
    for xapp in chosen:
        xapp.set_greeting(scene.greeting(xapp))
    if scene.rng.random() < HALF:
        scene.notes.append("deleted and applied")
        delete_and_apply(scene, chosen, _kill_leader_soon)
    else:
        scene.fleet.apply(chosen)
        _kill_leader_soon(scene, chosen)


def _kill_leader_soon(scene: Scene, _: list[ManagedXApp]) -> None:
    scene.system.pause(scene.rng.uniform(0, 3))
    scene.system.leader().kill()


def _kill_leader_while_it_uninstalls(scene: Scene, chosen: list[ManagedXApp]) -> None:
    releases = {each.key for each in chosen}
    running = scene.system.wait_for_helm(HELM_SECONDS, commands=("uninstall",), releases=releases)
    if not running:
        raise WithoutEffect("no helm ran")
    time.sleep(scene.rng.choice((0.0, scene.rng.uniform(0, 0.5))))
    scene.notes.append(f"while {running[0]} ran")
    scene.system.leader().kill()


def _kill_leader_while_it_adopts(scene: Scene, chosen: list[ManagedXApp]) -> None:
    """Kill it when helm upgrades one of the releases, or at any time: one that is adopted as it is needs no helm."""
    seconds, releases = scene.rng.uniform(0, ADOPTION_SECONDS), {each.key for each in chosen}
    running = scene.system.wait_for_helm(seconds, commands=("upgrade",), releases=releases)
    scene.notes.append(f"while {running[0]} ran" if running else f"{seconds:.1f} s after they were applied")
    scene.system.leader().kill()


def _is_gone(scene: Scene, xapp: ManagedXApp) -> bool:
    return not scene.kubectl(xapp, "get", "xapp", xapp.name, "--ignore-not-found", "-o", "name")


def _adopt(scene: Scene, meanwhile: Meanwhile = lambda *_: None) -> None:
    """Leave releases as if a person had made them, and adopt them: as they are, or with other values."""
    chosen = scene.victims(2, suits=lambda each: not each.base, kinds=WORKLOADS)
    for xapp in chosen:
        policy = json.dumps({"spec": {"deletionPolicy": "Orphan"}})
        scene.kubectl(xapp, "patch", "xapp", xapp.name, "--type=merge", "-p", policy)
        scene.kubectl(xapp, "delete", "xapp", xapp.name, "--wait=false")
    scene.system.wait(lambda: all(_is_gone(scene, each) for each in chosen), GONE_SECONDS)
    for xapp in chosen:
        labels = [f"xapp-operator.io/{each}-" for each in ("xapp", "chart-digest", "values-digest", "attempt")]
        scene.kubectl(xapp, "label", "secrets", "-l", f"owner=helm,name={xapp.name}", *labels)
        xapp.spec["adopt"] = True
        if scene.rng.random() < HALF:
            xapp.set_greeting(scene.greeting(xapp))
            scene.notes.append(f"{'/'.join(xapp.key)} with other values")
    scene.fleet.apply(chosen)
    meanwhile(scene, chosen)


def _suspend(scene: Scene) -> None:
    chosen = scene.victims(3, suits=lambda each: not each.base)
    for xapp in chosen:
        xapp.set_greeting(scene.greeting(xapp))
        xapp.spec["suspend"] = True
    scene.fleet.apply(chosen)
    scene.system.pause(scene.rng.uniform(0, 3))
    for xapp in chosen:
        xapp.spec["suspend"] = False
    scene.fleet.apply(chosen)


def _change_often(scene: Scene) -> None:
    """Change XApps ten times in about a second each."""
    for xapp in scene.victims(2):
        for count in range(10):
            xapp.set_greeting(scene.greeting(xapp, f", change {count}"))
            scene.fleet.apply([xapp])


def _make_namespace_again(scene: Scene) -> None:
    namespace = scene.rng.choice(sorted({each.namespace for each in scene.fleet.xapps}))
    scene.notes.append(namespace)
    inside = [each for each in scene.fleet.xapps if each.namespace == namespace]
    scene.system.cluster.kubectl("delete", "namespace", namespace, "--wait=false")
    for xapp in inside:
        scene.history_lost.add(xapp.key)
        xapp.set_greeting(scene.greeting(xapp))
        if xapp.spec.get("version") == "9.9.9":
            xapp.spec["version"] = scene.fleet.versions[0]

    def is_gone() -> bool:
        kubectl = scene.system.cluster.kubectl
        return not kubectl("get", "namespace", namespace, "--ignore-not-found", "-o", "name")

    if scene.system.wait(is_gone, GONE_SECONDS):
        scene.fleet.create([namespace])
    else:
        scene.notes.append("the namespace did not end")


def _scale(scene: Scene) -> None:
    for xapp in scene.victims(4, kinds=WORKLOADS):
        scene.kubectl(xapp, "scale", "deployment", xapp.name, "--replicas=3")


def _edit(scene: Scene, xapp: ManagedXApp) -> None:
    """Set another image, which the chart sets too."""
    scene.kubectl(xapp, "set", "image", f"deployment/{xapp.name}", f"main={EDITED_IMAGE}")


def _edit_some(scene: Scene) -> None:
    """Edit Deployments whose XApps do not change: that is told, and undone where drift is corrected, and only there."""
    chosen = scene.victims(4, kinds=WORKLOADS)
    for xapp in chosen:
        _edit(scene, xapp)
        scene.notes.append("/".join(xapp.key))
    undone: list[str] = []

    def look() -> bool:
        snapshot = read_snapshot(scene.system.cluster, NAMESPACES)
        undone[:] = [each.name for each in chosen if EDITED_IMAGE not in snapshot.images[each.key]]
        return not any(each.difference(snapshot) for each in chosen)

    scene.system.wait(look, REACTION_SECONDS)
    wrong = [each.name for each in chosen if each.name in undone and each.kind is not Kind.DRIFT]
    scene.lost += [f"an edit of {name} was undone, although its mode is warn" for name in wrong]


def _upgrade_by_hand(scene: Scene) -> None:
    """A person upgrades releases with other values, before a change of the XApp, after it, or without one."""
    with tempfile.TemporaryDirectory() as folder:
        for xapp in scene.victims(3, kinds=WORKLOADS):
            user = HelmUser(scene.system.cluster, xapp.namespace, Path(folder))
            changed = scene.rng.choice(("before", "after", "never"))
            if changed != "never":
                xapp.set_greeting(scene.greeting(xapp))
            if changed == "before":
                scene.fleet.apply([xapp])
            scene.may_repeat[xapp.key] += 1
            _try(scene, partial(user.upgrade, xapp.name, ARCHIVES[Kind.PLAIN], greeting="mine"))
            if changed == "after":
                scene.fleet.apply([xapp])


def _try(scene: Scene, act: Callable[[], object]) -> None:
    try:
        act()
    except (AssertionError, KubectlFailed) as error:
        scene.notes.append(str(error).strip().splitlines()[0])


def _roll_back_by_hand(scene: Scene) -> None:
    """A person rolls releases back, and changes the XApps as well."""
    acted = False
    for xapp in scene.victims(2, kinds=WORKLOADS):
        revisions = _revisions(scene, xapp)
        if len(revisions) < 2:
            continue
        acted = True
        user = HelmUser(scene.system.cluster, xapp.namespace, Path())
        scene.may_repeat[xapp.key] += 1
        _try(scene, partial(user.roll_back, xapp.name, revisions[-2]))
        xapp.set_greeting(scene.greeting(xapp))
        scene.fleet.apply([xapp])
    if not acted:
        raise WithoutEffect("too few revisions")


def _act_at_the_same_time(scene: Scene) -> None:
    """People scale, edit, upgrade and roll back the same releases at once, while the XApps change."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as people:
        for xapp in scene.victims(2, kinds=WORKLOADS):
            revisions = _revisions(scene, xapp)
            user = HelmUser(scene.system.cluster, xapp.namespace, Path(folder))
            helm: list[Callable[[], object]] = [
                partial(user.upgrade, xapp.name, ARCHIVES[Kind.PLAIN], greeting="mine"),
                *(partial(user.roll_back, xapp.name, each) for each in revisions[-2:-1]),
            ]
            scene.may_repeat[xapp.key] += len(helm)
            acts: list[Callable[[], object]] = [
                partial(scene.kubectl, xapp, "scale", "deployment", xapp.name, "--replicas=3"),
                partial(_edit, scene, xapp),
                *helm,
            ]
            xapp.set_greeting(scene.greeting(xapp))
            acts.append(partial(scene.fleet.apply, [xapp]))
            for act in scene.rng.sample(acts, len(acts)):
                people.submit(_try, scene, act)


def _change_values_objects(scene: Scene) -> None:
    """Change the ConfigMaps of values several times, so that only the last counts."""
    chosen = scene.victims(5, kinds=frozenset({Kind.FROM}))
    for count in range(3):
        for xapp in chosen:
            xapp.set_greeting(scene.greeting(xapp, f", change {count}"))
        scene.fleet.apply(chosen)
        time.sleep(scene.rng.uniform(0, 0.5))


def _delete_objects(scene: Scene) -> None:
    """Delete objects of releases. Where drift is not corrected, ask for an upgrade."""
    for xapp in scene.victims(4, kinds=WORKLOADS):
        objects = [f"{kind}/{xapp.name}" for kind in ("deployment", "service", "configmap")]
        objects.append(f"configmap/{xapp.name_after(xapp.in_force)}")
        scene.kubectl(xapp, "delete", *scene.rng.sample(objects, 2), "--wait=false", "--ignore-not-found")
        if xapp.kind is not Kind.DRIFT:
            scene.request(xapp, FORCE_AT)


def _delete_lease(scene: Scene) -> None:
    scene.system.cluster.kubectl("-n", "xapp-operator-system", "delete", "lease", "xapp-operator", "--ignore-not-found")


FAULTS: Final = (
    Fault(name="newest record deleted", inject=_on_records(2, _delete_newest)),
    Fault(name="middle record deleted", inject=_on_records(2, _delete_middle, least=3)),
    Fault(name="all records deleted", inject=_on_records(1, _delete_all)),
    Fault(name="newest record damaged", inject=_on_records(1, _damage_newest)),
    Fault(name="old records damaged", inject=_on_records(1, _damage_old, least=2)),
    Fault(name="several records deployed", inject=_on_records(2, _call_old_ones_deployed, least=2)),
    Fault(name="record of another name", inject=_on_records(1, _copy_newest)),
    Fault(name="record copied as the next revision", inject=_on_records(2, _copy_as_next_revision)),
    Fault(name="records dated wrongly", inject=_date_records),
    Fault(name="XApp deleted and applied", inject=_apply_again),
    Fault(name="release left and adopted", inject=_adopt),
    Fault(
        name="operator killed while it uninstalls",
        inject=partial(_apply_again, meanwhile=_kill_leader_while_it_uninstalls),
    ),
    Fault(name="operator killed while it adopts", inject=partial(_adopt, meanwhile=_kill_leader_while_it_adopts)),
    Fault(name="operator killed after upgrades failed", inject=_replace_failed),
    Fault(name="XApp suspended and resumed", inject=_suspend),
    Fault(name="XApp changed ten times", inject=_change_often),
    Fault(name="namespace deleted and made", inject=_make_namespace_again),
    Fault(name="kubectl scale", inject=_scale),
    Fault(name="Deployment edited by hand", inject=_edit_some),
    Fault(name="helm upgrade by hand", inject=_upgrade_by_hand),
    Fault(name="helm rollback by hand", inject=_roll_back_by_hand),
    Fault(name="people act at the same time", inject=_act_at_the_same_time),
    Fault(name="values object changed", inject=_change_values_objects),
    Fault(name="objects deleted by hand", inject=_delete_objects),
    Fault(name="Lease deleted", inject=_delete_lease, explains=("leadership lost",)),
)
