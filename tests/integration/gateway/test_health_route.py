"""How an xApp fares, as `GET …/health` tells it: its objects, its pods and their containers, events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.integration.gateway.desk import NAME, Desk, ready
from tests.integration.gateway.office import ACCOUNTS, Office
from tests.localcluster import Cluster
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import Object
from tests.support.person import Person
from tests.support.styles import drax_chart

pytestmark = pytest.mark.integration

PATIENCE: Final = 60.0
PODS: Final = "/api/v1/namespaces/{}/pods"
SERVICES: Final = "/api/v1/namespaces/{}/services"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/{}/deployments"
EVENTS: Final = "/api/v1/namespaces/{}/events"
AILING: Final = {
    **ready(),
    "phase": "Degraded",
    "health": {"status": "Degraded", "message": "said by a test"},
    "release": {"name": NAME, "revision": 1},
}


@pytest.fixture
def person(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Person]:
    one = Person(cluster, namespace, tmp_path)
    yield one
    one.uninstall(NAME)


def health(desk: Desk, name: str = NAME) -> Object:
    answer = desk.http.get(f"/api/xapps/{desk.namespace}/{name}/health")
    assert answer.status_code == 200, answer.text
    found: Object = answer.json()
    return found


def told(desk: Desk, condition: Any, *, what: str) -> Object:
    """Wait until the health satisfies `condition`, and return it."""

    def matching() -> Object | None:
        answer = desk.http.get(f"/api/xapps/{desk.namespace}/{NAME}/health")
        if answer.status_code != 200:
            return None
        found: Object = answer.json()
        return found if condition(found) else None

    return wait_until(matching, timeout=PATIENCE, what=what)


def of_kind(report: Object, kind: str) -> list[Object]:
    return [each for each in report["resources"] if each["kind"] == kind]


def kinds_of(report: Object) -> set[str]:
    return {each["kind"] for each in report["resources"]}


def test_a_healthy_xapp_shows_its_objects_and_pods(desk: Desk, person: Person) -> None:
    person.install(NAME, drax_chart())
    wanted = {"Deployment", "Service", "ConfigMap"}
    report = told(
        desk,
        lambda found: found["status"] == "Healthy" and found["pods"] and wanted <= kinds_of(found),
        what="a healthy xApp",
    )
    kinds = [each["kind"] for each in report["resources"]]
    assert kinds == sorted(kinds)
    assert of_kind(report, "Deployment") == [
        {"kind": "Deployment", "name": NAME, "namespace": desk.namespace, "status": "Healthy", "message": None}
    ]
    [pod] = report["pods"]
    assert (pod["phase"], pod["ready"], pod["restarts"]) == ("Running", True, 0)
    assert pod["node"]
    [container] = pod["containers"]
    assert container == {
        "name": "core",
        "ready": True,
        "state": "running",
        "reason": None,
        "exitCode": None,
        "message": None,
    }


def test_the_container_of_a_pod_that_crashes_is_told_with_exit_code_and_events(desk: Desk, person: Person) -> None:
    person.install(NAME, drax_chart())
    told(desk, lambda found: found["pods"], what="the pod of the chart")
    pod = crashing_pod(desk)
    try:
        report = told(
            desk, lambda found: any(each["name"] == "crashing" for each in found["pods"]), what="the crashing pod"
        )
        shown = next(each for each in report["pods"] if each["name"] == "crashing")
        assert (shown["ready"], shown["restarts"]) == (False, 4)
        [container] = shown["containers"]
        assert (container["state"], container["reason"], container["exitCode"]) == ("terminated", "CrashLoopBackOff", 3)
        assert container["message"] == "said before\nthe last words"
    finally:
        desk.api.delete(pod)


def crashing_pod(desk: Desk) -> str:
    """Make a pod that the Deployment's selector picks and no node runs, and say of it what a kubelet would."""
    account = f"{ACCOUNTS.format(desk.namespace)}/default"
    wait_until(lambda: desk.api.find(account), timeout=PATIENCE, what="the service account of the namespace")
    pods = PODS.format(desk.namespace)
    desk.api.create(
        pods,
        {
            "metadata": {"name": "crashing", "labels": {"app": NAME}},
            "spec": {
                "nodeSelector": {"no-node": "has-this"},
                "containers": [{"name": "core", "image": "registry.example.com/core:1"}],
            },
        },
    )
    ended = {"terminated": {"exitCode": 3, "reason": "Error", "message": "said before\nthe last words"}}
    statuses = [{"name": "core", "ready": False, "restartCount": 4, "state": ended, "image": "i", "imageID": ""}]
    desk.api.patch(f"{pods}/crashing/status", {"status": {"phase": "Running", "containerStatuses": statuses}})
    return f"{pods}/crashing"


def test_events_about_its_objects_are_told_and_no_others(desk: Desk, person: Person) -> None:
    person.install(NAME, drax_chart())
    told(desk, lambda found: found["pods"], what="the pod of the chart")
    for name, about in (("ours", NAME), ("theirs", "somebody-else")):
        involved = {"apiVersion": "apps/v1", "kind": "Deployment", "name": about, "namespace": desk.namespace}
        body = {"involvedObject": involved, "reason": "Told", "message": name, "type": "Warning", "count": 2}
        desk.api.create(EVENTS.format(desk.namespace), {"metadata": {"name": name}, **body})
    events = [each for each in health(desk)["events"] if each["reason"] == "Told"]
    assert [(each["message"], each["count"], each["object"]["name"]) for each in events] == [("ours", 2, NAME)]


def test_an_object_that_is_gone_is_named_where_something_is_wrong(desk: Desk, person: Person) -> None:
    person.install(NAME, drax_chart())
    desk.deploy()
    desk.report(ready())
    desk.api.delete(f"{SERVICES.format(desk.namespace)}/{NAME}-api")
    desk.report(AILING)
    gone = {"kind": "Service", "name": f"{NAME}-api", "namespace": desk.namespace}
    report = told(
        desk,
        lambda found: (
            found["status"] == "Degraded" and [each["status"] for each in of_kind(found, "Service")] == ["Degraded"]
        ),
        what="the missing Service to be told",
    )
    [service] = of_kind(report, "Service")
    assert service == {**gone, "status": "Degraded", "message": "is missing"}
    assert report["message"] == "said by a test"


def test_what_a_caller_may_not_read_is_left_out(desk: Desk, office: Office, person: Person) -> None:
    person.install(NAME, drax_chart())
    told(desk, lambda found: found["pods"], what="the pod of the chart")
    token = office.account("reader")
    office.grant("reader", xapps=["get"])
    with office.desk(token) as reader:
        report = told(reader, lambda found: found["status"] == "Healthy", what="health for a reader")
        assert of_kind(report, "Deployment")
        assert (report["pods"], report["events"]) == ([], [])
    with office.desk(office.account("viewer", "view")) as viewer:
        assert health(viewer)["pods"]


def test_an_xapp_without_a_release_has_no_objects(desk: Desk) -> None:
    desk.deploy()
    report = told(desk, lambda found: found["resources"] == [], what="the new XApp")
    assert (report["status"], report["pods"]) == ("Unknown", [])


def test_an_xapp_that_is_being_deleted_misses_no_object(desk: Desk, person: Person) -> None:
    person.install(NAME, drax_chart())
    desk.deploy()
    desk.report(AILING)
    desk.hold()
    desk.api.delete(f"{SERVICES.format(desk.namespace)}/{NAME}-api")
    told(desk, lambda found: "is missing" in messages(found), what="the missing Service to be told")
    desk.delete({"name": NAME, "namespace": desk.namespace})
    try:
        report = told(desk, lambda found: "is missing" not in messages(found), what="the deletion")
        record = desk.http.get(f"/api/xapps/{desk.namespace}/{NAME}").json()
        assert record["phase"] == "Uninstalling"
        assert [report[field] for field in ("status", "message")] == [record[field] for field in ("health", "message")]
        assert of_kind(report, "Deployment")
    finally:
        desk.let_go()


def messages(report: Object) -> list[str]:
    return [each["message"] for each in report["resources"]]


def test_an_xapp_that_is_not_there_has_no_health(desk: Desk) -> None:
    answer = desk.http.get(f"/api/xapps/{desk.namespace}/absent/health")
    assert answer.status_code == 404
    assert "absent" in answer.json()["detail"]
