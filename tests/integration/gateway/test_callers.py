"""XAPP_AUTH=kubernetes: permissions are those of the caller's token, and the gateway has only those of its own role.

The gateway runs as its service account of manifests/base, so a permission that is missing there fails here too.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Iterator
from typing import Final

import httpx
import pytest

from tests.integration.gateway.caller_factory import CallerFactory
from tests.integration.gateway.gateway_client import DEPLOYMENT, NO_OBJECTS, XAPP_NAME, GatewayClient, multipart_files
from tests.localcluster import Cluster
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import NAMESPACES, SECRETS, XAPPS
from tests.support.audit import read_audit_events
from tests.support.charts import chart_archive
from tests.support.gateway import GatewayServer

pytestmark = pytest.mark.integration

GATEWAY: Final = "system:serviceaccount:xapp-operator-system:xapp-gateway"
ARCHIVE: Final = chart_archive()


@pytest.fixture
def editor(caller_factory: CallerFactory) -> Iterator[GatewayClient]:
    """A caller with the role edit in one namespace, like most users."""
    with caller_factory.client_with_token(caller_factory.create_account("jane", "edit")) as desk:
        yield desk


REQUESTS: Final[dict[str, Callable[[httpx.Client], httpx.Response]]] = {
    "list": lambda http: http.get("/api/xapps?no=such"),
    "one": lambda http: http.get("/api/v1/xapps/default/x?no=such"),
    "deploy": lambda http: http.post(f"{DEPLOYMENT}?no=such", content=b"not multipart"),
    "upgrade": lambda http: http.put(f"{DEPLOYMENT}/default/x?no=such", content=b"not multipart"),
    "remove": lambda http: http.request("DELETE", f"{DEPLOYMENT}?no=such", content=b"not JSON"),
}


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize("token", ["not-known", "eyJhbGciOiJub25lIn0.e30."])
def test_an_unknown_token_is_401_before_any_other_check(
    authenticated_gateway: GatewayServer, name: str, token: str
) -> None:
    with authenticated_gateway.client(headers={"Authorization": f"Bearer {token}"}) as http:
        answer = REQUESTS[name](http)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert token not in answer.text


def test_an_editor_deploys_upgrades_lists_and_removes_in_the_namespace(editor: GatewayClient) -> None:
    assert editor.post_deployment(editor.deployment_form(), file=ARCHIVE).status_code == 202
    assert editor.put_deployment(editor.deployment_form(version="0.2.0"), values="a: 1").status_code == 202
    assert editor.put_deployment(editor.deployment_form(team="x"), dryRun="true").status_code == 422
    assert editor.put_deployment(editor.deployment_form(), dryRun="true").status_code == 200
    assert editor.http.get("/api/xapps", params={"namespace": editor.namespace}).json()["total_count"] == 1
    assert editor.http.get(f"/api/xapps/{editor.namespace}/{XAPP_NAME}").status_code == 200
    assert editor.delete_deployment({"name": XAPP_NAME, "namespace": editor.namespace}).status_code == 202


def test_other_namespaces_are_403_whether_they_exist_or_not(editor: GatewayClient) -> None:
    error_texts: list[list[str]] = []
    for where in ("kube-system", "nowhere-at-all"):
        form = editor.deployment_form(namespace=where)
        answers = [
            editor.post_deployment(form, file=ARCHIVE),
            editor.post_deployment(form, file=ARCHIVE, dryRun="true"),
            editor.http.put(f"{DEPLOYMENT}/{where}/{XAPP_NAME}", files=multipart_files(form, file=ARCHIVE)),
            editor.delete_deployment({"name": XAPP_NAME, "namespace": where}),
            editor.http.get("/api/xapps", params={"namespace": where}),
            editor.http.get(f"/api/xapps/{where}/{XAPP_NAME}"),
        ]
        assert [each.status_code for each in answers] == [403] * len(answers)
        error_texts.append([each.text.replace(where, "…") for each in answers])
    assert error_texts[0] == error_texts[1]


def test_403_comes_before_every_other_validation_error(editor: GatewayClient) -> None:
    form = editor.deployment_form(namespace="kube-system", version="v1")
    answers = [
        editor.post_deployment(form, file=b"no chart", values="- 1", dryRun="perhaps"),
        editor.http.post(DEPLOYMENT, files={**multipart_files(form), "unknown": (None, b"")}),
        editor.delete_deployment({"name": 1, "namespace": "kube-system", "more": True}),
        editor.http.get("/api/xapps?namespace=kube-system&page=0&x=y"),
    ]
    assert [each.status_code for each in answers] == [403] * len(answers)


def test_a_viewer_cannot_change_anything(caller_factory: CallerFactory, editor: GatewayClient) -> None:
    editor.deploy(ARCHIVE)
    with caller_factory.client_with_token(caller_factory.create_account("viewer", "view")) as viewer:
        assert viewer.http.get("/api/xapps", params={"namespace": viewer.namespace}).json()["total_count"] == 1
        assert viewer.post_deployment(viewer.deployment_form(team="two"), file=ARCHIVE).status_code == 403
        assert viewer.put_deployment(viewer.deployment_form(), file=ARCHIVE).status_code == 403
        assert viewer.delete_deployment({"name": XAPP_NAME, "namespace": viewer.namespace}).status_code == 403
    assert editor.existing_objects()["xapps"] == [XAPP_NAME]


def test_creating_a_namespace_without_permission_is_403(caller_factory: CallerFactory) -> None:
    where = f"unmade-{secrets.token_hex(4)}"
    token = caller_factory.create_account("roamer")
    with (
        caller_factory.grant_in_all_namespaces("roamer", xapps=["get", "create"], chartarchives=["create"]),
        caller_factory.client_with_token(token) as roamer,
    ):
        for query in ({}, {"dryRun": "true"}):
            answer = roamer.post_deployment(roamer.deployment_form(namespace=where), file=ARCHIVE, **query)
            assert answer.status_code == 403
            assert "may not create namespaces" in answer.json()["detail"]
            assert answer.json()["errors"][0]["field"] == "xAppForm.namespace"
    assert caller_factory.api.find(f"{NAMESPACES}/{where}") is None


def test_a_remote_chart_is_403_without_permission_to_save_repositories(caller_factory: CallerFactory) -> None:
    token = caller_factory.create_account("half")
    caller_factory.grant("half", xapps=["get", "create", "update"])
    with caller_factory.client_with_token(token) as half:
        answer = half.post_deployment(half.remote_form("https://charts.example.com"))
        assert answer.status_code == 403
        assert "chartrepositories" in answer.json()["detail"]
        refused = half.post_deployment(half.deployment_form(), file=ARCHIVE)
        assert (refused.status_code, "chartarchives" in refused.json()["detail"]) == (403, True)
        assert half.existing_objects() == NO_OBJECTS


def test_a_chart_in_a_secret_is_read_with_the_callers_permissions_only(
    caller_factory: CallerFactory, editor: GatewayClient
) -> None:
    # Earlier versions stored uploads in Secrets of this type and read them with the permissions of the gateway.
    body = {"metadata": {"name": "old"}, "type": "xapp-operator.io/chart", "data": {"chart.tgz": _encoded(ARCHIVE)}}
    precious = {"metadata": {"name": "precious"}, "stringData": {"chart.tgz": "hunter2"}}
    for secret in (body, precious):
        caller_factory.api.create(SECRETS.format(caller_factory.namespace), secret)
    editor.deploy(ARCHIVE)
    _refer_to_secret(caller_factory, "old")
    token = caller_factory.create_account("half")
    caller_factory.grant("half", xapps=["get", "create", "update"])
    with caller_factory.client_with_token(token) as half:
        for dry_run in ("true", "false"):
            answer = half.put_deployment(half.deployment_form(), dryRun=dry_run)
            assert (answer.status_code, 'get resource "secrets"' in answer.json()["detail"]) == (403, True)
            assert "Secret old" in answer.json()["detail"]
    assert "greeting" in editor.put_deployment(editor.deployment_form(), dryRun="true").json()["manifest"]
    assert editor.put_deployment(editor.deployment_form()).status_code == 202
    _refer_to_secret(caller_factory, "precious")
    # Who may read that Secret is told that it holds no chart, and nothing of what it holds.
    refused = editor.put_deployment(editor.deployment_form(), dryRun="true")
    assert refused.status_code == 422
    assert "hunter2" not in refused.text


def _refer_to_secret(caller_factory: CallerFactory, name: str) -> None:
    archive = {"secretRef": {"name": name, "key": "chart.tgz"}, "chartArchiveRef": None, "digest": None}
    path = f"{XAPPS.format(caller_factory.namespace)}/{XAPP_NAME}"
    caller_factory.api.patch(path, {"spec": {"archive": archive}})


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_writes_are_in_the_audit_log_under_the_callers_name(
    cluster: Cluster, caller_factory: CallerFactory, editor: GatewayClient
) -> None:
    if cluster.audit_log is None:
        pytest.skip("the audit log of this cluster is out of reach")
    editor.deploy(ARCHIVE)
    assert editor.post_deployment(editor.remote_form("https://charts.example.com", team="two")).status_code == 202
    assert editor.delete_deployment({"name": XAPP_NAME, "namespace": editor.namespace}).status_code == 202
    caller = f"system:serviceaccount:{caller_factory.namespace}:jane"
    log = cluster.audit_log

    def written() -> dict[tuple[str, str], set[str]] | None:
        found: dict[tuple[str, str], set[str]] = {}
        for event in read_audit_events(log, containing=f'"namespace":"{caller_factory.namespace}"'):
            if event["user"]["username"] in {caller, GATEWAY} and event["verb"] not in {"get", "list", "watch"}:
                what = event["verb"], event["objectRef"]["resource"]
                found.setdefault(what, set()).add(event["user"]["username"])
        return found if ("delete", "xapps") in found else None

    expected = {
        ("create", "xapps"): {caller},
        ("create", "chartrepositories"): {caller},
        ("delete", "xapps"): {caller},
        ("create", "chartarchives"): {caller},
    }
    assert wait_until(written, timeout=60, what="the audit log", interval=0.2) == expected


def test_tokens_and_values_are_not_logged(caller_factory: CallerFactory, capfd: pytest.CaptureFixture[str]) -> None:
    token = caller_factory.create_account("jane", "edit")
    with caller_factory.client_with_token(token) as desk:
        desk.post_deployment(
            desk.deployment_form(),
            file=chart_archive({"templates/a.yaml": "{{ fail .Values.password }}"}),
            values="a: [",
        )
        values = "password: hunter2-in-values\n"
        desk.post_deployment(
            desk.deployment_form(),
            file=chart_archive({"templates/a.yaml": "{{ fail .Values.password }}"}),
            values=values,
        )
        desk.post_deployment(desk.deployment_form(namespace="kube-system"), file=ARCHIVE, values=values)
    log = ""

    def all_requests_are_logged() -> bool:
        nonlocal log
        log += "".join(capfd.readouterr())
        return log.count('"route":"/api/deployment/xapp"') >= 3

    wait_until(all_requests_are_logged, timeout=60, what="three requests in the log")
    assert "/api/deployment/xapp" in log
    for text in (token, "hunter2"):
        assert text not in log
