"""`GET …/health` of an xApp: its objects, its pods and their containers, events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.integration.gateway.caller_factory import ACCOUNTS, CallerFactory
from tests.integration.gateway.gateway_client import XAPP_NAME, GatewayClient, ready_status
from tests.localcluster import Cluster
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import JsonObject
from tests.support.helm_user import HelmUser
from tests.support.vendor_charts import drax_chart

pytestmark = pytest.mark.integration

WAIT_SECONDS: Final = 60.0
PODS: Final = "/api/v1/namespaces/{}/pods"
SERVICES: Final = "/api/v1/namespaces/{}/services"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/{}/deployments"
EVENTS: Final = "/api/v1/namespaces/{}/events"
AILING: Final = {
    **ready_status(),
    "phase": "Degraded",
    "health": {"status": "Degraded", "message": "written by a test"},
    "release": {"name": XAPP_NAME, "revision": 1},
}


@pytest.fixture
def helm_user(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[HelmUser]:
    one = HelmUser(cluster, namespace, tmp_path)
    yield one
    one.uninstall(XAPP_NAME)


def health(client: GatewayClient, name: str = XAPP_NAME) -> JsonObject:
    answer = client.http.get(f"/api/xapps/{client.namespace}/{name}/health")
    assert answer.status_code == 200, answer.text
    found: JsonObject = answer.json()
    return found


def wait_health(client: GatewayClient, condition: Any, *, what: str) -> JsonObject:
    """Wait until the health satisfies `condition`, and return it."""

    def matching() -> JsonObject | None:
        answer = client.http.get(f"/api/xapps/{client.namespace}/{XAPP_NAME}/health")
        if answer.status_code != 200:
            return None
        found: JsonObject = answer.json()
        return found if condition(found) else None

    return wait_until(matching, timeout=WAIT_SECONDS, what=what)


def of_kind(report: JsonObject, kind: str) -> list[JsonObject]:
    return [each for each in report["resources"] if each["kind"] == kind]


def kinds_of(report: JsonObject) -> set[str]:
    return {each["kind"] for each in report["resources"]}


def test_a_healthy_xapp_shows_its_objects_and_pods(client: GatewayClient, helm_user: HelmUser) -> None:
    helm_user.install(XAPP_NAME, drax_chart())
    wanted = {"Deployment", "Service", "ConfigMap"}
    report = wait_health(
        client,
        lambda found: found["status"] == "Healthy" and found["pods"] and wanted <= kinds_of(found),
        what="a healthy xApp",
    )
    kinds = [each["kind"] for each in report["resources"]]
    assert kinds == sorted(kinds)
    assert of_kind(report, "Deployment") == [
        {"kind": "Deployment", "name": XAPP_NAME, "namespace": client.namespace, "status": "Healthy", "message": None}
    ]
    [pod] = report["pods"]
    assert (pod["phase"], pod["ready"], pod["restarts"]) == ("Running", True, 0)
    assert pod["node"]
    assert pod["owner"] == {"kind": "Deployment", "name": XAPP_NAME}
    assert report["podsTotal"] == 1
    [container] = pod["containers"]
    assert container == {
        "name": "core",
        "init": False,
        "image": "registry.example.com/core:1",
        "ready": True,
        "state": "running",
        "reason": None,
        "exitCode": None,
        "message": None,
        "restarts": 0,
        "lastState": None,
        "resources": {"requests": {}, "limits": {}},
    }


def test_a_crashing_container_is_reported_with_exit_code_and_events(client: GatewayClient, helm_user: HelmUser) -> None:
    helm_user.install(XAPP_NAME, drax_chart())
    wait_health(client, lambda found: found["pods"], what="the pod of the chart")
    pod = crashing_pod(client)
    try:
        report = wait_health(
            client, lambda found: any(each["name"] == "crashing" for each in found["pods"]), what="the crashing pod"
        )
        shown = next(each for each in report["pods"] if each["name"] == "crashing")
        assert (shown["ready"], shown["restarts"]) == (False, 4)
        [container] = shown["containers"]
        assert (container["state"], container["reason"], container["exitCode"]) == ("terminated", "CrashLoopBackOff", 3)
        assert container["message"] == "earlier line\nlast line"
        assert (container["restarts"], shown["owner"]) == (4, None)
        assert container["lastState"] == {
            "reason": "OOMKilled",
            "exitCode": 137,
            "signal": 9,
            "startedAt": "2026-11-20T08:00:00Z",
            "finishedAt": "2026-11-20T08:00:02Z",
        }
        assert container["resources"] == {
            "requests": {"cpu": "100m", "memory": "64Mi"},  # the API server fills it in from the limit
            "limits": {"memory": "64Mi"},
        }
    finally:
        client.api.delete(pod)


def crashing_pod(client: GatewayClient) -> str:
    """Create a pod that matches the Deployment's selector, and write its status as a kubelet would."""
    account = f"{ACCOUNTS.format(client.namespace)}/default"
    wait_until(lambda: client.api.find(account), timeout=WAIT_SECONDS, what="the service account of the namespace")
    pods = PODS.format(client.namespace)
    client.api.create(
        pods,
        {
            "metadata": {"name": "crashing", "labels": {"app": XAPP_NAME}},
            "spec": {
                "nodeSelector": {"no-node": "has-this"},
                "containers": [
                    {
                        "name": "core",
                        "image": "registry.example.com/core:1",
                        "resources": {"requests": {"cpu": "0.1"}, "limits": {"memory": "64Mi"}},
                    }
                ],
            },
        },
    )
    ended = {"terminated": {"exitCode": 3, "reason": "Error", "message": "earlier line\nlast line"}}
    before = {
        "terminated": {
            "exitCode": 137,
            "signal": 9,
            "reason": "OOMKilled",
            "startedAt": "2026-11-20T08:00:00Z",
            "finishedAt": "2026-11-20T08:00:02Z",
        }
    }
    core = {"name": "core", "ready": False, "restartCount": 4, "image": "i", "imageID": ""}
    statuses = [{**core, "state": ended, "lastState": before}]
    client.api.patch(f"{pods}/crashing/status", {"status": {"phase": "Running", "containerStatuses": statuses}})
    return f"{pods}/crashing"


def test_only_events_about_its_objects_are_reported(client: GatewayClient, helm_user: HelmUser) -> None:
    helm_user.install(XAPP_NAME, drax_chart())
    wait_health(client, lambda found: found["pods"], what="the pod of the chart")
    for name, about in (("ours", XAPP_NAME), ("theirs", "somebody-else")):
        involved = {"apiVersion": "apps/v1", "kind": "Deployment", "name": about, "namespace": client.namespace}
        body = {"involvedObject": involved, "reason": "Told", "message": name, "type": "Warning", "count": 2}
        client.api.create(EVENTS.format(client.namespace), {"metadata": {"name": name}, **body})
    events = [each for each in health(client)["events"] if each["reason"] == "Told"]
    assert [(each["message"], each["count"], each["object"]["name"]) for each in events] == [("ours", 2, XAPP_NAME)]


def test_a_missing_object_is_named_as_the_root_cause(client: GatewayClient, helm_user: HelmUser) -> None:
    helm_user.install(XAPP_NAME, drax_chart())
    client.deploy()
    client.write_status(ready_status())
    client.api.delete(f"{SERVICES.format(client.namespace)}/{XAPP_NAME}-api")
    client.write_status(AILING)
    gone = {"kind": "Service", "name": f"{XAPP_NAME}-api", "namespace": client.namespace}
    report = wait_health(
        client,
        lambda found: (
            found["status"] == "Degraded" and [each["status"] for each in of_kind(found, "Service")] == ["Degraded"]
        ),
        what="the missing Service to be reported",
    )
    [service] = of_kind(report, "Service")
    assert service == {**gone, "status": "Degraded", "message": "is missing"}
    assert report["message"] == f"Service {XAPP_NAME}-api: is missing"


def test_objects_that_a_caller_may_not_read_are_left_out(
    client: GatewayClient, caller_factory: CallerFactory, helm_user: HelmUser
) -> None:
    helm_user.install(XAPP_NAME, drax_chart())
    wait_health(client, lambda found: found["pods"], what="the pod of the chart")
    token = caller_factory.create_account("reader")
    caller_factory.grant("reader", xapps=["get"])
    with caller_factory.client_with_token(token) as reader:
        report = wait_health(reader, lambda found: found["status"] == "Healthy", what="health for a reader")
        assert of_kind(report, "Deployment")
        assert (report["pods"], report["events"]) == ([], [])
    with caller_factory.client_with_token(caller_factory.create_account("viewer", "view")) as viewer:
        assert health(viewer)["pods"]


def test_an_xapp_without_a_release_has_no_objects(client: GatewayClient) -> None:
    client.deploy()
    report = wait_health(client, lambda found: found["resources"] == [], what="the new XApp")
    assert (report["status"], report["pods"]) == ("Unknown", [])


def test_an_xapp_that_is_being_deleted_misses_no_object(client: GatewayClient, helm_user: HelmUser) -> None:
    helm_user.install(XAPP_NAME, drax_chart())
    client.deploy()
    client.write_status(AILING)
    client.add_finalizer()
    client.api.delete(f"{SERVICES.format(client.namespace)}/{XAPP_NAME}-api")
    wait_health(client, lambda found: "is missing" in messages(found), what="the missing Service to be reported")
    client.delete_deployment({"name": XAPP_NAME, "namespace": client.namespace})
    try:
        report = wait_health(client, lambda found: "is missing" not in messages(found), what="the deletion")
        record = client.http.get(f"/api/xapps/{client.namespace}/{XAPP_NAME}").json()
        assert record["phase"] == "Uninstalling"
        assert {each["status"] for each in report["resources"]} == {report["status"]}
        assert of_kind(report, "Deployment")
    finally:
        client.remove_finalizer()


def messages(report: JsonObject) -> list[str]:
    return [each["message"] for each in report["resources"]]


def test_the_pod_of_a_hook_is_shown_while_helm_waits_for_it(client: GatewayClient) -> None:
    client.deploy()
    name = f"{client.namespace}-preflight"
    probe: JsonObject = {"name": "preflight", "image": "registry.example.com/preflight:1"}
    template: JsonObject = {"spec": {"restartPolicy": "Never", "containers": [probe]}}
    job: JsonObject = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": template},
    }
    client.api.create(f"/apis/batch/v1/namespaces/{client.namespace}/jobs", job)
    hook = {"kind": "Job", "name": name}
    client.write_status({**ready_status(), "lastAttempt": {"action": "Install", "outcome": "Running", "hook": hook}})
    report = wait_health(client, lambda found: found["pods"] and found["events"], what="the pod of the hook")
    [pod] = report["pods"]
    assert pod["name"].startswith(f"{name}-")
    assert {each["object"]["kind"] for each in report["events"]} <= {"XApp", "Job", "Pod"}
    answer = client.http.get(f"/api/xapps/{client.namespace}/{XAPP_NAME}/logs")
    assert answer.headers["X-Pod"] == pod["name"], answer.text


def test_the_health_of_a_missing_xapp_is_404(client: GatewayClient) -> None:
    answer = client.http.get(f"/api/xapps/{client.namespace}/absent/health")
    assert answer.status_code == 404
    assert "absent" in answer.json()["detail"]
