"""The states of an XApp on a real control plane: how an XApp comes into each, and how a test knows that it is there."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from tests.chaos.helm_processes import HelmProcess, find_helm_processes
from tests.chaos.snapshot import Record, parse_snapshot
from tests.support.apiserver import SECRETS, XAPPS, ApiServer
from tests.support.audit import read_audit_events
from tests.support.chart_server import ChartServer
from tests.support.charts import chart_archive
from tests.support.operator import OperatorProcess
from tests.support.release_records import unpack_record
from tests.support.workload import CONFIGMAP, DEPLOYMENT, SERVICE
from tests.support.xapps import Json, XAppClient

LONG: Final = "600s"
"""A hook of this length ends only because its helm is interrupted."""
REMOVAL_SECONDS: Final = "6s"
"""How long a hook of a removal takes: it must end, because nothing interrupts it for good."""
PLACES: Final = 6
"""So many of the 8 places for helm can be taken by the XApps of one namespace."""
GOOD_VALUES: Final[Json] = {
    "greeting": "zero",
    "port": 8080,
    "readyAfter": "",
    "preInstall": "",
    "preUpgrade": "",
    "preRollback": "",
    "preDelete": "",
}
SECONDS: Final = 40.0
MAX_HISTORY: Final = 50
"""More than any history here, so that no revision is pruned."""
KINDS: Final = "configmaps,deployments,replicasets,pods,services,jobs,secrets"
BROKEN: Final[Json] = {"port": 99999}
"""What the API server refuses for good."""

HOOK: Final = """\
{{- range $name := list "preInstall" "preUpgrade" "preRollback" "preDelete" }}
{{- with index $.Values $name }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $.Release.Name }}-{{ $name | kebabcase }}
  annotations:
    helm.sh/hook: {{ $name | kebabcase }}
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  template:
    metadata: {annotations: {xapp-operator.io/test-complete-after: {{ . }}}}
    spec: {restartPolicy: Never, containers: [{name: main, image: "registry.example.com/main:1"}]}
{{- end }}
{{- end }}
"""


def chart() -> bytes:
    """Return a chart whose values choose how long its hooks take, when its pod is ready, and whether it is refused."""
    ready_after = (
        '      annotations:\n        xapp-operator.io/test-ready-after: {{ .Values.readyAfter | default "0s" }}\n'
    )
    return chart_archive(
        {
            "values.yaml": json.dumps(
                {**GOOD_VALUES, "replicas": 1, "fail": "", "extra": {}, "global": {"kubeIp": ""}}
            ),
            "templates/configmap.yaml": CONFIGMAP,
            "templates/deployment.yaml": DEPLOYMENT.replace("      annotations:\n", ready_after),
            "templates/service.yaml": SERVICE.replace("port: 8080,", "port: {{ .Values.port }},"),
            "templates/hooks.yaml": HOOK,
        },
        name="workload",
    )


@dataclass(slots=True)
class Scene:
    """The XApps of one namespace, the operator, and what they need."""

    xapps: XAppClient
    api: ApiServer
    operator: OperatorProcess
    charts: ChartServer
    manifest: Json

    @property
    def namespace(self) -> str:
        return self.xapps.namespace

    def create(self, name: str, values: Mapping[str, Any] = {}, **spec: Any) -> None:
        base = self.manifest
        changed = {"xAppName": name, "maxHistory": MAX_HISTORY, "values": {**GOOD_VALUES, **values}, **spec}
        body = {**base, "metadata": {**base["metadata"], "name": name}, "spec": {**base["spec"], **changed}}
        self.api.create(XAPPS.format(self.namespace), body)

    def create_remote(self, name: str) -> None:
        """Create an XApp whose chart comes from the repository."""
        manifest = self.xapps.remote_manifest(name, url=self.charts.url, chart="workload")
        manifest["spec"] |= {"maxHistory": MAX_HISTORY, "values": GOOD_VALUES}
        self.api.create(XAPPS.format(self.namespace), manifest)

    def edit(self, name: str, values: Mapping[str, Any] = {}, **spec: Any) -> None:
        """Set all values: those not given are good ones."""
        self.patch(name, {"spec": {"values": {**GOOD_VALUES, **values}, **spec}})

    def patch(self, name: str, body: Json) -> None:
        self.api.patch(self._path(name), body)

    def annotate(self, name: str, **annotations: str) -> None:
        named = {f"xapp-operator.io/{key.replace('_', '-')}": each for key, each in annotations.items()}
        self.patch(name, {"metadata": {"annotations": named}})

    def delete(self, name: str) -> None:
        self.api.delete(self._path(name))

    def suspend(self, name: str) -> None:
        self.patch(name, {"spec": {"suspend": True}})

    def find(self, name: str) -> Json | None:
        return self.api.find(self._path(name))

    def _path(self, name: str) -> str:
        return f"{XAPPS.format(self.namespace)}/{name}"

    def status(self, name: str) -> Json:
        return dict((self.find(name) or {}).get("status", {}))

    def condition(self, name: str, kind: str) -> Json:
        """Return a condition of the current generation, or nothing."""
        found = self.find(name) or {}
        for each in found.get("status", {}).get("conditions", []):
            if each["type"] == kind and each["observedGeneration"] == found["metadata"]["generation"]:
                return dict(each)
        return {}

    def is_ready(self, name: str) -> bool:
        return bool(self.condition(name, "Ready").get("status") == "True")

    def is_suspended(self, name: str) -> bool:
        found = self.find(name) or {}
        status = found.get("status", {})
        is_current = status.get("observedGeneration") == found.get("metadata", {}).get("generation")
        return bool(is_current and status.get("phase") == "Suspended")

    def greeting(self, name: str) -> str | None:
        found = self.api.find(f"/api/v1/namespaces/{self.namespace}/configmaps/{name}")
        return None if found is None else str(found["data"]["greeting"])

    def wait(self, condition: Callable[[], bool], what: str, *, xapp: str | None = None) -> None:
        self.xapps.wait_until(condition, what=what, seconds=SECONDS, xapp=xapp)

    def wait_all(self, names: Iterable[str], holds: Callable[[Scene, str], bool], what: str) -> None:
        for name in names:
            self.wait(partial(holds, self, name), f"{name}: {what}", xapp=name)

    def helm(self, name: str) -> list[HelmProcess]:
        """Return the helm processes that change the release of an XApp."""
        folders = {"operator": helm_folder(self.operator)}
        return [each for each in find_helm_processes(folders) if each.release == (self.namespace, name)]

    def has_begun(self, name: str, action: str) -> bool:
        """Return whether the last action of an XApp in the log is this one."""
        lines = [json.loads(line) for line in self.operator.log_text().splitlines() if f'"{self.namespace}"' in line]
        actions = [each["action"] for each in lines if each.get("name") == name and "action" in each]
        return actions[-1:] == [action]

    def records(self, name: str) -> dict[int, Record]:
        items = [{"kind": "Secret", **each} for each in self._secrets_of_records(name)]
        return parse_snapshot(items).records.get((self.namespace, name), {})

    def deployed_greetings(self, name: str) -> list[str]:
        """Return with which greeting each revision of a release was made."""
        return [str(unpack_record(each)["config"]["greeting"]) for each in self._secrets_of_records(name)]

    def _secrets_of_records(self, name: str) -> list[Json]:
        listed = self.api.get(f"{SECRETS.format(self.namespace)}?labelSelector=owner%3Dhelm%2Cname%3D{name}")
        return list(listed["items"])

    def objects(self, name: str) -> dict[str, str]:
        """Return the versions of all objects of an XApp and its release, by kind and name.

        Without those of its hooks: helm does not track them, and leaves them when it is interrupted.
        """
        listed = json.loads(self.xapps.kubectl("get", KINDS, "-o", "json"))["items"]
        return {
            f"{each['kind']} {each['metadata']['name']}": each["metadata"]["resourceVersion"]
            for each in listed
            if f"{each['metadata']['name']}-".startswith((f"{name}-", f"sh.helm.release.v1.{name}."))
            and not each["metadata"]["name"].startswith(f"{name}-pre-")
        }

    def kinds(self, name: str) -> Counter[str]:
        """Return how many objects of an XApp there are of each kind; old ReplicaSets and records are to stay."""
        found = Counter(each.partition(" ")[0] for each in self.objects(name))
        return Counter({kind: count for kind, count in found.items() if kind not in ("ReplicaSet", "Secret")})

    def resting(self, name: str) -> dict[str, str]:
        """Return the versions of the objects of an XApp that nobody but the operator and helm writes."""
        objects = self.objects(name)
        return {key: version for key, version in objects.items() if key.startswith(("Secret", "ConfigMap", "Service"))}

    def writes_of_records(self, name: str) -> dict[str, list[int]]:
        """Return the revisions whose records were created, and deleted, by the verb."""
        log = self.xapps.cluster.audit_log
        assert log is not None
        found: dict[str, list[int]] = {"create": [], "delete": []}
        prefix = f"sh.helm.release.v1.{name}.v"
        for event in read_audit_events(log, containing=self.namespace):
            about = event.get("objectRef", {})
            if about.get("namespace") != self.namespace or about.get("resource") != "secrets":
                continue
            assert event["verb"] != "deletecollection" or self.namespace not in event["requestURI"]
            done = event["stage"] == "ResponseComplete" and event["responseStatus"]["code"] < 300
            if done and event["verb"] in found and str(about.get("name", "")).startswith(prefix):
                found[event["verb"]].append(int(about["name"].removeprefix(prefix)))
        return found


def helm_folder(operator: OperatorProcess) -> Path:
    return operator.log.parent.resolve() / "cache" / "helm"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How XApps come into a state, how a test knows that one is there, and what lets it go on."""

    deployed: tuple[Json, ...] = ()
    """The values of the revisions that come before, each Ready."""
    enter: Callable[[Scene, str], None]
    holds: Callable[[Scene, str], bool]
    values: Json = field(default_factory=dict)
    """The values that the XApp has in this state: changes keep them, but for the last one."""
    surroundings: Callable[[Scene], contextlib.AbstractContextManager[None]] = lambda _: contextlib.nullcontext()
    """What keeps XApps in the state; it ends when they are to go on."""
    is_held: bool = False
    """Nothing, not even a deletion, goes on before that."""
    refuses: bool = False
    """Until then, each step fails, also that for the last spec."""
    deleting: bool = False


def create(*, values: Json) -> Callable[[Scene, str], None]:
    return lambda scene, name: scene.create(name, values)


def create_remote(scene: Scene, name: str) -> None:
    scene.create_remote(name)


def edit(**values: Any) -> Callable[[Scene, str], None]:
    return lambda scene, name: scene.edit(name, values)


def roll_back(scene: Scene, name: str) -> None:
    scene.annotate(name, rollback_to="1")


def runs_helm(command: str) -> Callable[[Scene, str], bool]:
    """Return whether helm runs this command, and its hook."""

    def runs(scene: Scene, name: str) -> bool:
        hooks = {"install": "install", "upgrade": "upgrade", "rollback": "rollback", "uninstall": "delete"}
        job = f"/apis/batch/v1/namespaces/{scene.namespace}/jobs/{name}-pre-{hooks[command]}"
        return [each.command for each in scene.helm(name)] == [command] and scene.api.find(job) is not None

    return runs


def has_reason(condition: str, status: str, reason: str) -> Callable[[Scene, str], bool]:
    def has(scene: Scene, name: str) -> bool:
        found = scene.condition(name, condition)
        return (found.get("status"), found.get("reason")) == (status, reason)

    return has


def awaits_chart(scene: Scene, name: str) -> bool:
    return bool(scene.status(name).get("progress", {}).get("step") == "chart")


def awaits_place(scene: Scene, name: str) -> bool:
    return scene.has_begun(name, "Upgrade") and scene.helm(name) == []


def awaits_readiness(scene: Scene, name: str) -> bool:
    """Return whether helm has ended, and the status says that the objects are not healthy yet."""
    status, ready = scene.status(name), scene.condition(name, "Ready")
    is_over = status.get("release", {}).get("revision") == 2 and scene.helm(name) == []
    return is_over and ready.get("reason") == "Progressing" and "Deployment" in ready["message"]


def holds_revision(scene: Scene, name: str) -> bool:
    return scene.status(name).get("heldRevision") == 1 and scene.is_ready(name)


def backs_off(scene: Scene, name: str) -> bool:
    """Return whether a step has failed, and is tried again later."""
    status = scene.status(name)
    failed = status.get("lastAttempt", {}).get("outcome") == "Failed"
    return failed and "Stalled" not in {each["type"] for each in status["conditions"]} and scene.helm(name) == []


def awaits_dependents(scene: Scene, name: str) -> bool:
    return f"{name}-user" in scene.condition(name, "Ready").get("message", "")


def delete_with_dependent(scene: Scene, name: str) -> None:
    scene.create(f"{name}-user", dependsOn=[{"name": name}])
    scene.wait(lambda: scene.is_ready(f"{name}-user"), "the dependent XApp", xapp=f"{name}-user")
    scene.delete(name)


@contextlib.contextmanager
def slow_source(scene: Scene) -> Iterator[None]:
    with scene.charts.holding("/workload-0.1.0.tgz"):
        yield


@contextlib.contextmanager
def failing_source(scene: Scene) -> Iterator[None]:
    with scene.charts.failing(HTTPStatus.SERVICE_UNAVAILABLE, "/index.yaml", "/workload-0.1.0.tgz"):
        yield


@contextlib.contextmanager
def all_places_taken(scene: Scene) -> Iterator[None]:
    """Let other XApps of the namespace take all places for helm."""
    names = [f"busy{number}" for number in range(PLACES)]
    for name in names:
        scene.create(name, {"preInstall": LONG})
    scene.wait_all(names, runs_helm("install"), "a place for helm")
    yield
    for name in names:
        scene.delete(name)


@contextlib.contextmanager
def no_room(scene: Scene) -> Iterator[None]:
    """Refuse one more object, as a quota does until an administrator raises it."""
    scene.xapps.kubectl("create", "quota", "none", "--hard=count/services=0")
    scene.wait(lambda: "used:" in scene.xapps.kubectl("get", "quota", "none", "-o", "yaml"), "the quota to count")
    yield
    scene.xapps.kubectl("delete", "quota", "none")


@contextlib.contextmanager
def dependents(scene: Scene) -> Iterator[None]:
    yield
    for name in scene.xapps.names("xapps"):
        if name.endswith("-user"):
            scene.delete(name)


STATES: Final[Mapping[str, State]] = {
    "chart source is slow": State(enter=create_remote, holds=awaits_chart, surroundings=slow_source),
    "chart source is down": State(
        enter=create_remote,
        holds=has_reason("Ready", "False", "ChartPullFailed"),
        surroundings=failing_source,
    ),
    "waiting for a place": State(
        deployed=({},),
        enter=edit(greeting="waits"),
        holds=awaits_place,
        surroundings=all_places_taken,
        is_held=True,
    ),
    "installing": State(
        values={"preInstall": LONG, "preUpgrade": LONG},
        enter=create(values={"preInstall": LONG, "preUpgrade": LONG}),
        holds=runs_helm("install"),
    ),
    "upgrading": State(
        deployed=({},), values={"preUpgrade": LONG}, enter=edit(preUpgrade=LONG), holds=runs_helm("upgrade")
    ),
    "rolling back by request": State(
        deployed=({"preRollback": LONG}, {"greeting": "two"}), enter=roll_back, holds=runs_helm("rollback")
    ),
    "rolling back after a failure": State(
        deployed=({"preRollback": LONG},), values=BROKEN, enter=edit(**BROKEN), holds=runs_helm("rollback")
    ),
    "waiting for readiness": State(
        deployed=({},), values={"readyAfter": LONG}, enter=edit(readyAfter=LONG), holds=awaits_readiness
    ),
    "ready": State(deployed=({},), enter=lambda _scene, _name: None, holds=Scene.is_ready),
    "stalled": State(
        deployed=({},), values=BROKEN, enter=edit(**BROKEN), holds=has_reason("Stalled", "True", "UpgradeFailed")
    ),
    "backing off": State(enter=create(values={}), holds=backs_off, surroundings=no_room, refuses=True),
    "holding a revision": State(deployed=({}, {"greeting": "two"}), enter=roll_back, holds=holds_revision),
    "suspended": State(deployed=({},), enter=Scene.suspend, holds=Scene.is_suspended),
    "uninstalling": State(
        deployed=({"preDelete": REMOVAL_SECONDS},), enter=Scene.delete, holds=runs_helm("uninstall"), deleting=True
    ),
    "deletion waits for dependents": State(
        deployed=({},),
        enter=delete_with_dependent,
        holds=awaits_dependents,
        surroundings=dependents,
        is_held=True,
        deleting=True,
    ),
}
