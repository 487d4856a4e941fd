"""Saved repositories over REST: who may save and see them, and where credentials are sent, which are never returned."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest

from tests.integration.gateway.caller_factory import CallerFactory
from tests.integration.gateway.gateway_client import GatewayClient
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import NAMESPACES, REPOSITORIES, SECRETS, ApiServer, JsonObject
from tests.support.chart_server import ChartServer
from tests.support.charts import chart_archive
from xapp_operator.api.names import ANNOTATION_ORIGIN, REPOSITORY_CREDENTIALS_TYPE

pytestmark = pytest.mark.integration

PATH: Final = "/api/repositories"
QUOTAS: Final = "/api/v1/namespaces/{}/resourcequotas"
URL: Final = "https://charts.example.com"
PASSWORD: Final = "hunter2-of-the-repository"
ARCHIVE: Final = chart_archive()
RESOURCE: Final = {"apiVersion": "xapp-operator.io/v1alpha1", "kind": "ChartRepository", "spec": {"url": URL}}
SECONDS: Final = 60.0


@pytest.fixture
def guarded_charts() -> Iterator[ChartServer]:
    """A repository that requires a password."""
    with ChartServer(username="jane", password=PASSWORD) as server:
        server.add("hello", "0.1.0", ARCHIVE)
        yield server


def save(client: GatewayClient, **fields: Any) -> httpx.Response:
    return client.http.post(PATH, json={"name": "acme", "namespace": client.namespace, "url": URL, **fields})


def listed(client: GatewayClient, **query: Any) -> list[JsonObject]:
    answer = client.http.get(PATH, params={"namespace": client.namespace, **query})
    assert answer.status_code == 200, answer.text
    content: list[JsonObject] = answer.json()["content"]
    return content


def secrets_of(client: GatewayClient) -> list[JsonObject]:
    items: list[JsonObject] = client.api.get(SECRETS.format(client.namespace))["items"]
    return [each for each in items if each["metadata"]["name"].startswith("chart-repository-")]


def test_a_repository_is_saved_shown_listed_and_removed(client: GatewayClient) -> None:
    response = save(client)
    assert response.status_code == 201
    assert response.headers["Location"] == f"{PATH}/{client.namespace}/acme"
    metadata = client.api.get(f"{REPOSITORIES.format(client.namespace)}/acme")["metadata"]
    expected = {
        "name": "acme",
        "namespace": client.namespace,
        "uid": metadata["uid"],
        "generation": 1,
        "updatedAt": metadata["creationTimestamp"],
        "url": URL,
        "type": "http",
        "charts": None,
        "lastFetched": None,
        "ready": False,
        "message": None,
        "interval": "5m",
        "hasCredentials": False,
        "hasCaBundle": False,
        "insecureSkipTLSVerify": False,
        "allowPlainHTTP": False,
        "verify": None,
        "usedBy": {"count": 0, "names": []},
    }
    assert response.json() == expected
    assert client.http.get(response.headers["Location"]).json() == expected
    assert listed(client) == [expected]
    assert secrets_of(client) == []
    assert client.http.delete(response.headers["Location"]).status_code == 204
    assert client.http.delete(response.headers["Location"]).status_code == 404
    wait_until(lambda: listed(client) == [], timeout=SECONDS, what="the list without the repository")
    assert client.http.get(response.headers["Location"]).status_code == 404


def test_the_status_that_the_operator_wrote_is_shown(client: GatewayClient) -> None:
    save(client)
    condition = {"type": "Ready", "status": "True", "reason": "Fetched", "message": "the index lists 3 charts"}
    status = {
        "observedGeneration": 1,
        "charts": 3,
        "lastFetched": "2026-11-20T08:01:00Z",
        "conditions": [{**condition, "lastTransitionTime": "2026-11-20T08:01:00Z", "observedGeneration": 1}],
    }
    client.api.patch(f"{REPOSITORIES.format(client.namespace)}/acme/status", {"status": status})
    wait_until(lambda: listed(client)[0]["ready"], timeout=SECONDS, what="the status in the list")
    found = listed(client)[0]
    assert (found["charts"], found["lastFetched"]) == (3, "2026-11-20T08:01:00Z")
    assert found["message"] == "the index lists 3 charts"


def test_the_list_is_sorted_filtered_and_paged(client: GatewayClient) -> None:
    for name in ("b", "c", "a"):
        save(client, name=name, url=f"oci://registry.example.com/{name}")
    assert [each["name"] for each in listed(client, sort="name")] == ["a", "b", "c"]
    assert [each["name"] for each in listed(client, sort="name", order="desc", per_page=2)] == ["c", "b"]
    assert [each["name"] for each in listed(client, search="COM/B")] == ["b"]
    assert listed(client)[0]["type"] == "oci"
    answer = client.http.get(PATH, params={"namespace": client.namespace, "per_page": 2, "page": 2, "sort": "name"})
    assert answer.json()["total_count"] == 3
    assert [each["name"] for each in answer.json()["content"]] == ["c"]
    assert "per_page=2&sort=name&page=1" in answer.headers["Link"]


def test_credentials_are_used_and_never_returned(
    client: GatewayClient, guarded_charts: ChartServer, capfd: pytest.CaptureFixture[str]
) -> None:
    response = save(client, url=guarded_charts.url, allowPlainHTTP=True, username="jane", password=PASSWORD)
    assert response.status_code == 201
    charts = client.http.get(f"{response.headers['Location']}/charts")
    assert [each["name"] for each in charts.json()["content"]] == ["hello"]
    versions = client.http.get(f"{response.headers['Location']}/charts/hello/versions")
    assert [each["version"] for each in versions.json()["content"]] == ["0.1.0"]
    output = capfd.readouterr()
    encoded = base64.b64encode(f"jane:{PASSWORD}".encode()).decode()
    shown = [response.text, charts.text, versions.text, json.dumps(listed(client)), output.out, output.err]
    assert not [text for text in shown if PASSWORD in text or encoded in text or "chart-repository-" in text]


def test_wrong_repository_credentials_are_reported_without_being_repeated(
    client: GatewayClient, guarded_charts: ChartServer
) -> None:
    response = save(client, url=guarded_charts.url, allowPlainHTTP=True, username="jane", password="hunter2-but-wrong")
    answer = client.http.get(f"{response.headers['Location']}/charts")
    assert answer.status_code == 502
    assert "returned status 401: access is denied" in answer.json()["detail"]
    assert "hunter2" not in answer.text


def test_the_secret_is_owned_by_the_repository_and_deleted_with_it(client: GatewayClient) -> None:
    location = save(client, token="t0ken").headers["Location"]
    repository = client.api.get(f"{REPOSITORIES.format(client.namespace)}/acme")
    (secret,) = secrets_of(client)
    assert repository["spec"]["secretRef"] == {"name": secret["metadata"]["name"]}
    assert secret["metadata"]["ownerReferences"][0]["uid"] == repository["metadata"]["uid"]
    assert secret["data"] == {"token": base64.b64encode(b"t0ken").decode()}
    assert secret["type"] == REPOSITORY_CREDENTIALS_TYPE
    assert secret["metadata"]["annotations"][ANNOTATION_ORIGIN] == URL
    client.http.delete(location)
    # At once under the same name: the remains of the old one do not interfere.
    assert save(client, token="another").status_code == 201
    wait_until(
        lambda: [each["data"]["token"] for each in secrets_of(client)] == [base64.b64encode(b"another").decode()],
        timeout=2 * SECONDS,  # it discovers new kinds every 30 seconds
        what="the garbage collector to take the Secret",
    )


def test_a_ca_bundle_goes_into_the_secret(client: GatewayClient) -> None:
    bundle = base64.b64decode(_authority(client)).decode()
    assert save(client, caBundle=bundle).status_code == 201
    (secret,) = secrets_of(client)
    spec = client.api.get(f"{REPOSITORIES.format(client.namespace)}/acme")["spec"]
    assert spec["caSecretRef"] == {"name": secret["metadata"]["name"], "key": "ca.crt"}
    assert "secretRef" not in spec
    assert base64.b64decode(secret["data"]["ca.crt"]).decode() == bundle


def _authority(client: GatewayClient) -> str:
    path = f"/api/v1/namespaces/{client.namespace}/configmaps/kube-root-ca.crt"
    found = wait_until(lambda: client.api.find(path), timeout=SECONDS, what="the cluster's CA in the namespace")
    assert found is not None
    return base64.b64encode(found["data"]["ca.crt"].encode()).decode()


def test_a_repository_whose_secret_is_refused_is_removed(client: GatewayClient) -> None:
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"count/secrets": "0"}}}
    client.api.create(QUOTAS.format(client.namespace), quota)
    probe = {"metadata": {"name": "probe"}}
    wait_until(
        lambda: client.api.is_create_forbidden(SECRETS.format(client.namespace), probe),
        timeout=SECONDS,
        what="the quota to count",
    )
    answer = save(client, username="jane", password=PASSWORD)
    assert answer.status_code == 403
    assert "quota" in answer.json()["detail"]
    assert client.api.names(REPOSITORIES.format(client.namespace)) == []
    assert secrets_of(client) == []
    assert save(client).status_code == 201


def test_a_used_name_is_a_conflict_that_names_the_other_url(client: GatewayClient) -> None:
    save(client)
    again, other = save(client), save(client, url="https://other.example.com", token="hunter2")
    assert (again.status_code, other.status_code) == (409, 409)
    assert "with that url" in again.json()["detail"]
    assert f"with another url ({URL})" in other.json()["detail"]
    assert secrets_of(client) == []


def test_a_missing_namespace_is_not_created(client: GatewayClient) -> None:
    answer = save(client, namespace="nowhere-at-all", token="hunter2")
    assert answer.status_code == 404
    assert answer.json()["errors"][0]["field"] == "namespace"
    assert client.api.find(f"{NAMESPACES}/nowhere-at-all") is None


REFUSED: Final[dict[str, tuple[dict[str, Any], set[str]]]] = {
    "no name": ({"name": None}, {"name"}),
    "a name with capitals": ({"name": "Acme"}, {"name"}),
    "a name that is too long": ({"name": "a" * 64}, {"name"}),
    "a namespace that is none": ({"namespace": "no.such"}, {"namespace"}),
    "another scheme": ({"url": "ftp://charts.example.com"}, {"url"}),
    "no host": ({"url": "https:///charts"}, {"url"}),
    "a port that is none": ({"url": "https://charts.example.com:99999"}, {"url"}),
    "a url with a space": ({"url": "https://charts.example.com/a b"}, {"url"}),
    "a url that is too long": ({"url": f"https://charts.example.com/{'a' * 2048}"}, {"url"}),
    "credentials in the url": ({"url": "https://jane:hunter2@charts.example.com"}, {"url"}),
    "what only the cluster sees": ({"url": "https://charts.example.com/%zz"}, {"url"}),
    "credentials over plain http": ({"url": "http://charts.example.com", "token": "hunter2"}, {"url"}),
    "a username alone": ({"username": "jane"}, {"password"}),
    "a password alone": ({"password": "hunter2"}, {"username"}),
    "a token and a password": ({"token": "t", "username": "jane", "password": "hunter2"}, {"username", "password"}),
    "a colon in the username": ({"username": "jane:doe", "password": "hunter2"}, {"username"}),
    "a line break in the password": ({"username": "jane", "password": "hunter2\n"}, {"password"}),
    "a token of two lines": ({"token": "hunter2\n"}, {"token"}),
    "a token that is a number": ({"token": 31415}, {"token"}),
    "an empty password": ({"username": "jane", "password": ""}, {"password"}),
    "no PEM": ({"caBundle": "hunter2"}, {"caBundle"}),
    "PEM that is no certificate": (
        {"caBundle": "-----BEGIN CERTIFICATE-----\nhunter2\n-----END CERTIFICATE-----\n"},
        {"caBundle"},
    ),
    "an unknown field": ({"pasword": "hunter2"}, {"pasword"}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_errors_name_the_field_and_not_its_value(client: GatewayClient, case: str) -> None:
    change, fields = REFUSED[case]
    body = {"name": "acme", "namespace": client.namespace, "url": URL, **change}
    answer = client.http.post(PATH, json={key: value for key, value in body.items() if value is not None})
    assert answer.status_code == 422, answer.text
    assert {each["field"] for each in answer.json()["errors"]} == fields
    assert not [value for value in ("hunter2", "31415") if value in answer.text]
    assert client.api.names(REPOSITORIES.format(client.namespace)) == []
    assert secrets_of(client) == []


def test_a_ca_bundle_for_any_certificate_is_refused(client: GatewayClient) -> None:
    bundle = base64.b64decode(_authority(client)).decode()
    answer = save(client, caBundle=bundle, insecureSkipTLSVerify=True)
    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["errors"]] == ["caBundle"]
    assert save(client, insecureSkipTLSVerify=True).status_code == 201


@pytest.mark.parametrize(("name", "status"), [("%2e%2e", 400), ("%25", 404), ("A", 404), ("a" * 300, 404)])
def test_an_invalid_name_is_refused(client: GatewayClient, name: str, status: int) -> None:
    path = f"{PATH}/{client.namespace}/{name}"
    assert client.http.get(path).status_code == status
    assert client.http.delete(path).status_code == status


def test_an_editor_saves_browses_and_removes_only_in_the_namespace(
    caller_factory: CallerFactory, guarded_charts: ChartServer
) -> None:
    with caller_factory.client_with_token(caller_factory.create_account("jane", "edit")) as jane:
        response = save(jane, url=guarded_charts.url, allowPlainHTTP=True, username="jane", password=PASSWORD)
        assert response.status_code == 201
        assert jane.http.get(f"{response.headers['Location']}/charts").json()["total_count"] == 1
        assert [each["name"] for each in listed(jane)] == ["acme"]
        elsewhere = [
            jane.http.get(PATH, params={"namespace": "kube-system", "page": 0}),
            jane.http.post(PATH, json={"namespace": "kube-system", "no": "such"}),
            *(
                jane.http.request(method, f"{PATH}/kube-system/x{rest}?no=such")
                for method, rest in (("GET", ""), ("DELETE", ""), ("GET", "/charts"), ("GET", "/charts/a/versions"))
            ),
        ]
        assert [each.status_code for each in elsewhere] == [403] * len(elsewhere)
        assert jane.http.delete(response.headers["Location"]).status_code == 204


def test_a_viewer_neither_changes_repositories_nor_uses_their_credentials(
    caller_factory: CallerFactory, guarded_charts: ChartServer
) -> None:
    with caller_factory.client_with_token(caller_factory.create_account("jane", "edit")) as jane:
        location = save(jane, url=guarded_charts.url, allowPlainHTTP=True, username="jane", password=PASSWORD).headers[
            "Location"
        ]
    with caller_factory.client_with_token(caller_factory.create_account("viewer", "view")) as viewer:
        assert [each["name"] for each in listed(viewer)] == ["acme"]
        assert viewer.http.get(location).status_code == 200
        assert save(viewer, name="other").status_code == 403
        assert viewer.http.delete(location).status_code == 403
        answer = viewer.http.get(f"{location}/charts")
        assert answer.status_code == 403
        assert "secrets" in answer.json()["detail"]
        assert guarded_charts.requests == {}


def test_credentials_need_permission_to_create_secrets(caller_factory: CallerFactory) -> None:
    token = caller_factory.create_account("half")
    caller_factory.grant("half", chartrepositories=["get", "list", "create"])
    with caller_factory.client_with_token(token) as half:
        answer = save(half, token="hunter2")
        assert answer.status_code == 403
        assert "secrets" in answer.json()["detail"]
        assert half.api.names(REPOSITORIES.format(half.namespace)) == []
        assert save(half).status_code == 201


@pytest.fixture
def elsewhere(api: ApiServer) -> Iterator[str]:
    """A second namespace, with a repository."""
    name = f"elsewhere-{secrets.token_hex(4)}"
    api.create(NAMESPACES, {"metadata": {"name": name}})
    api.create(REPOSITORIES.format(name), {**RESOURCE, "metadata": {"name": "hidden"}})
    yield name
    api.delete(f"{NAMESPACES}/{name}")


def test_an_unnamed_list_shows_what_its_caller_may_list(caller_factory: CallerFactory, elsewhere: str) -> None:
    ours, theirs = (caller_factory.namespace, "ours"), (elsewhere, "hidden")
    caller_factory.api.create(REPOSITORIES.format(caller_factory.namespace), {**RESOURCE, "metadata": {"name": "ours"}})
    token = caller_factory.create_account("viewer", "view")
    with (
        caller_factory.grant_in_all_namespaces("auditor", chartrepositories=["list"]),
        caller_factory.client_with_token(caller_factory.create_account("auditor")) as auditor,
    ):
        wait_until(lambda: {ours, theirs} <= names(auditor), timeout=SECONDS, what="both in the list of all")
    with caller_factory.client_with_token(token) as viewer:
        assert names(viewer) == {ours}


def names(client: GatewayClient) -> set[tuple[str, str]]:
    content = client.http.get(PATH, params={"per_page": 100, "order": "desc"}).json()["content"]
    return {(each["namespace"], each["name"]) for each in content}
