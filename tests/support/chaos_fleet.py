"""The objects of a fleet of `make chaos` as they are when it has converged, and a system in which nothing happens."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, cast

from tests.chaos.charts import GREETING_KEY
from tests.chaos.fleet import NAMED, Fleet, Kind, ManagedXApp
from tests.chaos.helm_processes import HelmProcess
from tests.chaos.scene import Scene
from tests.chaos.snapshot import LABEL, RELEASE
from tests.chaos.system import System
from tests.localcluster import Cluster
from tests.support.release_records import pack_record, record_name

Json = dict[str, Any]
CLUSTER = Cluster(kubeconfig=Path(), server="", token="", kubectl_path=Path(), helm_path=Path())
COUNT = len(Kind)


def new_fleet() -> Fleet:
    return Fleet(CLUSTER, count=COUNT, charts_url="http://127.0.0.1:1")


def metadata(xapp: ManagedXApp, name: str) -> Json:
    return {"namespace": xapp.namespace, "name": name, "labels": {LABEL: xapp.name}}


def add_named(items: list[Json], xapp: ManagedXApp, greeting: str) -> None:
    """Add the ConfigMap of an XApp that is named after a greeting."""
    named = metadata(xapp, xapp.name_after(greeting)) | {"annotations": {RELEASE: xapp.name}}
    items.append({"kind": "ConfigMap", "metadata": named, "data": {GREETING_KEY: greeting}})


def deployment_spec(*, replicas: int = 1, image: str = "registry.example.com/main:1") -> Json:
    return {"replicas": replicas, "template": {"spec": {"containers": [{"name": "main", "image": image}]}}}


def objects_of(xapp: ManagedXApp) -> list[Json]:
    """Return the objects of a converged XApp with two revisions."""
    ready = {"type": "Ready", "status": "True", "reason": "UpgradeSucceeded", "observedGeneration": 1, "message": ""}
    records = [
        {
            "kind": "Secret",
            "metadata": {
                "namespace": xapp.namespace,
                "name": record_name(xapp.name, revision),
                "labels": {"owner": "helm", "name": xapp.name, "version": str(revision), "status": status},
            },
            "data": {"release": pack_record({"manifest": f"revision {revision}"})},
        }
        for revision, status in ((1, "superseded"), (2, "deployed"))
    ]
    items: list[Json] = [
        {
            "kind": "XApp",
            "metadata": {"namespace": xapp.namespace, "name": xapp.name, "generation": 1},
            "status": {"conditions": [ready]},
        },
        {"kind": "ConfigMap", "metadata": metadata(xapp, xapp.config_map), "data": {"greeting": xapp.in_force}},
        {"kind": "Deployment", "metadata": metadata(xapp, xapp.name), "spec": deployment_spec()},
        *records,
    ]
    if xapp.kind in NAMED:
        add_named(items, xapp, xapp.in_force)
    return items


def find(items: list[Json], kind: str, name: str) -> Json:
    return next(each for each in items if each["kind"] == kind and each["metadata"]["name"].startswith(name))


def set_condition(items: list[Json], name: str, **change: Any) -> None:
    find(items, "XApp", name)["status"]["conditions"][0].update(change)


def add_drifted(items: list[Json], name: str) -> None:
    drifted = {
        "type": "Drifted",
        "status": "True",
        "message": f"Deployment {name} (/spec/replicas, changed by kubectl)",
    }
    find(items, "XApp", name)["status"]["conditions"].append(drifted)


class IdleSystem:
    """A system in which nothing runs, no disk is mounted and no clock can be set."""

    def __init__(self) -> None:
        self.disks: dict[str, Any] = {}
        self.clocks = {"one": None, "two": None}
        self.cluster = CLUSTER

    def wait_for_helm(self, _seconds: float, **_options: Any) -> list[HelmProcess]:
        return []

    def name_of_leader(self) -> str:
        return "one"


def idle_scene(fleet: Fleet) -> Scene:
    return Scene(cast("System", IdleSystem()), fleet, random.Random(1), 1)
