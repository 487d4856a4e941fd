"""The configuration of an xApp: what is shown, and what a change of its values does."""

from __future__ import annotations

import base64
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import httpx
import pytest

from tests.integration.gateway.caller_factory import CallerFactory
from tests.integration.gateway.gateway_client import XAPP_NAME, GatewayClient, ready_status
from tests.integration.gateway.test_releases import registered, report
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import ARCHIVES, SECRETS, XAPPS, JsonObject
from tests.support.chart_server import ChartServer
from tests.support.charts import chart_archive
from tests.support.helm_user import HelmUser
from tests.support.vendor_charts import drax_chart
from xapp_operator.domain.masking.redaction import MASK

pytestmark = pytest.mark.integration

WAIT_SECONDS: Final = 60.0
MERGE: Final = "application/merge-patch+json"
SCHEMA: Final[JsonObject] = {"type": "object", "properties": {"replicas": {"type": "integer", "minimum": 1}}}
CHART: Final = chart_archive(
    {
        "values.yaml": "greeting: hello\nreplicas: 1\ntoken: of-the-chart\n",
        "values.schema.json": json.dumps(SCHEMA),
        "templates/configmap.yaml": (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n"
            'data:\n  greeting: {{ .Values.greeting }}\n  replicas: "{{ .Values.replicas }}"\n'
        ),
        "templates/secret.yaml": (
            "apiVersion: v1\nkind: Secret\nmetadata: {name: {{ .Release.Name }}}\n"
            "stringData:\n  token: {{ .Values.token }}\n"
        ),
        "templates/service.yaml": (
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Release.Name }}\n"
            "  labels: {xapp-operator.io/xapp: {{ .Release.Name }}}\n"
            "spec:\n  type: NodePort\n  ports: [{name: e2, port: 80}]\n"
        ),
    }
)
VALUES: Final = "greeting: hi\ntoken: hunter22\nkeep: {a: 1, b: [1, 2]}\n"
WRITTEN: Final[JsonObject] = {"greeting": "hi", "token": "hunter22", "keep": {"a": 1, "b": [1, 2]}}


@pytest.fixture
def deployed(client: GatewayClient) -> GatewayClient:
    """A caller who has deployed CHART; no operator installs it."""
    client.deploy(CHART, values=VALUES)
    return client


@pytest.fixture
def released(deployed: GatewayClient, helm_user: HelmUser) -> GatewayClient:
    """The same with the release that an operator would have installed."""
    helm_user.install(XAPP_NAME, CHART, greeting="hi", token="hunter22")
    report(deployed, 1)
    return deployed


def path(client: GatewayClient, name: str = XAPP_NAME) -> str:
    return f"/api/xapps/{client.namespace}/{name}/config"


def show(client: GatewayClient, name: str = XAPP_NAME) -> JsonObject:
    answer = client.http.get(path(client, name))
    assert answer.status_code == 200, answer.text
    found: JsonObject = answer.json()
    return found


def put(client: GatewayClient, values: object, **query: Any) -> httpx.Response:
    return client.http.put(path(client), json={"values": values}, params=query)


def patch(client: GatewayClient, body: object, *, media: str = MERGE, **query: Any) -> httpx.Response:
    return client.http.patch(path(client), content=json.dumps(body), headers={"Content-Type": media}, params=query)


def values_of(client: GatewayClient) -> JsonObject:
    found: JsonObject = client.xapp()["spec"]["values"]
    return found


def generation_of(client: GatewayClient) -> int:
    found: int = client.xapp()["metadata"]["generation"]
    return found


def test_before_the_first_revision_the_configuration_has_the_values(deployed: GatewayClient) -> None:
    found = show(deployed)
    assert found == {
        "uid": deployed.xapp()["metadata"]["uid"],
        "generation": 1,
        "services": [],
        "effective": {**WRITTEN, "token": MASK, "replicas": 1},
        "layers": found["layers"],
        "values": {**WRITTEN, "token": MASK},
        "defaults": None,
        "schema": None,
        "metadata": None,
        "ownApi": {"base": None, "config": None, "schema": None},
    }


def test_the_whole_configuration(released: GatewayClient) -> None:
    wait_until(lambda: show(released)["services"], timeout=WAIT_SECONDS, what="the Service to be known")
    found = show(released)
    assert found["values"] == {**WRITTEN, "token": MASK}
    assert found["defaults"] == {"greeting": "hello", "replicas": 1, "token": MASK}
    assert found["schema"] == SCHEMA
    (service,) = found["services"]
    node_port = service["ports"][0]["nodePort"]
    by_way = {each["via"]: each["url"] for each in service["addresses"]}
    assert by_way["nodePort"].endswith(f":{node_port}")
    assert by_way["clusterDNS"] == f"tcp://{XAPP_NAME}.{released.namespace}.svc:80"
    assert by_way["proxy"] == f"/api/xapps/{released.namespace}/{XAPP_NAME}/proxy/{XAPP_NAME}/80/"


def test_the_configuration_of_a_labelled_chart_is_what_helm_was_given(
    client: GatewayClient, helm_user: HelmUser
) -> None:
    helm_user.install("by-hand", drax_chart(), greeting="hi")
    registered(client, "by-hand")
    found = show(client, "by-hand")
    assert (found["values"], found["schema"]) == ({"greeting": "hi"}, None)
    assert found["defaults"]["greeting"] == "hello"
    wait_until(lambda: show(client, "by-hand")["services"], timeout=WAIT_SECONDS, what="its Service")


def test_without_access_to_secrets_the_rest_of_the_configuration_is_shown(
    caller_factory: CallerFactory, released: GatewayClient
) -> None:
    with caller_factory.client_with_token(caller_factory.create_account("viewer", "view")) as viewer:
        wait_until(lambda: show(viewer)["services"], timeout=WAIT_SECONDS, what="the Service")
        found = show(viewer)
        assert (found["defaults"], found["schema"], found["metadata"]) == (None, None, None)
        base = f"/api/xapps/{viewer.namespace}/{XAPP_NAME}/api"
        assert found["ownApi"] == {"base": base, "config": None, "schema": None}
        assert found["values"]["greeting"] == "hi"
        for answer in (put(viewer, {}), patch(viewer, {})):
            assert (answer.status_code, "update xapps" in answer.json()["detail"]) == (403, True)
    assert values_of(released) == WRITTEN


def test_values_are_written_with_the_callers_identity(caller_factory: CallerFactory, deployed: GatewayClient) -> None:
    with caller_factory.client_with_token(caller_factory.create_account("editor", "edit")) as editor:
        assert patch(editor, {"greeting": "there"}).status_code == 202
    assert values_of(deployed)["greeting"] == "there"


def test_put_replaces_only_the_values(deployed: GatewayClient) -> None:
    before = deployed.xapp()
    answer = put(deployed, {"greeting": "there"})
    assert answer.status_code == 202
    assert answer.headers["Location"] == f"/api/xapps/{deployed.namespace}/{XAPP_NAME}"
    assert "waits for the operator" in answer.json()["message"]
    after = deployed.xapp()
    assert after["spec"] == {**before["spec"], "values": {"greeting": "there"}}
    assert after["metadata"]["generation"] == 2
    assert put(deployed, {}).status_code == 202
    assert values_of(deployed) == {}


@pytest.mark.parametrize("media", [MERGE, "application/json", "text/plain"])
def test_patch_merges(deployed: GatewayClient, media: str) -> None:
    answer = patch(deployed, {"greeting": None, "keep": {"a": 2, "b": [3]}, "new": {"x": True}}, media=media)
    assert answer.status_code == 202
    assert values_of(deployed) == {"token": "hunter22", "keep": {"a": 2, "b": [3]}, "new": {"x": True}}


def test_values_can_be_put_where_there_were_none(client: GatewayClient) -> None:
    client.deploy(CHART)
    assert patch(client, {"greeting": "there"}).status_code == 202
    assert values_of(client) == {"greeting": "there"}


@pytest.mark.parametrize("body", [{}, {"greeting": "hi"}, {"none": None}, {"token": MASK}, {"keep": {"a": 1.0}}])
def test_a_change_that_changes_nothing_writes_nothing(deployed: GatewayClient, body: JsonObject) -> None:
    before = deployed.xapp()
    answer = patch(deployed, body)
    assert (answer.status_code, answer.json()["name"]) == (202, XAPP_NAME)
    assert deployed.xapp() == before


def test_true_and_one_are_different_values(deployed: GatewayClient) -> None:
    assert patch(deployed, {"keep": {"a": True}}).status_code == 202
    assert values_of(deployed)["keep"]["a"] is True


def test_a_displayed_configuration_can_be_sent_back_unchanged(deployed: GatewayClient) -> None:
    shown = show(deployed)["values"]
    assert put(deployed, {**shown, "greeting": "there"}).status_code == 202
    assert values_of(deployed) == {**WRITTEN, "greeting": "there"}


def test_a_mask_without_a_value_behind_it_is_refused(deployed: GatewayClient) -> None:
    answer = patch(deployed, {"other": {"password": MASK}})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "values.other.password"
    assert values_of(deployed) == WRITTEN


def test_values_are_checked_against_the_schema_before_any_write(deployed: GatewayClient) -> None:
    before = deployed.xapp()
    for answer in (put(deployed, {"replicas": "two"}), patch(deployed, {"replicas": 0})):
        assert answer.status_code == 422
        assert [each["field"] for each in answer.json()["errors"]] == ["values.replicas"]
        assert "hunter22" not in answer.text
    assert deployed.xapp() == before


def test_an_external_schema_is_left_to_the_operator(client: GatewayClient) -> None:
    outside = {"$ref": "https://schemas.example.com/values.json"}
    client.deploy(chart_archive({"values.schema.json": json.dumps(outside)}))
    answer = patch(client, {"a": 1}, dryRun="true")
    assert (answer.status_code, "outside the chart" in answer.json()["warnings"][0]) == (200, True)
    assert patch(client, {"a": 1}).status_code == 202


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        (b"", 400, "body"),
        (b"{", 400, "body"),
        (b"[]", 422, "body"),
        (b"null", 422, "body"),
        (b'{"values": {"a": 1, "a": 2}}', 422, ""),
        (b'{"values": null}', 422, "values"),
        (b'{"values": []}', 422, "values"),
        (b"{}", 422, "values"),
        (b'{"greeting": "hi"}', 422, "greeting"),
        (b'{"values": {}, "chart": "x"}', 422, "chart"),
        (b'{"values": {"a": 1e999}}', 400, "body"),
        (b'{"values": ' + b'{"a":' * 200 + b"1" + b"}" * 201, 422, ""),
        (b'{"values": {"a": "' + b"x" * (1024 * 1024) + b'"}}', 413, "body"),
    ],
)
def test_a_body_that_holds_no_values_is_refused(deployed: GatewayClient, body: bytes, status: int, field: str) -> None:
    before = deployed.xapp()
    answer = deployed.http.put(path(deployed), content=body)
    assert answer.status_code == status, answer.text
    if field:
        assert answer.json()["errors"][0]["field"] == field
    assert deployed.xapp() == before


def test_a_patch_cannot_make_values_exceed_the_limit(deployed: GatewayClient) -> None:
    half = "x" * 600_000
    assert patch(deployed, {"one": half}).status_code == 202
    answer = patch(deployed, {"two": half})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (413, "values")


def test_a_dry_run_shows_the_changes_without_writing(released: GatewayClient) -> None:
    before = released.xapp()
    answer = patch(released, {"greeting": "there", "token": "hunter33"}, dryRun="true")
    assert answer.status_code == 200
    found = answer.json()
    assert found.keys() == {"manifest", "notes", "values", "warnings", "diff", "objects", "rendered"}
    assert "-  greeting: hi\n+  greeting: there\n" in found["diff"]
    assert f"+++ b/v1 Secret {XAPP_NAME}" in found["diff"]
    assert "Service" not in found["diff"]
    assert "greeting: there" in found["manifest"]
    assert "hunter" not in answer.text
    assert released.xapp() == before
    unchanged = patch(released, {"keep": None}, dryRun="true").json()
    assert unchanged["diff"] == ""
    assert "hunter" not in str(unchanged)


def test_a_dry_run_without_a_release_shows_everything_as_new(deployed: GatewayClient) -> None:
    found = put(deployed, {}, dryRun="true").json()
    assert "--- /dev/null" in found["diff"]
    assert "greeting: hello" in found["diff"]


def test_a_dry_run_without_access_to_secrets_has_no_diff(
    caller_factory: CallerFactory, released: GatewayClient
) -> None:
    token = caller_factory.create_account("half")
    caller_factory.grant("half", xapps=["get", "update"], chartarchives=["get"])
    with caller_factory.client_with_token(token) as half:
        found = patch(half, {"greeting": "there"}, dryRun="true").json()
        assert found["diff"] is None
        assert "greeting: there" in found["manifest"]
        assert "get secrets" in found["warnings"][-1]


def test_a_change_waits_on_request(deployed: GatewayClient) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(patch, deployed, {"greeting": "there"}, wait="60")
        wait_until(lambda: generation_of(deployed) == 2, timeout=WAIT_SECONDS, what="the change to be written")
        deployed.write_status(ready_status(generation=2))
        answer = waiting.result(WAIT_SECONDS)
    assert (answer.status_code, answer.json()["ready"]) == (200, True)


def test_concurrent_changes_are_all_kept(deployed: GatewayClient) -> None:
    start = threading.Barrier(3)

    def change(number: int) -> int:
        start.wait()
        return patch(deployed, {f"k{number}": number}).status_code

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(change, range(3))) == [202] * 3
    assert values_of(deployed) == {**WRITTEN, "k0": 0, "k1": 1, "k2": 2}


def test_values_of_a_remote_chart_are_checked_against_it(client: GatewayClient) -> None:
    with ChartServer() as charts:
        charts.add("hello", "0.1.0", CHART)
        assert client.post_deployment(client.remote_form(charts.url)).status_code == 202
        assert patch(client, {"replicas": "two"}).status_code == 422
        assert patch(client, {"replicas": 2}).status_code == 202
    assert values_of(client) == {"replicas": 2}


def test_values_that_cannot_be_checked_are_not_written(client: GatewayClient) -> None:
    client.deploy(CHART)
    stored = client.xapp()["spec"]["archive"]["chartArchiveRef"]["name"]
    client.api.delete(f"{ARCHIVES.format(client.namespace)}/{stored}")
    answer = patch(client, {"replicas": 2})
    assert (answer.status_code, "cannot be checked" in answer.json()["detail"]) == (422, True)
    assert "values" not in client.xapp()["spec"]


def test_the_chart_in_a_secret_of_the_caller_is_checked_too(deployed: GatewayClient) -> None:
    own = {"metadata": {"name": "own"}, "data": {"chart": _encoded(CHART)}}
    deployed.api.create(SECRETS.format(deployed.namespace), own)
    archive = {"secretRef": {"name": "own", "key": "chart"}, "chartArchiveRef": None, "digest": None}
    deployed.api.patch(f"{XAPPS.format(deployed.namespace)}/{XAPP_NAME}", {"spec": {"archive": archive}})
    assert patch(deployed, {"replicas": "two"}).status_code == 422
    assert patch(deployed, {"replicas": 2}).status_code == 202


def test_a_release_installed_by_hand_cannot_be_configured(client: GatewayClient, helm_user: HelmUser) -> None:
    helm_user.install("by-hand", drax_chart())
    registered(client, "by-hand")
    answer = client.http.put(path(client, "by-hand"), json={"values": {}})
    assert (answer.status_code, "adopt" in answer.json()["detail"]) == (409, True)


def test_a_terminating_xapp_cannot_be_configured(deployed: GatewayClient) -> None:
    deployed.add_finalizer()
    assert deployed.delete_deployment({"name": XAPP_NAME, "namespace": deployed.namespace}).status_code == 202
    answer = patch(deployed, {"greeting": "there"})
    assert (answer.status_code, "being deleted" in answer.json()["detail"]) == (409, True)
    deployed.remove_finalizer()


@pytest.mark.parametrize("query", ["dryrun=true", "dryRun=2", "wait=-1", "x="])
def test_the_query_is_checked_before_any_write(deployed: GatewayClient, query: str) -> None:
    answer = deployed.http.patch(f"{path(deployed)}?{query}", json={"greeting": "there"})
    assert answer.status_code == 400
    assert values_of(deployed) == WRITTEN


def test_a_missing_xapp_is_404(client: GatewayClient) -> None:
    for method in ("GET", "PUT", "PATCH"):
        assert client.http.request(method, path(client, "none"), json={"values": {}}).status_code == 404


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()
