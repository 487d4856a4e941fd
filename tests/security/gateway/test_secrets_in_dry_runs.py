"""Threat: a dry run shows secrets to somebody who may write XApps, but may not see their values."""

from __future__ import annotations

import pytest

from tests.integration.gateway.gateway_client import XAPP_NAME, GatewayClient
from tests.support.apiserver import JsonObject
from tests.support.charts import chart_archive
from tests.support.helm_user import HelmUser
from xapp_operator.domain.masking.redaction import MASK

pytestmark = pytest.mark.integration

SECRETS = ("hunter11", "hunter22", "hunter33", "hunter44", "hunter55", "hunter66", "hunter77")
ENCODED = "aHVudGVyMTE="  # hunter11
CHART = chart_archive(
    {
        "values.yaml": "password: hunter11\nmode: on\nconfig: |\n  [db]\n  password = hunter22\n  host = db\n",
        "templates/NOTES.txt": "Sign in with {{ .Values.password }}, or\npassword: hunter66\n",
        "templates/all.yaml": (
            "apiVersion: v1\nkind: Secret\nmetadata: {name: all}\ndata: {a: {{ .Values.password | b64enc }}}\n---\n"
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: all}\n"
            "data:\n  API_TOKEN: hunter33\n  app.ini: |\n{{ .Values.config | indent 4 }}\n---\n"
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: all}\nspec:\n"
            "  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n"
            "      containers:\n      - name: all\n        image: example/all:1\n"
            '        args: ["--password", hunter44, --token=hunter55]\n'
            '        env: [{name: DB_PASSWORD, value: hunter77}, {name: MODE, value: "{{ .Values.mode }}"}]\n  \n'
        ),
    }
)


def assert_masked(shown: JsonObject) -> None:
    assert [secret for secret in (*SECRETS, ENCODED) if secret in str(shown)] == []
    assert f"password = {MASK}" in shown["manifest"]
    assert "host = db" in shown["manifest"]


def test_a_dry_run_of_a_deployment_shows_no_secret(client: GatewayClient) -> None:
    answer = client.post_deployment(client.deployment_form(), file=CHART, dryRun="true")
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    assert_masked(shown)
    assert shown["notes"] == f"Sign in with {MASK}, or\npassword: {MASK}\n"
    assert shown["values"]["config"] == f"[db]\npassword = {MASK}\nhost = db\n"


def test_dry_runs_of_changes_show_no_secret(client: GatewayClient, helm_user: HelmUser) -> None:
    client.deploy(CHART)
    helm_user.install(XAPP_NAME, CHART)
    client.write_status({"release": {"name": XAPP_NAME, "namespace": client.namespace, "revision": 1}})
    upgrade = client.put_deployment(client.deployment_form(), dryRun="true")
    assert upgrade.status_code == 200, upgrade.text
    assert_masked(upgrade.json())
    path = f"/api/xapps/{client.namespace}/{XAPP_NAME}/config"
    changed = client.http.patch(path, json={"mode": "off", "password": "hunter11"}, params={"dryRun": "true"})
    assert changed.status_code == 200, changed.text
    assert_masked(changed.json())
    diff = changed.json()["diff"]
    assert "MODE" in diff
    assert diff.count("+++ ") == 1  # the Deployment alone: no object is shown that does not change
    unchanged = client.http.put(path, json={"values": {}}, params={"dryRun": "true"})
    assert unchanged.json()["diff"] == ""


def test_a_refusal_shows_no_secret(client: GatewayClient) -> None:
    files = {"values.yaml": "password: hunter11\n", "templates/x.yaml": '{{ fail (print "it is " .Values.password) }}'}
    refused = client.post_deployment(client.deployment_form(), file=chart_archive(files), dryRun="true")
    assert (refused.status_code, "it is ••••••" in refused.json()["detail"]) == (422, True)
    assert "hunter11" not in refused.text


def test_a_displayed_text_can_be_edited_and_never_stores_a_mask(client: GatewayClient) -> None:
    client.deploy(CHART, values="config: |\n  [db]\n  password = hunter22\n  host = db\n")
    path = f"/api/xapps/{client.namespace}/{XAPP_NAME}/config"
    shown = client.http.get(path).json()["values"]["config"]
    assert "hunter22" not in shown
    edited = {"values": {"config": shown.replace("host = db", "host = other")}}
    assert client.http.put(path, json=edited).status_code == 202
    stored = client.xapp()["spec"]["values"]["config"]
    assert stored == "[db]\npassword = hunter22\nhost = other\n"
    refused = client.http.put(path, json={"values": {"config": shown.replace("password", "secret")}})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "values.config"
    assert client.xapp()["spec"]["values"]["config"] == stored
