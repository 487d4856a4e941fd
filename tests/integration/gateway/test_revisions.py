"""One revision of a release, the diff of two, and the tests of a chart, as callers with different rights see them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import httpx
import pytest
import yaml

from tests.integration.gateway.caller_factory import CallerFactory
from tests.integration.gateway.gateway_client import XAPP_NAME, GatewayClient
from tests.integration.gateway.test_releases import registered, report
from tests.support.apiserver import NAMESPACES, SECRETS, JsonObject
from tests.support.charts import chart_archive
from tests.support.helm_user import HelmUser
from tests.support.vendor_charts import drax_chart
from xapp_operator.domain.masking.redaction import MASK

pytestmark = pytest.mark.integration

PODS: Final = "/api/v1/namespaces/{}/pods"
FILES: Final = {
    "values.yaml": "greeting: hello\n",
    "templates/configmap.yaml": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n"
        "data:\n  greeting: {{ .Values.greeting }}\n"
    ),
    "templates/NOTES.txt": "Say {{ .Values.greeting }}, log in with {{ .Values.password }}.",
}
FIRST, SECOND = "first-hunter2", "second-hunter2"


def hook(name: str, kind: str = "Pod", **metadata: Any) -> str:
    pod = "{restartPolicy: Never, containers: [{name: one, image: registry.example.com/one:1}]}"
    head = {"Pod": "apiVersion: v1\nkind: Pod", "Job": "apiVersion: batch/v1\nkind: Job"}[kind]
    spec = f"spec: {pod}" if kind == "Pod" else f"spec: {{backoffLimit: 0, template: {{spec: {pod}}}}}"
    labels = "{xapp-operator.io/test-fail: OOMKilled}" if metadata.get("fails") else "{}"
    where = f"namespace: {metadata['namespace']}, " if "namespace" in metadata else ""
    annotations = "{helm.sh/hook: test}"
    return f"{head}\nmetadata: {{name: {name}, {where}labels: {labels}, annotations: {annotations}}}\n{spec}\n"


def fetch(client: GatewayClient, what: str, *, name: str = XAPP_NAME, **query: Any) -> httpx.Response:
    return client.http.get(f"/api/xapps/{client.namespace}/{name}/{what}", params=query)


def get(client: GatewayClient, what: str, *, name: str = XAPP_NAME, **query: Any) -> JsonObject:
    answer = fetch(client, what, name=name, **query)
    assert answer.status_code == 200, answer.text
    found: JsonObject = answer.json()
    return found


def get_tests(client: GatewayClient) -> list[JsonObject]:
    answer = fetch(client, "tests")
    assert answer.status_code == 200, answer.text
    found: list[JsonObject] = answer.json()
    return found


@pytest.fixture
def released(client: GatewayClient, helm_user: HelmUser) -> GatewayClient:
    """An xApp with two revisions, which differ in a greeting and a password."""
    chart = chart_archive(FILES)
    helm_user.install(XAPP_NAME, chart, greeting="good morning", password=FIRST)
    helm_user.upgrade(XAPP_NAME, chart, greeting="good evening", password=SECOND)
    client.deploy()
    report(client, 1, 2)
    return client


def test_each_revision_shows_its_values_manifest_and_notes_without_secrets(released: GatewayClient) -> None:
    first, second = get(released, "history/1"), get(released, "history/2")
    assert (first["revision"], first["values"]) == (1, {"greeting": "good morning", "password": MASK})
    assert yaml.safe_load(first["valuesText"]) == first["values"]
    assert first["notes"] == f"Say good morning, log in with {MASK}."
    assert "greeting: good morning" in first["manifest"]
    assert (first["status"], first["description"]) == ("superseded", "Install complete")
    assert first["chart"]
    assert first["chartVersion"]
    assert first["deployedAt"] < second["deployedAt"]
    assert ("greeting: good evening" in second["manifest"], second["revision"]) == (True, 2)


def test_the_diff_of_two_revisions_shows_what_changed_and_no_secret(released: GatewayClient) -> None:
    diff = get(released, "history/1/diff/2")
    assert (diff["from"], diff["to"], diff["truncated"]) == (1, 2, [])
    assert f"--- a/v1 ConfigMap {XAPP_NAME}\n+++ b/v1 ConfigMap {XAPP_NAME}\n" in diff["manifest"]
    assert "-  greeting: good morning\n+  greeting: good evening\n" in diff["manifest"]
    assert diff["values"].startswith("--- a/values\n+++ b/values\n")
    assert "-greeting: good morning\n" in diff["values"]
    assert "+greeting: good evening\n" in diff["values"]
    assert len({line for line in diff["values"].splitlines() if "password" in line}) == 2  # it shows as changed
    assert "-Say good morning, log in with" in diff["notes"]
    assert not [each for each in (FIRST, SECOND) if each in str(diff)]


def test_only_what_is_asked_for_is_compared(released: GatewayClient) -> None:
    diff = get(released, "history/2/diff/1", of="notes")
    assert (diff["from"], diff["to"], diff["values"], diff["manifest"]) == (2, 1, None, None)
    assert "+Say good morning" in diff["notes"]
    same = get(released, "history/2/diff/2")
    assert (same["values"], same["manifest"], same["notes"]) == ("", "", "")
    for of in ("nothing", "values,values", "values,", "values manifest"):
        answer = fetch(released, "history/1/diff/2", of=of)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "of")


@pytest.mark.parametrize("revision", ["3", "0", "-1", "1.0", "one", "9" * 400, "%20"])
def test_a_revision_that_is_not_kept_is_not_found(released: GatewayClient, revision: str) -> None:
    for path in (f"history/{revision}", f"history/1/diff/{revision}", f"history/{revision}/diff/1"):
        answer = fetch(released, path)
        assert (answer.status_code, "choose one of the history" in answer.json()["detail"]) == (404, True)
        history = f"/api/xapps/{released.namespace}/{XAPP_NAME}/history"
        assert answer.json()["next"] == [{"method": "GET", "path": history}]


def test_a_revision_that_helm_has_removed_is_not_found(released: GatewayClient) -> None:
    released.api.delete(f"{SECRETS.format(released.namespace)}/sh.helm.release.v1.{XAPP_NAME}.v1")
    assert fetch(released, "history/1").status_code == 404
    assert fetch(released, "history/2").status_code == 200


def test_revisions_of_a_labelled_chart_can_be_compared(client: GatewayClient, helm_user: HelmUser) -> None:
    helm_user.install("by-hand", drax_chart())
    helm_user.upgrade("by-hand", drax_chart(), greeting="hi")
    registered(client, "by-hand")
    assert get(client, "history/2", name="by-hand")["values"] == {"greeting": "hi"}
    assert "+greeting: hi\n" in get(client, "history/1/diff/2", name="by-hand")["values"]


def test_what_a_revision_contains_needs_permission_to_read_secrets(
    caller_factory: CallerFactory, released: GatewayClient
) -> None:
    with caller_factory.client_with_token(caller_factory.create_account("viewer", "view")) as viewer:
        for what in ("history/1", "history/1/diff/2", "tests"):
            answer = fetch(viewer, what)
            assert (answer.status_code, "get secrets" in answer.json()["detail"]) == (403, True)


def test_tests_show_how_they_ended_with_the_log_of_their_pod(
    client: GatewayClient, helm_user: HelmUser, caller_factory: CallerFactory
) -> None:
    names = {"templates/a.yaml": hook("ping"), "templates/b.yaml": hook("load", "Job")}
    helm_user.install(XAPP_NAME, chart_archive({**FILES, **names}))
    client.deploy()
    report(client, 1)
    assert get_tests(client) == [
        {"name": name, "kind": kind, "phase": None, "startedAt": None, "completedAt": None, "log": None}
        for name, kind in (("load", "Job"), ("ping", "Pod"))
    ]
    assert helm_user.run_tests(XAPP_NAME)
    found = get_tests(client)
    assert [(each["name"], each["phase"]) for each in found] == [("load", "Succeeded"), ("ping", "Succeeded")]
    assert all(datetime.fromisoformat(each["startedAt"]) for each in found)
    assert all(each["completedAt"] >= each["startedAt"] for each in found)
    assert all(each["log"] for each in found)

    token = caller_factory.create_account("half")
    caller_factory.grant("half", xapps=["get"])
    caller_factory.grant("half", group="", secrets=["get", "list"])
    with caller_factory.client_with_token(token) as half:
        assert [(each["phase"], each["log"]) for each in get_tests(half)] == [("Succeeded", None)] * 2


def test_a_failed_test_is_shown_and_the_log_of_a_foreign_pod_is_not(client: GatewayClient, helm_user: HelmUser) -> None:
    helm_user.install(XAPP_NAME, chart_archive({**FILES, "templates/a.yaml": hook("ping", fails=True)}))
    client.deploy()
    report(client, 1)
    assert not helm_user.run_tests(XAPP_NAME)
    [test] = get_tests(client)
    assert (test["phase"], bool(test["log"])) == ("Failed", True)
    pods = PODS.format(client.namespace)
    client.api.delete(f"{pods}/ping")
    assert [each["log"] for each in get_tests(client)] == [None]
    foreign = {"containers": [{"name": "one", "image": "registry.example.com/one:1"}]}
    client.api.create(pods, {"metadata": {"name": "ping"}, "spec": foreign})
    assert [each["log"] for each in get_tests(client)] == [None]


def test_the_log_of_a_test_in_another_namespace_needs_the_rights_there(
    client: GatewayClient, helm_user: HelmUser, caller_factory: CallerFactory
) -> None:
    elsewhere = f"{client.namespace}-elsewhere"
    client.api.create(NAMESPACES, {"metadata": {"name": elsewhere}})
    try:
        helm_user.install(XAPP_NAME, chart_archive({**FILES, "templates/a.yaml": hook("ping", namespace=elsewhere)}))
        client.deploy()
        report(client, 1)
        own = {"containers": [{"name": "own", "image": "registry.example.com/one:1"}]}
        client.api.create(PODS.format(client.namespace), {"metadata": {"name": "ping"}, "spec": own})
        assert helm_user.run_tests(XAPP_NAME)
        [test] = get_tests(client)
        assert (test["phase"], bool(test["log"])) == ("Succeeded", True)
        token = caller_factory.create_account("here", "view")
        caller_factory.grant("here", group="", secrets=["get", "list"])
        with caller_factory.client_with_token(token) as here:
            assert [(each["phase"], each["log"]) for each in get_tests(here)] == [("Succeeded", None)]
    finally:
        client.api.delete(f"{NAMESPACES}/{elsewhere}")


def test_a_chart_without_tests_has_an_empty_list(released: GatewayClient) -> None:
    assert get_tests(released) == []


def test_before_the_first_revision_there_are_no_tests(client: GatewayClient) -> None:
    client.deploy()
    assert fetch(client, "tests").status_code == 404
