"""Faults of `make chaos`: each says when it had no effect, and what it saw go wrong."""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.chaos import faults_of_charts, faults_of_machines, faults_of_objects
from tests.chaos.campaign import FAULTS
from tests.chaos.faults_of_charts import ANOTHER_GREETING, MISMATCH, _must_be_refused, _serve_another_archive
from tests.chaos.faults_of_machines import NO_SPACE
from tests.chaos.fleet import EDITED_IMAGE, FIRST_VERSION, REPOSITORY_CHART, Kind
from tests.chaos.scene import Scene, WithoutEffect
from tests.chaos.snapshot import Snapshot, parse_snapshot
from tests.localcluster import Cluster
from tests.support.chaos_fleet import deployment_spec, find, idle_scene, new_fleet, objects_of, set_condition
from tests.support.workload import workload_chart


def inject(name: str, scene: Scene) -> None:
    next(each for each in FAULTS if each.name == name).inject(scene)


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A round in which each wait looks twice, and the API server accepts everything."""
    monkeypatch.setattr(Cluster, "kubectl", lambda *_args, **_options: "")
    scene = idle_scene(new_fleet())
    system = cast("Any", scene.system)
    system.wait = lambda condition, _seconds: condition() or condition()
    system.pause = lambda _seconds: None
    return scene


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("helm killed", "no helm ran"),
        ("disk full", "no right to mount a disk"),
        ("clock of the operators set", "no C compiler"),
        ("middle record deleted", "too few revisions"),
        ("old records damaged", "too few revisions"),
        ("helm rollback by hand", "too few revisions"),
        ("operator killed while it adopts", "no XApp is suitable"),
    ],
)
def test_a_fault_that_cannot_be_injected_says_why(monkeypatch: pytest.MonkeyPatch, fault: str, reason: str) -> None:
    fleet = new_fleet()
    if reason == "no XApp is suitable":
        fleet.xapps.clear()
    monkeypatch.setattr(Cluster, "kubectl", lambda *_: "1")
    with pytest.raises(WithoutEffect, match=reason):
        inject(fault, idle_scene(fleet))


def test_an_archive_of_another_digest_renders_another_greeting() -> None:
    served: dict[str, bytes] = {}

    @contextmanager
    def replacing(path: str, body: bytes) -> Iterator[None]:
        served[path] = body
        yield

    scene = idle_scene(new_fleet())
    cast("Any", scene.system).charts = SimpleNamespace(replacing=replacing)
    with _serve_another_archive(scene, "/chart.tgz"):
        pass
    greetings, versions = [], []
    for content in (served["/chart.tgz"], workload_chart(name=REPOSITORY_CHART, version=FIRST_VERSION)):
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            files = {each.name: archive.extractfile(each) for each in archive}
            texts = {name: file.read().decode() for name, file in files.items() if file}
        greetings += re.findall("greeting: (.*)", texts[f"{REPOSITORY_CHART}/templates/configmap.yaml"])
        versions.append(texts[f"{REPOSITORY_CHART}/Chart.yaml"])
    assert greetings == [ANOTHER_GREETING, "{{ .Values.greeting | quote }}"]
    assert versions[0] == versions[1], "only the digest tells them apart"


@pytest.mark.parametrize(
    ("message", "greeting", "lost", "effect"),
    [
        (f"x {MISMATCH} y", "first", [], True),
        ("", ANOTHER_GREETING, ["stored-3 has installed an archive of another digest"], True),
        ("connection refused", "first", [], False),
    ],
)
def test_an_archive_of_another_digest_must_be_refused_while_it_is_served(
    monkeypatch: pytest.MonkeyPatch, message: str, greeting: str, lost: list[str], effect: bool
) -> None:
    scene = idle_scene(new_fleet())
    xapp = next(each for each in scene.fleet.xapps if each.kind is Kind.STORED)
    items = objects_of(xapp)
    set_condition(items, xapp.name, type="Stalled", message=message)
    find(items, "ConfigMap", xapp.name)["data"]["greeting"] = greeting
    monkeypatch.setattr(faults_of_charts, "read_snapshot", lambda *_: parse_snapshot(items))
    cast("Any", scene.system).wait = lambda condition, _seconds: condition()
    if effect:
        _must_be_refused(scene, [xapp])
    else:
        with pytest.raises(WithoutEffect, match="not refused by stored-3"):
            _must_be_refused(scene, [xapp])
    assert scene.lost == lost


class FakeDisk:
    """Tells whether it is full, and how often it was filled again."""

    def __init__(self) -> None:
        self.is_full = False
        self.filled = 0

    @contextmanager
    def full(self) -> Iterator[None]:
        self.is_full = True
        try:
            yield
        finally:
            self.is_full = False

    def fill(self) -> None:
        assert self.is_full
        self.filled += 1


@pytest.mark.parametrize(
    ("kind", "message"),
    [("Ready", f"{NO_SPACE}: make room"), ("Stalled", f"{NO_SPACE}: make room"), ("Ready", "")],
)
def test_a_full_disk_must_stop_helm_and_stall_nothing(
    monkeypatch: pytest.MonkeyPatch, scene: Scene, kind: str, message: str
) -> None:
    disk = FakeDisk()
    scene.system.disks["one"] = cast("Any", disk)
    items = [item for each in scene.fleet.xapps for item in objects_of(each)]
    for each in scene.fleet.xapps:
        set_condition(items, each.name, message=message)
        conditions = find(items, "XApp", each.name)["status"]["conditions"]
        conditions.append({**conditions[0], "type": kind})

    def read(*_: object) -> Snapshot:
        assert disk.is_full
        return parse_snapshot(items)

    monkeypatch.setattr(faults_of_machines, "read_snapshot", read)
    if message:
        inject("disk full", scene)
    else:
        with pytest.raises(WithoutEffect, match="no XApp says that the disk is full"):
            inject("disk full", scene)
    assert (disk.is_full, disk.filled > 0, len(scene.lost)) == (False, True, 3 * (kind == "Stalled"))
    assert len(scene.changed) == 5


class FakeClock:
    def __init__(self) -> None:
        self.ahead = 0

    def set_ahead(self, seconds: int) -> None:
        self.ahead = seconds


@pytest.mark.parametrize(
    ("works", "tells", "lost"),
    [("wrong", "right", 0), ("wrong", "wrong", 3), ("right", "right", 0), ("", "right", 0)],
)
def test_operators_must_work_with_the_wrong_clock_and_tell_the_true_time(
    monkeypatch: pytest.MonkeyPatch, scene: Scene, *, works: str, tells: str, lost: int
) -> None:
    clock = FakeClock()
    scene.system.clocks = cast("Any", {"one": clock, "two": clock})
    items = [item for each in scene.fleet.xapps for item in objects_of(each)]

    def shown(by: str) -> str:
        assert clock.ahead != 0
        return (datetime.now(UTC) + timedelta(seconds=clock.ahead if by == "wrong" else 0)).isoformat()

    def log_text() -> str:
        line = {"message": "action started", "timestamp": shown(works)}
        keys = [each.key for each in scene.fleet.xapps] if works else []
        return "\n".join(json.dumps({**line, "namespace": namespace, "name": name}) for namespace, name in keys)

    def read(*_: object) -> Snapshot:
        for each in scene.fleet.xapps:
            find(items, "XApp", each.name)["status"]["lastAttempt"] = {"lastAt": shown(tells)}
        return parse_snapshot(items)

    scene.system.replicas = cast("Any", {"one": SimpleNamespace(log_text=log_text)})
    monkeypatch.setattr(faults_of_machines, "read_snapshot", read)
    monkeypatch.setattr(faults_of_objects, "read_snapshot", read)
    if works == "wrong":
        inject("clock of the operators set", scene)
        assert len(scene.history_lost) == 1, "one is deleted and applied again"
        assert any(each.in_force.endswith("with the true time again") for each in scene.fleet.xapps)
    else:
        with pytest.raises(WithoutEffect, match="no operator with a wrong clock has worked on "):
            inject("clock of the operators set", scene)
    assert (clock.ahead, len(scene.lost)) == (0, lost)


@pytest.mark.parametrize(("image", "undone"), [(EDITED_IMAGE, False), ("registry.example.com/main:1", True)])
def test_an_edit_that_is_undone_although_the_mode_is_warn_is_lost(
    monkeypatch: pytest.MonkeyPatch, scene: Scene, image: str, undone: bool
) -> None:
    items = [item for each in scene.fleet.xapps for item in objects_of(each)]
    for each in scene.fleet.xapps:
        find(items, "Deployment", each.name).update(spec=deployment_spec(image=image))
    monkeypatch.setattr(faults_of_objects, "read_snapshot", lambda *_: parse_snapshot(items))
    inject("Deployment edited by hand", scene)
    assert bool(scene.lost) is undone
    assert not any("drift-" in each for each in scene.lost)
