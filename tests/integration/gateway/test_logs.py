"""Events about an xApp, the selection of a log, and how much of it is sent.

Simulated containers have one short log. Logs of real ones: tests/e2e/test_logs.py.
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import Any, Final

import pytest

from tests.integration.gateway.caller_factory import CallerFactory
from tests.integration.gateway.gateway_client import XAPP_NAME, GatewayClient
from tests.integration.gateway.test_releases import get, registered
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import JsonObject
from tests.support.gateway import GatewayServer
from tests.support.helm_user import HelmUser
from tests.support.vendor_charts import drax_chart
from xapp_operator.gateway.http.limits import OPEN_LOGS_MAX
from xapp_operator.gateway.state import Gateway
from xapp_operator.gateway.xapps.logs import log_responses, log_target

pytestmark = pytest.mark.integration

WAIT_SECONDS: Final = 60.0
EVENTS: Final = "/api/v1/namespaces/{}/events"
PODS: Final = "/api/v1/namespaces/{}/pods"
BY_HAND: Final = "by-hand"


@pytest.fixture
def running(client: GatewayClient, helm_user: HelmUser) -> GatewayClient:
    """A labelled chart with one simulated pod."""
    helm_user.install(BY_HAND, drax_chart())
    registered(client, BY_HAND)
    health = f"/api/xapps/{client.namespace}/{BY_HAND}/health"
    wait_until(lambda: client.http.get(health).json()["pods"], timeout=WAIT_SECONDS, what="its pod")
    return client


def happened(client: GatewayClient, name: str, *, kind: str, about: str, at: str, **more: Any) -> None:
    """Write an event, as a controller would."""
    involved = {"kind": kind, "name": about, "namespace": client.namespace, "apiVersion": "v1"}
    event_fields = {
        "type": "Normal",
        "reason": "Said",
        "message": "by a test",
        "lastTimestamp": at,
        "firstTimestamp": at,
    }
    body: JsonObject = {"metadata": {"name": name}, "involvedObject": involved, **event_fields, **more}
    client.api.create(EVENTS.format(client.namespace), body)


def events(client: GatewayClient, name: str, **query: Any) -> list[JsonObject]:
    found: list[JsonObject] = get(client, "events", name=name, **query)["content"]
    return found


def test_events_of_an_xapp_come_newest_first(client: GatewayClient) -> None:
    client.deploy()
    happened(client, "one", kind="XApp", about=XAPP_NAME, at="2026-11-20T08:00:00Z")
    happened(client, "two", kind="XApp", about=XAPP_NAME, at="2026-11-20T09:00:00Z", type="Warning", count=4)
    happened(client, "other", kind="XApp", about="other", at="2026-11-20T09:00:00Z")
    happened(client, "pod", kind="Pod", about=XAPP_NAME, at="2026-11-20T09:00:00Z")
    found = events(client, XAPP_NAME)
    assert [each["lastSeen"] for each in found] == ["2026-11-20T09:00:00Z", "2026-11-20T08:00:00Z"]
    assert found[0] == {
        "type": "Warning",
        "reason": "Said",
        "message": "by a test",
        "object": {"kind": "XApp", "name": XAPP_NAME},
        "count": 4,
        "lastSeen": "2026-11-20T09:00:00Z",
    }
    page = get(client, "events", per_page=1, page=2)
    assert (page["total_count"], page["last_page"], len(page["content"])) == (2, 2, 1)


def test_events_of_dependent_objects_are_included(running: GatewayClient) -> None:
    def kinds() -> set[str]:
        return {each["object"]["kind"] for each in events(running, BY_HAND, per_page=100)}

    wait_until(lambda: {"Deployment", "ReplicaSet", "Pod"} <= kinds(), timeout=WAIT_SECONDS, what="events of all three")


def test_events_without_permission_are_403(caller_factory: CallerFactory, client: GatewayClient) -> None:
    client.deploy()
    token = caller_factory.create_account("half")
    caller_factory.grant("half", xapps=["get"])
    with caller_factory.client_with_token(token) as half:
        for what, right in (("events", "list events"), ("logs", "get pods/log")):
            answer = half.http.get(f"/api/xapps/{client.namespace}/{XAPP_NAME}/{what}")
            assert (answer.status_code, right in answer.json()["detail"]) == (403, True)
    with caller_factory.client_with_token(caller_factory.create_account("viewer", "view")) as viewer:
        assert events(viewer, XAPP_NAME) == []
        assert viewer.http.get(f"/api/xapps/{client.namespace}/{XAPP_NAME}/logs").status_code == 404


def test_an_xapp_without_pods_has_no_log(client: GatewayClient) -> None:
    client.deploy()
    answer = client.http.get(f"/api/xapps/{client.namespace}/{XAPP_NAME}/logs")
    assert (answer.status_code, "has no pods" in answer.json()["detail"]) == (404, True)


@pytest.mark.parametrize(
    "pod", ["other", "Not-A-Name", "a,metadata.namespace=kube-system", "..", "x" * 300, "by-hand%00", "ä"]
)
def test_a_pod_outside_the_xapp_is_404(running: GatewayClient, pod: str) -> None:
    beside = {"metadata": {"name": "other"}, "spec": {"containers": [{"name": "main", "image": "x"}]}}
    running.api.create(PODS.format(running.namespace), beside)
    answer = running.http.get(f"/api/xapps/{running.namespace}/{BY_HAND}/logs", params={"pod": pod})
    assert (answer.status_code, "has no pod" in answer.json()["detail"]) == (404, True)


def test_a_missing_container_is_404_and_the_others_are_named(running: GatewayClient) -> None:
    answer = running.http.get(f"/api/xapps/{running.namespace}/{BY_HAND}/logs", params={"container": "none"})
    assert (answer.status_code, "choose one of core" in answer.json()["detail"]) == (404, True)


def test_the_number_of_concurrent_log_reads_is_limited(running: GatewayClient, gateway: GatewayServer) -> None:
    path, held = f"/api/xapps/{running.namespace}/{BY_HAND}/logs", ExitStack()

    def take_all(one: Gateway) -> None:
        for _ in range(OPEN_LOGS_MAX):
            held.enter_context(one.limits.logs.hold(""))

    gateway.run_in_loop(take_all)
    try:
        answer = running.http.get(path)
    finally:
        gateway.run_in_loop(lambda _: held.close())
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    assert "try again" in answer.json()["detail"]
    assert running.http.get(path).status_code != 429


@pytest.mark.parametrize(
    "query", ["tail=10001", "tail=-1", "since=later", "follow=1", "previous=yes", "lines=5", "tail=1&tail=2"]
)
def test_an_invalid_query_is_refused(client: GatewayClient, query: str) -> None:
    client.deploy()
    assert client.http.get(f"/api/xapps/{client.namespace}/{XAPP_NAME}/logs?{query}").status_code == 400


def test_an_event_id_of_another_stream_is_refused(client: GatewayClient) -> None:
    client.deploy()
    path = f"/api/xapps/{client.namespace}/{XAPP_NAME}/logs"
    assert client.http.get(path, params={"follow": "true"}, headers={"Last-Event-ID": "7"}).status_code == 400
    assert client.http.get(path, headers={"Last-Event-ID": "7"}).status_code == 404


def test_a_followed_log_ends_at_its_limit_and_goes_on_after_it(
    running: GatewayClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/api/xapps/{running.namespace}/{BY_HAND}/logs"
    wait_until(lambda: running.http.get(path).is_success, timeout=WAIT_SECONDS, what="its log")
    monkeypatch.setattr(log_responses, "LOG_EVENTS_MAX_BYTES", 1_000)
    ids: list[str] = []
    lines: list[str] = []
    while len(lines) < 60:
        headers = {"Last-Event-ID": ids[-1]} if ids else {}
        answer = running.http.get(path, params={"follow": "true", "tail": "100"}, headers=headers)
        assert len(answer.content) >= 1_000
        *events_of_lines, limit = re.findall(r"^id: (.*)\n(?:event: (.*)\n)?data: (.*)\n\n", answer.text, re.MULTILINE)
        for event_id, _, data in events_of_lines:
            ids.append(event_id)
            lines.append(data)
        assert limit[:2] == (ids[-1], "limit")
        assert f"ask again with Last-Event-ID {ids[-1]}, or with since=" in limit[2]
    assert "\n".join(lines) in running.http.get(path, params={"tail": "10000"}).text
    assert len(set(ids)) == len(ids)


def test_a_text_of_a_log_says_that_it_is_cut(running: GatewayClient, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"/api/xapps/{running.namespace}/{BY_HAND}/logs"
    wait_until(lambda: running.http.get(path).is_success, timeout=WAIT_SECONDS, what="its log")
    whole = running.http.get(path, params={"tail": "50"}).text
    for module in (log_responses, log_target):
        monkeypatch.setattr(module, "LOG_TEXT_MAX_BYTES", 100)
    text = running.http.get(path, params={"tail": "50"}).text
    *lines, mark = text.splitlines()
    assert mark.startswith("--- This answer is cut")
    assert "\n".join(lines)[:100] in whole
    assert len("\n".join(lines)) in (99, 100)
