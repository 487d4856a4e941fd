"""The answer of every dry run: objects with what becomes of them, a diff by object, and how the chart was rendered."""

from __future__ import annotations

import base64
from typing import Any, Final

import pytest

from tests.integration.gateway.caller_factory import CallerFactory
from tests.integration.gateway.gateway_client import XAPP_NAME, GatewayClient
from tests.integration.gateway.test_releases import report, roll_back
from tests.support.apiserver import SECRETS, JsonObject
from tests.support.charts import chart_archive
from tests.support.helm_user import HelmUser
from xapp_operator.domain.masking.redaction import MASK

pytestmark = pytest.mark.integration

KEYS: Final = {"manifest", "notes", "values", "warnings", "diff", "objects", "rendered"}
HEAD: Final = "apiVersion: v1\nkind: {}\nmetadata:\n  name: {}\n"
FILES: Final[dict[str, str | bytes]] = {
    "values.yaml": "greeting: hello\ntoken: of-the-owner\n",
    "templates/same.yaml": HEAD.format("ConfigMap", "same") + "data: {a: b}\n",
    "templates/changed.yaml": HEAD.format("ConfigMap", "changed") + "data:\n  greeting: {{ .Values.greeting }}\n",
    "templates/NOTES.txt": "Say {{ .Values.greeting }}, log in with {{ .Values.token }}.",
    # helm sorts a Secret before ConfigMaps and a Service after them; `helm template` cuts the end of the last one.
    "templates/secret.yaml": HEAD.format("Secret", "secret") + "stringData:\n  token: |\n    {{ .Values.token }}\n\n",
}
OLD: Final = chart_archive(
    {
        **FILES,
        "templates/gone.yaml": HEAD.format("ConfigMap", "gone") + "data: {a: b}\n",
        "templates/kept.yaml": HEAD.format("ConfigMap", "kept")
        + "  annotations: {helm.sh/resource-policy: keep}\ndata: {a: b}\n",
    }
)
NEW: Final = chart_archive(
    {
        **FILES,
        "templates/new.yaml": HEAD.format("ConfigMap", "new"),
        "templates/hook.yaml": HEAD.format("ConfigMap", "hook") + "  annotations: {helm.sh/hook: pre-upgrade}\n",
    },
    version="0.2.0",
)


@pytest.fixture
def released(client: GatewayClient, helm_user: HelmUser) -> GatewayClient:
    """A caller with a deployed release of OLD."""
    client.deploy(OLD, values="greeting: hi\n")
    helm_user.install(XAPP_NAME, OLD, greeting="hi")
    report(client, 1)
    return client


def changes(found: JsonObject) -> dict[str, str | None]:
    return {each["name"]: each["change"] for each in found["objects"]}


def preview(client: GatewayClient, archive: bytes | None = None, **parts: Any) -> JsonObject:
    answer = client.put_deployment(client.deployment_form(version="0.2.0"), file=archive, dryRun="true", **parts)
    assert answer.status_code == 200, answer.text
    found: JsonObject = answer.json()
    assert found.keys() == KEYS
    return found


def test_a_dry_run_of_a_new_xapp_creates_all_objects_and_is_masked(client: GatewayClient) -> None:
    answer = client.post_deployment(client.deployment_form(), file=NEW, dryRun="true")
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found.keys() == KEYS
    assert changes(found) == dict.fromkeys(("changed", "new", "same", "secret"), "create")
    assert found["diff"] is None
    assert (found["notes"], found["values"]["token"]) == (f"Say hello, log in with {MASK}.", MASK)
    assert "of-the-owner" not in answer.text
    assert found["objects"][0].keys() == {"apiVersion", "kind", "namespace", "name", "change"}


def test_a_dry_run_of_an_adoption_is_compared_with_the_release(client: GatewayClient, helm_user: HelmUser) -> None:
    helm_user.install("by-hand", OLD, greeting="hi")

    def preview_adoption(**parts: Any) -> JsonObject:
        answer = client.post_deployment(
            client.deployment_form(adopt=True, releaseName="by-hand"), dryRun="true", **parts
        )
        assert answer.status_code == 200, answer.text
        found: JsonObject = answer.json()
        assert found["rendered"] == "server", found["warnings"]
        return found

    same = preview_adoption(file=OLD, values="greeting: hi\n")
    assert (same["diff"], set(changes(same).values())) == ("", {"unchanged"})
    other = preview_adoption(file=NEW, values="greeting: there\n")
    assert {name: change for name, change in changes(other).items() if change != "unchanged"} == {
        "changed": "change",
        "gone": "remove",
        "new": "create",
    }
    assert "-  greeting: hi\n+  greeting: there\n" in other["diff"]


def test_a_dry_run_of_an_adoption_says_that_there_is_no_release(client: GatewayClient) -> None:
    form = client.deployment_form(adopt=True, releaseName="by-hand")
    found = client.post_deployment(form, file=OLD, dryRun="true").json()
    assert (found["diff"], set(changes(found).values())) == (None, {"create"})
    assert any("no Helm release by-hand" in warning for warning in found["warnings"])


def test_a_dry_run_of_an_adoption_changes_objects_that_exist_outside_of_the_release(
    client: GatewayClient, caller_factory: CallerFactory, helm_user: HelmUser
) -> None:
    client.api.create(f"/api/v1/namespaces/{client.namespace}/configmaps", {"metadata": {"name": "new"}})
    form = client.deployment_form(adopt=True, releaseName="by-hand")
    expected = dict.fromkeys(("changed", "same", "secret"), "create") | {"new": "change"}
    found = client.post_deployment(form, file=NEW, dryRun="true").json()
    assert (found["diff"], changes(found)) == (None, expected)

    token = caller_factory.create_account("without-configmaps")
    caller_factory.grant("without-configmaps", xapps=["get", "create"], chartarchives=["create"])
    caller_factory.grant("without-configmaps", group="", secrets=["get", "list"])
    with caller_factory.client_with_token(token) as caller:
        unread = caller.post_deployment(form, file=NEW, dryRun="true").json()
    assert changes(unread) == {"changed": None, "new": None, "same": None, "secret": "create"}
    assert any("3 objects exist already: you may not read them" in warning for warning in unread["warnings"])

    helm_user.install("by-hand", OLD, greeting="hi")
    found = client.post_deployment(form, file=NEW, values="greeting: hi\n", dryRun="true").json()
    assert (changes(found)["new"], changes(found)["gone"], changes(found)["same"]) == ("change", "remove", "unchanged")


def test_a_dry_run_of_an_adoption_shows_no_release_that_the_caller_may_not_read(
    client: GatewayClient, caller_factory: CallerFactory, helm_user: HelmUser
) -> None:
    helm_user.install("by-hand", OLD, greeting="hi")
    form = client.deployment_form(adopt=True, releaseName="by-hand")
    token = caller_factory.create_account("without-secrets")
    caller_factory.grant("without-secrets", xapps=["get", "create"], chartarchives=["create"])
    with caller_factory.client_with_token(token) as caller:
        answer = caller.post_deployment(form, file=OLD, dryRun="true")
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["diff"], set(changes(found).values())) == (None, {None})
    assert any("get secrets" in warning for warning in found["warnings"])


def test_a_dry_run_of_an_upgrade_says_what_becomes_of_each_object(released: GatewayClient) -> None:
    found = preview(released, NEW)
    assert changes(found) == {
        "changed": "unchanged",
        "gone": "remove",
        "kept": "unchanged",
        "new": "create",
        "same": "unchanged",
        "secret": "unchanged",
    }
    assert "+++ b/v1 ConfigMap new" in found["diff"]
    assert "--- a/v1 ConfigMap gone" in found["diff"]
    assert "Secret" not in found["diff"]


def test_a_dry_run_of_values_has_the_same_shape(released: GatewayClient) -> None:
    path = f"/api/xapps/{released.namespace}/{XAPP_NAME}/config"
    for answer in (
        released.http.patch(path, json={"greeting": "there"}, params={"dryRun": "true"}),
        released.http.put(path, json={"values": {"greeting": "there"}}, params={"dryRun": "true"}),
    ):
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert found.keys() == KEYS
        assert changes(found) == {
            **dict.fromkeys(("gone", "kept", "same", "secret"), "unchanged"),
            "changed": "change",
        }
        assert found["diff"].count("\n@@") == 1, found["diff"]
        assert found["values"] == {"greeting": "there", "token": MASK}
        assert found["notes"] == f"Say there, log in with {MASK}."


def test_without_a_change_there_is_no_hunk(released: GatewayClient) -> None:
    path = f"/api/xapps/{released.namespace}/{XAPP_NAME}/config"
    found = released.http.patch(path, json={"other": 1}, params={"dryRun": "true"}).json()
    assert (found["diff"], set(changes(found).values())) == ("", {"unchanged"})


def test_a_dry_run_of_a_rollback_shows_the_stored_revision(
    released: GatewayClient, helm_user: HelmUser, caller_factory: CallerFactory
) -> None:
    helm_user.upgrade(XAPP_NAME, NEW, greeting="there")
    report(released, 1, 2)
    path = f"/api/xapps/{released.namespace}/{XAPP_NAME}/rollback"
    answer = released.http.post(path, json={"revision": 1}, params={"dryRun": "true"})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found.keys() == KEYS
    assert changes(found) == {
        "changed": "change",
        "gone": "create",
        "kept": "create",
        "new": "remove",
        "same": "unchanged",
        "secret": "unchanged",
    }
    assert "-  greeting: there\n+  greeting: hi\n" in found["diff"]
    assert (found["values"], found["notes"]) == ({"greeting": "hi", "token": MASK}, f"Say hi, log in with {MASK}.")
    assert found["warnings"] == ["A rollback applies what Helm has stored of that revision. Nothing is rendered again."]
    assert "of-the-owner" not in answer.text
    assert "xapp-operator.io/rollback-to" not in released.xapp()["metadata"].get("annotations", {})
    with caller_factory.client_with_token(caller_factory.create_account("editor", "edit")) as editor:
        assert editor.http.post(path, json={"revision": 1}, params={"dryRun": "true"}).status_code == 200
    token = caller_factory.create_account("half")
    caller_factory.grant("half", xapps=["get", "patch"])
    with caller_factory.client_with_token(token) as half:
        refused = half.http.post(path, json={"revision": 1}, params={"dryRun": "true"})
        assert (refused.status_code, "secrets" in refused.text) == (403, True)
    assert roll_back(released, {"revision": 9}).status_code == 404
    assert released.http.post(path, json={"revision": 9}, params={"dryRun": "true"}).status_code == 404


def test_a_revision_that_helm_does_not_keep_is_not_found(released: GatewayClient) -> None:
    report(released, 1, 2)
    answer = released.http.post(
        f"/api/xapps/{released.namespace}/{XAPP_NAME}/rollback", json={"revision": 2}, params={"dryRun": "true"}
    )
    assert (answer.status_code, "not kept" in answer.json()["detail"]) == (404, True)


def test_values_from_a_secret_are_not_shown(client: GatewayClient) -> None:
    data = {"v": base64.b64encode(b"greeting: from-a-secret\n").decode()}
    client.api.create(SECRETS.format(client.namespace), {"metadata": {"name": "s"}, "data": data})
    form = client.deployment_form(valuesFrom=[{"kind": "Secret", "name": "s", "key": "v"}])
    found = client.post_deployment(form, file=NEW, dryRun="true").json()
    assert found["values"] == {"greeting": MASK, "token": MASK}
