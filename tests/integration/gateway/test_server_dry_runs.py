"""Dry runs with the cluster: as the caller, with what they may look up, and offline where that is not possible."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, Final

import pytest

from tests.integration.gateway.caller_factory import CallerFactory
from tests.integration.gateway.gateway_client import XAPP_NAME, GatewayClient
from tests.integration.gateway.test_releases import report
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import SECRETS, JsonObject
from tests.support.charts import chart_archive
from tests.support.helm_user import HelmUser

pytestmark = pytest.mark.integration

CONFIGMAPS: Final = "/api/v1/namespaces/{}/configmaps"
HEAD: Final = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n"
LOOKUP: Final = chart_archive(
    {
        "templates/a.yaml": HEAD
        + '{{ $found := lookup "v1" .Values.kind .Release.Namespace "known" }}'
        + '{{ if not $found }}{{ fail (printf "create %s known first" .Values.kind) }}{{ end }}\n'
        + "data: {found: {{ $found.data.a | quote }}, revision: {{ .Release.Revision | quote }}}\n",
        "templates/NOTES.txt": "revision {{ .Release.Revision }}",
        "values.yaml": "kind: ConfigMap\n",
    }
)


def preview(client: GatewayClient, archive: bytes, **parts: Any) -> JsonObject:
    answer = client.post_deployment(client.deployment_form(), file=archive, dryRun="true", **parts)
    assert answer.status_code == 200, answer.text
    found: JsonObject = answer.json()
    return found


def create_known(client: GatewayClient) -> None:
    client.api.create(CONFIGMAPS.format(client.namespace), {"metadata": {"name": "known"}, "data": {"a": "in-cluster"}})


@pytest.mark.parametrize("mode", ["none", "token"])
def test_a_template_finds_what_the_caller_may_look_up(
    client: GatewayClient, caller_factory: CallerFactory, mode: str
) -> None:
    create_known(client)
    if mode == "none":
        found = preview(client, LOOKUP)
    else:
        with caller_factory.client_with_token(caller_factory.create_account("editor", "edit")) as editor:
            found = preview(editor, LOOKUP)
    assert (found["rendered"], found["warnings"]) == ("server", [])
    assert 'found: "in-cluster"' in found["manifest"]
    assert found["notes"] == "revision 1"


def test_a_template_that_stops_on_the_cluster_is_refused_with_file_and_line(client: GatewayClient) -> None:
    refused = client.post_deployment(client.deployment_form(), file=LOOKUP, dryRun="true")
    assert refused.status_code == 422, refused.text
    problem = refused.json()
    assert "templates/a.yaml:4:" in problem["detail"]
    assert "create ConfigMap known first" in problem["detail"]
    assert problem["errors"][0]["field"] == "values"
    assert client.existing_objects()["xapps"] == []


@pytest.mark.parametrize(
    "template", ["{{ .Values.a.b }}", '{{ include "missing" . }}', '{{ required "set x" .Values.x }}']
)
def test_a_broken_template_is_refused_with_its_file(client: GatewayClient, template: str) -> None:
    archive = chart_archive({"templates/a.yaml": HEAD + "# 5\n" + template})
    refused = client.post_deployment(client.deployment_form(), file=archive, dryRun="true")
    assert (refused.status_code, "templates/a.yaml:5" in refused.json()["detail"]) == (422, True), refused.text


def test_what_the_caller_may_not_look_up_is_a_warning_and_the_answer_is_offline(
    client: GatewayClient, caller_factory: CallerFactory
) -> None:
    client.api.create(SECRETS.format(client.namespace), {"metadata": {"name": "known"}, "data": {"a": "eA=="}})
    token = caller_factory.create_account("half")
    caller_factory.grant("half", xapps=["get", "create"], chartarchives=["get", "create"])
    with caller_factory.client_with_token(token) as half:
        found = preview(half, LOOKUP, values="kind: Secret\n")
    assert (found["rendered"], found["manifest"], found["objects"], found["diff"]) == ("offline", "", [], None)
    offline, stopped = found["warnings"]
    assert "without the cluster" in offline
    assert f"a template uses lookup, and you may not get secrets in namespace {client.namespace}" in offline
    assert "create Secret known first" in stopped


def test_an_upgrade_is_rendered_as_one(client: GatewayClient, helm_user: HelmUser) -> None:
    create_known(client)
    client.deploy(LOOKUP)
    helm_user.install(XAPP_NAME, LOOKUP)
    report(client, 1)
    path = f"/api/xapps/{client.namespace}/{XAPP_NAME}/config"
    found = client.http.patch(path, json={"x": 1}, params={"dryRun": "true"}).json()
    assert (found["rendered"], found["notes"]) == ("server", "revision 2")
    assert [each["change"] for each in found["objects"]] == ["change"]
    assert [each["revision"] for each in helm_user.history(XAPP_NAME)] == [1], "nothing was upgraded"


def test_a_kind_that_the_chart_installs_itself_is_rendered_offline(client: GatewayClient) -> None:
    crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.example.com}\n"
    own = "apiVersion: example.com/v1\nkind: A\nmetadata: {name: a}\n"
    found = preview(client, chart_archive({"crds/a.yaml": crd, "templates/a.yaml": own}))
    assert found["rendered"] == "offline"
    assert {each["kind"] for each in found["objects"]} == {"CustomResourceDefinition", "A"}
    alone = preview(client, chart_archive({"crds/a.yaml": crd, "templates/a.yaml": HEAD}))
    assert (alone["rendered"], [each["kind"] for each in alone["objects"]]) == (
        "server",
        ["CustomResourceDefinition", "ConfigMap"],
    )


def test_the_token_of_the_caller_is_gone_when_the_dry_run_is_over(
    client: GatewayClient, caller_factory: CallerFactory, capfd: pytest.CaptureFixture[str]
) -> None:
    create_known(client)
    token = caller_factory.create_account("editor", "edit")
    with caller_factory.client_with_token(token) as editor:
        assert preview(editor, LOOKUP)["rendered"] == "server"
        cache = editor.uploads.parent
    assert token not in "".join(capfd.readouterr())
    assert [path for path in files_below(cache) if token.encode() in path.read_bytes()] == []


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_values_of_a_secret_that_a_template_stops_with_are_not_shown(client: GatewayClient) -> None:
    data = {"v": base64.b64encode(b"password: of-the-owner\n").decode()}
    client.api.create(SECRETS.format(client.namespace), {"metadata": {"name": "s"}, "data": data})
    form = client.deployment_form(valuesFrom=[{"kind": "Secret", "name": "s", "key": "v"}])
    archive = chart_archive({"templates/a.yaml": "{{ fail .Values.password }}"})
    refused = client.post_deployment(form, file=archive, dryRun="true")
    assert (refused.status_code, "of-the-owner" in refused.text) == (422, False)


def objects_of(client: GatewayClient, template: str, **parts: Any) -> list[str]:
    found = preview(client, chart_archive({"templates/a.yaml": template}), **parts)
    assert found["rendered"] == "server"
    assert found["objects"], "the manifest is shown all the same"
    warnings: list[str] = found["warnings"]
    return warnings


SERVICE: Final = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: %s}]}\n"
DEPLOYMENT: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
"""
QUOTAS: Final = "/api/v1/namespaces/{}/resourcequotas"


def test_what_the_api_server_would_refuse_is_a_warning_for_each_object(client: GatewayClient) -> None:
    template = SERVICE % 99999 + "---\n" + HEAD + "---\n" + SERVICE.replace("web", "other") % "text"
    warnings = objects_of(client, template)
    assert [each.partition(":")[0] for each in warnings] == [
        "the cluster would refuse Service web",
        "the cluster would refuse Service other",
    ]
    assert "spec.ports[0].port" in warnings[0]
    assert client.api.find(f"/api/v1/namespaces/{client.namespace}/services/web") is None


def test_a_quota_that_is_used_up_is_a_warning(client: GatewayClient) -> None:
    quota = {"metadata": {"name": "few"}, "spec": {"hard": {"count/services": "0"}}}
    client.api.create(QUOTAS.format(client.namespace), quota)
    path = f"{QUOTAS.format(client.namespace)}/few"
    wait_until(lambda: "hard" in client.api.get(path).get("status", {}), timeout=60, what="the quota to be known")
    (warning,) = objects_of(client, SERVICE % 80)
    assert "exceeded quota" in warning


def test_what_the_api_server_warns_of_is_a_warning(client: GatewayClient) -> None:
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/warn": "restricted"}}}
    client.api.patch(f"/api/v1/namespaces/{client.namespace}", label)
    (warning,) = objects_of(client, DEPLOYMENT)
    assert warning.startswith('the cluster warns of Deployment web: would violate PodSecurity "restricted:latest": ')


def test_objects_that_the_caller_may_not_write_are_not_asked_about(
    client: GatewayClient, caller_factory: CallerFactory
) -> None:
    token = caller_factory.create_account("reader")
    caller_factory.grant("reader", xapps=["get", "create"], chartarchives=["get", "create"])
    caller_factory.grant("reader", group="", services=["get"], configmaps=["get", "patch", "create"])
    with caller_factory.client_with_token(token) as reader:
        (warning,) = objects_of(reader, SERVICE % 80 + "---\n" + HEAD)
    assert warning == (
        "the cluster was not asked about 1 object: you may not patch or create services in the namespace "
        f"{client.namespace}"
    )
