"""If-Match: a change reaches the XApp that the caller has seen, or nothing changes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any, Final

import httpx
import pytest

from tests.integration.gateway.gateway_client import XAPP_NAME, GatewayClient, multipart_files, ready_status
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import XAPPS
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import XAPPS as XAPP_RESOURCE

pytestmark = pytest.mark.integration

TYPE: Final = "urn:xapp-operator:problem:precondition-failed"
REPLACED_TYPE: Final = "urn:xapp-operator:problem:replaced-meanwhile"
ANOTHER_UID: Final = "0b5ad8e4-0f0e-4b3c-9d53-1a2b3c4d5e6f"
REPLACED: Final = ("upgrade", "*", 409)
"""The caller named no version, but the new spec was made from what the gateway had read."""
Send = Callable[[GatewayClient, str], httpx.Response]


def path(client: GatewayClient, tail: str = "") -> str:
    return f"/api/xapps/{client.namespace}/{XAPP_NAME}{tail}"


def upgrade(client: GatewayClient, if_match: str, **query: str) -> httpx.Response:
    files = multipart_files(client.deployment_form(owner="joe"))
    target = f"/api/deployment/xapp/{client.namespace}/{XAPP_NAME}"
    return client.http.put(target, files=files, headers={"If-Match": if_match}, params=query)


def configure(method: str, **query: str) -> Send:
    body = {"values": {"greeting": "changed"}} if method == "PUT" else {"greeting": "changed"}
    return lambda client, if_match: client.http.request(
        method, path(client, "/config"), json=body, headers={"If-Match": if_match}, params=query
    )


def roll_back(client: GatewayClient, if_match: str) -> httpx.Response:
    return client.http.post(path(client, "/rollback"), json={"revision": 1}, headers={"If-Match": if_match})


def suspend(client: GatewayClient, if_match: str) -> httpx.Response:
    return client.http.post(path(client, "/actions"), json={"action": "suspend"}, headers={"If-Match": if_match})


WRITES: Final[dict[str, Send]] = {
    "upgrade": upgrade,
    "replace": configure("PUT"),
    "patch": configure("PATCH"),
    "rollback": roll_back,
    "action": suspend,
}
DRY_RUNS: Final[dict[str, Send]] = {
    "upgrade": lambda client, if_match: upgrade(client, if_match, dryRun="true"),
    "replace": configure("PUT", dryRun="true"),
}


@pytest.fixture
def deployed(client: GatewayClient) -> GatewayClient:
    client.deploy(values="greeting: hello\n")
    revisions = [{"revision": 1, "status": "deployed", "action": "Install"}]
    client.write_status({**ready_status(), "history": revisions})
    wait_until(lambda: client.http.get(path(client)).json()["history"], timeout=60, what="the history")
    return client


@pytest.mark.parametrize("name", WRITES)
def test_a_write_for_another_generation_is_412_and_changes_nothing(deployed: GatewayClient, name: str) -> None:
    before = deployed.xapp()
    for if_match in ('"2"', "2", '"0"', '"999999999999999999"'):
        refused = WRITES[name](deployed, if_match)
        assert (refused.status_code, refused.json()["type"]) == (412, TYPE), refused.text
        assert "has generation 1" in refused.json()["detail"]
    assert deployed.xapp() == before


@pytest.mark.parametrize("name", DRY_RUNS)
def test_a_dry_run_for_another_generation_is_412(deployed: GatewayClient, name: str) -> None:
    assert DRY_RUNS[name](deployed, '"2"').status_code == 412
    assert DRY_RUNS[name](deployed, '"1"').status_code == 200


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("if_match", ['"1"', "1", "*", '"{uid}"', '"{uid}/1"', "{uid}/1"])
def test_a_write_for_the_xapp_as_it_is_is_made(deployed: GatewayClient, name: str, if_match: str) -> None:
    before = deployed.xapp()["metadata"]
    assert WRITES[name](deployed, if_match.format(uid=before["uid"])).status_code == 202
    assert deployed.xapp()["metadata"]["resourceVersion"] != before["resourceVersion"]


@pytest.mark.parametrize("name", WRITES)
def test_a_write_for_another_xapp_of_the_name_is_412_and_changes_nothing(deployed: GatewayClient, name: str) -> None:
    """Both have generation 1: only the uid tells them apart."""
    before = deployed.xapp()
    for if_match in (f'"{ANOTHER_UID}"', f'"{ANOTHER_UID}/1"', f"{ANOTHER_UID}/1"):
        refused = WRITES[name](deployed, if_match)
        assert (refused.status_code, refused.json()["type"]) == (412, REPLACED_TYPE), refused.text
        assert "another uid" in refused.json()["detail"]
    stale = WRITES[name](deployed, f'"{before["metadata"]["uid"]}/2"')
    assert (stale.status_code, "has generation 1" in stale.json()["detail"]) == (412, True)
    assert deployed.xapp() == before


@pytest.mark.parametrize(("name", "if_match", "status"), [*((name, '"{uid}/1"', 412) for name in WRITES), REPLACED])
def test_an_xapp_that_replaces_the_meant_one_before_the_write_stays_as_it_is(
    deployed: GatewayClient, monkeypatch: pytest.MonkeyPatch, name: str, if_match: str, status: int
) -> None:
    raced, old = threading.Event(), deployed.xapp()
    original = KubeClient.get

    async def get(self: KubeClient, resource: object, *args: object, **options: object) -> object:
        found = await original(self, resource, *args, **options)  # type: ignore[arg-type]
        if resource == XAPP_RESOURCE and not raced.is_set():
            raced.set()
            deploy_another(deployed, old)
        return found

    monkeypatch.setattr(KubeClient, "get", get)
    refused = WRITES[name](deployed, if_match.format(uid=old["metadata"]["uid"]))
    assert raced.is_set()
    assert refused.status_code == status, refused.text
    found = deployed.xapp()
    assert (found["spec"]["owner"], found["spec"]["values"]) == ("another", {"greeting": "hello"})
    assert (found["metadata"]["generation"], found["metadata"].get("annotations")) == (1, None)


@pytest.mark.parametrize(
    "if_match", ['"a"', 'W/"1"', '"1", "2"', '""', '"1', "1.0", "-1", "1" * 19, "/1", f"{ANOTHER_UID}/"]
)
def test_a_header_that_is_neither_generation_nor_uid_is_400(deployed: GatewayClient, if_match: str) -> None:
    for name, send in WRITES.items():
        refused = send(deployed, if_match)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "If-Match"), (name, refused.text)


@pytest.mark.parametrize("name", WRITES)
def test_a_change_between_reading_and_writing_is_412(
    deployed: GatewayClient, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The API server decides: what the gateway has read may be old when it writes."""
    raced, annotations = threading.Event(), deployed.xapp()["metadata"].get("annotations")
    original = KubeClient.get

    async def get(self: KubeClient, resource: object, *args: object, **options: object) -> object:
        found = await original(self, resource, *args, **options)  # type: ignore[arg-type]
        if resource == XAPP_RESOURCE and not raced.is_set():
            raced.set()
            deployed.api.patch(f"{XAPPS.format(deployed.namespace)}/{XAPP_NAME}", {"spec": {"owner": "another"}})
        return found

    monkeypatch.setattr(KubeClient, "get", get)
    refused = WRITES[name](deployed, '"1"')
    assert raced.is_set()
    assert (refused.status_code, refused.json()["type"]) == (412, TYPE), refused.text
    spec, metadata = deployed.xapp()["spec"], deployed.xapp()["metadata"]
    assert (spec["owner"], spec["values"], metadata["generation"]) == ("another", {"greeting": "hello"}, 2)
    assert metadata.get("annotations") == annotations


@pytest.mark.parametrize("name", WRITES)
def test_a_change_of_the_status_between_reading_and_writing_does_not_matter(
    deployed: GatewayClient, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    raced = threading.Event()
    original = KubeClient.get

    async def get(self: KubeClient, resource: object, *args: object, **options: object) -> object:
        found = await original(self, resource, *args, **options)  # type: ignore[arg-type]
        if resource == XAPP_RESOURCE and not raced.is_set():
            raced.set()
            deployed.write_status({"phase": "Degraded"})
        return found

    monkeypatch.setattr(KubeClient, "get", get)
    assert WRITES[name](deployed, '"1"').status_code == 202
    assert raced.is_set()


def deploy_another(client: GatewayClient, old: dict[str, Any]) -> None:
    """Delete the XApp and create another one of its name, of another owner."""
    client.api.delete(f"{XAPPS.format(client.namespace)}/{XAPP_NAME}")
    head = {"name": XAPP_NAME, "namespace": client.namespace}
    kind = {"apiVersion": old["apiVersion"], "kind": old["kind"]}
    spec = {**old["spec"], "owner": "another"}
    client.api.create(XAPPS.format(client.namespace), {**kind, "metadata": head, "spec": spec})


def delete(client: GatewayClient, if_match: str) -> httpx.Response:
    body = json.dumps({"name": XAPP_NAME, "namespace": client.namespace})
    return client.http.request("DELETE", "/api/deployment/xapp", content=body, headers={"If-Match": if_match})


def test_a_deletion_removes_the_xapp_of_the_uid_only(deployed: GatewayClient) -> None:
    uid = deployed.xapp()["metadata"]["uid"]
    refused = delete(deployed, '"another"')
    assert (refused.status_code, refused.json()["type"]) == (412, REPLACED_TYPE)
    assert delete(deployed, '"a b"').status_code == 400
    assert deployed.xapp()["metadata"]["uid"] == uid
    assert delete(deployed, f'"{uid}"').status_code == 202


def test_an_xapp_that_replaces_the_meant_one_before_the_deletion_stays(
    deployed: GatewayClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = KubeClient.delete
    old = deployed.xapp()

    async def delete_later(self: KubeClient, resource: object, *args: object, **options: object) -> object:
        if resource == XAPP_RESOURCE:
            deploy_another(deployed, old)
        return await original(self, resource, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(KubeClient, "delete", delete_later)
    refused = delete(deployed, old["metadata"]["uid"])
    monkeypatch.undo()
    assert (refused.status_code, refused.json()["type"]) == (412, REPLACED_TYPE)
    assert deployed.xapp()["metadata"]["uid"] != old["metadata"]["uid"]
