"""Actions on an xApp, and the time that their answers wait. The tests write the status as the operator would."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import httpx
import pytest

from tests.integration.gateway.gateway_client import XAPP_NAME, GatewayClient, ready_status, stalled_status
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import XAPPS, JsonObject
from tests.support.gateway import GatewayServer

pytestmark = pytest.mark.integration

WAIT_SECONDS: Final = 60.0
FIELDS: Final = ("reconcile", "retry", "force", "test")


@pytest.fixture
def deployed(client: GatewayClient) -> GatewayClient:
    client.deploy()
    client.write_status(ready_status())
    wait_until(lambda: record(client)["ready"], timeout=WAIT_SECONDS, what="the gateway to see the status")
    return client


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as one:
        yield one


def record(client: GatewayClient) -> JsonObject:
    found: JsonObject = client.http.get(f"/api/xapps/{client.namespace}/{XAPP_NAME}").json()
    return found


def act(client: GatewayClient, action: Any, *, if_match: str | None = None, **query: Any) -> httpx.Response:
    headers = {} if if_match is None else {"If-Match": if_match}
    path = f"/api/xapps/{client.namespace}/{XAPP_NAME}/actions"
    return client.http.post(path, json={"action": action}, params=query, headers=headers)


def annotation(client: GatewayClient, action: str) -> str:
    found: str = client.xapp()["metadata"].get("annotations", {}).get(f"xapp-operator.io/{action}-at", "")
    return found


@pytest.mark.parametrize("action", FIELDS)
def test_an_action_is_a_new_value_of_its_annotation(deployed: GatewayClient, action: str) -> None:
    first = act(deployed, action)
    assert first.status_code == 202, first.text
    assert first.headers["Location"] == f"/api/xapps/{deployed.namespace}/{XAPP_NAME}"
    assert first.json()["name"] == XAPP_NAME
    before = annotation(deployed, action)
    assert act(deployed, action).status_code == 202
    assert before
    assert annotation(deployed, action) not in {"", before}
    assert deployed.xapp()["metadata"]["generation"] == 1


def test_suspend_and_resume_change_the_spec_and_can_be_repeated(deployed: GatewayClient) -> None:
    for action, suspended, generation in (("suspend", True, 2), ("suspend", True, 2), ("resume", False, 3)):
        assert act(deployed, action).status_code == 202
        xapp = deployed.xapp()
        assert (xapp["spec"].get("suspend", False), xapp["metadata"]["generation"]) == (suspended, generation)


@pytest.mark.parametrize("action", ["restart", "Retry", "", 7, None])
def test_an_unknown_action_is_422_and_the_known_ones_are_named(deployed: GatewayClient, action: Any) -> None:
    refused = act(deployed, action)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "action")
    if isinstance(action, str):
        assert "reconcile, retry, force, test, suspend, resume" in refused.json()["detail"]


def test_actions_without_an_effect_are_409(deployed: GatewayClient) -> None:
    assert act(deployed, "suspend").status_code == 202
    for action in FIELDS:
        refused = act(deployed, action)
        assert (refused.status_code, "resume it first" in refused.json()["detail"]) == (409, True)
    assert act(deployed, "resume").status_code == 202
    deployed.add_finalizer()
    try:
        deployed.delete_deployment({"name": XAPP_NAME, "namespace": deployed.namespace})
        for action in ("reconcile", "force", "test", "suspend", "resume"):
            assert act(deployed, action).status_code == 409
        assert act(deployed, "retry").status_code == 202
    finally:
        deployed.remove_finalizer()


HELD = {**ready_status(), "heldRevision": 1}
CYCLE = "dependsOn forms a cycle: a → b → a. Remove one of these dependencies"
IN_A_CYCLE = json.loads(json.dumps(stalled_status()).replace("ChartPullFailed", "DependencyNotReady"))
FAILED_UPGRADE = {
    **stalled_status(),
    "release": {"name": XAPP_NAME, "revision": 1},
    "history": [{"revision": 2, "status": "failed"}, {"revision": 1, "status": "deployed"}],
}
IN_A_CYCLE["conditions"][1]["message"] = CYCLE


@pytest.mark.parametrize(
    ("status", "refused", "message"),
    [
        (HELD, "force", "it is held at revision 1 after a rollback. Change values, version or another field"),
        (IN_A_CYCLE, "force", CYCLE),
        (stalled_status(), "test", "nothing is deployed. written by a test"),
        (FAILED_UPGRADE, "test", "revision 2, the newest one, is failed. written by a test"),
    ],
    ids=["held", "cycle", "nothing deployed", "failed upgrade"],
)
def test_what_the_operator_would_reject_is_409(
    deployed: GatewayClient, status: JsonObject, refused: str, message: str
) -> None:
    deployed.write_status(status)
    answer = act(deployed, refused)
    assert answer.status_code == 409
    assert answer.json()["detail"].startswith(f"{refused} of the xApp {XAPP_NAME} has no effect now: {message}")
    assert [act(deployed, action).status_code for action in ("reconcile", "retry")] == [202, 202]
    # The operator has not seen this generation yet.
    deployed.write_status({**status, "observedGeneration": 0})
    assert act(deployed, refused).status_code == 202


@pytest.mark.parametrize("action", FIELDS)
def test_an_answer_waits_until_the_operator_has_handled_the_action(
    gateway: GatewayServer, deployed: GatewayClient, pool: ThreadPoolExecutor, action: str
) -> None:
    def is_seen() -> bool:
        entry = gateway.run_in_loop(lambda one: one.store.get(deployed.namespace, XAPP_NAME))
        return entry is not None and bool(entry.handled)

    waiting = pool.submit(act, deployed, action, wait="60")
    wait_until(lambda: annotation(deployed, action), timeout=WAIT_SECONDS, what="the annotation")
    # The xApp is ready all the time, and the operator has handled an older value: neither ends the wait.
    deployed.write_status({**ready_status(), "handled": {f"{action}At": "2026-01-01T00:00:00.000000+00:00"}})
    wait_until(is_seen, timeout=WAIT_SECONDS, what="the gateway to see it")
    assert not waiting.done()
    # A later action takes its place.
    assert act(deployed, action, wait="0").status_code == 202
    deployed.write_status({**ready_status(), "handled": {f"{action}At": annotation(deployed, action)}})
    assert waiting.result(WAIT_SECONDS).status_code == 200


def waited(
    client: GatewayClient,
    pool: ThreadPoolExecutor,
    send: Callable[[], httpx.Response],
    status: Callable[[], JsonObject],
) -> httpx.Response:
    """Send a request that waits, then write a status."""
    version = client.xapp()["metadata"]["resourceVersion"]
    waiting = pool.submit(send)
    wait_until(
        lambda: client.xapp()["metadata"]["resourceVersion"] != version, timeout=WAIT_SECONDS, what="the request"
    )
    client.write_status(status())
    return waiting.result(WAIT_SECONDS)


def test_an_action_that_succeeds_in_time_is_200_and_one_that_fails_is_202(
    deployed: GatewayClient, pool: ThreadPoolExecutor
) -> None:
    def value() -> JsonObject:
        return {"retryAt": annotation(deployed, "retry")}

    done = waited(
        deployed, pool, lambda: act(deployed, "retry", wait="60"), lambda: {**ready_status(), "handled": value()}
    )
    assert (done.status_code, done.json()["ready"]) == (200, True)
    failed = waited(
        deployed, pool, lambda: act(deployed, "retry", wait="60"), lambda: {**stalled_status(), "handled": value()}
    )
    assert (failed.status_code, failed.json()["phase"]) == (202, "Failed")


def test_a_request_for_tests_waits_until_they_have_ended_however_they_end(
    gateway: GatewayServer, deployed: GatewayClient, pool: ThreadPoolExecutor
) -> None:
    def tests_run() -> bool:
        entry = gateway.run_in_loop(lambda one: one.store.get(deployed.namespace, XAPP_NAME))
        return entry is not None and entry.tests_pending

    waiting = pool.submit(act, deployed, "test", wait="60")
    wait_until(lambda: annotation(deployed, "test"), timeout=WAIT_SECONDS, what="the annotation")
    status = {**ready_status(), "handled": {"testAt": annotation(deployed, "test")}}
    deployed.write_status({**status, "lastTest": {"revision": 1, "outcome": "Running"}})
    wait_until(tests_run, timeout=WAIT_SECONDS, what="the gateway to see it")
    assert not waiting.done()
    deployed.write_status({**status, "lastTest": {"revision": 1, "outcome": "Failed"}})
    assert waiting.result(WAIT_SECONDS).status_code == 200


def test_suspend_waits_for_the_phase(deployed: GatewayClient, pool: ThreadPoolExecutor) -> None:
    done = waited(
        deployed,
        pool,
        lambda: act(deployed, "suspend", wait="60"),
        lambda: {**ready_status(generation=2), "phase": "Suspended"},
    )
    assert (done.status_code, done.json()["phase"]) == (200, "Suspended")


def test_a_rollback_waits_until_its_revision_is_held(deployed: GatewayClient, pool: ThreadPoolExecutor) -> None:
    release = {"name": XAPP_NAME, "revision": 2, "chart": "hello", "chartVersion": "0.1.0"}
    revisions = [{"revision": number, "status": "superseded", "action": "Upgrade"} for number in (2, 1)]
    status = {**ready_status(), "release": release, "history": revisions}
    deployed.write_status(status)
    wait_until(lambda: len(record(deployed)["history"]) == 2, timeout=WAIT_SECONDS, what="the history")
    path = f"/api/xapps/{deployed.namespace}/{XAPP_NAME}/rollback"
    assert deployed.http.post(path, json={"revision": 1}, params={"wait": "0.05"}).status_code == 202

    def rollback_to() -> str:
        found: str = deployed.xapp()["metadata"]["annotations"]["xapp-operator.io/rollback-to"]
        return found

    done = waited(
        deployed,
        pool,
        lambda: deployed.http.post(path, json={"revision": 1}, params={"wait": "60"}),
        lambda: {**status, "handled": {"rollbackTo": rollback_to()}, "heldRevision": 1},
    )
    assert done.status_code == 200, done.text


def test_a_deletion_waits_until_the_xapp_is_gone(deployed: GatewayClient, pool: ThreadPoolExecutor) -> None:
    deployed.add_finalizer()
    body = {"name": XAPP_NAME, "namespace": deployed.namespace}

    def delete(wait: str) -> httpx.Response:
        return deployed.http.request("DELETE", "/api/deployment/xapp", json=body, params={"wait": wait})

    def is_deleting() -> bool:
        return "deletionTimestamp" in deployed.xapp()["metadata"]

    waiting = pool.submit(delete, "60")
    wait_until(is_deleting, timeout=WAIT_SECONDS, what="the request to reach the API server")
    assert delete("0.05").status_code == 202
    deployed.remove_finalizer()
    gone = waiting.result(WAIT_SECONDS)
    assert gone.status_code == 200, gone.text
    assert deployed.api.find(f"{XAPPS.format(deployed.namespace)}/{XAPP_NAME}") is None


def test_a_deletion_without_finalizers_is_200_at_once_when_it_waits(deployed: GatewayClient) -> None:
    body = {"name": XAPP_NAME, "namespace": deployed.namespace}
    gone = deployed.http.request("DELETE", "/api/deployment/xapp", json=body, params={"wait": "60"})
    assert (gone.status_code, gone.json()["phase"]) == (200, "Uninstalling")


@pytest.mark.parametrize("wait", ["-1", "301", "soon"])
def test_a_bad_wait_is_400(deployed: GatewayClient, wait: str) -> None:
    assert act(deployed, "retry", wait=wait).status_code == 400
    assert annotation(deployed, "retry") == ""


def test_resuming_what_is_not_suspended_changes_no_spec(client: GatewayClient) -> None:
    """A change of the spec ends a held rollback."""
    client.deploy()
    actions = f"/api/xapps/{client.namespace}/{XAPP_NAME}/actions"
    answer = client.http.post(actions, json={"action": "resume"})
    assert (answer.status_code, answer.json()["generation"]) == (202, 1)
    generations = [
        client.http.post(actions, json={"action": action}).json()["generation"]
        for action in ("suspend", "suspend", "resume", "resume")
    ]
    assert generations == [2, 2, 3, 3]
