"""A new repository with its credentials in a deployment: previewed without saving it, and saved with the xApp."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest

from tests.integration.gateway.caller_factory import CallerFactory
from tests.integration.gateway.gateway_client import NO_OBJECTS, XAPP_NAME, GatewayClient
from tests.integration.gateway.test_repositories import secrets_of
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import REPOSITORIES, XAPPS, JsonObject
from tests.support.chart_server import ChartServer
from tests.support.charts import chart_archive

pytestmark = pytest.mark.integration

PASSWORD: Final = "hunter2-of-the-repository"
CREDENTIALS: Final[JsonObject] = {"username": "jane", "password": PASSWORD, "allowPlainHTTP": True}


@pytest.fixture
def guarded_charts() -> Iterator[ChartServer]:
    """A repository that requires a password."""
    with ChartServer(username="jane", password=PASSWORD) as server:
        server.add("hello", "0.1.0", chart_archive())
        yield server


def fields_of(response: httpx.Response, status: int = 422) -> list[str]:
    assert response.status_code == status, response.text
    assert PASSWORD not in response.text
    return [each["field"] for each in response.json()["errors"]]


def test_a_preview_uses_the_credentials_and_stores_nothing(
    client: GatewayClient, guarded_charts: ChartServer, capfd: pytest.CaptureFixture[str]
) -> None:
    form = client.remote_form(guarded_charts.url)
    found = client.post_deployment(form, repository=CREDENTIALS, dryRun="true")
    assert found.status_code == 200, found.text
    assert "kind: ConfigMap" in found.json()["manifest"]
    assert client.existing_objects() == NO_OBJECTS
    assert secrets_of(client) == []

    wrong = {**CREDENTIALS, "password": "wrong-" + PASSWORD}
    refused = client.post_deployment(form, repository=wrong, dryRun="true")
    assert fields_of(refused) == ["repository.password"]
    # What others have read with their credentials is not for those who have none.
    assert fields_of(client.post_deployment(form, repository={}, dryRun="true")) == ["repository.username"]
    encoded = base64.b64encode(f"jane:{PASSWORD}".encode()).decode()
    output = capfd.readouterr()
    shown = found.text + refused.text + output.out + output.err
    assert PASSWORD not in shown
    assert encoded not in shown


def test_the_repository_is_saved_with_the_xapp(client: GatewayClient, guarded_charts: ChartServer) -> None:
    form = client.remote_form(guarded_charts.url)
    stored = client.post_deployment(form, repository={**CREDENTIALS, "interval": "1h"})
    assert stored.status_code == 202, stored.text
    saved = client.api.get(f"{REPOSITORIES.format(client.namespace)}/charts")
    [secret] = secrets_of(client)
    assert saved["spec"] == {
        "url": guarded_charts.url,
        "secretRef": {"name": secret["metadata"]["name"]},
        "allowPlainHTTP": True,
        "interval": "1h",
    }
    assert secret["metadata"]["ownerReferences"][0]["uid"] == saved["metadata"]["uid"]
    assert base64.b64decode(secret["data"]["password"]).decode() == PASSWORD
    assert PASSWORD not in json.dumps(client.api.get(f"{XAPPS.format(client.namespace)}/{XAPP_NAME}"))

    # It is saved now: other credentials for it are refused, in a preview too, whatever the url.
    other = client.remote_form(guarded_charts.url, xAppName="other")
    for dry_run in ("false", "true"):
        assert fields_of(client.post_deployment(other, repository=CREDENTIALS, dryRun=dry_run), 409) == [
            "xAppForm.repoName"
        ]
    assert len(secrets_of(client)) == 1
    assert client.existing_objects()["xapps"] == [XAPP_NAME]


def test_nothing_is_left_when_the_xapp_cannot_be_stored(client: GatewayClient, guarded_charts: ChartServer) -> None:
    assert client.post_deployment(client.remote_form(guarded_charts.url)).status_code == 202
    again = client.remote_form(guarded_charts.url, repoName="again")
    refused = client.post_deployment(again, repository=CREDENTIALS)
    assert fields_of(refused, 409) == ["xAppForm.xAppName"]
    assert client.existing_objects()["repositories"] == ["charts"]
    wait_until(lambda: secrets_of(client) == [], timeout=60, what="no Secret to be left")


@pytest.mark.parametrize(
    ("part", "fields"),
    [
        ({"username": "jane"}, ["repository.password"]),
        ({"password": PASSWORD, "allowPlainHTTP": True}, ["repository.username"]),
        ({"token": "a b"}, ["repository.token"]),
        ({"token": PASSWORD}, ["xAppForm.url"]),
        ({"caBundle": "none"}, ["repository.caBundle"]),
        ({"name": "mine", "url": "https://evil.example"}, ["repository.name", "repository.url"]),
        ({"pasword": PASSWORD}, ["repository.pasword"]),
        ({"verify": {"provider": "provenance", "secretRef": {"name": "none"}}}, ["repository.verify"]),
    ],
)
def test_refusals_name_the_field_and_not_its_value(
    client: GatewayClient, guarded_charts: ChartServer, part: JsonObject, fields: list[str]
) -> None:
    form = client.remote_form(guarded_charts.url)
    assert fields_of(client.post_deployment(form, repository=part, dryRun="true")) == fields
    assert guarded_charts.authorizations == []
    assert client.existing_objects() == NO_OBJECTS


def test_the_part_belongs_to_new_remote_charts_only(client: GatewayClient, guarded_charts: ChartServer) -> None:
    upload = client.post_deployment(client.deployment_form(), file=chart_archive(), repository=CREDENTIALS)
    assert fields_of(upload) == ["repository"]
    form = client.remote_form("http://169.254.169.254/charts")
    assert fields_of(client.post_deployment(form, repository=CREDENTIALS, dryRun="true")) == ["xAppForm.url"]
    assert client.existing_objects() == NO_OBJECTS


def test_a_chart_on_another_host_gets_no_credentials(client: GatewayClient, guarded_charts: ChartServer) -> None:
    with ChartServer(username="jane", password=PASSWORD) as elsewhere:
        elsewhere.add("hello", "0.1.0", chart_archive())
        entry = {"name": "hello", "version": "0.1.0", "urls": [f"{elsewhere.url}/hello-0.1.0.tgz"]}
        guarded_charts.files["/far/index.yaml"] = json.dumps(
            {"apiVersion": "v1", "entries": {"hello": [entry]}}
        ).encode()
        form = client.remote_form(f"{guarded_charts.url}/far")
        refused = client.post_deployment(form, repository=CREDENTIALS, dryRun="true")
        assert fields_of(refused) == ["xAppForm.chartName"]
        assert f"are sent to {guarded_charts.url} only. Move the archive there" in refused.json()["detail"]
        assert elsewhere.requests["/hello-0.1.0.tgz"] == 1
        assert elsewhere.authorizations == []


@pytest.mark.parametrize("missing", ["chartrepositories", "secrets"])
def test_a_preview_needs_the_rights_that_saving_needs(
    client: GatewayClient, caller_factory: CallerFactory, guarded_charts: ChartServer, missing: str
) -> None:
    token = caller_factory.create_account("half")
    rights: dict[str, Any] = {"xapps": ["create"], "chartrepositories": ["get", "create"]}
    if missing == "chartrepositories":
        rights["chartrepositories"] = ["get"]
        caller_factory.grant("half", group="", secrets=["create"])
    caller_factory.grant("half", **rights)
    with caller_factory.client_with_token(token) as half:
        for dry_run in ("true", "false"):
            form = half.remote_form(guarded_charts.url)
            refused = half.post_deployment(form, repository=CREDENTIALS, dryRun=dry_run)
            assert refused.status_code == 403, refused.text
            assert [(each["verb"], each["resource"]) for each in refused.json()["missing"]] == [("create", missing)]
    assert guarded_charts.authorizations == []
    assert client.existing_objects() == NO_OBJECTS
