"""Damaged, doubled and wrongly dated records and statuses: what an XApp says about them, and what it does."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.charts import chart_archive
from tests.support.release_records import copy_record, record_name, set_record_status
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

DAMAGED = base64.b64encode(b"damaged").decode()


def merge(xapps: XAppClient, kind: str, name: str, change: dict[str, Any], *options: str) -> None:
    xapps.kubectl("patch", kind, name, "--type=merge", "-p", json.dumps(change), *options)


def damage(xapps: XAppClient, *revisions: int) -> None:
    for revision in revisions:
        merge(xapps, "secret", record_name("hello", revision), {"data": {"release": DAMAGED}})


def deploy_revisions(xapps: XAppClient, count: int) -> dict[str, Any]:
    """Deploy the xApp hello `count` times, with other values each time, and return its last manifest."""
    manifest = xapps.uploaded_manifest("hello", workload_chart())
    for number in range(1, count + 1):
        deploy_values(xapps, manifest, f"greeting {number}", revision=number)
    return manifest


def deploy_values(xapps: XAppClient, manifest: dict[str, Any], greeting: str, *, revision: int) -> None:
    manifest["spec"]["values"] = {"greeting": greeting}
    xapps.apply(manifest)
    xapps.wait_until(
        lambda: xapps.wait_ready("hello")["release"]["revision"] == revision, what="the upgrade", xapp="hello"
    )


def last_outcome(xapps: XAppClient) -> str | None:
    outcome: str | None = (xapps.status("hello").get("lastAttempt") or {}).get("outcome")
    return outcome


def helm_records(xapps: XAppClient) -> dict[str, str]:
    """Return the statuses of the stored revisions by the names of their Secrets."""
    found = json.loads(xapps.kubectl("get", "secrets", "-l", "owner=helm", "-o", "json"))["items"]
    return {each["metadata"]["name"]: each["metadata"]["labels"]["status"] for each in found}


def test_a_failure_that_is_dated_a_year_ahead_is_tried_again(xapps: XAppClient) -> None:
    in_a_year = f"{datetime.now(UTC) + timedelta(days=365):%Y-%m-%dT%H:%M:%SZ}"
    xapps.kubectl("create", "quota", "none", "--hard=count/configmaps=0")
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.wait_until(lambda: last_outcome(xapps) == "Failed", what="a failure")
    times = {"status": {"lastAttempt": {"firstAt": in_a_year, "lastAt": in_a_year}}}
    merge(xapps, "xapp", "hello", times, "--subresource=status")
    xapps.kubectl("delete", "quota", "none")
    xapps.wait_ready("hello")


def test_adopt_takes_over_the_objects_at_which_an_install_failed(xapps: XAppClient) -> None:
    xapps.kubectl("create", "configmap", "hello", "--from-literal=greeting=by-hand")
    manifest = xapps.uploaded_manifest("hello", workload_chart())
    xapps.apply(manifest)
    assert "adopt: true" in xapps.wait_stalled("hello")["message"]
    manifest["spec"]["adopt"] = True
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    found = xapps.get("configmap", "hello")
    assert found is not None
    assert found["data"]["greeting"] == "hello"


def test_a_damaged_newest_record_is_reported_and_its_removal_mends_the_release(xapps: XAppClient) -> None:
    manifest = deploy_revisions(xapps, 2)
    damage(xapps, 2)
    manifest["spec"]["values"] = {"greeting": "three"}
    xapps.apply(manifest)
    stalled = xapps.wait_stalled("hello")
    assert (stalled["reason"], "sh.helm.release.v1" in stalled["message"]) == ("UpgradeFailed", True)
    ready = xapps.current_condition("hello", "Ready")
    assert ready is not None
    assert (ready["status"], ready["message"]) == ("False", stalled["message"])
    xapps.kubectl("delete", "secret", record_name("hello", 2))
    xapps.kubectl("annotate", "xapp/hello", "xapp-operator.io/retry-at=1")
    xapps.wait_ready("hello")
    found = xapps.get("configmap", "hello")
    assert found is not None
    assert found["data"]["greeting"] == "three"


@pytest.mark.parametrize("damaged", [(1,), (2,), (1, 2)])
def test_damaged_records_do_not_stop_a_deletion(xapps: XAppClient, damaged: tuple[int, ...]) -> None:
    deploy_revisions(xapps, 2)
    damage(xapps, *damaged)
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert helm_records(xapps) == {}
    for kind in ("deployment", "service", "configmap"):
        xapps.wait_gone(kind, "hello")
    assert not xapps.warnings("LeftBehind")


def test_objects_in_another_namespace_go_too_if_the_record_is_damaged(xapps: XAppClient) -> None:
    name = f"elsewhere-{xapps.namespace}"
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: default}}\n"
    xapps.apply(xapps.uploaded_manifest("hello", chart_archive({"templates/elsewhere.yaml": text})))
    xapps.wait_ready("hello")
    damage(xapps, 1)
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert name not in xapps.cluster.kubectl("get", "configmap", "--namespace=default", "-o", "name")
    assert not xapps.warnings("LeftBehind")


@pytest.mark.parametrize("deleted", [False, True])
def test_all_objects_go_if_the_record_of_a_suspended_xapp_is_damaged_or_deleted(
    xapps: XAppClient, deleted: bool
) -> None:
    name = f"volume-{xapps.namespace}"
    volume = f"""\
apiVersion: v1
kind: PersistentVolume
metadata: {{name: {name}}}
spec: {{accessModes: [ReadWriteOnce], capacity: {{storage: 1Mi}}, hostPath: {{path: /nowhere}}}}
"""
    manifest = xapps.uploaded_manifest("hello", workload_chart(templates__volume=volume))
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    manifest["spec"]["suspend"] = True
    xapps.apply(manifest)
    xapps.wait_until(lambda: xapps.status("hello")["phase"] == "Suspended", what="the XApp to be suspended")
    if deleted:
        xapps.kubectl("delete", "secret", record_name("hello", 1))
        xapps.wait_until(lambda: not xapps.status("hello").get("release"), what="the operator to notice")
    else:
        damage(xapps, 1)
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    for kind in ("deployment", "service", "configmap"):
        xapps.wait_gone(kind, "hello")
    xapps.wait_gone("persistentvolume", name)
    assert not xapps.warnings("LeftBehind")


@pytest.mark.parametrize("copied", [1, 2])
def test_a_record_of_another_name_does_not_stop_a_deletion(xapps: XAppClient, copied: int) -> None:
    deploy_revisions(xapps, 2)
    copy_record(xapps, "hello", copied, "restored-hello")
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert helm_records(xapps) == {}
    for kind in ("deployment", "service", "configmap"):
        xapps.wait_gone(kind, "hello")


def test_an_older_revision_that_is_called_deployed_becomes_superseded(xapps: XAppClient) -> None:
    deploy_revisions(xapps, 2)
    set_record_status(xapps, "hello", 1, "deployed")
    wanted = {record_name("hello", 1): "superseded", record_name("hello", 2): "deployed"}
    xapps.wait_until(lambda: helm_records(xapps) == wanted, what="one deployed revision")
    assert xapps.wait_ready("hello")["release"]["revision"] == 2


def test_a_permission_missing_on_deletion_is_called_so(xapps: XAppClient) -> None:
    account = f"--serviceaccount={xapps.namespace}:weak"
    kinds = "secrets,configmaps,services,chartarchives.xapp-operator.io"
    xapps.kubectl("create", "serviceaccount", "weak")
    for role, verbs, resources in (
        ("common", "*", kinds),
        ("read", "get,list,watch", "deployments.apps"),
        ("write", "create,patch,update,delete", "deployments.apps"),
    ):
        xapps.kubectl("create", "role", role, f"--verb={verbs}", f"--resource={resources}")
        xapps.kubectl("create", "rolebinding", role, f"--role={role}", account)
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(), serviceAccountName="weak"))
    xapps.wait_ready("hello")
    xapps.kubectl("delete", "rolebinding", "write")
    xapps.wait_until(lambda: not _may_delete_deployments(xapps, "weak"), what="the API server to notice")
    xapps.kubectl("delete", "xapp", "hello", "--wait=false")
    xapps.wait_until(
        lambda: (xapps.current_condition("hello", "Ready") or {}).get("reason") == "AccessDenied",
        what="the missing permission to show",
        xapp="hello",
    )

    def deletion_failed() -> bool:  # between two tries, which follow each other after seconds
        attempt = xapps.status("hello")["lastAttempt"]
        return attempt["action"] == "Uninstall" and "may not delete deployments" in attempt.get("message", "")

    xapps.wait_until(deletion_failed, what="a failed deletion that names the missing permission", xapp="hello")
    xapps.kubectl("create", "rolebinding", "write", "--role=write", account)
    xapps.kubectl("wait", "--for=delete", "xapp/hello", "--timeout=60s")
    assert xapps.get("deployment", "hello") is None


def _may_delete_deployments(xapps: XAppClient, account: str) -> bool:
    spec = {
        "user": f"system:serviceaccount:{xapps.namespace}:{account}",
        "resourceAttributes": {
            "namespace": xapps.namespace,
            "verb": "delete",
            "group": "apps",
            "resource": "deployments",
        },
    }
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    answer = json.loads(xapps.kubectl("create", "-f", "-", "-o", "json", input=json.dumps(review)))
    return bool(answer["status"]["allowed"])
