"""What a chart is: the same description for a version in a repository, and for the chart of an xApp."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Final

import pytest

from tests.integration.gateway.caller_factory import CallerFactory
from tests.integration.gateway.gateway_client import XAPP_NAME, GatewayClient
from tests.integration.gateway.test_releases import registered, report
from tests.support.apiserver import ARCHIVES, JsonObject
from tests.support.chart_server import ChartServer
from tests.support.charts import archive_name, chart_archive
from tests.support.helm_user import HelmUser
from tests.support.vendor_charts import drax_chart
from xapp_operator.domain.masking.redaction import MASK

pytestmark = pytest.mark.integration

VALUES: Final = "# who is greeted\ngreeting: hello\ntoken: of-the-chart # not hunter22\n"
FILES: Final[dict[str, str | bytes]] = {
    "values.yaml": VALUES,
    "README.md": "# Hello\n",
    "values.schema.json": '{"type": "object"}',
    "templates/configmap.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n",
}
ARCHIVE: Final = chart_archive(FILES)
DESCRIBED: Final[JsonObject] = {
    "archive": archive_name(ARCHIVE),
    "name": "hello",
    "version": "0.1.0",
    "appVersion": "1.0",
    "description": None,
    "digest": f"sha256:{hashlib.sha256(ARCHIVE).hexdigest()}",
    "size": len(ARCHIVE),
    "dependencies": [],
    "values": {"greeting": "hello", "token": "of-the-chart"},
    "valuesText": VALUES,
    "schema": {"type": "object"},
    "readme": "# Hello\n",
    "warnings": [],
}
MASKED: Final[JsonObject] = {
    **DESCRIBED,
    "values": {"greeting": "hello", "token": MASK},
    "valuesText": f'# who is greeted\ngreeting: hello\ntoken: "{MASK}" # not hunter22\n',
}


@pytest.fixture
def charts() -> Iterator[ChartServer]:
    with ChartServer() as server:
        server.add("hello", "0.1.0", ARCHIVE)
        yield server


def version_path(client: GatewayClient, version: str = "0.1.0", *, chart: str = "hello") -> str:
    return f"/api/repositories/{client.namespace}/acme/charts/{chart}/versions/{version}"


def save(client: GatewayClient, url: str) -> None:
    body = {"name": "acme", "namespace": client.namespace, "url": url}
    assert client.http.post("/api/repositories", json=body).status_code == 201


def chart_of(client: GatewayClient, name: str = XAPP_NAME) -> JsonObject:
    answer = client.http.get(f"/api/xapps/{client.namespace}/{name}/chart")
    assert answer.status_code == 200, answer.text
    found: JsonObject = answer.json()
    return found


def test_a_version_in_a_repository_is_described_like_an_upload(client: GatewayClient, charts: ChartServer) -> None:
    save(client, charts.url)
    found = client.http.get(version_path(client))
    assert found.status_code == 200, found.text
    uploaded = client.http.post("/api/charts", files={"file": ("chart.tgz", ARCHIVE)}, params={"dryRun": "true"})
    assert found.json() == uploaded.json() == DESCRIBED
    again = client.http.get(version_path(client), headers={"If-None-Match": found.headers["ETag"]})
    assert again.status_code == 304
    assert charts.requests["/hello-0.1.0.tgz"] == 1, "the archive is downloaded once"


@pytest.mark.parametrize(
    ("chart", "version"), [("hello", "9.9.9"), ("other", "0.1.0"), ("hello", "%3E%3D0"), ("hello", "0.1")]
)
def test_a_version_that_a_repository_does_not_list_is_not_found(
    client: GatewayClient, charts: ChartServer, chart: str, version: str
) -> None:
    save(client, charts.url)
    answer = client.http.get(version_path(client, version, chart=chart))
    assert answer.status_code == 404, answer.text


def test_a_version_that_is_no_valid_chart_is_refused(client: GatewayClient, charts: ChartServer) -> None:
    charts.add("hello", "0.2.0", chart_archive({"Chart.yaml": "name: hello\n"}))
    save(client, charts.url)
    answer = client.http.get(version_path(client, "0.2.0"))
    assert answer.status_code == 422, answer.text


def test_templates_that_cannot_be_rendered_are_a_warning_of_a_version(
    client: GatewayClient, charts: ChartServer
) -> None:
    charts.add("hello", "0.2.0", chart_archive({**FILES, "templates/a.yaml": "{{ if }}"}, version="0.2.0"))
    save(client, charts.url)
    answer = client.http.get(version_path(client, "0.2.0"))
    assert answer.status_code == 200, answer.text
    assert "templates/a.yaml" in answer.json()["warnings"][0]


def test_the_chart_of_an_xapp_is_its_stored_archive_with_secrets_masked(client: GatewayClient) -> None:
    client.deploy(ARCHIVE)
    assert chart_of(client) == MASKED


def test_the_chart_of_an_xapp_is_read_from_its_repository(client: GatewayClient, charts: ChartServer) -> None:
    assert client.post_deployment(client.remote_form(charts.url)).status_code == 202
    assert chart_of(client) == MASKED


def test_without_its_archive_the_chart_of_an_xapp_is_that_of_its_release(
    client: GatewayClient, helm_user: HelmUser, caller_factory: CallerFactory
) -> None:
    client.deploy(ARCHIVE)
    helm_user.install(XAPP_NAME, ARCHIVE)
    report(client, 1)
    client.api.delete(f"{ARCHIVES.format(client.namespace)}/{archive_name(ARCHIVE)}")
    found = chart_of(client)
    text = f'greeting: hello\ntoken: "{MASK}"\n'
    assert found == {
        **MASKED,
        **dict.fromkeys(("archive", "digest", "size")),
        "valuesText": found["valuesText"],
        "warnings": found["warnings"],
    }
    assert found["valuesText"].replace("'", '"').replace(f" {MASK}", f' "{MASK}"') == text
    assert "no longer exists" in found["warnings"][0]
    with caller_factory.client_with_token(caller_factory.create_account("viewer", "view")) as viewer:
        refused = viewer.http.get(f"/api/xapps/{client.namespace}/{XAPP_NAME}/chart")
        assert refused.status_code == 422, "a viewer may not read the release"
        assert "no longer exists" in refused.json()["detail"]


def test_the_chart_of_a_labelled_xapp_is_that_of_its_release(client: GatewayClient, helm_user: HelmUser) -> None:
    helm_user.install("by-hand", drax_chart())
    registered(client, "by-hand")
    found = chart_of(client, "by-hand")
    assert (found["archive"], found["values"]["greeting"]) == (None, "hello")
    assert found["warnings"] == ["this is what Helm keeps of the deployed chart, because its archive cannot be read"]


def test_a_viewer_sees_the_chart_of_an_upload(client: GatewayClient, caller_factory: CallerFactory) -> None:
    client.deploy(ARCHIVE)
    with caller_factory.client_with_token(caller_factory.create_account("viewer", "view")) as viewer:
        assert chart_of(viewer) == MASKED


def test_the_spec_is_the_form_that_an_upgrade_takes(client: GatewayClient, charts: ChartServer) -> None:
    form = client.remote_form(charts.url, timeout="2m", upgrade={"onFailure": "none"}, suspend=True)
    values = "token: hunter22\nbig: 9223372036854775807\n"
    assert client.post_deployment(form, values=values).status_code == 202
    answer = client.http.get(f"/api/xapps/{client.namespace}/{XAPP_NAME}/spec")
    assert answer.status_code == 200, answer.text
    found = json.loads(answer.text)
    assert {**found["form"], **form} == found["form"], "all that was sent is there"
    assert found["uid"] == client.xapp()["metadata"]["uid"]
    assert (found["values"], found["archive"], found["generation"]) == (
        {"token": MASK, "big": 9223372036854775807},
        None,
        1,
    )
    dry_run = client.put_deployment(found["form"], values=json.dumps(found["values"]), dryRun="true")
    assert dry_run.status_code == 200, dry_run.text
    assert client.put_deployment(found["form"], values=json.dumps(found["values"])).status_code == 202
    assert client.xapp()["metadata"]["generation"] == 1, "nothing has changed"


def test_the_spec_of_an_upload_names_its_archive(client: GatewayClient) -> None:
    client.deploy(ARCHIVE)
    found = client.http.get(f"/api/xapps/{client.namespace}/{XAPP_NAME}/spec").json()
    assert found["archive"]["chartArchiveRef"] == {"name": archive_name(ARCHIVE)}
    assert "archive" not in found["form"]


def test_an_xapp_known_by_its_labels_has_no_spec(client: GatewayClient, helm_user: HelmUser) -> None:
    helm_user.install("by-hand", drax_chart())
    registered(client, "by-hand")
    assert client.http.get(f"/api/xapps/{client.namespace}/by-hand/spec").status_code == 409
