"""XAPP_AUTH=kubernetes: the caller's own token decides, writes carry it, and the gateway can no more than its role.

The gateway is its service account of manifests/base here, so that a right which it lacks there is missed here too.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Final

import httpx
import pytest

from tests.integration.gateway.desk import DEPLOYMENT, NAME, NOTHING, Desk, parts
from tests.integration.gateway.office import Office
from tests.localcluster import Cluster
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import NAMESPACES, SECRETS, XAPPS
from tests.support.audit import audited
from tests.support.charts import chart_archive
from tests.support.gateway import Serving

pytestmark = pytest.mark.integration

GATEWAY: Final = "system:serviceaccount:xapp-operator-system:xapp-gateway"
ARCHIVE: Final = chart_archive()


@pytest.fixture
def editor(office: Office) -> Iterator[Desk]:
    """One who may edit one namespace, as most who deploy xApps may."""
    with office.desk(office.account("jane", "edit")) as desk:
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
def test_a_token_that_the_cluster_does_not_know_is_401_before_all_else(guarded: Serving, name: str, token: str) -> None:
    with guarded.client(headers={"Authorization": f"Bearer {token}"}) as http:
        answer = REQUESTS[name](http)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert token not in answer.text


def test_one_who_may_edit_a_namespace_deploys_upgrades_lists_and_removes_there(editor: Desk) -> None:
    assert editor.post(editor.form(), file=ARCHIVE).status_code == 202
    assert editor.put(editor.form(version="0.2.0"), values="a: 1").status_code == 202
    assert editor.put(editor.form(team="x"), dryRun="true").status_code == 422
    assert editor.put(editor.form(), dryRun="true").status_code == 200
    assert editor.http.get("/api/xapps", params={"namespace": editor.namespace}).json()["total_count"] == 1
    assert editor.http.get(f"/api/xapps/{editor.namespace}/{NAME}").status_code == 200
    assert editor.delete({"name": NAME, "namespace": editor.namespace}).status_code == 202


def test_elsewhere_is_403_whether_it_exists_or_not(editor: Desk) -> None:
    told: list[list[str]] = []
    for where in ("kube-system", "nowhere-at-all"):
        form = editor.form(namespace=where)
        answers = [
            editor.post(form, file=ARCHIVE),
            editor.post(form, file=ARCHIVE, dryRun="true"),
            editor.http.put(f"{DEPLOYMENT}/{where}/{NAME}", files=parts(form, file=ARCHIVE)),
            editor.delete({"name": NAME, "namespace": where}),
            editor.http.get("/api/xapps", params={"namespace": where}),
            editor.http.get(f"/api/xapps/{where}/{NAME}"),
        ]
        assert [each.status_code for each in answers] == [403] * len(answers)
        told.append([each.text.replace(where, "…") for each in answers])
    assert told[0] == told[1]


def test_what_else_is_wrong_with_a_request_is_said_after_403(editor: Desk) -> None:
    form = editor.form(namespace="kube-system", version="v1")
    answers = [
        editor.post(form, file=b"no chart", values="- 1", dryRun="perhaps"),
        editor.http.post(DEPLOYMENT, files={**parts(form), "unknown": (None, b"")}),
        editor.delete({"name": 1, "namespace": "kube-system", "more": True}),
        editor.http.get("/api/xapps?namespace=kube-system&page=0&x=y"),
    ]
    assert [each.status_code for each in answers] == [403] * len(answers)


def test_one_who_may_only_look_changes_nothing(office: Office, editor: Desk) -> None:
    editor.deploy(ARCHIVE)
    with office.desk(office.account("viewer", "view")) as viewer:
        assert viewer.http.get("/api/xapps", params={"namespace": viewer.namespace}).json()["total_count"] == 1
        assert viewer.post(viewer.form(team="two"), file=ARCHIVE).status_code == 403
        assert viewer.put(viewer.form(), file=ARCHIVE).status_code == 403
        assert viewer.delete({"name": NAME, "namespace": viewer.namespace}).status_code == 403
    assert editor.written()["xapps"] == [NAME]


def test_one_without_the_right_to_make_namespaces_is_told_so(office: Office) -> None:
    where = f"unmade-{secrets.token_hex(4)}"
    token = office.account("roamer")
    rights = {"xapps": ["get", "create"], "chartrepositories": ["get", "create"]}
    with office.everywhere("roamer", **rights), office.desk(token) as roamer:
        for query in ({}, {"dryRun": "true"}):
            answer = roamer.post(roamer.form(namespace=where), file=ARCHIVE, **query)
            assert answer.status_code == 403
            assert "may not create namespaces" in answer.json()["detail"]
            assert answer.json()["errors"][0]["field"] == "xAppForm.namespace"
    assert office.api.find(f"{NAMESPACES}/{where}") is None


def test_one_without_the_right_to_save_repositories_deploys_no_remote_chart(office: Office) -> None:
    token = office.account("half")
    office.grant("half", xapps=["get", "create", "update"])
    with office.desk(token) as half:
        answer = half.post(half.remote("https://charts.example.com"))
        assert answer.status_code == 403
        assert "chartrepositories" in answer.json()["detail"]
        assert half.written() == NOTHING
        assert half.post(half.form(), file=ARCHIVE).status_code == 202


def test_a_chart_that_others_uploaded_is_not_read_with_the_gateways_rights(office: Office, editor: Desk) -> None:
    # Only a Secret of our own type is read as the gateway; an XApp may name any other, which is read as its caller.
    body = {"metadata": {"name": "precious"}, "stringData": {"chart.tgz": "hunter2"}}
    office.api.create(SECRETS.format(office.namespace), body)
    editor.deploy(ARCHIVE)
    change = {"spec": {"archive": {"secretRef": {"name": "precious", "key": "chart.tgz"}, "digest": None}}}
    office.api.patch(f"{XAPPS.format(office.namespace)}/{NAME}", change)
    token = office.account("half")
    office.grant("half", xapps=["get", "create", "update"])
    with office.desk(token) as half:
        answer = half.put(half.form(), dryRun="true")
    assert answer.status_code == 200
    assert answer.json()["manifest"] == ""
    # Who may read that Secret is told that it holds no chart, and nothing of what it holds.
    told = editor.put(editor.form(), dryRun="true")
    assert told.status_code == 422
    assert "hunter2" not in answer.text + told.text


def test_writes_are_in_the_audit_log_under_the_callers_name(cluster: Cluster, office: Office, editor: Desk) -> None:
    if cluster.audit_log is None:
        pytest.skip("the audit log of this cluster is out of reach")
    editor.deploy(ARCHIVE)
    assert editor.post(editor.remote("https://charts.example.com", team="two")).status_code == 202
    assert editor.delete({"name": NAME, "namespace": editor.namespace}).status_code == 202
    caller = f"system:serviceaccount:{office.namespace}:jane"
    log = cluster.audit_log

    def written() -> dict[tuple[str, str], set[str]] | None:
        found: dict[tuple[str, str], set[str]] = {}
        for event in audited(log, about=f'"namespace":"{office.namespace}"'):
            if event["user"]["username"] in {caller, GATEWAY} and event["verb"] not in {"get", "list", "watch"}:
                what = event["verb"], event["objectRef"]["resource"]
                found.setdefault(what, set()).add(event["user"]["username"])
        return found if ("delete", "xapps") in found else None

    expected = {
        ("create", "xapps"): {caller},
        ("create", "chartrepositories"): {caller},
        ("delete", "xapps"): {caller},
        ("create", "secrets"): {GATEWAY},
    }
    assert wait_until(written, timeout=60, what="the audit log", interval=0.2) == expected


def test_no_token_and_no_value_gets_into_the_log(office: Office, capfd: pytest.CaptureFixture[str]) -> None:
    token = office.account("jane", "edit")
    with office.desk(token) as desk:
        desk.post(desk.form(), file=chart_archive({"templates/a.yaml": "{{ fail .Values.password }}"}), values="a: [")
        values = "password: hunter2-in-values\n"
        desk.post(desk.form(), file=chart_archive({"templates/a.yaml": "{{ fail .Values.password }}"}), values=values)
        desk.post(desk.form(namespace="kube-system"), file=ARCHIVE, values=values)
    told = capfd.readouterr()
    for text in (token, "hunter2"):
        assert text not in told.out + told.err
