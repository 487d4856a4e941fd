"""Deploying over REST: written objects, responses, and that a refusal leaves nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.integration.gateway.gateway_client import (
    DEPLOYMENT,
    NO_OBJECTS,
    XAPP_NAME,
    GatewayClient,
    multipart_files,
    ready_status,
    stalled_status,
)
from tests.localcluster import Cluster
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import ARCHIVES, NAMESPACES, REPOSITORIES, XAPPS
from tests.support.chart_server import ChartServer
from tests.support.charts import CONFIGMAP_TEMPLATE, archive_name, chart_archive
from tests.support.xapp_manifest import xapp_manifest

pytestmark = pytest.mark.integration

ARCHIVE = chart_archive()
DIGEST = hashlib.sha256(ARCHIVE).hexdigest()
STORED = archive_name(ARCHIVE)


@pytest.fixture
def charts() -> Iterator[ChartServer]:
    with ChartServer() as server:
        server.add("hello", "0.1.0", ARCHIVE)
        yield server


@pytest.fixture
def unmade(client: GatewayClient) -> Iterator[str]:
    """A namespace that does not exist."""
    name = f"unmade-{secrets.token_hex(4)}"
    yield name
    client.api.delete(f"{NAMESPACES}/{name}")


def test_an_upload_becomes_an_xapp_and_a_chart_archive(client: GatewayClient) -> None:
    answer = client.post_deployment(client.deployment_form(), file=ARCHIVE, values="greeting: 22:22\nlist: [1, 2.5]\n")
    assert answer.status_code == 202, answer.text
    assert answer.headers["Location"] == f"/api/xapps/{client.namespace}/{XAPP_NAME}"
    spec = client.xapp()["spec"]
    assert spec["archive"] == {"chartArchiveRef": {"name": STORED}, "digest": f"sha256:{DIGEST}"}
    assert spec["values"] == {"greeting": "22:22", "list": [1, 2.5]}
    stored = client.api.get(f"{ARCHIVES.format(client.namespace)}/{STORED}")
    assert base64.b64decode(stored["spec"]["archive"]) == ARCHIVE
    assert stored["spec"]["digest"] == f"sha256:{DIGEST}"
    assert stored["spec"]["chart"] == {"name": "hello", "version": "0.1.0", "appVersion": "1.0"}


def test_what_a_policy_of_the_cluster_says_is_shown(client: GatewayClient, cluster: Cluster) -> None:
    selected = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": client.namespace}}}
    rule = {"apiGroups": ["xapp-operator.io"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["xapps"]}
    words = "each xApp needs a cost centre"
    refusal = {
        "expression": "'cost-centre' in object.metadata.?labels.orValue({})",
        "message": words,
        "reason": "Forbidden",
    }
    kind = "ValidatingAdmissionPolicy"
    named = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": client.namespace}}
    matched = {"matchConstraints": {**selected, "resourceRules": [rule]}, "validations": [refusal]}
    bound = {"policyName": client.namespace, "validationActions": ["Deny"]}
    items = [{**named, "kind": kind, "spec": matched}, {**named, "kind": f"{kind}Binding", "spec": bound}]
    cluster.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    try:
        wait_until(
            lambda: client.api.is_create_forbidden(
                XAPPS.format(client.namespace), xapp_manifest("tried", namespace=client.namespace)
            ),
            timeout=60,
            what="the policy to be in force",
        )
        answer = client.post_deployment(client.deployment_form(), file=ARCHIVE)
    finally:
        cluster.kubectl("delete", f"{kind}Binding,{kind}", client.namespace)
    assert (answer.status_code, words in answer.json()["detail"]) == (403, True)


def test_the_location_of_a_deployment_shows_it_at_once(client: GatewayClient) -> None:
    answer = client.post_deployment(client.deployment_form(), file=ARCHIVE)
    shown = client.http.get(answer.headers["Location"])
    assert shown.status_code == 200
    assert shown.json()["uid"] == answer.json()["uid"] == client.xapp()["metadata"]["uid"]


def test_a_deployment_is_under_the_versioned_path_too(client: GatewayClient) -> None:
    answer = client.http.post("/api/v1/deployment/xapp", files=multipart_files(client.deployment_form(), file=ARCHIVE))
    assert answer.status_code == 202, answer.text


def test_the_name_is_composed_and_remote_chart_fields_are_dropped(client: GatewayClient) -> None:
    form = client.deployment_form(
        organization="ACME Corp.", team="R&D", xAppName="Hello_World", url="x", repoName="_", chartName=""
    )
    record = client.post_deployment(form, file=ARCHIVE).json()
    assert record["name"] == "acme-corp-r-d-hello-world"
    assert {"url", "repoName", "chartName"}.isdisjoint(client.xapp(record["name"])["spec"])


def test_the_content_types_of_the_parts_do_not_matter(client: GatewayClient) -> None:
    sent = {
        "xAppForm": ("form.json", multipart_files(client.deployment_form())["xAppForm"][1], "application/json"),
        "file": ("evil/../name.txt", ARCHIVE, "text/plain"),
        "values": (None, b"", "image/png"),
    }
    answer = client.http.post(DEPLOYMENT, files=sent, headers={"Accept": "image/png"})
    assert answer.status_code == 202, answer.text


def test_a_remote_chart_saves_its_repository(client: GatewayClient, charts: ChartServer) -> None:
    answer = client.post_deployment(client.remote_form(charts.url), values="greeting: hi")
    assert answer.status_code == 202, answer.text
    assert not charts.requests, "whether the chart exists is for the operator to say"
    repository = client.api.get(f"{REPOSITORIES.format(client.namespace)}/charts")
    assert repository["spec"]["url"] == charts.url
    spec = client.xapp()["spec"]
    assert (spec["chartName"], spec["url"], spec["repoName"]) == ("hello", charts.url, "charts")
    assert spec["values"] == {"greeting": "hi"}


def test_a_saved_repository_is_reused_only_with_the_same_url(client: GatewayClient, charts: ChartServer) -> None:
    assert client.post_deployment(client.remote_form(charts.url)).status_code == 202
    assert client.post_deployment(client.remote_form(charts.url, team="two")).status_code == 202
    refused = client.post_deployment(client.remote_form("https://charts.example.com", team="three"))
    assert refused.status_code == 409
    assert refused.json()["errors"][0]["field"] == "xAppForm.repoName"
    assert sorted(client.existing_objects()["xapps"]) == [XAPP_NAME, "acme-two-hello"]


def test_a_dry_run_of_an_upload_shows_everything_and_writes_nothing(client: GatewayClient) -> None:
    files = {
        "values.yaml": "greeting: hello\npassword: from-the-chart\n",
        "templates/configmap.yaml": CONFIGMAP_TEMPLATE,
        "templates/NOTES.txt": "Say {{ .Values.greeting }}.",
    }
    answer = client.post_deployment(
        client.deployment_form(), file=chart_archive(files), values="greeting: hi\n", dryRun="true"
    )
    assert answer.status_code == 200
    shown = answer.json()
    assert 'greeting: "hi"' in shown["manifest"]
    assert f"name: {XAPP_NAME}" in shown["manifest"]
    assert shown["notes"] == "Say hi."
    assert shown["values"]["greeting"] == "hi"
    assert "from-the-chart" not in answer.text
    assert shown["warnings"] == []
    assert client.existing_objects() == NO_OBJECTS


def test_a_dry_run_of_a_remote_chart_fetches_it_and_writes_nothing(client: GatewayClient, charts: ChartServer) -> None:
    answer = client.post_deployment(client.remote_form(charts.url), values="greeting: hi", dryRun="true")
    assert answer.status_code == 200
    assert 'greeting: "hi"' in answer.json()["manifest"]
    assert client.existing_objects() == NO_OBJECTS


def test_a_dry_run_of_a_missing_remote_chart_lists_the_existing_ones(
    client: GatewayClient, charts: ChartServer
) -> None:
    answer = client.post_deployment(client.remote_form(charts.url, version="9.9"), dryRun="true")
    assert answer.status_code == 422
    assert "0.1.0" in answer.json()["detail"]
    assert answer.json()["errors"]


def test_a_dry_run_reports_a_missing_namespace(client: GatewayClient, unmade: str) -> None:
    answer = client.post_deployment(client.deployment_form(namespace=unmade), file=ARCHIVE, dryRun="true")
    assert answer.status_code == 200
    assert unmade in answer.json()["warnings"][0]
    assert client.api.find(f"{NAMESPACES}/{unmade}") is None


def test_a_missing_namespace_is_created(client: GatewayClient, unmade: str) -> None:
    assert client.post_deployment(client.deployment_form(namespace=unmade), file=ARCHIVE).status_code == 202
    assert client.api.names(XAPPS.format(unmade)) == [XAPP_NAME]


def test_a_namespace_created_for_a_refused_deployment_is_removed(client: GatewayClient, unmade: str) -> None:
    # Only the API server checks this rule.
    answer = client.post_deployment(client.deployment_form(namespace=unmade), file=ARCHIVE, values=unstorable_values())
    assert answer.status_code == 413
    found = client.api.find(f"{NAMESPACES}/{unmade}")
    assert found is None or "deletionTimestamp" in found["metadata"]


@pytest.mark.parametrize("character", ["<", '"', "\\"])
def test_a_deployment_too_large_for_the_cluster_is_refused_and_leaves_nothing(
    client: GatewayClient, character: str
) -> None:
    answer = client.post_deployment(client.deployment_form(), file=ARCHIVE, values=unstorable_values(character))
    assert answer.status_code == 413
    assert answer.json()["errors"][0]["field"] == "values"
    assert client.existing_objects() == NO_OBJECTS


def test_a_deployment_that_becomes_ready_in_time_answers_200(client: GatewayClient) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.post_deployment, client.deployment_form(), file=ARCHIVE, wait="60")
        _until_there(client)
        client.write_status(ready_status())
        answer = waiting.result(60)
    assert answer.status_code == 200
    assert answer.json()["ready"] is True
    assert answer.headers["Location"] == f"/api/xapps/{client.namespace}/{XAPP_NAME}"


def test_a_deployment_that_does_not_become_ready_in_time_answers_202(client: GatewayClient) -> None:
    answer = client.post_deployment(client.deployment_form(), file=ARCHIVE, wait="0.05")
    assert answer.status_code == 202, answer.text
    assert answer.json()["ready"] is False


def test_a_deployment_that_stalls_is_not_waited_for(client: GatewayClient) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.post_deployment, client.deployment_form(), file=ARCHIVE, wait="300")
        _until_there(client)
        client.write_status(stalled_status())
        answer = waiting.result(60)
    assert answer.status_code == 202, answer.text
    assert answer.json()["phase"] == "Failed"


def test_the_same_chart_is_stored_once(client: GatewayClient) -> None:
    client.deploy(ARCHIVE)
    client.deploy(ARCHIVE, team="two")
    written = client.existing_objects()
    assert written["charts"] == [STORED]
    assert len(written["xapps"]) == 2


def test_concurrent_deployments_of_the_same_chart_all_succeed(client: GatewayClient) -> None:
    with ThreadPoolExecutor(6) as pool:
        answers = list(
            pool.map(
                lambda at: client.post_deployment(client.deployment_form(team=f"team-{at}"), file=ARCHIVE).status_code,
                range(6),
            )
        )
    assert answers == [202] * 6
    assert client.existing_objects()["charts"] == [STORED]


def test_one_of_several_concurrent_deployments_of_the_same_xapp_succeeds(client: GatewayClient) -> None:
    with ThreadPoolExecutor(6) as pool:
        answers = list(
            pool.map(lambda _: client.post_deployment(client.deployment_form(), file=ARCHIVE).status_code, range(6))
        )
    assert sorted(answers) == [202] + [409] * 5
    assert client.existing_objects() == {**NO_OBJECTS, "xapps": [XAPP_NAME], "charts": [STORED]}


def test_an_existing_xapp_is_not_deployed_again(client: GatewayClient) -> None:
    client.deploy(ARCHIVE)
    answer = client.post_deployment(client.deployment_form(), file=chart_archive(version="0.2.0"))
    assert answer.status_code == 409
    assert "upgrade it" in answer.json()["detail"]
    upgrade = f"/api/deployment/xapp/{client.namespace}/{XAPP_NAME}"
    assert answer.json()["next"] == [{"method": "PUT", "path": upgrade}]
    assert client.existing_objects()["charts"] == [STORED]


def test_an_xapp_that_is_being_uninstalled_is_deployed_again_when_it_is_gone(client: GatewayClient) -> None:
    client.deploy(ARCHIVE)
    client.add_finalizer()
    assert client.delete_deployment({"name": XAPP_NAME, "namespace": client.namespace}).status_code == 202
    refused = client.post_deployment(client.deployment_form(), file=ARCHIVE)
    assert refused.status_code == 409
    assert "deploy it again when it is gone" in refused.json()["detail"]
    assert "next" not in refused.json()
    client.remove_finalizer()
    assert client.post_deployment(client.deployment_form(), file=ARCHIVE).status_code == 202


def test_another_identity_with_the_same_name_is_a_conflict_that_names_it(client: GatewayClient) -> None:
    client.deploy(ARCHIVE)
    answer = client.post_deployment(
        client.deployment_form(organization="Acme-RAN", team="hello", xAppName="!a"), file=ARCHIVE
    )
    assert answer.status_code == 202, "another name altogether"
    answer = client.post_deployment(
        client.deployment_form(organization="acme-ran", team="Hello", xAppName="A"), file=ARCHIVE
    )
    assert answer.status_code == 409
    assert "Acme-RAN" in answer.json()["detail"]


def test_templates_that_call_fail_are_refused_by_a_dry_run_only(client: GatewayClient) -> None:
    archive = chart_archive({"templates/a.yaml": '{{ required "set the host" .Values.host }}'})
    shown = client.post_deployment(client.deployment_form(), file=archive, dryRun="true")
    assert (shown.status_code, "set the host" in shown.json()["detail"]) == (422, True)
    assert client.post_deployment(client.deployment_form(), file=archive).status_code == 202


def unstorable_values(character: str = "<") -> str:
    """Return values within their limit that exceed it in the API server's JSON."""
    return "text: '" + character * 1_000_000 + "'"


def _until_there(client: GatewayClient) -> None:
    for _ in range(1000):
        if client.api.find(f"{XAPPS.format(client.namespace)}/{XAPP_NAME}") is not None:
            return
    raise AssertionError("the XApp was not written")
