"""Adoption of releases that a user installed with helm: no pod restarts, and no list shows a gap."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.charts import chart_archive
from tests.support.gateway import GatewayServer
from tests.support.helm_user import HelmUser
from tests.support.refusable_job import JOB, REFUSED
from tests.support.vendor_charts import drax_chart
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

Seen = list[tuple[str, str]]
OWNER = "xapp-operator.io/xapp"


@contextmanager
def _watched(gateway: GatewayServer, namespace: str) -> Iterator[list[Seen]]:
    """Poll the list of the namespace during the block, and yield the observed lists."""
    shown: list[Seen] = []
    ended = threading.Event()

    def run() -> None:
        with gateway.client() as http:
            while not ended.wait(0.01):
                shown.append(_listed(http.get("/api/xapps", params={"namespace": namespace}).json()))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield shown
    finally:
        ended.set()
        thread.join(60)


def _listed(page: dict[str, Any]) -> Seen:
    return [(each["name"], each["source"]) for each in page["content"]]


def _uids(xapps: XAppClient) -> dict[str, str]:
    """Return the uids of the objects, including pods."""
    kinds = "deployments,replicasets,pods,services,configmaps"
    found = json.loads(xapps.kubectl("get", kinds, "-o", "json"))["items"]
    return {
        f"{each['kind']}/{each['metadata']['name']}": each["metadata"]["uid"]
        for each in found
        if each["metadata"]["name"].startswith("by-hand")
    }


def _running(xapps: XAppClient) -> None:
    xapps.kubectl("rollout", "status", "deployment/by-hand", "--timeout=60s")


def _record_labels(xapps: XAppClient, revision: int) -> dict[str, str]:
    found = xapps.get("secret", f"sh.helm.release.v1.by-hand.v{revision}")
    assert found is not None
    labels: dict[str, str] = found["metadata"]["labels"]
    return labels


def _manifest(xapps: XAppClient, archive: bytes, **spec: Any) -> dict[str, Any]:
    return xapps.uploaded_manifest("hello", archive, version="0.2.1", releaseName="by-hand", **spec)


def test_adoption_of_an_equal_release_creates_no_revision(
    xapps: XAppClient, helm_user: HelmUser, gateway: GatewayServer
) -> None:
    chart = drax_chart()
    helm_user.install("by-hand", chart, greeting="old")
    helm_user.upgrade("by-hand", chart, greeting="hi")
    _running(xapps)
    before = _uids(xapps)
    with _watched(gateway, xapps.namespace) as shown:
        xapps.wait_until(lambda: [("by-hand", "labels")] in shown, what="the chart to register itself")
        xapps.apply(_manifest(xapps, chart, adopt=True, values={"greeting": "hi"}))
        status = xapps.wait_ready("hello")
        xapps.wait_until(lambda: shown[-1] == [("hello", "xapp")], what="the record to turn")
    first = shown.index([("by-hand", "labels")])
    assert {tuple(each) for each in shown[first:]} == {(("by-hand", "labels"),), (("hello", "xapp"),)}
    assert _uids(xapps) == before
    assert [(each["revision"], each["status"]) for each in helm_user.history("by-hand")] == [
        (1, "superseded"),
        (2, "deployed"),
    ]
    assert _record_labels(xapps, 2)[OWNER] == "hello"
    assert OWNER not in _record_labels(xapps, 1)
    assert (status["release"]["revision"], status["release"]["chartVersion"]) == (2, "0.2.1")
    assert [each["revision"] for each in status["history"]] == [2, 1]
    assert {each["type"] for each in status["conditions"]} == {"Ready", "Released"}
    service = xapps.get("service", "by-hand-api")
    assert service is not None
    assert service["metadata"]["labels"][OWNER] == "hello"
    events = json.loads(xapps.kubectl("get", "events", "-o", "json"))["items"]
    assert "Adopted" in {event["reason"] for event in events}


def test_an_adopted_xapp_is_upgraded_and_removed_like_any_other(
    xapps: XAppClient, helm_user: HelmUser, gateway: GatewayServer
) -> None:
    chart = drax_chart()
    helm_user.install("by-hand", chart)
    xapps.apply(_manifest(xapps, chart, adopt=True))
    assert xapps.wait_ready("hello")["release"]["revision"] == 1
    xapps.apply(_manifest(xapps, chart, adopt=True, values={"greeting": "new"}))
    xapps.wait_until(lambda: xapps.wait_ready("hello")["release"]["revision"] == 2, what="the upgrade", xapp="hello")
    with _watched(gateway, xapps.namespace) as shown:
        xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
        xapps.wait_until(lambda: bool(shown) and shown[-1] == [], what="the record to go")
    assert xapps.helm_releases() == {}
    assert [("by-hand", "labels")] not in shown


def test_adoption_of_a_different_release_creates_a_revision(
    xapps: XAppClient, helm_user: HelmUser, gateway: GatewayServer
) -> None:
    chart = drax_chart()
    helm_user.install("by-hand", chart, greeting="theirs")
    _running(xapps)
    before = _uids(xapps)
    with _watched(gateway, xapps.namespace) as shown:
        xapps.wait_until(lambda: [("by-hand", "labels")] in shown, what="the chart to register itself")
        xapps.apply(_manifest(xapps, chart, adopt=True, values={"greeting": "ours"}))
        status = xapps.wait_ready("hello")
        xapps.wait_until(lambda: shown[-1] == [("hello", "xapp")], what="the record to turn")
    assert all(len(each) == 1 for each in shown[shown.index([("by-hand", "labels")]) :])
    assert status["release"]["revision"] == 2
    assert [each["revision"] for each in status["history"]] == [2, 1]
    assert _uids(xapps) == before, "the values only change the ConfigMap's data"
    config = xapps.get("configmap", "by-hand-config")
    assert config is not None
    assert config["data"] == {"greeting": "ours"}


def test_another_version_of_the_chart_is_an_upgrade(xapps: XAppClient, helm_user: HelmUser) -> None:
    helm_user.install("by-hand", drax_chart(version="0.2.0"))
    xapps.apply(_manifest(xapps, drax_chart(), adopt=True))
    assert xapps.wait_ready("hello")["release"]["revision"] == 2


def test_the_same_version_with_other_templates_is_an_upgrade(xapps: XAppClient, helm_user: HelmUser) -> None:
    helm_user.install("by-hand", drax_chart())
    more = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"
    xapps.apply(_manifest(xapps, drax_chart(more=more), adopt=True))
    assert xapps.wait_ready("hello")["release"]["revision"] == 2
    assert "more" in xapps.names("configmap")


def test_adoption_ignores_hooks_when_the_manifest_is_equal(xapps: XAppClient, helm_user: HelmUser) -> None:
    chart = workload_chart()
    helm_user.install("by-hand", chart, hookSeconds="1s")
    manifest = xapps.uploaded_manifest("hello", chart, releaseName="by-hand", adopt=True, values={"hookSeconds": "1s"})
    xapps.apply(manifest)
    assert xapps.wait_ready("hello")["release"]["revision"] == 1


def test_a_foreign_release_is_untouched_without_adopt_and_the_message_names_it(
    xapps: XAppClient, helm_user: HelmUser, gateway: GatewayServer
) -> None:
    chart = drax_chart()
    helm_user.install("by-hand", chart)
    xapps.apply(_manifest(xapps, chart))
    stalled = xapps.wait_stalled("hello")
    assert stalled["reason"] == "AccessDenied"
    assert "adopt: true" in stalled["message"]
    assert OWNER not in _record_labels(xapps, 1)
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    with _watched(gateway, xapps.namespace) as shown:
        xapps.wait_until(lambda: bool(shown) and shown[-1] == [("by-hand", "labels")], what="the labels to speak again")
    assert xapps.helm_releases()["by-hand"]["revision"] == "1"


def test_objects_of_an_orphaned_release_are_registered_by_their_labels(
    xapps: XAppClient, gateway: GatewayServer
) -> None:
    """This also works for a chart without labels: the operator's labels stay on the objects."""
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(), deletionPolicy="Orphan"))
    xapps.wait_ready("hello")
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    with _watched(gateway, xapps.namespace) as shown:
        xapps.wait_until(lambda: bool(shown) and shown[-1] == [("hello", "labels")], what="what was left to be found")
    with gateway.client() as http:
        record = http.get(f"/api/xapps/{xapps.namespace}/hello").json()
        refusal = http.request("DELETE", "/api/deployment/xapp", json={"name": "hello", "namespace": xapps.namespace})
    assert (record["organization"], record["xAppName"], record["version"]) == ("ACME Corp", "hello", "0.1.0")
    assert refusal.status_code == 409
    assert "named hello" in refusal.json()["detail"]
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    assert xapps.wait_ready("hello")["release"]["revision"] == 1


CONFIGMAPS = """\
{{- range .Values.names }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ . }}"}
data: {whose: release}
{{- end }}
"""


def test_an_automatic_rollback_leaves_an_object_of_a_person_that_the_upgrade_took_over(xapps: XAppClient) -> None:
    archive = chart_archive({"values.yaml": "completions: 1", "templates/a.yaml": CONFIGMAPS, "templates/b.yaml": JOB})

    def deploy(*names: str, completions: int) -> None:
        values = {"names": names, "completions": completions}
        xapps.apply(xapps.uploaded_manifest("hello", archive, values=values, adopt=True))

    deploy("old", completions=1)
    xapps.wait_ready("hello")
    labels = {"app": "theirs"}
    xapps.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs", "labels": labels}})
    made = xapps.get("configmap", "theirs")
    assert made is not None
    deploy("old", "new", "theirs", completions=REFUSED)
    assert "rolled back to revision 1" in xapps.wait_stalled("hello")["message"]
    left = xapps.get("configmap", "theirs")
    assert left is not None
    assert left["metadata"]["uid"] == made["metadata"]["uid"]
    assert left["data"] == {"whose": "release"}  # what it was before is not known
    assert left["metadata"]["labels"] == labels
    assert not left["metadata"].get("annotations")
    assert "new" not in xapps.names("configmap")
    assert any("ConfigMap/theirs" in each for each in xapps.warnings("LeftBehind"))
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert {"theirs", "old"} & {*xapps.names("configmap")} == {"theirs"}


def test_a_rollback_takes_over_nothing_of_another_xapp(xapps: XAppClient) -> None:
    archive = chart_archive({"templates/a.yaml": CONFIGMAPS})

    def deploy(xapp: str, *names: str) -> None:
        xapps.apply(xapps.uploaded_manifest(xapp, archive, values={"names": names}))

    deploy("hello", "own", "shared")
    xapps.wait_ready("hello")
    deploy("hello", "own")
    xapps.wait_until(lambda: "shared" not in xapps.names("configmap"), what="helm to delete the object")
    xapps.wait_ready("hello")
    deploy("other", "shared")
    xapps.wait_ready("other")
    made = xapps.get("configmap", "shared")
    assert made is not None
    xapps.kubectl("annotate", "xapp", "hello", "xapp-operator.io/rollback-to=1")
    refusal = "ConfigMap shared belongs to the XApp other, and adopt takes over nothing of an XApp that exists"
    xapps.wait_until(
        lambda: any(refusal in each for each in xapps.warnings("RollbackFailed")), what="the rollback to be refused"
    )
    assert xapps.get("configmap", "shared") == made
    assert xapps.helm_releases()["hello"]["revision"] == "2"
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert xapps.get("configmap", "shared") == made
