"""The release behind an xApp: its revisions, the way back, its manifest and its notes."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.integration.gateway.desk import NAME, Desk, ready
from tests.integration.gateway.office import Office
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import SECRETS, Object
from tests.support.charts import chart_archive
from tests.support.person import Person
from tests.support.styles import drax_chart
from xapp_operator.domain.redaction import MASK

pytestmark = pytest.mark.integration

PATIENCE: Final = 60.0
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


def get(desk: Desk, what: str, *, name: str = NAME, **query: Any) -> Object:
    answer = desk.http.get(f"/api/xapps/{desk.namespace}/{name}/{what}", params=query)
    assert answer.status_code == 200, answer.text
    found: Object = answer.json()
    return found


def revisions(*numbers: int) -> list[Object]:
    return [
        {"revision": number, "status": "deployed" if number == max(numbers) else "superseded", "action": "Upgrade"}
        for number in sorted(numbers, reverse=True)
    ]


def report(desk: Desk, *numbers: int) -> None:
    """Write the status of an xApp with these revisions, the last of them in force, and wait until it is known."""
    release = {"name": NAME, "revision": max(numbers), "chart": "hello", "chartVersion": "0.1.0"}
    desk.report({**ready(), "release": release, "history": revisions(*numbers)})
    path = f"/api/xapps/{desk.namespace}/{NAME}"
    wait_until(lambda: len(desk.http.get(path).json()["history"]) == len(numbers), timeout=PATIENCE, what="the history")


def registered(desk: Desk, name: str) -> None:
    path = f"/api/xapps/{desk.namespace}/{name}"
    wait_until(lambda: desk.http.get(path).status_code == 200, timeout=PATIENCE, what=f"{name} to register itself")


def roll_back(desk: Desk, body: object, *, name: str = NAME) -> Any:
    return desk.http.post(f"/api/xapps/{desk.namespace}/{name}/rollback", json=body)


def test_the_history_of_an_xapp_comes_in_pages_newest_first(desk: Desk) -> None:
    desk.deploy()
    report(desk, 1, 2, 3)
    page = get(desk, "history", per_page=2)
    assert [each["revision"] for each in page["content"]] == [3, 2]
    assert (page["total_count"], page["last_page"], page["is_last_page"]) == (3, 2, False)
    assert page["content"][1] == {
        **dict.fromkeys(("chart", "chartVersion", "appVersion", "chartDigest", "valuesDigest", "deployedAt")),
        "revision": 2,
        "status": "superseded",
        "action": "Upgrade",
        "description": None,
    }
    assert [each["revision"] for each in get(desk, "history", per_page=2, page=2)["content"]] == [1]


def test_before_the_first_revision_the_history_is_one_empty_page(desk: Desk) -> None:
    desk.deploy()
    assert get(desk, "history") == {
        "page": 1,
        "total_count": 0,
        "last_page": 1,
        "is_last_page": True,
        "content": [],
    }
    for what in ("manifest", "notes"):
        answer = desk.http.get(f"/api/xapps/{desk.namespace}/{NAME}/{what}")
        assert answer.status_code == 404
        assert "deployed yet" in answer.json()["detail"]


@pytest.mark.parametrize("query", ["page=2", "sort=name", "order=desc", "x=1", "per_page=0"])
def test_the_history_reads_its_query_strictly(desk: Desk, query: str) -> None:
    desk.deploy()
    assert desk.http.get(f"/api/xapps/{desk.namespace}/{NAME}/history?{query}").status_code == 400


def test_the_history_of_a_labelled_chart_comes_from_helm(desk: Desk, person: Person) -> None:
    person.install("by-hand", drax_chart())
    person.upgrade("by-hand", drax_chart(), greeting="hi")
    registered(desk, "by-hand")
    found = get(desk, "history", name="by-hand")["content"]
    assert [(each["revision"], each["status"]) for each in found] == [(2, "deployed"), (1, "superseded")]
    assert all(each["deployedAt"] for each in found)


def test_a_rollback_is_a_wish_written_on_the_xapp(desk: Desk) -> None:
    desk.deploy()
    report(desk, 1, 2)
    before = desk.xapp()
    answer = roll_back(desk, {"revision": 1})
    assert answer.status_code == 202
    assert answer.headers["Location"] == f"/api/xapps/{desk.namespace}/{NAME}"
    assert answer.json()["name"] == NAME
    after = desk.xapp()
    number, _, token = after["metadata"]["annotations"][MARKED].partition("@")
    assert (number, after["spec"]) == ("1", before["spec"])
    assert roll_back(desk, {"revision": 1}).status_code == 202
    assert desk.xapp()["metadata"]["annotations"][MARKED] not in {"1@", f"1@{token}"}


@pytest.mark.parametrize("revision", [3, 10**15])
def test_a_revision_that_is_not_kept_is_not_found(desk: Desk, revision: int) -> None:
    desk.deploy()
    report(desk, 1, 2)
    answer = roll_back(desk, {"revision": revision})
    assert answer.status_code == 404
    assert "2, 1" in answer.json()["detail"]
    assert MARKED not in desk.xapp()["metadata"].get("annotations", {})


@pytest.mark.parametrize("body", [{}, {"revision": 0}, {"revision": "1"}, {"revision": True}, {"revision": 1, "x": 1}])
def test_a_rollback_to_no_number_is_refused(desk: Desk, body: Object) -> None:
    desk.deploy()
    answer = roll_back(desk, body)
    assert answer.status_code == 422
    assert answer.json()["errors"]


def test_what_helm_installed_by_hand_is_not_rolled_back_here(desk: Desk, person: Person) -> None:
    person.install("by-hand", drax_chart())
    registered(desk, "by-hand")
    answer = roll_back(desk, {"revision": 1}, name="by-hand")
    assert answer.status_code == 409
    assert "adopt" in answer.json()["detail"]


def test_manifest_and_notes_are_those_in_force_without_secrets(desk: Desk, person: Person) -> None:
    person.install(NAME, NOTED)
    person.upgrade(NAME, NOTED, password="hunter22", greeting="there")
    desk.deploy()
    report(desk, 1, 2)
    manifest = get(desk, "manifest")["manifest"]
    assert f'stringData:\n  password: "{MASK}"\n' in manifest
    assert f"name: {NAME}  # kept" in manifest
    assert f"greeting: there\n  file: the password is {MASK}" in manifest
    assert get(desk, "notes")["notes"] == f"Say there, log in with {MASK}."
    report(desk, 1)
    assert get(desk, "notes")["notes"] == f"Say hello, log in with {MASK}."


def test_a_record_that_is_gone_gives_way_to_the_deployed_one(desk: Desk, person: Person) -> None:
    person.install(NAME, NOTED)
    person.upgrade(NAME, NOTED, greeting="there")
    desk.deploy()
    report(desk, 1)
    desk.api.delete(f"{SECRETS.format(desk.namespace)}/sh.helm.release.v1.{NAME}.v1")
    assert get(desk, "notes")["notes"].startswith("Say there")


def test_manifest_of_a_labelled_chart(desk: Desk, person: Person) -> None:
    person.install("by-hand", drax_chart())
    registered(desk, "by-hand")
    assert "kind: Deployment" in get(desk, "manifest", name="by-hand")["manifest"]
    assert get(desk, "notes", name="by-hand") == {"notes": ""}


def test_who_may_not_read_secrets_gets_no_manifest_and_is_told_so(office: Office, desk: Desk, person: Person) -> None:
    person.install(NAME, NOTED)
    desk.deploy()
    report(desk, 1)
    with office.desk(office.account("viewer", "view")) as viewer:
        for what in ("manifest", "notes"):
            answer = viewer.http.get(f"/api/xapps/{desk.namespace}/{NAME}/{what}")
            assert (answer.status_code, "get secrets" in answer.json()["detail"]) == (403, True)
        assert len(get(viewer, "history")["content"]) == 1
        assert roll_back(viewer, {"revision": 1}).status_code == 403
    with office.desk(office.account("editor", "edit")) as editor:
        assert "kind: Secret" in get(editor, "manifest")["manifest"]
        assert roll_back(editor, {"revision": 1}).status_code == 202


@pytest.mark.parametrize("what", ["history", "manifest", "notes"])
def test_of_an_xapp_that_is_not_there_nothing_is_told(desk: Desk, what: str) -> None:
    assert desk.http.get(f"/api/xapps/{desk.namespace}/none/{what}").status_code == 404
    assert roll_back(desk, {"revision": 1}, name="none").status_code == 404


def test_a_release_name_that_none_may_have_is_looked_up_nowhere(desk: Desk) -> None:
    annotations = {"meta.helm.sh/release-name": "x,owner!=helm", "meta.helm.sh/release-namespace": desk.namespace}
    metadata = {"name": "odd", "labels": {"drax/role": "xapp"}, "annotations": annotations}
    services = f"/api/v1/namespaces/{desk.namespace}/services"
    desk.api.create(services, {"metadata": metadata, "spec": {"ports": [{"port": 80}]}})
    listed = f"/api/xapps?namespace={desk.namespace}"
    wait_until(lambda: desk.http.get(listed).json()["content"], timeout=PATIENCE, what="it to register itself")
    name = desk.http.get(listed).json()["content"][0]["name"]
    assert get(desk, "history", name=name)["content"] == []
    assert get(desk, "config", name=name)["values"] is None
    assert desk.http.get(f"/api/xapps/{desk.namespace}/{name}/manifest").status_code == 404
