"""The release of an xApp: its revisions, rollback, manifest and notes."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.integration.gateway.caller_factory import CallerFactory
from tests.integration.gateway.gateway_client import XAPP_NAME, GatewayClient, ready_status
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import SECRETS, JsonObject
from tests.support.charts import chart_archive
from tests.support.helm_user import HelmUser
from tests.support.vendor_charts import drax_chart
from xapp_operator.domain.masking.redaction import MASK

pytestmark = pytest.mark.integration

WAIT_SECONDS: Final = 60.0
MARKED: Final = "xapp-operator.io/rollback-to"
NOTED: Final = chart_archive(
    {
        "values.yaml": "greeting: hello\npassword: set-by-the-chart\n",
        "templates/secret.yaml": (
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .Release.Name }}  # kept\n"
            "stringData:\n  password: {{ .Values.password }}\n"
        ),
        "templates/configmap.yaml": (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n"
            "data:\n  greeting: {{ .Values.greeting }}\n  file: the password is {{ .Values.password }}\n"
        ),
        "templates/NOTES.txt": "Say {{ .Values.greeting }}, log in with {{ .Values.password }}.",
    }
)


def get(client: GatewayClient, what: str, *, name: str = XAPP_NAME, **query: Any) -> JsonObject:
    answer = client.http.get(f"/api/xapps/{client.namespace}/{name}/{what}", params=query)
    assert answer.status_code == 200, answer.text
    found: JsonObject = answer.json()
    return found


def revisions(*numbers: int) -> list[JsonObject]:
    return [
        {"revision": number, "status": "deployed" if number == max(numbers) else "superseded", "action": "Upgrade"}
        for number in sorted(numbers, reverse=True)
    ]


def report(client: GatewayClient, *numbers: int) -> None:
    """Write the status of an xApp with these revisions, the last one deployed, and wait until the gateway has it."""
    release = {"name": XAPP_NAME, "revision": max(numbers), "chart": "hello", "chartVersion": "0.1.0"}
    client.write_status({**ready_status(), "release": release, "history": revisions(*numbers)})
    path = f"/api/xapps/{client.namespace}/{XAPP_NAME}"
    wait_until(
        lambda: len(client.http.get(path).json()["history"]) == len(numbers), timeout=WAIT_SECONDS, what="the history"
    )


def registered(client: GatewayClient, name: str) -> None:
    path = f"/api/xapps/{client.namespace}/{name}"
    wait_until(
        lambda: client.http.get(path).status_code == 200, timeout=WAIT_SECONDS, what=f"{name} to register itself"
    )


def roll_back(client: GatewayClient, body: object, *, name: str = XAPP_NAME) -> Any:
    return client.http.post(f"/api/xapps/{client.namespace}/{name}/rollback", json=body)


def test_the_history_of_an_xapp_comes_in_pages_newest_first(client: GatewayClient) -> None:
    client.deploy()
    report(client, 1, 2, 3)
    page = get(client, "history", per_page=2)
    assert [each["revision"] for each in page["content"]] == [3, 2]
    assert (page["total_count"], page["last_page"], page["is_last_page"]) == (3, 2, False)
    assert page["content"][1] == {
        **dict.fromkeys(("chart", "chartVersion", "appVersion", "chartDigest", "valuesDigest", "deployedAt")),
        "revision": 2,
        "status": "superseded",
        "action": "Upgrade",
        "description": None,
        "wasHealthy": None,
    }
    assert [each["revision"] for each in get(client, "history", per_page=2, page=2)["content"]] == [1]


def test_before_the_first_revision_the_history_is_one_empty_page(client: GatewayClient) -> None:
    client.deploy()
    assert get(client, "history") == {
        "page": 1,
        "total_count": 0,
        "last_page": 1,
        "is_last_page": True,
        "content": [],
    }
    for what in ("manifest", "notes"):
        answer = client.http.get(f"/api/xapps/{client.namespace}/{XAPP_NAME}/{what}")
        assert answer.status_code == 404
        assert "deployed yet" in answer.json()["detail"]


@pytest.mark.parametrize("query", ["page=2", "sort=name", "order=desc", "x=1", "per_page=0"])
def test_the_history_reads_its_query_strictly(client: GatewayClient, query: str) -> None:
    client.deploy()
    assert client.http.get(f"/api/xapps/{client.namespace}/{XAPP_NAME}/history?{query}").status_code == 400


def test_the_history_of_a_labelled_chart_comes_from_helm(client: GatewayClient, helm_user: HelmUser) -> None:
    helm_user.install("by-hand", drax_chart())
    helm_user.upgrade("by-hand", drax_chart(), greeting="hi")
    registered(client, "by-hand")
    found = get(client, "history", name="by-hand")["content"]
    assert [(each["revision"], each["status"]) for each in found] == [(2, "deployed"), (1, "superseded")]
    assert all(each["deployedAt"] for each in found)


def test_a_rollback_request_sets_the_rollback_annotation(client: GatewayClient) -> None:
    client.deploy()
    report(client, 1, 2)
    before = client.xapp()
    answer = roll_back(client, {"revision": 1})
    assert answer.status_code == 202
    assert answer.headers["Location"] == f"/api/xapps/{client.namespace}/{XAPP_NAME}"
    assert answer.json()["name"] == XAPP_NAME
    after = client.xapp()
    number, _, token = after["metadata"]["annotations"][MARKED].partition("@")
    assert (number, after["spec"]) == ("1", before["spec"])
    assert roll_back(client, {"revision": 1}).status_code == 202
    assert client.xapp()["metadata"]["annotations"][MARKED] not in {"1@", f"1@{token}"}


def test_a_rollback_to_the_revision_in_force_is_409(client: GatewayClient) -> None:
    client.deploy()
    report(client, 1, 2)
    released = {**ready_status()["conditions"][0], "type": "Released"}
    client.write_status({"release": {"name": XAPP_NAME, "revision": 2}, "conditions": [released]})
    answer = roll_back(client, {"revision": 2})
    assert (answer.status_code, "revision 2 is in force" in answer.json()["detail"]) == (409, True)
    # The last step of helm failed, so perhaps not all is as in that revision.
    client.write_status({"conditions": [{**released, "status": "False", "reason": "UpgradeFailed"}]})
    assert roll_back(client, {"revision": 2}).status_code == 202


def test_a_rollback_of_a_suspended_xapp_is_409(client: GatewayClient) -> None:
    client.deploy()
    report(client, 1, 2)
    actions = f"/api/xapps/{client.namespace}/{XAPP_NAME}/actions"
    assert client.http.post(actions, json={"action": "suspend"}).status_code == 202
    answer = roll_back(client, {"revision": 1})
    assert (answer.status_code, answer.json()["detail"]) == (
        409,
        f"the xApp {XAPP_NAME} is suspended, so rollback has no effect: resume it first",
    )
    assert client.http.post(actions, json={"action": "resume"}).status_code == 202
    assert roll_back(client, {"revision": 1}).status_code == 202


@pytest.mark.parametrize("revision", [3, 10**15])
def test_a_revision_that_is_not_kept_is_not_found(client: GatewayClient, revision: int) -> None:
    client.deploy()
    report(client, 1, 2)
    answer = roll_back(client, {"revision": revision})
    assert answer.status_code == 404
    assert "2, 1" in answer.json()["detail"]
    assert MARKED not in client.xapp()["metadata"].get("annotations", {})


@pytest.mark.parametrize("body", [{}, {"revision": 0}, {"revision": "1"}, {"revision": True}, {"revision": 1, "x": 1}])
def test_a_rollback_to_an_invalid_revision_is_refused(client: GatewayClient, body: JsonObject) -> None:
    client.deploy()
    answer = roll_back(client, body)
    assert answer.status_code == 422
    assert answer.json()["errors"]


def test_a_release_installed_by_hand_cannot_be_rolled_back(client: GatewayClient, helm_user: HelmUser) -> None:
    helm_user.install("by-hand", drax_chart())
    registered(client, "by-hand")
    answer = roll_back(client, {"revision": 1}, name="by-hand")
    assert answer.status_code == 409
    assert "adopt" in answer.json()["detail"]


def test_the_manifest_and_notes_of_the_deployed_revision_have_no_secrets(
    client: GatewayClient, helm_user: HelmUser
) -> None:
    helm_user.install(XAPP_NAME, NOTED)
    helm_user.upgrade(XAPP_NAME, NOTED, password="hunter22", greeting="there")
    client.deploy()
    report(client, 1, 2)
    manifest = get(client, "manifest")["manifest"]
    assert f'stringData:\n  password: "{MASK}"\n' in manifest
    assert f"name: {XAPP_NAME}  # kept" in manifest
    assert f"greeting: there\n  file: the password is {MASK}" in manifest
    assert get(client, "notes")["notes"] == f"Say there, log in with {MASK}."
    report(client, 1)
    assert get(client, "notes")["notes"] == f"Say hello, log in with {MASK}."


def test_the_deployed_record_replaces_a_deleted_one(client: GatewayClient, helm_user: HelmUser) -> None:
    helm_user.install(XAPP_NAME, NOTED)
    helm_user.upgrade(XAPP_NAME, NOTED, greeting="there")
    client.deploy()
    report(client, 1)
    client.api.delete(f"{SECRETS.format(client.namespace)}/sh.helm.release.v1.{XAPP_NAME}.v1")
    assert get(client, "notes")["notes"].startswith("Say there")


def test_manifest_of_a_labelled_chart(client: GatewayClient, helm_user: HelmUser) -> None:
    helm_user.install("by-hand", drax_chart())
    registered(client, "by-hand")
    assert "kind: Deployment" in get(client, "manifest", name="by-hand")["manifest"]
    assert get(client, "notes", name="by-hand") == {"notes": ""}


def test_manifest_is_forbidden_without_access_to_secrets(
    caller_factory: CallerFactory, client: GatewayClient, helm_user: HelmUser
) -> None:
    helm_user.install(XAPP_NAME, NOTED)
    client.deploy()
    report(client, 1)
    with caller_factory.client_with_token(caller_factory.create_account("viewer", "view")) as viewer:
        for what in ("manifest", "notes"):
            answer = viewer.http.get(f"/api/xapps/{client.namespace}/{XAPP_NAME}/{what}")
            assert (answer.status_code, "get secrets" in answer.json()["detail"]) == (403, True)
        assert len(get(viewer, "history")["content"]) == 1
        assert roll_back(viewer, {"revision": 1}).status_code == 403
    with caller_factory.client_with_token(caller_factory.create_account("editor", "edit")) as editor:
        assert "kind: Secret" in get(editor, "manifest")["manifest"]
        assert roll_back(editor, {"revision": 1}).status_code == 202


@pytest.mark.parametrize("what", ["history", "manifest", "notes"])
def test_a_missing_xapp_is_404(client: GatewayClient, what: str) -> None:
    assert client.http.get(f"/api/xapps/{client.namespace}/none/{what}").status_code == 404
    assert roll_back(client, {"revision": 1}, name="none").status_code == 404


def test_an_invalid_release_name_causes_no_request(client: GatewayClient) -> None:
    annotations = {"meta.helm.sh/release-name": "x,owner!=helm", "meta.helm.sh/release-namespace": client.namespace}
    metadata = {"name": "odd", "labels": {"drax/role": "xapp"}, "annotations": annotations}
    services = f"/api/v1/namespaces/{client.namespace}/services"
    client.api.create(services, {"metadata": metadata, "spec": {"ports": [{"port": 80}]}})
    listed = f"/api/xapps?namespace={client.namespace}"
    wait_until(lambda: client.http.get(listed).json()["content"], timeout=WAIT_SECONDS, what="it to register itself")
    name = client.http.get(listed).json()["content"][0]["name"]
    assert get(client, "history", name=name)["content"] == []
    assert get(client, "config", name=name)["values"] is None
    assert client.http.get(f"/api/xapps/{client.namespace}/{name}/manifest").status_code == 404
