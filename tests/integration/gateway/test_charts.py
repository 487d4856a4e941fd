"""Uploaded charts: stored, listed, described, downloaded and deleted through the API."""

from __future__ import annotations

import base64
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import httpx
import pytest

from tests.integration.gateway.caller_factory import CallerFactory
from tests.integration.gateway.gateway_client import NO_OBJECTS, XAPP_NAME, GatewayClient
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import ARCHIVES, JsonObject
from tests.support.charts import archive_name, chart_archive, chart_archive_manifest, chart_archive_of_size

pytestmark = pytest.mark.integration

CHARTS: Final = "/api/charts"
MIB: Final = 1024 * 1024
README: Final = "# Hello\n\nIt greets.\n"
SCHEMA: Final = '{"type": "object", "properties": {"greeting": {"type": "string"}}}'
ARCHIVE: Final = chart_archive(
    {"values.yaml": "# who\ngreeting: hello\n", "README.md": README, "values.schema.json": SCHEMA}
)
STORED: Final = archive_name(ARCHIVE)


def upload(client: GatewayClient, archive: bytes = ARCHIVE, *, at: str | None = None, **query: str) -> httpx.Response:
    files: dict[str, Any] = {"file": ("chart.tgz", archive)}
    if at != "":
        files["namespace"] = (None, at or client.namespace)
    return client.http.post(CHARTS, files=files, params=query)


def stored(client: GatewayClient, name: str = STORED) -> JsonObject | None:
    return client.api.find(f"{ARCHIVES.format(client.namespace)}/{name}")


def path(client: GatewayClient, name: str = STORED) -> str:
    return f"{CHARTS}/{client.namespace}/{name}"


def listed(client: GatewayClient, **query: str) -> list[JsonObject]:
    answer = client.http.get(CHARTS, params={"namespace": client.namespace, **query})
    assert answer.status_code == 200, answer.text
    content: list[JsonObject] = answer.json()["content"]
    return content


def test_an_upload_is_stored_and_kept(client: GatewayClient) -> None:
    answer = upload(client)
    assert answer.status_code == 201, answer.text
    assert answer.headers["Location"] == path(client)
    record = answer.json()
    assert (record["name"], record["namespace"], record["keep"]) == (STORED, client.namespace, True)
    assert record["chart"] == {"name": "hello", "version": "0.1.0", "appVersion": "1.0", "description": None}
    assert (record["digest"], record["size"]) == (f"sha256:{hashlib.sha256(ARCHIVE).hexdigest()}", len(ARCHIVE))
    found = stored(client)
    assert found is not None
    assert base64.b64decode(found["spec"]["archive"]) == ARCHIVE
    assert listed(client) == [record]
    assert client.http.get(path(client)).json() == {**record, "usedBy": []}


def test_a_long_description_is_stored_as_one_line(client: GatewayClient) -> None:
    lines = f"It greets.\n{'x' * 2000}"
    chart_yaml = f"apiVersion: v2\nname: hello\nversion: 0.1.0\ndescription: {json.dumps(lines)}\n"
    answer = upload(client, chart_archive({"Chart.yaml": chart_yaml}))
    assert answer.status_code == 201, answer.text
    description = answer.json()["chart"]["description"]
    assert description.startswith("It greets. xxx")
    assert len(description) == 1024


def test_the_same_chart_is_stored_once_and_kept_from_then_on(client: GatewayClient) -> None:
    client.deploy(ARCHIVE)
    owner = {"apiVersion": "v1", "kind": "XApp", "name": XAPP_NAME, "uid": client.xapp()["metadata"]["uid"]}
    client.api.patch(f"{ARCHIVES.format(client.namespace)}/{STORED}", {"metadata": {"ownerReferences": [owner]}})
    for _ in range(2):
        answer = upload(client)
        assert (answer.status_code, answer.json()["keep"]) == (200, True)
    found = stored(client)
    assert found is not None
    assert "ownerReferences" not in found["metadata"], "it would go with its last owner"
    assert client.existing_objects()["charts"] == [STORED]


def test_concurrent_uploads_of_one_chart_all_succeed(client: GatewayClient) -> None:
    with ThreadPoolExecutor(6) as pool:
        answers = sorted(pool.map(lambda _: upload(client).status_code, range(6)))
    assert answers == [200] * 5 + [201]


def test_a_deployment_uses_the_stored_chart(client: GatewayClient) -> None:
    upload(client)
    client.deploy(ARCHIVE)
    assert client.existing_objects()["charts"] == [STORED]
    assert client.http.get(path(client)).json()["usedBy"] == [XAPP_NAME]


def test_a_dry_run_describes_the_chart_and_stores_nothing(client: GatewayClient) -> None:
    for at in ("", client.namespace):
        answer = upload(client, at=at, dryRun="true")
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert (found["name"], found["version"], found["appVersion"]) == ("hello", "0.1.0", "1.0")
        assert found["archive"] == STORED
        assert (found["values"], found["valuesText"]) == ({"greeting": "hello"}, "# who\ngreeting: hello\n")
        assert (found["readme"], found["schema"]["type"], found["warnings"]) == (README, "object", [])
    assert client.existing_objects() == NO_OBJECTS


def test_a_dry_run_says_what_default_values_lack(client: GatewayClient) -> None:
    archive = chart_archive({"templates/a.yaml": '{{ required "set the host" .Values.host }}'})
    for at in ("", client.namespace):
        assert "set the host" in upload(client, archive, at=at, dryRun="true").json()["warnings"][0]
    assert upload(client, archive).status_code == 201


@pytest.mark.parametrize("at", ["", "own"])
def test_templates_that_cannot_be_parsed_are_refused_with_and_without_a_namespace(
    client: GatewayClient, at: str
) -> None:
    archive = chart_archive({"templates/a.yaml": "{{ if }}"})
    refused = upload(client, archive, at=at and client.namespace, dryRun="true")
    assert refused.status_code == 422, refused.text
    assert [each["field"] for each in refused.json()["errors"]] == ["file"]


def test_an_archive_of_exactly_1_mib_is_stored_and_deployed(client: GatewayClient) -> None:
    archive = chart_archive_of_size(MIB)
    assert len(archive) == MIB
    answer = upload(client, archive)
    assert (answer.status_code, answer.json()["size"]) == (201, MIB)
    assert client.http.get(f"{path(client, archive_name(archive))}.tgz").content == archive
    client.deploy(archive)
    larger = client.post_deployment(client.deployment_form(team="two"), file=chart_archive_of_size(MIB + 1))
    assert (larger.status_code, larger.json()["errors"][0]["field"]) == (413, "file")


@pytest.mark.parametrize(
    ("archive", "status", "word"),
    [
        (b"no chart", 422, "gzip"),
        (chart_archive({"templates/x.yaml": "{{ if }}"}), 422, "x.yaml"),
        (chart_archive_of_size(MIB + 1), 413, "1,048,576"),
    ],
    ids=["no archive", "a template that does not parse", "one byte over 1 MiB"],
)
def test_an_invalid_chart_is_refused(client: GatewayClient, archive: bytes, status: int, word: str) -> None:
    answer = upload(client, archive)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (status, "file")
    assert word in answer.json()["detail"]
    assert client.existing_objects() == NO_OBJECTS


@pytest.mark.parametrize(
    ("files", "status", "field"),
    [
        ({"file": ("c", ARCHIVE)}, 422, "namespace"),
        ({"file": ("c", ARCHIVE), "namespace": (None, "Not_A_Name")}, 422, "namespace"),
        ({"namespace": (None, "NS")}, 422, "file"),
        ({"file": ("c", ARCHIVE), "namespace": (None, "NS"), "chart": (None, "x")}, 422, "chart"),
        ({"file": ("c", ARCHIVE), "namespace": (None, "x" * 2000)}, 413, "namespace"),
    ],
    ids=["no namespace", "no name", "no file", "an unknown part", "a long namespace"],
)
def test_parts_are_checked(client: GatewayClient, files: dict[str, Any], status: int, field: str) -> None:
    given = {name: (part[0], client.namespace if part[1] == "NS" else part[1]) for name, part in files.items()}
    answer = client.http.post(CHARTS, files=given)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (status, field)
    assert client.existing_objects() == NO_OBJECTS


def test_a_missing_namespace_is_404(client: GatewayClient) -> None:
    answer = upload(client, at="never-made")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (404, "namespace")


def test_the_list_has_filters_and_pages(client: GatewayClient) -> None:
    archives = {version: chart_archive(name=f"app-{version}", version=version) for version in ("0.1.0", "0.2.0")}
    for archive in archives.values():
        assert upload(client, archive).status_code == 201
    names = [archive_name(archive) for archive in archives.values()]
    assert [each["name"] for each in listed(client, sort="name")] == sorted(names)
    assert [each["name"] for each in listed(client, version="0.2.0")] == names[1:]
    assert [each["name"] for each in listed(client, chart="app-0.1.0")] == names[:1]
    assert [each["name"] for each in listed(client, search="APP-0.2")] == names[1:]
    page = client.http.get(CHARTS, params={"namespace": client.namespace, "per_page": 1, "page": 2, "sort": "name"})
    assert (page.json()["total_count"], page.json()["content"][0]["name"]) == (2, sorted(names)[1])
    again = client.http.get(
        CHARTS, params={"namespace": client.namespace}, headers={"If-None-Match": _etag(client, namespace=True)}
    )
    assert again.status_code == 304


def test_an_archive_without_labels_is_listed_too(client: GatewayClient) -> None:
    manifest = chart_archive_manifest(ARCHIVE, namespace=client.namespace)
    manifest["metadata"] = {"name": "by-hand", "namespace": client.namespace}
    client.api.create(ARCHIVES.format(client.namespace), manifest)
    wait_until(lambda: listed(client), timeout=60, what="it to be listed")
    (record,) = listed(client)
    assert record["chart"] == {"name": None, "version": None, "appVersion": None, "description": None}
    assert client.http.get(f"{path(client, 'by-hand')}.tgz").content == ARCHIVE


def test_a_download_is_the_uploaded_bytes(client: GatewayClient) -> None:
    upload(client)
    answer = client.http.get(f"{path(client)}.tgz")
    assert answer.status_code == 200
    assert answer.content == ARCHIVE
    assert answer.headers["Content-Type"] == "application/gzip"
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert f'filename="{STORED}.tgz"' in answer.headers["Content-Disposition"]
    tag = {"If-None-Match": answer.headers["ETag"]}
    assert client.http.get(f"{path(client)}.tgz", headers=tag).status_code == 304
    client.http.delete(path(client))
    upload(client)
    assert client.http.get(f"{path(client)}.tgz", headers=tag).status_code == 200, "another object"


def test_a_chart_in_use_is_not_deleted(client: GatewayClient) -> None:
    client.deploy(ARCHIVE)
    answer = client.http.delete(path(client))
    assert (answer.status_code, XAPP_NAME in answer.json()["detail"]) == (409, True)
    assert answer.json()["type"] == "urn:xapp-operator:problem:chart-in-use"
    assert stored(client) is not None
    assert client.delete_deployment({"name": XAPP_NAME, "namespace": client.namespace}).status_code == 202
    wait_until(lambda: client.http.delete(path(client)).status_code == 204, timeout=60, what="it to be unused")
    assert stored(client) is None


def test_a_missing_chart_is_404(client: GatewayClient) -> None:
    for method, tail in (("GET", ""), ("DELETE", ""), ("GET", ".tgz")):
        assert client.http.request(method, path(client, "none") + tail).status_code == 404


def test_a_deleted_chart_leaves_the_list(client: GatewayClient) -> None:
    upload(client)
    assert client.http.delete(path(client)).status_code == 204
    wait_until(lambda: not listed(client), timeout=60, what="the list to be empty")
    assert client.http.get(path(client)).status_code == 404


def test_who_may_not_list_xapps_does_not_learn_their_names(
    caller_factory: CallerFactory, client: GatewayClient
) -> None:
    client.deploy(ARCHIVE)
    token = caller_factory.create_account("librarian")
    caller_factory.grant("librarian", chartarchives=["get", "list", "delete"])
    with caller_factory.client_with_token(token) as librarian:
        wait_until(lambda: listed(librarian), timeout=60, what="the chart to be listed")
        assert librarian.http.get(path(client)).json()["usedBy"] is None
        refused = librarian.http.delete(path(client))
        assert refused.status_code == 409
        assert XAPP_NAME not in refused.text


def _etag(client: GatewayClient, *, namespace: bool) -> str:
    query = {"namespace": client.namespace} if namespace else {}
    return client.http.get(CHARTS, params=query).headers["ETag"]
