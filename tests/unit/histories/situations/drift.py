"""Objects that are not as the release has them: drift, and labels that are missing."""

from __future__ import annotations

from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.histories import CONFIGMAP, History
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.situations.actions import (
    CONFIGMAP_TARGET,
    CORRECT,
    DEPLOYMENT,
    Play,
    allow,
    change,
    forbidden,
    install,
    invalid_field,
    refuse,
    remove,
    set_live_tag,
    store,
)

CLUSTER_ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: hello}
rules: []
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: hello-rest}
spec: {type: ClusterIP, clusterIP: 192.0.2.7, ports: [{name: http, port: 8080, protocol: TCP}]}
"""
SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: hello-token}
data: {token: YWJj}
"""


async def install_objects_of_many_kinds(history: History) -> None:
    chart = store(history, cm=CONFIGMAP, role=CLUSTER_ROLE, service=SERVICE, token=SECRET)
    await install(history, archive=chart, xAppName="Say hello", organization="Acme & Co")
    for target in (
        CONFIGMAP_TARGET,
        Target("", "v1", "services", NAMESPACE, "hello-rest"),
        Target("rbac.authorization.k8s.io", "v1", "clusterroles", "", "hello"),
    ):
        change(
            history, target, {"metadata": {"labels": {"xapp-operator.io/team": None, "xapp-operator.io/xapp": None}}}
        )
    await history.cluster.wait(30.0)
    history.edit(team="core")
    await history.cluster.wait(30.0)
    history.cluster.restart()
    await history.cluster.wait(30.0)
    await remove(history)


async def repair_labels_that_may_not_be_written(history: History) -> None:
    await install(history)
    refuse(history, "PATCH", "/configmaps/hello", forbidden("configmaps"))
    change(history, CONFIGMAP_TARGET, {"metadata": {"labels": {"xapp-operator.io/xapp": None}}})
    await history.cluster.wait(30.0)
    refuse(history, "GET", "/configmaps/hello", forbidden("configmaps"))
    await history.cluster.wait(30.0)
    allow(history)
    await history.cluster.wait(60.0)


async def install_whose_labels_may_not_be_written(history: History) -> None:
    refuse(history, "PATCH", "/deployments/hello", forbidden("deployments"))
    await install(history, 60.0)
    allow(history)
    history.annotate("retry-at")
    await history.cluster.wait(30.0)


async def report_drift(history: History) -> None:
    await install(history)
    set_live_tag(history, "theirs")
    await history.cluster.wait(20.0)
    change(history, DEPLOYMENT, {"spec": {"replicas": 3}}, manager="scale")
    await history.cluster.wait(150.0)
    history.edit(suspend=True)
    await history.cluster.wait(20.0)
    set_live_tag(history, "one")
    history.edit(suspend=False)
    await history.cluster.wait(20.0)
    change(history, DEPLOYMENT, {"spec": {"replicas": 1}})
    await history.cluster.wait(20.0)


async def correct_drift(history: History) -> None:
    await install(history, driftDetection=CORRECT)
    set_live_tag(history, "theirs")
    change(history, DEPLOYMENT, {"spec": {"replicas": 3}})
    await history.cluster.wait(40.0)
    history.note("kubectl deletes both")
    history.cluster.server.delete(CONFIGMAP_TARGET, {})
    history.cluster.server.delete(DEPLOYMENT, {})
    await history.cluster.wait(60.0)
    set_live_tag(history, "again")
    await history.cluster.wait(120.0)
    history.edit(driftDetection={"mode": "disabled"})
    await history.cluster.wait(20.0)


async def correct_drift_of_an_upgrade(history: History) -> None:
    await install(history, driftDetection=CORRECT)
    history.edit(values={"tag": "two"})
    await history.cluster.wait(20.0)
    set_live_tag(history, "theirs")
    await history.cluster.wait(40.0)


async def compare_what_no_watch_shows(history: History) -> None:
    history.cluster.server.unwatchable.add("clusterroles")
    chart = store(history, cm=CONFIGMAP, role=CLUSTER_ROLE)
    await install(history, archive=chart)
    role = Target("rbac.authorization.k8s.io", "v1", "clusterroles", "", "hello")
    for rules in ([{"verbs": ["get"], "resources": ["pods"], "apiGroups": [""]}], []):
        change(history, role, {"rules": rules})
        await history.cluster.wait(20.0)
        history.annotate("reconcile-at")
        await history.cluster.wait(20.0)


async def correct_drift_against_a_rival(history: History) -> None:
    await install(history, driftDetection=CORRECT)
    server = history.cluster.server

    def compete(plural: str, body: Json) -> None:
        if plural == "configmaps" and body["data"]["tag"] == "one":
            server.patch(CONFIGMAP_TARGET, {"data": {"tag": "rival"}}, manager="rival")

    server.on_stored.append(compete)
    set_live_tag(history, "theirs")
    await history.cluster.wait(150.0)
    server.on_stored.remove(compete)
    await history.cluster.wait(60.0)


async def correct_drift_that_may_not_be_corrected(history: History) -> None:
    await install(history, driftDetection=CORRECT)
    invalid = invalid_field("data.tag")
    quota = Refused(403, "Forbidden", 'configmaps "hello" is forbidden: exceeded quota: small, requested: 1')
    for refusal in (forbidden("configmaps"), quota, invalid):
        refuse(history, "PATCH", "/configmaps/hello", refusal, dry_run=False)
        set_live_tag(history, "theirs")
        await history.cluster.wait(40.0)
        allow(history)
        await history.cluster.wait(100.0)


async def compare_what_may_not_be_compared(history: History) -> None:
    await install(history)
    invalid = Refused(422, "Invalid", 'ConfigMap "hello" is invalid: data.tag: Invalid value: "one": no')
    named = invalid_field("data.tag")
    unavailable = Refused(500, "InternalError", "Internal error occurred: etcd")
    for number, refusal in enumerate((forbidden("configmaps"), invalid, named, unavailable)):
        refuse(history, "PATCH", "/configmaps/hello", refusal, dry_run=True)
        set_live_tag(history, f"theirs {number}")
        await history.cluster.wait(20.0)
        allow(history)
        history.annotate("reconcile-at")
        await history.cluster.wait(60.0)
    set_live_tag(history, "one")
    await history.cluster.wait(60.0)


async def scale_with_an_autoscaler(history: History) -> None:
    await install(history, driftDetection=CORRECT)
    scaler = {"metadata": {"name": "hpa"}, "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "hello"}}}
    history.cluster.server.create(Target("autoscaling", "v2", "horizontalpodautoscalers", NAMESPACE), scaler)
    change(history, DEPLOYMENT, {"spec": {"replicas": 3}}, manager="scale")
    await history.cluster.wait(150.0)
    change(history, DEPLOYMENT, {"spec": {"replicas": 4, "progressDeadlineSeconds": 50}}, manager="scale")
    await history.cluster.wait(50.0)
    target = Target("autoscaling", "v2", "horizontalpodautoscalers", NAMESPACE, "hpa")
    history.cluster.server.delete(target, {})
    history.annotate("reconcile-at")
    await history.cluster.wait(50.0)


async def ignore_drift(history: History) -> None:
    await install(history, driftDetection=CORRECT)
    name = "xapp-operator.io/ignore-drift"
    for value in ("/data/tag", "all", "true", "tag", None):
        change(history, CONFIGMAP_TARGET, {"metadata": {"annotations": {name: value}}, "data": {"tag": f"by {value}"}})
        await history.cluster.wait(40.0)


PLAYS: tuple[Play, ...] = (
    install_objects_of_many_kinds,
    repair_labels_that_may_not_be_written,
    install_whose_labels_may_not_be_written,
    report_drift,
    correct_drift,
    correct_drift_of_an_upgrade,
    compare_what_no_watch_shows,
    correct_drift_against_a_rival,
    correct_drift_that_may_not_be_corrected,
    compare_what_may_not_be_compared,
    scale_with_an_autoscaler,
    ignore_drift,
)
