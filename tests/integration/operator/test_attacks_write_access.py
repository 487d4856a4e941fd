"""Hostile or mistaken annotations, specs and permissions."""

from __future__ import annotations

import json

import pytest

from tests.support.chart_server import ChartServer
from tests.support.charts import chart_archive
from tests.support.operator import OperatorProcess
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration


def test_long_annotation_is_handled_once(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.wait_ready("hello")
    xapps.kubectl("annotate", "xapp/hello", f"xapp-operator.io/force-at={'x' * 5000}")
    xapps.wait_until(lambda: len(xapps.status("hello")["history"]) == 2, what="the forced upgrade", xapp="hello")
    status = xapps.wait_ready("hello")
    assert status["release"]["revision"] == 2
    assert status["handled"]["forceAt"].startswith("sha256:")


def test_huge_rollback_to_revision_is_harmless(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.kubectl("annotate", "xapp/hello", f"xapp-operator.io/rollback-to={'9' * 5000}")
    xapps.wait_ready("hello")


def test_spec_change_without_permission_is_stalled_and_names_the_permission(xapps: XAppClient) -> None:
    xapps.create_deployer("cluster-admin")
    manifest = xapps.uploaded_manifest("hello", workload_chart(), serviceAccountName="deployer")
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    xapps.kubectl("delete", "rolebinding", "deployer")
    manifest["spec"]["values"] = {"greeting": "changed"}
    xapps.apply(manifest)
    stalled = xapps.wait_stalled("hello")
    assert stalled["reason"] == "AccessDenied"
    assert f"system:serviceaccount:{xapps.namespace}:deployer" in stalled["message"]


def test_chart_archive_loses_its_owner_when_the_chart_comes_from_a_repository(xapps: XAppClient) -> None:
    uploaded = xapps.uploaded_manifest("hello", workload_chart())
    stored = uploaded["spec"]["archive"]["chartArchiveRef"]["name"]
    xapps.apply(uploaded)
    xapps.wait_ready("hello")
    with ChartServer() as charts:
        charts.add("workload", "0.2.0", workload_chart(version="0.2.0"))
        remote = xapps.remote_manifest("hello", url=charts.url, chart="workload", version="0.2.0")
        xapps.kubectl("replace", "-f", "-", input=json.dumps(remote))
        assert xapps.wait_ready("hello")["release"]["chartVersion"] == "0.2.0"
    found = xapps.get("chartarchive", stored)
    assert found is not None
    assert "ownerReferences" not in found["metadata"]


def test_xapps_that_share_a_chart_archive_all_own_it(xapps: XAppClient) -> None:
    names = [f"hello{number}" for number in range(6)]
    manifests = [xapps.uploaded_manifest(name, workload_chart()) for name in names]
    xapps.apply({"apiVersion": "v1", "kind": "List", "items": manifests})
    for name in names:
        xapps.wait_ready(name)
    stored = manifests[0]["spec"]["archive"]["chartArchiveRef"]["name"]

    def owners() -> list[str]:
        return sorted(
            owner["name"] for owner in (xapps.get("chartarchive", stored) or {})["metadata"]["ownerReferences"]
        )

    assert owners() == names
    xapps.kubectl("delete", "xapp", "hello0", "--timeout=60s")
    xapps.wait_until(lambda: owners() == names[1:], what="the deleted one to own it no more")


def test_xapp_recreated_at_once_under_the_same_name_is_installed_again(xapps: XAppClient) -> None:
    for number in range(4):
        # One chart each, because the garbage collector deletes a ChartArchive with its only owner.
        archive = workload_chart(version=f"0.1.{number}")
        xapps.apply(xapps.uploaded_manifest("hello", archive, values={"greeting": f"round {number}"}))
        xapps.wait_until(lambda: "hello" in xapps.helm_releases(), what="the release to be there", xapp="hello")
        xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(), values={"greeting": "last"}))
    status = xapps.wait_ready("hello")
    assert status["release"]["revision"] == 1
    found = xapps.get("configmap", "hello")
    assert found is not None
    assert found["data"]["greeting"] == "last"


@pytest.mark.parametrize(
    "template",
    [
        '{{ fail (printf "refused: %s" .Values.plain) }}',
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .Values.plain }}"}\n',
    ],
    ids=["template that fails", "object that the cluster refuses"],
)
def test_text_from_a_secret_is_quoted_nowhere(xapps: XAppClient, operator: OperatorProcess, template: str) -> None:
    canary = "Canary-0451-in-a-plain-key"
    xapps.kubectl("create", "secret", "generic", "top", f"--from-literal=values.yaml=plain: {canary}")
    archive = chart_archive({"templates/stop.yaml": template})
    xapps.apply(xapps.uploaded_manifest("hello", archive, valuesFrom=[{"kind": "Secret", "name": "top"}]))
    xapps.wait_stalled("hello")
    about = ("--field-selector", "type=Warning,involvedObject.kind=XApp", "-o", "name")
    xapps.wait_until(lambda: xapps.kubectl("get", "events", *about) != "", what="an event")
    assert canary not in xapps.kubectl("get", "xapps,events", "-o", "json")
    assert canary not in operator.log_text()
