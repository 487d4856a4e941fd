"""Watches of the operator that the real API server has ended with 410, because it no longer knows their version.

The operator is cut off while objects of every kind that it watches are deleted, created and changed. Then the API
server restarts: its watch caches begin anew, after the versions that the watches continue from.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from tests.chaos.api_server_refusals import USER, create_operator_account, expired_watches
from tests.chaos.network_link import NetworkLink
from tests.localcluster import Binaries, Cluster, LocalCluster
from tests.localcluster.cluster import ROOT
from tests.localcluster.waiting import DeadlineExceeded, wait_until
from tests.localrun.cluster_setup import prepare_cluster
from tests.support.audit import read_audit_events
from tests.support.chart_server import ChartServer
from tests.support.charts import chart_archive
from tests.support.custom_kinds import WIDGET_CRD
from tests.support.operator import OperatorProcess
from tests.support.release_records import record_name
from tests.support.workload import workload_chart
from tests.support.xapps import Json, XAppClient

pytestmark = pytest.mark.integration

SETTINGS: Final = {"XAPP_LEASE_SECONDS": "300"}
"""Longer than the API server takes to restart, so that the same operator goes on."""
SEEN_SECONDS: Final = 30.0
EXPIRY_SECONDS: Final = 30.0
UNWATCHED_SECONDS: Final = 10.0
GROUP: Final = "expired.example.com"
PODS: Final = "{containers: [{name: main, image: registry.example.com/main:1}]}"
ENDING_PODS: Final = "{restartPolicy: Never, containers: [{name: main, image: registry.example.com/main:1}]}"
SPECS: Final = {
    "apps/v1 Deployment": "{selector: {matchLabels: {app: d}}, template: {metadata: {labels: {app: d}}, spec: PODS}}",
    "apps/v1 StatefulSet": "{serviceName: x, selector: {matchLabels: {app: s}}, "
    "template: {metadata: {labels: {app: s}}, spec: PODS}}",
    "apps/v1 DaemonSet": "{selector: {matchLabels: {app: e}}, template: {metadata: {labels: {app: e}}, spec: PODS}}",
    "apps/v1 ReplicaSet": "{selector: {matchLabels: {app: r}}, template: {metadata: {labels: {app: r}}, spec: PODS}}",
    "batch/v1 Job": "{template: {spec: ENDING_PODS}}",
    "batch/v1 CronJob": "{schedule: '0 0 1 1 *', jobTemplate: {spec: {template: {spec: ENDING_PODS}}}}",
    "v1 Pod": "PODS",
    "v1 Service": "{ports: [{name: http, port: 8080}]}",
    "v1 PersistentVolumeClaim": "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}",
    "networking.k8s.io/v1 Ingress": "{defaultBackend: {service: {name: x, port: {number: 80}}}}",
    "autoscaling/v2 HorizontalPodAutoscaler": "{maxReplicas: 1, "
    "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ .Release.Name }}-deployment}}",
    "policy/v1 PodDisruptionBudget": "{maxUnavailable: 1, selector: {matchLabels: {app: d}}}",
    "v1 ConfigMap": "",
    "v1 Secret": "",
    f"{GROUP}/v1 Widget": "{size: 1}",
}
"""The spec of an object of each kind."""
OBJECTS: Final = (
    "deployments,statefulsets,daemonsets,replicasets,jobs,cronjobs,pods,services,persistentvolumeclaims,ingresses,"
    f"horizontalpodautoscalers,poddisruptionbudgets,configmaps,secrets,widgets.{GROUP}"
)
WATCHED: Final = {
    *(each.partition(".")[0] for each in OBJECTS.split(",")),
    "xapps",
    "chartrepositories",
    "chartarchives",
}
VALUES: Final = {
    "changed-s": ("Secret", "text-s"),
    "changed-c": ("ConfigMap", "text-c"),
    "deleted-s": ("Secret", "text-goes-s"),
    "deleted-c": ("ConfigMap", "text-goes-c"),
}
"""The objects from which XApps have values: kind and name."""

WAITING: Final = {"awaits": "text-comes", "awaits-later": "text-comes-later", "vanishes-waiting": "text-comes-later"}
"""XApps that wait for a Secret with values: each with its name."""
VANISHING: Final = ("vanishes", "vanishes-waiting")
"""XApps whose finalizer a person removes. The release of the first one goes too, the other one has none yet."""


def every_kind() -> bytes:
    """Return a chart with an object of each kind."""
    files = {"values.yaml": "{}\n"}
    for kind, spec in SPECS.items():
        version, name = kind.split()
        filled = spec.replace("ENDING_PODS", ENDING_PODS).replace("PODS", PODS)
        files[f"templates/{name}.yaml"] = (
            f"apiVersion: {version}\nkind: {name}\n"
            "metadata: {name: {{ .Release.Name }}-"
            + name.lower()
            + ", annotations: {drifted: 'no'}}\n"
            + (f"spec: {filled}\n" if filled else "")
        )
    return chart_archive(files, name="every-kind")


@dataclass(frozen=True, slots=True)
class Outage:
    """What the operator missed while it was cut off, and what the API server ended with 410 afterwards."""

    xapps: XAppClient
    operator: OperatorProcess
    ended: datetime
    expired: frozenset[str]
    """The collections of those watches, such as `pods` and `secrets`."""

    def wait(self, condition: Callable[[], bool], what: str, xapp: str | None = None) -> None:
        self.xapps.wait_until(condition, what=what, xapp=xapp, seconds=SEEN_SECONDS)


class Setup:
    """Makes what the outage finds, and what the operator misses during it."""

    def __init__(self, cluster: Cluster, charts: ChartServer) -> None:
        self.cluster = cluster
        self.charts = charts
        self.xapps = XAppClient(cluster, "default")
        self.small = self.xapps.uploaded_manifest("small", workload_chart())
        self.alone = XAppClient(cluster, "alone")
        self.every = self.xapps.uploaded_manifest("every", every_kind())

    def apply(self, base: Json, name: str, **spec: Any) -> None:
        metadata = {**base["metadata"], "name": name}
        self.xapps.apply({**base, "metadata": metadata, "spec": {**base["spec"], "xAppName": name, **spec}})

    def set_text(self, kind: str, name: str, text: str) -> None:
        field = "stringData" if kind == "Secret" else "data"
        metadata = {"name": name, "namespace": self.xapps.namespace}
        values = json.dumps({"greeting": text})
        self.xapps.apply({"apiVersion": "v1", "kind": kind, "metadata": metadata, field: {"values.yaml": values}})

    def set_repository(self, name: str, url: str) -> None:
        metadata = {"name": name, "namespace": self.xapps.namespace}
        api_version, kind = "xapp-operator.io/v1alpha1", "ChartRepository"
        self.xapps.apply({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {"url": url}})

    def delete_objects(self, name: str) -> None:
        """Delete all objects of the chart, and wait until they are gone."""
        label = objects_of(name)
        self.xapps.kubectl("delete", OBJECTS, "-l", label, "--wait=false")
        self.xapps.wait_until(lambda: self.xapps.names(OBJECTS, label) == [], what=f"the objects of {name} to be gone")

    def begin(self) -> None:
        self.cluster.kubectl("apply", "-f", "-", input=WIDGET_CRD % {"group": GROUP})
        self.cluster.kubectl("wait", "--for=condition=Established", f"crd/widgets.{GROUP}", "--timeout=60s")
        self.charts.add("workload", "0.1.0", workload_chart())
        self.cluster.kubectl("create", "namespace", self.alone.namespace)
        self.alone.apply(self.alone.uploaded_manifest("vanishes", workload_chart()))
        for kind, name in VALUES.values():
            self.set_text(kind, name, "before")
        for name, mode in (("loses", "disabled"), ("gains", "disabled"), ("drifts", "enabled")):
            self.apply(self.every, name, driftDetection={"mode": mode})
        for name in ("edited", "removed", "record", "base"):
            self.apply(self.small, name, values={"greeting": "before"})
        self.apply(self.small, "vanishes", dependsOn=[{"name": "base"}])
        for name, (kind, source) in VALUES.items():
            self.apply(self.small, name, valuesFrom=[values_from(kind, source)])
        for name, secret in WAITING.items():
            self.apply(self.small, name, valuesFrom=[values_from("Secret", secret)])
        self.xapps.apply(self.xapps.remote_manifest("remote", url=self.charts.url, chart="workload"))
        self.set_repository("moves", self.charts.url)
        for name in self.xapps.names("xapps"):
            if name not in WAITING:
                self.xapps.wait_ready(name, seconds=SEEN_SECONDS)
        self.alone.wait_ready("vanishes", seconds=SEEN_SECONDS)
        self.apply(self.small, "record", values={"greeting": "two"})
        self.xapps.wait_until(lambda: greeting(self.xapps, "record") == "two", what="revision 2", xapp="record")
        self.xapps.wait_ready("record")
        for name, secret in WAITING.items():
            self.xapps.wait_until(lambda: secret in message(self.xapps, name), what="the cause", xapp=name)  # noqa: B023
        self.delete_objects("gains")
        self.xapps.wait_until(lambda: ready_objects(self.xapps, "gains") == 0, what="no object", xapp="gains")

    def change_all(self) -> None:
        """Delete, create and change what the operator watches."""
        kubectl = self.xapps.kubectl
        self.delete_objects("loses")
        manifest = subprocess.run(
            [self.cluster.helm_path, "get", "manifest", "gains"],
            env=self.cluster.env,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        kubectl("apply", "-f", "-", input=manifest)
        kubectl("label", "--overwrite", "-f", "-", "xapp-operator.io/xapp=gains", input=manifest)
        kubectl("annotate", "--overwrite", OBJECTS, "-l", objects_of("drifts"), "drifted=yes")
        kubectl("delete", "secret", record_name("record", 2))
        self.set_text("Secret", "text-s", "after")
        self.set_text("ConfigMap", "text-c", "after")
        kubectl("delete", "secret", "text-goes-s")
        kubectl("delete", "configmap", "text-goes-c")
        self.set_text("Secret", "text-comes", "after")
        kubectl("delete", "chartrepository", "charts")
        self.set_repository("moves", "http://127.0.0.1:9/nothing")
        self.set_repository("comes", self.charts.url)
        uploaded = self.xapps.uploaded_manifest("created", workload_chart(version="0.2.0"), version="0.2.0")
        self.xapps.apply(uploaded)
        self.apply(self.small, "edited", values={"greeting": "after"})
        kubectl("delete", "xapp", "removed", "--wait=false")
        vanish(self.alone, "vanishes")
        for name in VANISHING:
            vanish(self.xapps, name)
        kubectl("delete", "secret", record_name("vanishes", 1))


def vanish(xapps: XAppClient, name: str) -> None:
    """Delete an XApp without the operator, as a person does who removes its finalizer."""
    xapps.kubectl("delete", "xapp", name, "--wait=false")
    xapps.kubectl("patch", "xapp", name, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    xapps.wait_gone("xapp", name)


def objects_of(name: str) -> str:
    """Return the selector of the objects of an xApp without Helm's records."""
    return f"xapp-operator.io/xapp={name},owner!=helm"


def values_from(kind: str, name: str) -> Json:
    return {"kind": kind, "name": name, "key": "values.yaml"}


def greeting(xapps: XAppClient, name: str) -> str | None:
    found = xapps.get("configmap", name)
    return None if found is None else found["data"]["greeting"]


def ready_objects(xapps: XAppClient, name: str) -> int:
    resources = xapps.status(name)["resources"]
    assert resources["total"] == len(SPECS)
    return int(resources["ready"])


def message(xapps: XAppClient, name: str) -> str:
    """Return why an XApp is not Ready, or nothing."""
    ready = xapps.current_condition(name, "Ready")
    return "" if ready is None or ready["status"] == "True" else str(ready["message"])


@pytest.fixture(scope="module")
def outage(tmp_path_factory: pytest.TempPathFactory, binaries: Binaries) -> Iterator[Outage]:
    assert binaries
    folder = tmp_path_factory.mktemp("outage")
    with ExitStack() as stack:
        local = LocalCluster(folder / "cluster")
        cluster = stack.enter_context(local)
        prepare_cluster(cluster, ROOT)
        link = NetworkLink(cluster)
        stack.callback(link.close)
        charts = stack.enter_context(ChartServer())
        behind = link.cluster_behind(folder / "kubeconfig", token=create_operator_account(cluster))
        operator = OperatorProcess(behind, folder, SETTINGS)
        operator.start()
        stack.callback(operator.stop)
        pid, setup = operator.pid, Setup(cluster, charts)
        setup.begin()
        with link.cut():
            setup.change_all()
            local.stop_process("kube-apiserver")
            local.start_process("kube-apiserver")
            ended = datetime.now(UTC)
        expired: set[str] = set()

        def look() -> bool:
            expired.update(each.split()[0].rpartition("/")[2] for each in expired_watches(cluster, since=ended))
            return expired >= WATCHED

        with contextlib.suppress(DeadlineExceeded):  # a test tells which are missing
            wait_until(look, timeout=EXPIRY_SECONDS, what="watches that are too old")
        assert (operator.running, operator.pid) == (True, pid), "the operator that was cut off goes on"
        yield Outage(setup.xapps, operator, ended, frozenset(expired))


def test_the_api_server_ends_the_watches_of_every_kind_with_410(outage: Outage) -> None:
    assert outage.expired >= WATCHED


def test_the_secrets_of_a_namespace_whose_only_xapp_has_vanished_are_not_watched(outage: Outage) -> None:
    assert outage.xapps.cluster.audit_log is not None
    log, path = outage.xapps.cluster.audit_log, "/api/v1/namespaces/alone/secrets?"

    def is_watched() -> bool:
        stages: dict[str, set[str]] = {}
        for each in read_audit_events(log, containing=path):
            began = datetime.fromisoformat(each["requestReceivedTimestamp"])
            if each["verb"] == "watch" and began >= outage.ended:
                stages.setdefault(each["auditID"], set()).add(each["stage"])
        return {"ResponseStarted"} in stages.values()

    # An earlier end than that of a watch that goes on: those last a minute.
    outage.xapps.wait_until(lambda: not is_watched(), what="the end of the watch", seconds=UNWATCHED_SECONDS)


def test_objects_of_every_kind_that_were_deleted_are_missing(outage: Outage) -> None:
    outage.wait(lambda: ready_objects(outage.xapps, "loses") == 0, "no object to be left", "loses")
    assert "is missing" in message(outage.xapps, "loses")


def test_objects_of_every_kind_that_were_created_are_there(outage: Outage) -> None:
    """A reconcile then reads none of them: without their watches, it would."""
    xapps, log = outage.xapps, outage.xapps.cluster.audit_log
    assert log is not None
    outage.wait(lambda: ready_objects(xapps, "gains") == len(SPECS), "every object", "gains")
    xapps.wait_ready("gains", seconds=SEEN_SECONDS)
    began = datetime.now(UTC)
    xapps.kubectl("annotate", "xapp", "gains", "xapp-operator.io/reconcile-at=1")
    outage.wait(lambda: xapps.status("gains").get("handled", {}).get("reconcileAt") == "1", "a reconcile", "gains")
    requests = [
        (each["verb"], each["requestURI"])
        for each in read_audit_events(log, containing='"name":"gains-')
        if each["user"]["username"] == USER and datetime.fromisoformat(each["requestReceivedTimestamp"]) >= began
    ]
    assert requests == []


def test_objects_of_every_kind_that_were_changed_are_changed_back(outage: Outage) -> None:
    def changed() -> list[str]:
        listed = json.loads(outage.xapps.kubectl("get", OBJECTS, "-l", objects_of("drifts"), "-o", "json"))["items"]
        assert len(listed) == len(SPECS)
        return [each["kind"] for each in listed if each["metadata"]["annotations"]["drifted"] != "no"]

    outage.wait(lambda: changed() == [], "the changes to be undone", "drifts")


def test_services_that_were_deleted_and_created_leave_and_enter_the_status(outage: Outage) -> None:
    def services(name: str) -> list[str]:
        return [each["name"] for each in outage.xapps.status(name).get("services", [])]

    outage.wait(lambda: services("loses") == [], "no Service", "loses")
    outage.wait(lambda: services("gains") == ["gains-service"], "the Service", "gains")


def test_a_record_that_was_deleted_is_replaced(outage: Outage) -> None:
    xapps = outage.xapps
    outage.wait(lambda: xapps.names("secret", "owner=helm,name=record,version=2") != [], "revision 2", "record")
    assert xapps.wait_ready("record", seconds=SEEN_SECONDS)["release"]["revision"] == 2
    assert greeting(xapps, "record") == "two"


@pytest.mark.parametrize("name", ["changed-s", "changed-c", "awaits"])
def test_values_that_were_changed_or_created_are_deployed(outage: Outage, name: str) -> None:
    outage.wait(lambda: greeting(outage.xapps, name) == "after", "the new values", name)
    outage.xapps.wait_ready(name, seconds=SEEN_SECONDS)


@pytest.mark.parametrize("name", ["deleted-s", "deleted-c"])
def test_values_that_were_deleted_are_missing(outage: Outage, name: str) -> None:
    outage.wait(lambda: VALUES[name][1] in message(outage.xapps, name), "the cause", name)


def test_chart_repositories_that_were_created_changed_and_deleted_are_known(outage: Outage) -> None:
    xapps = outage.xapps

    def ready(name: str) -> str | None:
        found = xapps.get("chartrepository", name) or {}
        conditions = found.get("status", {}).get("conditions", [])
        return next((each["status"] for each in conditions if each["type"] == "Ready"), None)

    outage.wait(lambda: ready("comes") == "True", "the new repository")
    outage.wait(lambda: ready("moves") == "False", "the repository that is not there")
    xapps.kubectl("annotate", "xapp", "remote", "xapp-operator.io/reconcile-at=1")
    outage.wait(lambda: ready("charts") == "True", "the repository of an xApp, which is saved again")


def test_xapps_that_were_created_changed_and_deleted_are_known(outage: Outage) -> None:
    xapps = outage.xapps
    xapps.wait_ready("created", seconds=SEEN_SECONDS)
    outage.wait(lambda: greeting(xapps, "edited") == "after", "the change", "edited")
    xapps.wait_gone("xapp", "removed", seconds=SEEN_SECONDS)
    assert xapps.names(OBJECTS, objects_of("removed")) == []


def test_xapps_that_have_vanished_are_forgotten(outage: Outage) -> None:
    """Nobody deploys them, and what they depended on does not wait for them."""
    xapps = outage.xapps
    values = {"values.yaml": "greeting: after"}
    metadata = {"name": "text-comes-later", "namespace": xapps.namespace}
    xapps.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": values})
    xapps.wait_ready("awaits-later", seconds=SEEN_SECONDS)
    xapps.kubectl("delete", "xapp", "base", "--wait=false")
    xapps.wait_gone("xapp", "base", seconds=SEEN_SECONDS)
    assert xapps.names("secret", f"owner=helm,name in ({','.join(VANISHING)})") == []


def test_the_operator_logs_no_error_besides_the_outage(outage: Outage) -> None:
    assert [line for line in outage.operator.error_lines() if "Request attempt" not in line] == []
