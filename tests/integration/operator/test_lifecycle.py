"""The lifecycle of an XApp on a real control plane: install, upgrade, no-op, removal."""

from __future__ import annotations

import json
import signal
from http import HTTPStatus
from typing import Any

import pytest

from tests.localcluster.waiting import wait_until
from tests.support.chart_server import ChartServer
from tests.support.operator import OperatorProcess
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

WAIT_SECONDS = 30.0

LABELS = {
    "xapp-operator.io/organization": "acme-corp",
    "xapp-operator.io/team": "ran",
    "xapp-operator.io/version": "0.1.0",
}


def _greeting(xapps: XAppClient, name: str) -> str | None:
    found = xapps.get("configmap", name)
    return found["data"].get("greeting") if found else None


def test_uploaded_chart_becomes_a_ready_xapp(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(), values={"greeting": "hi"}))
    status = xapps.wait_ready("hello")

    assert xapps.helm_releases()["hello"]["status"] == "deployed"
    assert status["phase"] == "Deployed"
    assert status["health"]["status"] == "Healthy"
    assert status["release"]["chart"] == "workload"
    assert status["release"]["chartVersion"] == "0.1.0"
    assert status["release"]["revision"] == 1
    assert status["resources"] == {"total": 3, "ready": 3}
    assert [revision["revision"] for revision in status["history"]] == [1]
    assert {condition["type"] for condition in status["conditions"]} == {"Ready", "Released"}
    (service,) = status["services"]
    assert [port["name"] for port in service["ports"]] == ["http", "metrics"]
    assert _greeting(xapps, "hello") == "hi"
    xapps.wait_until(
        lambda: "InstallSucceeded" in xapps.kubectl("get", "events", "-o", "jsonpath={.items[*].reason}"),
        what="the event that tells of it",
    )


def test_every_object_of_the_release_has_the_predefined_labels(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.wait_ready("hello")
    for kind in ("configmap", "deployment", "service"):
        found = xapps.get(kind, "hello")
        assert found is not None
        labels = found["metadata"]["labels"]
        assert labels["xapp-operator.io/xapp"] == "hello"
        assert {key: labels[key] for key in LABELS} == LABELS
        assert found["metadata"]["annotations"]["xapp-operator.io/organization"] == "ACME Corp"
        assert ("xapp-operator.io/component" in labels) == (kind == "service")


def test_archive_in_a_configmap_is_installed(xapps: XAppClient, tmp_path: Any) -> None:
    file = tmp_path / "chart.tgz"
    file.write_bytes(workload_chart())
    xapps.kubectl("create", "configmap", "my-chart", f"--from-file=chart.tgz={file}")
    manifest = xapps.uploaded_manifest("hello", workload_chart())
    manifest["spec"]["archive"] = {"configMapRef": {"name": "my-chart", "key": "chart.tgz"}}
    xapps.apply(manifest)
    xapps.wait_ready("hello")


def test_uploaded_chart_is_owned_while_its_values_are_missing(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart())
    manifest["spec"]["valuesFrom"] = [{"kind": "ConfigMap", "name": "later", "key": "values.yaml"}]
    xapps.apply(manifest)
    chart = manifest["spec"]["archive"]["chartArchiveRef"]["name"]
    xapps.wait_until(
        lambda: (xapps.get("chartarchive", chart) or {"metadata": {}})["metadata"].get("ownerReferences"),
        what="the ChartArchive to have an owner",
    )
    assert xapps.get("deployment", "hello") is None
    xapps.kubectl("create", "configmap", "later", "--from-literal=values.yaml=greeting: later")
    xapps.wait_ready("hello")


def test_change_of_values_is_an_upgrade(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart(), values={"greeting": "one", "extra": {"old": "x"}})
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    manifest["spec"]["values"] = {"greeting": "two"}
    xapps.apply(manifest)
    status = xapps.wait_ready("hello")

    assert status["release"]["revision"] == 2
    assert [(revision["revision"], revision["description"]) for revision in status["history"]] == [
        (2, "Upgrade complete"),
        (1, "Install complete"),
    ]
    found = xapps.get("configmap", "hello")
    assert found is not None
    assert found["data"]["greeting"] == "two"
    assert "old" not in found["data"], "a value removed from the spec is gone after the upgrade"


def test_change_of_archive_and_version_is_an_upgrade(xapps: XAppClient) -> None:
    first = xapps.uploaded_manifest("hello", workload_chart())
    xapps.apply(first)
    xapps.wait_ready("hello")
    second = xapps.uploaded_manifest("hello", workload_chart(version="0.2.0"), version="0.2.0")
    xapps.apply(second)
    status = xapps.wait_ready("hello")

    assert status["release"]["chartVersion"] == "0.2.0"
    deployment = xapps.get("deployment", "hello")
    assert deployment is not None
    assert deployment["metadata"]["labels"]["xapp-operator.io/version"] == "0.2.0"
    old = first["spec"]["archive"]["chartArchiveRef"]["name"]
    xapps.wait_until(
        lambda: not (xapps.get("chartarchive", old) or {"metadata": {}})["metadata"].get("ownerReferences"),
        what="the old ChartArchive to have no owner",
    )
    new = xapps.get("chartarchive", second["spec"]["archive"]["chartArchiveRef"]["name"])
    assert new is not None
    assert [owner["name"] for owner in new["metadata"]["ownerReferences"]] == ["hello"]


def test_scaled_deployment_does_not_break_the_next_upgrade(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart())
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    xapps.kubectl("scale", "deployment/hello", "--replicas=3")
    manifest["spec"]["values"] = {"greeting": "again"}
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    deployment = xapps.get("deployment", "hello")
    assert deployment is not None
    assert deployment["spec"]["replicas"] == 1


def test_resync_starts_no_helm_and_writes_nothing(xapps: XAppClient, operator: OperatorProcess) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.wait_ready("hello")
    before = xapps.get("xapp", "hello")
    actions = _actions(operator)
    secrets = xapps.names("secret")
    xapps.kubectl("annotate", "xapp/hello", "xapp-operator.io/reconcile-at=now")
    xapps.wait_until(
        lambda: xapps.status("hello").get("handled", {}).get("reconcileAt") == "now", what="reconcile-at to be handled"
    )
    after = xapps.get("xapp", "hello")
    assert before is not None
    assert after is not None
    assert after["status"] == {**before["status"], "handled": {"reconcileAt": "now"}}
    assert _actions(operator) == actions
    assert xapps.names("secret") == secrets


def test_restarted_operator_writes_nothing_for_reconciled_xapps(xapps: XAppClient, operator: OperatorProcess) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.apply(xapps.uploaded_manifest("other", workload_chart(), values={"greeting": "x"}))
    for name in ("hello", "other"):
        xapps.wait_ready(name)
    versions = xapps.kubectl("get", "xapps", "-o", "jsonpath={.items[*].metadata.resourceVersion}")
    actions = _actions(operator)
    operator.stop()
    operator.start()
    manifest = xapps.uploaded_manifest("third", workload_chart())
    xapps.apply(manifest)
    xapps.wait_ready("third")  # by then the first two have been reconciled again
    kept = [item["metadata"]["resourceVersion"] for item in _items(xapps) if item["metadata"]["name"] != "third"]
    assert " ".join(kept) == versions
    assert _actions(operator)[len(actions) :] == [("third", "Install"), ("third", "UpdateArchiveOwners")]


def test_a_stop_ends_a_download_that_fails_meanwhile_without_an_error(
    xapps: XAppClient, operator: OperatorProcess
) -> None:
    errors = operator.error_lines()
    with ChartServer() as server, server.failing(HTTPStatus.NOT_FOUND, "/index.yaml"):
        with server.holding("/index.yaml"):
            xapps.apply(xapps.remote_manifest("hello", url=server.url, chart="workload"))
            wait_until(lambda: server.requests["/index.yaml"] > 0, timeout=WAIT_SECONDS, what="the download")
            operator.send_signal(signal.SIGTERM)
        operator.stop()
    assert operator.exit_code == 0
    assert operator.error_lines() == errors


def _actions(operator: OperatorProcess) -> list[tuple[str, str]]:
    """Return the XApp and the action of every action that the operator has started."""
    lines = (json.loads(line) for line in operator.log_text().splitlines() if '"action started"' in line)
    return [(line["name"], line["action"]) for line in lines]


def _items(xapps: XAppClient) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(xapps.kubectl("get", "xapps", "-o", "json"))["items"]
    return items


def test_delete_leaves_no_object_no_secret_and_no_finalizer(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.wait_ready("hello")
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert xapps.get("xapp", "hello") is None
    assert xapps.helm_releases() == {}
    assert xapps.names("chartarchive") == []
    xapps.wait_until(lambda: xapps.names("secret") == [], what="no Secret to be left")
    for kind in ("deployment", "service"):
        xapps.wait_gone(kind, "hello")


def test_the_same_files_deploy_again_right_after_a_delete(xapps: XAppClient) -> None:
    for _ in range(3):
        xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
        xapps.wait_ready("hello")
        xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")


def test_delete_during_the_wait_for_health_ends_at_once(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(), values={"fail": "NotReady"}))
    xapps.wait_until(lambda: "hello" in xapps.helm_releases(), what="the release to be there")
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert xapps.helm_releases() == {}


def test_orphaned_release_keeps_running(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(), deletionPolicy="Orphan"))
    xapps.wait_ready("hello")
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert xapps.helm_releases()["hello"]["status"] == "deployed"
    assert xapps.get("deployment", "hello") is not None


def test_values_of_300_kilobytes_install_upgrade_and_delete(xapps: XAppClient) -> None:
    big = {f"key{number:05}": "x" * 80 for number in range(3_300)}
    manifest = xapps.uploaded_manifest("hello", workload_chart(), values={"greeting": "one", "unused": big})
    assert len(json.dumps(manifest)) > 300_000
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    manifest["spec"]["values"]["greeting"] = "two"
    xapps.apply(manifest)
    assert xapps.wait_ready("hello")["release"]["revision"] == 2
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")


def test_release_removed_by_hand_is_installed_again(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.wait_ready("hello")
    for secret in xapps.names("secret", "owner=helm"):
        xapps.kubectl("delete", "secret", secret)
    xapps.wait_until(
        lambda: "hello" in xapps.helm_releases() and xapps.status("hello")["lastAttempt"]["outcome"] == "Succeeded",
        what="the release to be back",
    )
    xapps.wait_ready("hello")


def test_suspended_xapp_is_not_changed_but_can_be_deleted(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart())
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    manifest["spec"].update(suspend=True, values={"greeting": "later"})
    xapps.apply(manifest)
    xapps.wait_until(lambda: xapps.status("hello")["phase"] == "Suspended", what="the XApp to be suspended")
    assert _greeting(xapps, "hello") == "hello"
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert xapps.helm_releases() == {}
