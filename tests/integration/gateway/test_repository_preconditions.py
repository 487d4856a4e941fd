"""If-Match: a change of a repository reaches the one that the caller has seen, or nothing changes."""

from __future__ import annotations

from typing import Any, Final

import httpx
import pytest

from tests.integration.gateway.gateway_client import GatewayClient
from tests.integration.gateway.test_repositories import PATH, URL, listed, save, secrets_of
from tests.integration.gateway.test_repository_changes import stored
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import REPOSITORIES
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CHART_REPOSITORIES

pytestmark = pytest.mark.integration

TYPE: Final = "urn:xapp-operator:problem:precondition-failed"
REPLACED_TYPE: Final = "urn:xapp-operator:problem:replaced-meanwhile"
ANOTHER_UID: Final = "0b5ad8e4-0f0e-4b3c-9d53-1a2b3c4d5e6f"
MINE: Final = f"{URL}/mine"
THEIRS: Final = f"{URL}/theirs"
SECONDS: Final = 60.0


def change(client: GatewayClient, if_match: str | None, **fields: Any) -> httpx.Response:
    headers = {} if if_match is None else {"If-Match": if_match}
    return client.http.put(f"{PATH}/{client.namespace}/acme", json={"url": MINE, **fields}, headers=headers)


def remove(client: GatewayClient, if_match: str) -> httpx.Response:
    return client.http.delete(f"{PATH}/{client.namespace}/acme", headers={"If-Match": if_match})


def patch(client: GatewayClient, **spec: object) -> None:
    client.api.patch(f"{REPOSITORIES.format(client.namespace)}/acme", {"spec": spec})


def replace_repository(client: GatewayClient) -> None:
    """Remove the repository and save another one of its name, as somebody else would."""
    old = stored(client)
    client.api.delete(f"{REPOSITORIES.format(client.namespace)}/acme")
    head = {"name": "acme", "namespace": client.namespace}
    client.api.create(REPOSITORIES.format(client.namespace), {**old, "metadata": head, "spec": {"url": THEIRS}})


@pytest.mark.parametrize("if_match", ['"1"', "1", "*", '"{uid}"', '"{uid}/1"', "{uid}/1"])
def test_a_change_of_the_repository_as_it_is_is_made(client: GatewayClient, if_match: str) -> None:
    uid = save(client).json()["uid"]
    answer = change(client, if_match.format(uid=uid))
    assert (answer.status_code, answer.json()["uid"], answer.json()["generation"]) == (200, uid, 2), answer.text
    assert stored(client)["spec"]["url"] == MINE
    wait_until(lambda: listed(client)[0]["generation"] == 2, timeout=SECONDS, what="the change in the list")


def test_a_change_for_another_version_is_412_and_changes_nothing(client: GatewayClient) -> None:
    uid = save(client).json()["uid"]
    patch(client, url=THEIRS)
    before = stored(client)
    for if_match in ('"1"', "3", f'"{uid}/1"'):
        refused = change(client, if_match, token="hunter2")
        assert (refused.status_code, refused.json()["type"]) == (412, TYPE), refused.text
        assert "the repository acme has generation 2" in refused.json()["detail"]
    for if_match in (f'"{ANOTHER_UID}"', f"{ANOTHER_UID}/2"):
        refused = change(client, if_match, token="hunter2")
        assert (refused.status_code, refused.json()["type"]) == (412, REPLACED_TYPE), refused.text
    dry_run = client.http.put(
        f"{PATH}/{client.namespace}/acme", json={"url": MINE}, headers={"If-Match": "1"}, params={"dryRun": "true"}
    )
    assert dry_run.status_code == 412
    assert (stored(client), secrets_of(client)) == (before, [])


@pytest.mark.parametrize("if_match", ['"a"', 'W/"1"', '"1", "2"', "/1", f"{ANOTHER_UID}/"])
def test_a_header_that_is_neither_generation_nor_uid_is_400(client: GatewayClient, if_match: str) -> None:
    save(client)
    refused = change(client, if_match)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "If-Match"), refused.text
    assert "the generation of the repository" in refused.json()["detail"]


def change_before_the_write(monkeypatch: pytest.MonkeyPatch, action: Any) -> list[bool]:
    """Run `action` once, between the gateway's read of the repository and its write; return a list to tell."""
    done: list[bool] = []
    original = KubeClient.replace

    async def replace(self: KubeClient, resource: object, *args: object, **options: object) -> object:
        if resource == CHART_REPOSITORIES and not done:
            done.append(True)
            action()
        return await original(self, resource, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(KubeClient, "replace", replace)
    return done


@pytest.mark.parametrize(("if_match", "status"), [("1", 412), ("{uid}", 409), (None, 409)])
def test_a_change_between_reading_and_writing_stays(
    client: GatewayClient, monkeypatch: pytest.MonkeyPatch, if_match: str | None, status: int
) -> None:
    """The API server decides: what the gateway has read may be old when it writes."""
    uid = save(client).json()["uid"]
    done = change_before_the_write(monkeypatch, lambda: patch(client, url=THEIRS))
    refused = change(client, None if if_match is None else if_match.format(uid=uid), token="hunter2")
    assert (done, refused.status_code) == ([True], status), refused.text
    assert (stored(client)["spec"], secrets_of(client)) == ({"url": THEIRS}, [])


@pytest.mark.parametrize(("if_match", "status"), [("{uid}/1", 412), ("1", 409), (None, 409)])
def test_a_repository_that_replaces_the_meant_one_before_the_write_stays(
    client: GatewayClient, monkeypatch: pytest.MonkeyPatch, if_match: str | None, status: int
) -> None:
    uid = save(client).json()["uid"]
    done = change_before_the_write(monkeypatch, lambda: replace_repository(client))
    refused = change(client, None if if_match is None else if_match.format(uid=uid), token="hunter2")
    assert (done, refused.status_code) == ([True], status), refused.text
    assert (stored(client)["spec"], secrets_of(client)) == ({"url": THEIRS}, [])


def test_a_repository_that_is_removed_before_the_write_is_missing(
    client: GatewayClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(client)
    path = f"{REPOSITORIES.format(client.namespace)}/acme"
    done = change_before_the_write(monkeypatch, lambda: client.api.delete(path))
    assert (change(client, "1", token="hunter2").status_code, done) == (404, [True])
    assert secrets_of(client) == []


def test_what_the_operator_writes_between_reading_and_writing_does_not_matter(
    client: GatewayClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(client)
    path = f"{REPOSITORIES.format(client.namespace)}/acme/status"
    done = change_before_the_write(monkeypatch, lambda: client.api.patch(path, {"status": {"charts": 3}}))
    answer = change(client, "1", token="hunter2")
    assert (answer.status_code, done) == (200, [True]), answer.text
    found = stored(client)
    assert (found["spec"]["url"], found["status"]["charts"], len(secrets_of(client))) == (MINE, 3, 1)


def test_a_deletion_removes_the_repository_of_the_uid_only(client: GatewayClient) -> None:
    uid = save(client).json()["uid"]
    replace_repository(client)
    new = stored(client)["metadata"]["uid"]
    refused = remove(client, f'"{uid}"')
    assert (refused.status_code, refused.json()["type"]) == (412, REPLACED_TYPE), refused.text
    assert "the repository acme has another uid" in refused.json()["detail"]
    assert remove(client, '"a b"').status_code == 400
    assert stored(client)["metadata"]["uid"] == new
    assert remove(client, f'"{new}"').status_code == 204
    assert remove(client, f'"{new}"').status_code == 404
