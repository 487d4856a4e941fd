"""Events about an xApp, and which log is meant; logs themselves need a real node (tests/e2e/test_logs.py)."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Final

import pytest

from tests.integration.gateway.desk import NAME, Desk
from tests.integration.gateway.office import Office
from tests.integration.gateway.test_releases import get, registered
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import Object
from tests.support.gateway import Serving
from tests.support.person import Person
from tests.support.styles import drax_chart
from xapp_operator.gateway.logstream import LOGS_MAX
from xapp_operator.gateway.runtime import Gateway

pytestmark = pytest.mark.integration

PATIENCE: Final = 60.0
EVENTS: Final = "/api/v1/namespaces/{}/events"
PODS: Final = "/api/v1/namespaces/{}/pods"
BY_HAND: Final = "by-hand"


@pytest.fixture
def running(desk: Desk, person: Person) -> Desk:
    """A labelled chart with one pod, whose container nobody can read."""
    person.install(BY_HAND, drax_chart())
    registered(desk, BY_HAND)
    health = f"/api/xapps/{desk.namespace}/{BY_HAND}/health"
    wait_until(lambda: desk.http.get(health).json()["pods"], timeout=PATIENCE, what="its pod")
    return desk


def happened(desk: Desk, name: str, *, kind: str, about: str, at: str, **more: Any) -> None:
    """Write an event, as a controller would."""
    involved = {"kind": kind, "name": about, "namespace": desk.namespace, "apiVersion": "v1"}
    told = {"type": "Normal", "reason": "Said", "message": "by a test", "lastTimestamp": at, "firstTimestamp": at}
    body: Object = {"metadata": {"name": name}, "involvedObject": involved, **told, **more}
    desk.api.create(EVENTS.format(desk.namespace), body)


def events(desk: Desk, name: str, **query: Any) -> list[Object]:
    found: list[Object] = get(desk, "events", name=name, **query)["content"]
    return found


def test_events_of_an_xapp_come_newest_first(desk: Desk) -> None:
    desk.deploy()
    happened(desk, "one", kind="XApp", about=NAME, at="2026-11-20T08:00:00Z")
    happened(desk, "two", kind="XApp", about=NAME, at="2026-11-20T09:00:00Z", type="Warning", count=4)
    happened(desk, "other", kind="XApp", about="other", at="2026-11-20T09:00:00Z")
    happened(desk, "pod", kind="Pod", about=NAME, at="2026-11-20T09:00:00Z")
    found = events(desk, NAME)
    assert [each["lastSeen"] for each in found] == ["2026-11-20T09:00:00Z", "2026-11-20T08:00:00Z"]
    assert found[0] == {
        "type": "Warning",
        "reason": "Said",
        "message": "by a test",
        "object": {"kind": "XApp", "name": NAME},
        "count": 4,
        "lastSeen": "2026-11-20T09:00:00Z",
    }
    page = get(desk, "events", per_page=1, page=2)
    assert (page["total_count"], page["last_page"], len(page["content"])) == (2, 2, 1)


def test_events_of_what_its_objects_made_are_told(running: Desk) -> None:
    def kinds() -> set[str]:
        return {each["object"]["kind"] for each in events(running, BY_HAND, per_page=100)}

    wait_until(lambda: {"Deployment", "ReplicaSet", "Pod"} <= kinds(), timeout=PATIENCE, what="events of all three")


def test_who_may_not_list_events_is_told_so(office: Office, desk: Desk) -> None:
    desk.deploy()
    token = office.account("half")
    office.grant("half", xapps=["get"])
    with office.desk(token) as half:
        for what, right in (("events", "list events"), ("logs", "get pods/log")):
            answer = half.http.get(f"/api/xapps/{desk.namespace}/{NAME}/{what}")
            assert (answer.status_code, right in answer.json()["detail"]) == (403, True)
    with office.desk(office.account("viewer", "view")) as viewer:
        assert events(viewer, NAME) == []
        assert viewer.http.get(f"/api/xapps/{desk.namespace}/{NAME}/logs").status_code == 404


def test_an_xapp_without_pods_has_no_log(desk: Desk) -> None:
    desk.deploy()
    answer = desk.http.get(f"/api/xapps/{desk.namespace}/{NAME}/logs")
    assert (answer.status_code, "has no pods" in answer.json()["detail"]) == (404, True)


@pytest.mark.parametrize(
    "pod", ["other", "Not-A-Name", "a,metadata.namespace=kube-system", "..", "x" * 300, "by-hand%00", "ä"]
)
def test_a_pod_of_somebody_else_is_not_found(running: Desk, pod: str) -> None:
    beside = {"metadata": {"name": "other"}, "spec": {"containers": [{"name": "main", "image": "x"}]}}
    running.api.create(PODS.format(running.namespace), beside)
    answer = running.http.get(f"/api/xapps/{running.namespace}/{BY_HAND}/logs", params={"pod": pod})
    assert (answer.status_code, "has no pod" in answer.json()["detail"]) == (404, True)


def test_a_container_that_is_not_there_is_not_found_and_the_others_are_named(running: Desk) -> None:
    answer = running.http.get(f"/api/xapps/{running.namespace}/{BY_HAND}/logs", params={"container": "none"})
    assert (answer.status_code, "choose one of core" in answer.json()["detail"]) == (404, True)


def test_so_many_logs_are_read_at_a_time(running: Desk, gateway: Serving) -> None:
    path, held = f"/api/xapps/{running.namespace}/{BY_HAND}/logs", ExitStack()

    def take_all(one: Gateway) -> None:
        for _ in range(LOGS_MAX):
            held.enter_context(one.logs.taken())

    gateway.call(take_all)
    try:
        answer = running.http.get(path)
    finally:
        gateway.call(lambda _: held.close())
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "ask again" in answer.json()["detail"]
    assert running.http.get(path).status_code != 503


@pytest.mark.parametrize(
    "query", ["tail=10001", "tail=-1", "since=later", "follow=1", "previous=yes", "lines=5", "tail=1&tail=2"]
)
def test_the_query_is_read_strictly(desk: Desk, query: str) -> None:
    desk.deploy()
    assert desk.http.get(f"/api/xapps/{desk.namespace}/{NAME}/logs?{query}").status_code == 400


def test_an_id_of_something_else_is_refused(desk: Desk) -> None:
    desk.deploy()
    path = f"/api/xapps/{desk.namespace}/{NAME}/logs"
    assert desk.http.get(path, params={"follow": "true"}, headers={"Last-Event-ID": "7"}).status_code == 400
    assert desk.http.get(path, headers={"Last-Event-ID": "7"}).status_code == 404
