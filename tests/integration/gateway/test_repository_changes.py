"""Saved repositories are asked before they are saved, changed in place, and read again on demand."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest

from tests.integration.gateway.caller_factory import CallerFactory
from tests.integration.gateway.gateway_client import GatewayClient
from tests.integration.gateway.test_repositories import PATH, URL, listed, save, secrets_of
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import REPOSITORIES, SECRETS, XAPPS, JsonObject
from tests.support.chart_server import ChartServer
from tests.support.charts import chart_archive

pytestmark = pytest.mark.integration

SECONDS: Final = 60.0
PASSWORD: Final = "hunter2-of-the-repository"
LOGIN: Final[dict[str, Any]] = {"username": "jane", "password": PASSWORD, "allowPlainHTTP": True}


@pytest.fixture
def charts() -> Iterator[ChartServer]:
    """A repository that requires a password."""
    with ChartServer(username="jane", password=PASSWORD) as server:
        server.add("hello", "0.1.0", chart_archive())
        yield server


def check(client: GatewayClient, **fields: Any) -> httpx.Response:
    body = {"name": "acme", "namespace": client.namespace, **fields}
    return client.http.post(PATH, params={"dryRun": "true"}, json=body)


def change(client: GatewayClient, *, dry_run: bool = False, **fields: Any) -> httpx.Response:
    params = {"dryRun": "true"} if dry_run else {}
    return client.http.put(f"{PATH}/{client.namespace}/acme", params=params, json=fields)


def refused_fields(answer: httpx.Response) -> list[str]:
    return [each["field"] for each in answer.json()["errors"]]


def stored(client: GatewayClient) -> JsonObject:
    return client.api.get(f"{REPOSITORIES.format(client.namespace)}/acme")


def saved_credentials(client: GatewayClient) -> list[dict[str, str]]:
    return [
        {key: base64.b64decode(value).decode() for key, value in each["data"].items()} for each in secrets_of(client)
    ]


def test_a_repository_is_asked_and_nothing_is_saved(client: GatewayClient, charts: ChartServer) -> None:
    answer = check(client, url=charts.url, **LOGIN)
    assert (answer.status_code, answer.json()) == (
        200,
        {
            "url": charts.url,
            "type": "http",
            "charts": 1,
            "message": "the repository answers and has 1 charts",
            "warnings": [],
        },
    )
    assert PASSWORD not in answer.text
    charts.add("other", "1.0.0", chart_archive())
    assert check(client, url=charts.url, **LOGIN).json()["charts"] == 2  # it is asked each time
    assert client.api.names(REPOSITORIES.format(client.namespace)) == []
    assert secrets_of(client) == []


def test_what_the_repository_refuses_stands_at_the_field(client: GatewayClient, charts: ChartServer) -> None:
    without = check(client, url=charts.url)
    wrong = check(client, url=charts.url, username="jane", password="hunter2-but-wrong", allowPlainHTTP=True)
    token = check(client, url=charts.url, token="hunter2-but-wrong", allowPlainHTTP=True)
    assert [each.status_code for each in (without, wrong, token)] == [422, 422, 422]
    assert [refused_fields(each) for each in (without, wrong, token)] == [["username"], ["password"], ["token"]]
    assert not [each for each in (without, wrong, token) if "hunter2" in each.text]


def test_an_address_that_is_no_repository_stands_at_the_url(client: GatewayClient, charts: ChartServer) -> None:
    elsewhere = check(client, url=f"{charts.url}/elsewhere", **LOGIN)
    closed = check(client, url="http://127.0.0.1:1")
    no_url = check(client, url="ftp://charts.example.com")
    assert [each.status_code for each in (elsewhere, closed, no_url)] == [422, 502, 422]
    assert [refused_fields(each) for each in (elsewhere, closed, no_url)] == [["url"], ["url"], ["url"]]


def test_addresses_of_the_cluster_are_refused_as_for_charts(client: GatewayClient) -> None:
    service = client.api.get("/api/v1/namespaces/default/services/kubernetes")
    answer = check(client, url=f"https://{service['spec']['clusterIP']}")
    assert (answer.status_code, refused_fields(answer)) == (422, ["url"])
    assert "it has an address of a Service in the cluster" in answer.json()["detail"]


def test_a_name_that_is_taken_is_refused_before_the_repository_is_asked(
    client: GatewayClient, charts: ChartServer
) -> None:
    save(client)
    assert check(client, url=charts.url, **LOGIN).status_code == 409
    assert charts.requests == {}


def test_who_may_not_save_a_repository_may_not_have_it_asked(
    caller_factory: CallerFactory, charts: ChartServer
) -> None:
    with caller_factory.client_with_token(caller_factory.create_account("viewer", "view")) as viewer:
        save(viewer)
        assert check(viewer, url=charts.url, **LOGIN).status_code == 403
        assert change(viewer, dry_run=True, url=charts.url).status_code == 403
        assert viewer.http.post(f"{PATH}/{viewer.namespace}/acme/refresh").status_code == 403
    assert charts.requests == {}


def test_signatures_and_interval_are_saved_shown_and_checked(client: GatewayClient) -> None:
    verify = {"provider": "provenance", "secretRef": {"name": "keys"}}
    record = save(client, verify=verify, interval="10m").json()
    assert (record["verify"], record["interval"]) == (verify, "10m")
    assert stored(client)["spec"]["verify"] == verify
    missing = change(client, dry_run=True, url=URL, verify=verify)
    assert (missing.status_code, refused_fields(missing)) == (422, ["verify"])
    cosign = change(client, url=URL, verify={**verify, "provider": "cosign"})
    assert (cosign.status_code, refused_fields(cosign)) == (422, ["verify"])
    unknown = change(client, url=URL, verify={**verify, "provider": "gpg"}, interval="soon")
    assert (unknown.status_code, refused_fields(unknown)) == (422, ["verify.provider"])
    assert refused_fields(change(client, url=URL, interval="soon")) == ["interval"]
    assert change(client, url=URL).json()["verify"] is None


def test_a_change_keeps_credentials_that_it_leaves_out(client: GatewayClient, charts: ChartServer) -> None:
    assert save(client, url=charts.url, **LOGIN).json()["hasCredentials"] is True
    answer = change(client, url=f"{charts.url}/", allowPlainHTTP=True)
    assert (answer.status_code, answer.json()["url"]) == (200, f"{charts.url}/")
    assert answer.json()["hasCredentials"] is True
    assert saved_credentials(client) == [{"username": "jane", "password": PASSWORD}]
    checked = change(client, dry_run=True, url=charts.url, allowPlainHTTP=True)
    assert (checked.status_code, checked.json()["charts"]) == (200, 1)
    assert PASSWORD not in checked.text + answer.text


def test_a_change_replaces_and_removes_credentials(client: GatewayClient, charts: ChartServer) -> None:
    save(client, url=charts.url, **LOGIN)
    change(client, url=charts.url, token="t0ken", allowPlainHTTP=True)
    assert saved_credentials(client) == [{"token": "t0ken"}]
    (secret,) = secrets_of(client)
    assert secret["metadata"]["ownerReferences"][0]["uid"] == stored(client)["metadata"]["uid"]
    answer = change(client, url=charts.url, token=None)
    assert (answer.status_code, answer.json()["hasCredentials"]) == (200, False)
    assert (saved_credentials(client), stored(client)["spec"]) == ([], {"url": charts.url})


def test_credentials_do_not_follow_to_another_server(client: GatewayClient, charts: ChartServer) -> None:
    save(client, url=charts.url, **LOGIN)
    with ChartServer() as other:
        for dry_run in (True, False):
            answer = change(client, dry_run=dry_run, url=other.url, allowPlainHTTP=True)
            assert (answer.status_code, refused_fields(answer)) == (422, ["url"])
        assert stored(client)["spec"]["url"] == charts.url
        assert change(client, url=other.url, username=None).status_code == 200
        assert other.authorizations == []


def test_credentials_that_are_kept_are_not_sent_over_http_without_consent(
    client: GatewayClient, charts: ChartServer
) -> None:
    save(client, url=charts.url, **LOGIN)
    answer = change(client, url=charts.url)
    assert (answer.status_code, refused_fields(answer)) == (422, ["url"])


def test_secrets_that_the_gateway_did_not_make_stay(client: GatewayClient) -> None:
    secret = {
        "metadata": {"name": "by-hand", "annotations": {"xapp-operator.io/origin": URL}},
        "type": "xapp-operator.io/repository-credentials",
        "stringData": {"token": "t"},
    }
    client.api.create(SECRETS.format(client.namespace), secret)
    save(client)
    path = f"{REPOSITORIES.format(client.namespace)}/acme"
    client.api.patch(path, {"spec": {"secretRef": {"name": "by-hand"}}})
    assert change(client, url=URL, token=None).status_code == 200
    assert "by-hand" in client.api.names(SECRETS.format(client.namespace))


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"url": URL, "name": "other"}, "name"),
        ({"url": URL, "namespace": "other"}, "namespace"),
        ({"url": URL, "charts": 3}, "charts"),
        ({}, "url"),
    ],
)
def test_a_change_is_checked_as_strictly_as_a_new_repository(
    client: GatewayClient, fields: dict[str, Any], refused: str
) -> None:
    save(client)
    answer = change(client, **fields)
    assert (answer.status_code, refused_fields(answer)) == (422, [refused])


def test_a_repository_that_is_missing_is_not_created_by_a_change(client: GatewayClient) -> None:
    assert change(client, url=URL, token="t").status_code == 404
    assert client.http.post(f"{PATH}/{client.namespace}/acme/refresh").status_code == 404
    assert secrets_of(client) == []


def test_a_change_needs_permission_to_create_secrets_only_for_new_credentials(caller_factory: CallerFactory) -> None:
    token = caller_factory.create_account("half")
    caller_factory.grant("half", chartrepositories=["get", "list", "create", "update"])
    with caller_factory.client_with_token(token) as half:
        assert save(half).status_code == 201
        assert change(half, url=URL, token="hunter2").status_code == 403
        assert change(half, url=f"{URL}/charts").status_code == 200
        assert secrets_of(half) == []


def test_a_refresh_shows_new_charts_at_once_and_tells_the_operator(client: GatewayClient, charts: ChartServer) -> None:
    location = save(client, url=charts.url, **LOGIN).headers["Location"]
    assert client.http.get(f"{location}/charts").json()["total_count"] == 1
    charts.add("other", "1.0.0", chart_archive())
    assert client.http.get(f"{location}/charts").json()["total_count"] == 1
    answer = client.http.post(f"{location}/refresh")
    assert (answer.status_code, answer.json()["name"]) == (202, "acme")
    assert client.http.get(f"{location}/charts").json()["total_count"] == 2
    first = stored(client)["metadata"]["annotations"]["xapp-operator.io/reconcile-at"]
    client.http.post(f"{location}/refresh")
    assert stored(client)["metadata"]["annotations"]["xapp-operator.io/reconcile-at"] > first


def test_a_refresh_of_a_repository_that_does_not_answer_says_so(client: GatewayClient) -> None:
    location = save(client, url="http://127.0.0.1:1").headers["Location"]
    answer = client.http.post(f"{location}/refresh")
    assert answer.status_code == 502
    assert "no connection" in answer.json()["detail"]


def test_a_repository_shows_which_xapps_use_it_to_who_may_list_them(
    client: GatewayClient, caller_factory: CallerFactory
) -> None:
    location = save(client).headers["Location"]
    spec = {"method": "Remote Chart Repository", "chartName": "hello", "url": URL, "repoName": "acme"}
    for team in ("b", "a"):
        form = client.deployment_form(team=team)
        body = {"apiVersion": "xapp-operator.io/v1alpha1", "kind": "XApp", "spec": {**form, **spec}}
        client.api.create(XAPPS.format(client.namespace), {**body, "metadata": {"name": f"acme-{team}-hello"}})
    expected = {"count": 2, "names": ["acme-a-hello", "acme-b-hello"]}
    wait_until(lambda: client.http.get(location).json()["usedBy"] == expected, timeout=SECONDS, what="both xApps")
    assert [each["usedBy"] for each in listed(client)] == [expected]
    assert change(client, url=URL).json()["usedBy"] == expected

    token = caller_factory.create_account("half")
    caller_factory.grant("half", chartrepositories=["get", "list"])
    with caller_factory.client_with_token(token) as half:
        wait_until(lambda: half.http.get(location).status_code == 200, timeout=SECONDS, what="the repository")
        assert half.http.get(location).json()["usedBy"] is None
        assert [each["usedBy"] for each in listed(half)] == [None]

    client.api.delete(f"{XAPPS.format(client.namespace)}/acme-a-hello")
    wait_until(lambda: client.http.get(location).json()["usedBy"]["count"] == 1, timeout=SECONDS, what="one to go")
