"""Threat: an author of a namespace stores another chart under the name that somebody's upload will get.

The name contains 12 digits of the digest, which anyone can write. The gateway compares the whole chart, and a download
is checked against what the ChartArchive declares.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.integration.gateway.gateway_client import NO_OBJECTS, XAPP_NAME, GatewayClient
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import ARCHIVES, XAPPS, JsonObject
from tests.support.charts import archive_name, chart_archive, chart_archive_manifest

pytestmark = pytest.mark.integration

UPLOAD: Final = chart_archive()
HOSTILE: Final = chart_archive({"templates/mine.yaml": "# hostile\n"})
STORED: Final = archive_name(UPLOAD)
Lie = Callable[[JsonObject], object]

LIES: Final[dict[str, Lie]] = {
    "the name only": lambda spec: None,
    "name and digest": lambda spec: spec.update(digest=honest_spec()["digest"]),
    "another chart name": lambda spec: spec.update({**honest_spec(), "chart": {"name": "evil", "version": "0.1.0"}}),
    "another version": lambda spec: spec.update({**honest_spec(), "chart": {"name": "hello", "version": "0.1.1"}}),
}


def honest_spec() -> JsonObject:
    spec: JsonObject = chart_archive_manifest(UPLOAD, namespace="any")["spec"]
    return spec


def squat(client: GatewayClient, lie: Lie) -> JsonObject:
    """Store the hostile chart under the name of the upload, and return it as stored."""
    manifest = chart_archive_manifest(HOSTILE, namespace=client.namespace)
    manifest["metadata"]["name"] = STORED
    lie(manifest["spec"])
    return client.api.create(ARCHIVES.format(client.namespace), manifest)


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_an_upload_does_not_use_another_chart_of_its_name(client: GatewayClient, lie: Lie) -> None:
    squatter = squat(client, lie)
    files: dict[str, Any] = {"file": ("chart.tgz", UPLOAD), "namespace": (None, client.namespace)}
    answers = (
        client.post_deployment(client.deployment_form(), file=UPLOAD),
        client.http.post("/api/charts", files=files),
    )
    for answer in answers:
        assert answer.status_code == 409, answer.text
        assert answer.json()["next"] == [{"method": "DELETE", "path": f"/api/charts/{client.namespace}/{STORED}"}]
    kept = client.api.get(f"{ARCHIVES.format(client.namespace)}/{STORED}")
    assert kept["spec"] == squatter["spec"]
    assert kept["metadata"]["resourceVersion"] == squatter["metadata"]["resourceVersion"]
    assert client.existing_objects() == {**NO_OBJECTS, "charts": [STORED]}
    wait_until(
        lambda: client.http.delete(f"/api/charts/{client.namespace}/{STORED}").status_code == 204,
        timeout=60,
        what="the way that the answer names",
    )
    assert client.post_deployment(client.deployment_form(), file=UPLOAD).status_code == 202


def test_an_upgrade_does_not_take_over_another_chart(client: GatewayClient) -> None:
    client.deploy(chart_archive(version="0.0.1"))
    squat(client, LIES["name and digest"])
    assert client.put_deployment(client.deployment_form(version="0.1.0"), file=UPLOAD).status_code == 409
    spec = client.api.get(f"{XAPPS.format(client.namespace)}/{XAPP_NAME}")["spec"]
    assert spec["archive"]["chartArchiveRef"]["name"] != STORED


@pytest.mark.parametrize("name", ["name and digest", "another chart name", "another version"])
def test_a_download_is_the_chart_that_the_archive_declares(client: GatewayClient, name: str) -> None:
    squat(client, LIES[name])
    path = f"/api/charts/{client.namespace}/{STORED}"
    wait_until(lambda: client.http.get(path).status_code == 200, timeout=60, what="the archive to be listed")
    for _ in range(2):
        answer = client.http.get(f"{path}.tgz")
        assert (answer.status_code, "Delete it" in answer.json()["detail"]) == (422, True)


@pytest.mark.parametrize("content", [b"hello", bytes(100), UPLOAD[:100]], ids=["text", "zeros", "half a chart"])
def test_what_is_no_chart_is_not_served_as_one(client: GatewayClient, content: bytes) -> None:
    manifest = chart_archive_manifest(UPLOAD, namespace=client.namespace)
    manifest["spec"]["archive"] = base64.b64encode(content).decode()
    client.api.create(ARCHIVES.format(client.namespace), manifest)
    path = f"/api/charts/{client.namespace}/{STORED}"
    wait_until(lambda: client.http.get(path).status_code == 200, timeout=60, what="the archive to be listed")
    assert client.http.get(f"{path}.tgz").status_code == 422
