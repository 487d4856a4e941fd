"""Upgrading in place: fields of the request replace the old ones, and omitted fields stay."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.integration.gateway.gateway_client import XAPP_NAME, GatewayClient, ready_status
from tests.support.apiserver import ARCHIVES
from tests.support.chart_server import ChartServer
from tests.support.charts import archive_name, chart_archive

pytestmark = pytest.mark.integration

ARCHIVE = chart_archive()
LOOKS_BETWEEN_REPORTS = 5
NEXT = chart_archive(version="0.2.0")


@pytest.fixture
def deployed(client: GatewayClient) -> GatewayClient:
    client.deploy(ARCHIVE, values="greeting: hi\nkeep: {password: hunter2}\n")
    return client


def test_upgrade_keeps_omitted_fields(deployed: GatewayClient) -> None:
    before = deployed.xapp()
    answer = deployed.put_deployment(deployed.deployment_form(version="0.2.0", timeout="90s"))
    assert answer.status_code == 202
    assert answer.headers["Location"] == f"/api/xapps/{deployed.namespace}/{XAPP_NAME}"
    after = deployed.xapp()
    assert after["spec"] == {**before["spec"], "version": "0.2.0", "timeout": "90s"}
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["generation"] == 2
    again = deployed.put_deployment(deployed.deployment_form(version="0.3.0"))
    assert again.status_code == 202
    assert deployed.xapp()["spec"]["timeout"] == "90s"


def test_a_field_given_as_null_is_removed(deployed: GatewayClient) -> None:
    assert deployed.put_deployment(deployed.deployment_form(timeout="90s")).status_code == 202
    assert deployed.put_deployment({**deployed.deployment_form(), "timeout": None}).status_code == 202
    assert "timeout" not in deployed.xapp()["spec"]


def test_new_values_replace_all_old_values(deployed: GatewayClient) -> None:
    assert deployed.put_deployment(deployed.deployment_form(), values="other: 1").status_code == 202
    assert deployed.xapp()["spec"]["values"] == {"other": 1}
    assert deployed.put_deployment(deployed.deployment_form(), values="{}").status_code == 202
    assert deployed.xapp()["spec"]["values"] == {}


@pytest.mark.parametrize("text", ["", "# greeting: hi\n"])
def test_a_part_without_values_does_not_remove_the_values(deployed: GatewayClient, text: str) -> None:
    before = deployed.xapp()["spec"]["values"]
    for dry_run in ("false", "true"):
        refused = deployed.put_deployment(deployed.deployment_form(), values=text, dryRun=dry_run)
        assert refused.status_code == 422, refused.text
        (error,) = refused.json()["errors"]
        assert (error["field"], "send {} to remove all values" in error["message"]) == ("values", True)
    assert deployed.xapp()["spec"]["values"] == before
    form = deployed.deployment_form(xAppName="other")
    assert deployed.post_deployment(form, file=ARCHIVE, values=text).status_code == 202, "a new one has none to remove"


def test_a_masked_secret_sent_back_keeps_its_value(deployed: GatewayClient) -> None:
    shown = deployed.put_deployment(deployed.deployment_form(), dryRun="true").json()["values"]
    mask = shown["keep"]["password"]
    assert "hunter2" not in str(shown)
    assert (
        deployed.put_deployment(deployed.deployment_form(), values=f'keep: {{password: "{mask}"}}').status_code == 202
    )
    assert deployed.xapp()["spec"]["values"] == {"keep": {"password": "hunter2"}}
    refused = deployed.put_deployment(deployed.deployment_form(), values=f'keep: {{token: "{mask}"}}')
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "values.keep.token"


def test_a_new_chart_replaces_the_old_one(deployed: GatewayClient) -> None:
    answer = deployed.put_deployment(deployed.deployment_form(version="0.2.0"), file=NEXT)
    assert answer.status_code == 202
    assert deployed.xapp()["spec"]["archive"]["chartArchiveRef"]["name"] == archive_name(NEXT)
    assert sorted(deployed.existing_objects()["charts"]) == sorted([archive_name(ARCHIVE), archive_name(NEXT)])


def test_an_upload_may_become_a_remote_chart_and_back(deployed: GatewayClient) -> None:
    with ChartServer() as charts:
        assert deployed.put_deployment(deployed.remote_form(charts.url, chartVersion=">=0.1")).status_code == 202
    spec = deployed.xapp()["spec"]
    assert "archive" not in spec
    assert spec["chartVersion"] == ">=0.1"
    refused = deployed.put_deployment(deployed.deployment_form())
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "file"
    assert deployed.put_deployment(deployed.deployment_form(), file=ARCHIVE).status_code == 202
    assert {"chartName", "url", "repoName", "chartVersion"}.isdisjoint(deployed.xapp()["spec"])


@pytest.mark.parametrize("field", ["xAppName", "organization", "team", "namespace"])
def test_the_identity_cannot_be_changed(deployed: GatewayClient, field: str) -> None:
    before = deployed.xapp()
    answer = deployed.put_deployment(deployed.deployment_form(**{field: "another"}), file=NEXT)
    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["errors"]] == [f"xAppForm.{field}"]
    assert deployed.xapp() == before
    assert deployed.existing_objects()["charts"] == [archive_name(ARCHIVE)]


def test_the_release_name_cannot_be_changed_and_the_field_is_named(deployed: GatewayClient) -> None:
    answer = deployed.put_deployment(deployed.deployment_form(releaseName="another"), file=NEXT)
    assert answer.status_code == 422
    assert "release" in answer.json()["detail"].lower()
    assert deployed.existing_objects()["charts"] == [archive_name(ARCHIVE)]


@pytest.mark.parametrize("name", ["not-there", "%2e%2e", "..", "a%2fb", "%25", "x" * 300, "%00", "ä"])
def test_a_missing_or_invalid_name_cannot_be_upgraded(client: GatewayClient, name: str) -> None:
    answer = client.put_deployment(client.deployment_form(), name=name, file=ARCHIVE)
    assert answer.status_code in {400, 404, 405, 422}
    assert answer.headers["content-type"] == "application/problem+json"


def test_upgrading_an_unknown_xapp_is_404_and_names_the_deploy_route(client: GatewayClient) -> None:
    answer = client.put_deployment(client.deployment_form(), name="not-there", file=ARCHIVE)
    assert answer.status_code == 404
    assert {"method": "POST", "path": "/api/deployment/xapp"} in answer.json()["next"]
    assert client.existing_objects()["charts"] == []


def test_a_dry_run_shows_the_upgrade_and_changes_nothing(deployed: GatewayClient) -> None:
    before = deployed.xapp()
    template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: {{ .Values.greeting }}}\n"
    archive = chart_archive({"templates/a.yaml": template})
    answer = deployed.put_deployment(deployed.deployment_form(), file=archive, dryRun="true")
    assert answer.status_code == 200
    assert "data: {a: hi}" in answer.json()["manifest"]
    assert deployed.xapp() == before
    assert deployed.existing_objects()["charts"] == [archive_name(ARCHIVE)]


def test_a_dry_run_without_a_file_renders_the_stored_chart(deployed: GatewayClient) -> None:
    answer = deployed.put_deployment(deployed.deployment_form(), values="greeting: there", dryRun="true")
    assert 'greeting: "there"' in answer.json()["manifest"]


def test_values_that_violate_the_schema_of_the_stored_chart_are_refused(client: GatewayClient) -> None:
    files = {"values.schema.json": '{"properties": {"port": {"type": "integer"}}}'}
    client.deploy(chart_archive(files))
    answer = client.put_deployment(client.deployment_form(), values="port: x")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "values.port"
    assert "values" not in client.xapp()["spec"]


def test_an_upgrade_without_the_stored_chart_requires_the_file(deployed: GatewayClient) -> None:
    deployed.api.delete(f"{ARCHIVES.format(deployed.namespace)}/{archive_name(ARCHIVE)}")
    answer = deployed.put_deployment(deployed.deployment_form(version="0.2.0"))
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "file"
    assert deployed.put_deployment(deployed.deployment_form(version="0.2.0"), file=ARCHIVE).status_code == 202


def test_an_upgrade_waits_for_the_new_generation(deployed: GatewayClient) -> None:
    deployed.write_status(ready_status())
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(deployed.put_deployment, deployed.deployment_form(version="0.2.0"), wait="60")
        for _ in range(1000):
            if deployed.xapp()["metadata"]["generation"] == 2:
                break
        deployed.write_status(ready_status(generation=2))
        answer = waiting.result(60)
    assert (answer.status_code, answer.json()["ready"]) == (200, True)


def test_an_xapp_ready_for_an_older_generation_is_not_ready(deployed: GatewayClient) -> None:
    deployed.write_status(ready_status())
    answer = deployed.put_deployment(deployed.deployment_form(version="0.2.0"), wait="0.05")
    assert (answer.status_code, answer.json()["ready"]) == (202, False)


def test_a_concurrent_status_write_does_not_disturb_an_upgrade(deployed: GatewayClient) -> None:
    done = threading.Event()

    def keep_reporting() -> None:
        status = ready_status()
        for number in range(10_000):
            if done.is_set():
                return
            status["conditions"][0]["message"] = f"written {number} times"
            deployed.write_status(status)
            for _ in range(LOOKS_BETWEEN_REPORTS):
                deployed.xapp()

    with ThreadPoolExecutor(1) as pool:
        reporting = pool.submit(keep_reporting)
        try:
            answers = [
                deployed.put_deployment(deployed.deployment_form(version=f"0.{at}.0"), values=f"at: {at}").status_code
                for at in range(5)
            ]
        finally:
            done.set()
            reporting.result()
    assert answers == [202] * 5
