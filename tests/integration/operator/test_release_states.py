"""Every state in which a Helm release can be found: what the operator makes of it, with the real helm."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.helm_user import HelmUser
from tests.support.release_records import record_name, set_record_status
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

Json = dict[str, Any]


def deploy(xapps: XAppClient, archive: bytes | None = None, **spec: Any) -> Json:
    """Deploy the xApp hello, wait until it is Ready, and return its manifest."""
    manifest = xapps.uploaded_manifest("hello", archive or workload_chart(), **spec)
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    return manifest


def change_spec(xapps: XAppClient, **spec: Any) -> None:
    xapps.kubectl("patch", "xapp", "hello", "--type=merge", "-p", json.dumps({"spec": spec}))


def records(xapps: XAppClient) -> dict[int, str]:
    """Return the statuses of the stored revisions of the release hello."""
    found = json.loads(xapps.kubectl("get", "secrets", "-l", "owner=helm,name=hello", "-o", "json"))["items"]
    return {int(each["metadata"]["labels"]["version"]): each["metadata"]["labels"]["status"] for each in found}


def uid(xapps: XAppClient, kind: str) -> str | None:
    found = xapps.get(kind, "hello")
    return None if found is None else found["metadata"]["uid"]


def greeting(xapps: XAppClient) -> str | None:
    found = xapps.get("configmap", "hello")
    return None if found is None else found["data"]["greeting"]


def wait_reason(xapps: XAppClient, reason: str, *, containing: str) -> None:
    """Wait until Ready is False for that reason, with a message that contains a text."""

    def is_so() -> bool:
        ready = xapps.current_condition("hello", "Ready") or {}
        return (ready.get("status"), ready.get("reason")) == ("False", reason) and containing in ready["message"]

    xapps.wait_until(is_so, what=f"Ready to be False for {reason}, with {containing!r}", xapp="hello")


def failing_hook(kind: str) -> str:
    """Return the template of a Job whose deadline passes: a hook of that kind, as long as `failAt` names it."""
    return f"""\
{{{{- if eq .Values.failAt "{kind}" }}}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{{{ .Release.Name }}}}-hook
  annotations:
    helm.sh/hook: {kind}
    helm.sh/hook-delete-policy: before-hook-creation
spec:
  activeDeadlineSeconds: 1
  template:
    metadata:
      annotations: {{xapp-operator.io/test-complete-after: 600s}}
    spec:
      restartPolicy: Never
      containers: [{{name: hook, image: "registry.example.com/hook:1"}}]
{{{{- end }}}}
"""


def chart_with_hooks() -> bytes:
    kinds = [f"{when}-{what}" for when in ("pre", "post") for what in ("install", "upgrade", "rollback", "delete")]
    files = {f"templates__{kind.replace('-', '_')}": failing_hook(kind) for kind in kinds}
    return workload_chart(**files)


# Left behind in the middle


def test_an_uninstall_left_behind_is_finished_and_the_release_installed_again(xapps: XAppClient) -> None:
    deploy(xapps)
    before = uid(xapps, "configmap")
    set_record_status(xapps, "hello", 1, "uninstalling")
    xapps.wait_until(lambda: uid(xapps, "configmap") not in (None, before), what="the new install")
    xapps.wait_ready("hello")
    assert records(xapps) == {1: "deployed"}


def test_an_uninstall_left_behind_does_not_stop_a_deletion(xapps: XAppClient) -> None:
    deploy(xapps, suspend=False)
    change_spec(xapps, suspend=True)
    xapps.wait_until(lambda: xapps.status("hello")["phase"] == "Suspended", what="the suspension", xapp="hello")
    set_record_status(xapps, "hello", 1, "uninstalling")
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert (records(xapps), greeting(xapps)) == ({}, None)


@pytest.mark.parametrize("status", ["pending-install", "pending-upgrade", "pending-rollback"])
def test_a_step_that_ended_in_the_middle_is_unlocked_at_once(xapps: XAppClient, status: str) -> None:
    deploy(xapps, timeout="10m")
    before = uid(xapps, "deployment")
    change_spec(xapps, values={"greeting": "two"})
    xapps.wait_until(lambda: xapps.wait_ready("hello")["release"]["revision"] == 2, what="the upgrade", xapp="hello")
    set_record_status(xapps, "hello", 2, status)
    xapps.wait_until(lambda: "Unlocked" in xapps.event_reasons(), what="the release to be unlocked", seconds=60)
    xapps.wait_until(lambda: "deployed" in records(xapps).values(), what="a deployed revision", xapp="hello")
    xapps.wait_ready("hello")
    assert (uid(xapps, "deployment"), greeting(xapps)) == (before, "two")


@pytest.mark.parametrize("ahead", [timedelta(0), timedelta(days=365), timedelta(days=-365)])
def test_a_release_that_another_helm_left_pending_is_taken_over_after_the_timeout(
    xapps: XAppClient, helm_user: HelmUser, ahead: timedelta
) -> None:
    helm_user.install("hello", workload_chart())
    helm_user.upgrade("hello", workload_chart(), greeting="theirs")
    set_record_status(xapps, "hello", 2, "pending-upgrade")
    modified = int((datetime.now(UTC) + ahead).timestamp())
    xapps.kubectl("label", "secret", record_name("hello", 2), f"modifiedAt={modified}", "--overwrite")
    before = uid(xapps, "deployment")
    manifest = xapps.uploaded_manifest("hello", workload_chart(), adopt=True, timeout="15s", values={"greeting": "us"})
    xapps.apply(manifest)
    wait_reason(xapps, "Progressing", containing="takes over")
    assert records(xapps)[2] == "pending-upgrade"
    xapps.wait_ready("hello")
    assert (greeting(xapps), uid(xapps, "deployment")) == ("us", before)
    assert "Unlocked" in xapps.event_reasons()


# Failures


def test_an_upgrade_waits_for_a_quota_that_is_raised_later(xapps: XAppClient) -> None:
    deploy(xapps)
    xapps.kubectl("create", "quota", "few", "--hard=count/services=1")
    more = "apiVersion: v1\nkind: Service\nmetadata: {name: hello-more}\nspec: {ports: [{port: 80}]}\n"
    archive = workload_chart(version="0.2.0", templates__more=more)
    xapps.apply(xapps.uploaded_manifest("hello", archive, version="0.2.0"))
    wait_reason(xapps, "UpgradeFailed", containing="exceeded quota")
    assert xapps.current_condition("hello", "Reconciling") is not None
    assert xapps.current_condition("hello", "Stalled") is None
    xapps.kubectl("delete", "quota", "few")
    assert xapps.wait_ready("hello")["release"]["chartVersion"] == "0.2.0"


def test_after_a_permanent_failure_the_last_good_revision_is_restored_without_a_pause(xapps: XAppClient) -> None:
    deploy(xapps, values={"greeting": "one"})
    change_spec(xapps, values={"greeting": "two"})
    xapps.wait_until(lambda: xapps.wait_ready("hello")["release"]["revision"] == 2, what="the upgrade", xapp="hello")
    bad = "apiVersion: v1\nkind: Service\nmetadata: {name: hello}\nspec: {ports: [{name: http, port: 99999}]}\n"
    archive = workload_chart(version="0.2.0", templates__service=bad)
    xapps.apply(xapps.uploaded_manifest("hello", archive, version="0.2.0", values={"greeting": "three"}))
    assert "rolled back" in xapps.wait_stalled("hello")["message"]
    assert (greeting(xapps), records(xapps)) == ("two", {1: "superseded", 2: "superseded", 3: "failed", 4: "deployed"})
    assert xapps.status("hello")["history"][0]["description"] == "Rollback to 2"


def test_without_remediation_a_permanent_failure_stays_until_the_spec_changes(xapps: XAppClient) -> None:
    deploy(xapps, upgrade={"onFailure": "none"})
    bad = "apiVersion: v1\nkind: Service\nmetadata: {name: hello}\nspec: {ports: [{name: http, port: 99999}]}\n"
    archive = workload_chart(version="0.2.0", templates__service=bad)
    xapps.apply(xapps.uploaded_manifest("hello", archive, version="0.2.0", upgrade={"onFailure": "none"}))
    xapps.wait_stalled("hello")
    assert records(xapps) == {1: "deployed", 2: "failed"}
    deploy(xapps, upgrade={"onFailure": "none"}, values={"greeting": "mended"})
    assert (greeting(xapps), records(xapps)[3]) == ("mended", "deployed")


def test_failed_hooks_of_an_install_are_named_and_tried_again(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", chart_with_hooks(), values={"failAt": "pre-install"})
    xapps.apply(manifest)
    wait_reason(xapps, "InstallFailed", containing="hello-hook")
    assert xapps.get("deployment", "hello") is None
    manifest["spec"]["values"] = {"failAt": "post-install"}
    xapps.apply(manifest)
    wait_reason(xapps, "InstallFailed", containing="hello-hook")
    before = uid(xapps, "deployment")
    manifest["spec"]["values"] = {"failAt": ""}
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    assert uid(xapps, "deployment") == before
    assert "deployed" in records(xapps).values()


@pytest.mark.parametrize("kind", ["pre-upgrade", "post-upgrade"])
def test_a_failed_hook_of_an_upgrade_leads_to_a_rollback_after_the_timeout(xapps: XAppClient, kind: str) -> None:
    manifest = deploy(xapps, chart_with_hooks(), timeout="8s", values={"failAt": "", "greeting": "good"})
    manifest["spec"]["values"] = {"failAt": kind, "greeting": "bad"}
    xapps.apply(manifest)
    wait_reason(xapps, "UpgradeFailed", containing="hello-hook")
    assert "rolled back" in xapps.wait_stalled("hello")["message"]
    assert greeting(xapps) == "good"
    assert list(records(xapps).values()).count("deployed") == 1


@pytest.mark.parametrize("kind", ["pre-rollback", "post-rollback"])
def test_a_failed_hook_of_a_rollback_is_named_and_a_changed_spec_wins(xapps: XAppClient, kind: str) -> None:
    manifest = deploy(xapps, chart_with_hooks(), timeout="1m", values={"failAt": kind, "greeting": "one"})
    manifest["spec"]["values"] = {"failAt": "", "greeting": "two"}
    xapps.apply(manifest)
    xapps.wait_until(lambda: xapps.wait_ready("hello")["release"]["revision"] == 2, what="the upgrade", xapp="hello")
    xapps.kubectl("annotate", "xapp/hello", "xapp-operator.io/rollback-to=1")
    wait_reason(xapps, "RollbackFailed", containing="hello-hook")
    manifest["spec"]["values"] = {"failAt": "", "greeting": "three"}
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    assert (greeting(xapps), xapps.status("hello")["handled"]["rollbackTo"]) == ("three", "1")


def test_a_requested_rollback_that_keeps_failing_is_given_up_before_it_costs_the_history(xapps: XAppClient) -> None:
    chart = chart_with_hooks()
    manifest = deploy(xapps, chart, timeout="3s", values={"failAt": "pre-rollback", "greeting": "one"})
    manifest["spec"]["values"] = {"failAt": "", "greeting": "two"}
    xapps.apply(manifest)
    xapps.wait_until(lambda: xapps.wait_ready("hello")["release"]["revision"] == 2, what="the upgrade", xapp="hello")
    xapps.kubectl("annotate", "xapp/hello", "xapp-operator.io/rollback-to=1")
    assert "hello-hook" in xapps.wait_stalled("hello")["message"]
    messages = [each["message"] for each in json.loads(xapps.kubectl("get", "events", "-o", "json"))["items"]]
    assert any("set rollback-to to 1@again" in message for message in messages)
    assert (greeting(xapps), set(records(xapps)) >= {1, 2}) == ("two", True)
    xapps.kubectl("annotate", "xapp/hello", "xapp-operator.io/retry-at=1")
    xapps.wait_ready("hello")


@pytest.mark.parametrize("kind", ["pre-delete", "post-delete"])
def test_a_failed_hook_of_an_uninstall_does_not_keep_the_xapp(xapps: XAppClient, kind: str) -> None:
    deploy(xapps, chart_with_hooks(), values={"failAt": kind})
    xapps.kubectl("delete", "xapp", "hello", "--timeout=90s")
    assert (records(xapps), xapps.get("deployment", "hello")) == ({}, None)


# Deletion


def test_a_deletion_that_cannot_end_is_rescued_by_a_change_to_orphan(xapps: XAppClient) -> None:
    xapps.create_deployer()
    deploy(xapps, serviceAccountName="deployer")
    xapps.kubectl("delete", "rolebinding", "deployer")
    xapps.kubectl("delete", "xapp", "hello", "--wait=false")
    wait_reason(xapps, "AccessDenied", containing="deployer")
    change_spec(xapps, deletionPolicy="Orphan")
    xapps.kubectl("wait", "--for=delete", "xapp/hello", "--timeout=60s")
    assert (records(xapps), greeting(xapps)) == ({1: "deployed"}, "hello")


def test_a_deletion_needs_neither_values_nor_archive_nor_service_account(xapps: XAppClient) -> None:
    xapps.create_deployer()
    xapps.kubectl("create", "secret", "generic", "site", "--from-literal=values.yaml=greeting: site")
    values = [{"kind": "Secret", "name": "site"}]
    manifest = deploy(xapps, serviceAccountName="deployer", valuesFrom=values)
    assert greeting(xapps) == "site"
    archive = manifest["spec"]["archive"]["chartArchiveRef"]["name"]
    xapps.kubectl("delete", "secret/site", "serviceaccount/deployer", f"chartarchive/{archive}", "--wait=false")
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert (records(xapps), greeting(xapps)) == ({}, None)


# Bounds of the status


def test_history_is_as_long_as_max_history_in_helm_and_in_the_status(xapps: XAppClient) -> None:
    deploy(xapps, maxHistory=2, values={"greeting": "1"})
    for number in range(2, 5):
        change_spec(xapps, values={"greeting": str(number)})
        xapps.wait_until(
            lambda number=number: xapps.wait_ready("hello")["release"]["revision"] == number,  # type: ignore[misc]
            what="the upgrade",
            xapp="hello",
        )
    assert records(xapps) == {3: "superseded", 4: "deployed"}
    assert [each["revision"] for each in xapps.status("hello")["history"]] == [4, 3]


def test_the_status_lists_fifty_services_of_more(xapps: XAppClient) -> None:
    more = """\
{{- range until 55 }}
---
apiVersion: v1
kind: Service
metadata: {name: more-{{ . }}}
spec: {ports: [{port: 80}]}
{{- end }}
"""
    deploy(xapps, workload_chart(templates__more=more))
    xapps.wait_until(lambda: len(xapps.status("hello")["services"]) == 50, what="the Services", xapp="hello")
    assert len(xapps.names("service")) == 56


# Objects and releases of others


def test_an_object_of_another_release_is_left_to_it(xapps: XAppClient) -> None:
    deploy(xapps)
    same = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hello}\ndata: {greeting: second}\n"
    other = xapps.uploaded_manifest("other", workload_chart(templates__configmap=same))
    xapps.apply(other)
    message = xapps.wait_stalled("other")["message"]
    assert "ConfigMap" in message
    assert "hello" in message
    assert greeting(xapps) == "hello"
    xapps.kubectl("delete", "xapp", "other", "--timeout=60s")
    assert greeting(xapps) == "hello"
    xapps.wait_ready("hello")


def test_adopt_takes_no_object_of_another_xapp(xapps: XAppClient) -> None:
    deploy(xapps)
    same = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hello}\ndata: {greeting: second}\n"
    xapps.apply(xapps.uploaded_manifest("other", workload_chart(templates__configmap=same), adopt=True))
    stalled = xapps.wait_stalled("other")
    assert stalled["message"].startswith("ConfigMap hello belongs to the XApp hello, and adopt takes over nothing")
    assert greeting(xapps) == "hello"
    assert "other" not in xapps.helm_releases()
    xapps.wait_ready("hello")


def test_a_release_that_was_left_is_adopted_under_another_name(xapps: XAppClient) -> None:
    deploy(xapps, deletionPolicy="Orphan")
    before = uid(xapps, "deployment")
    other = xapps.uploaded_manifest("other", workload_chart(), releaseName="hello")
    xapps.apply(other)
    assert "belongs to the XApp hello" in xapps.wait_stalled("other")["message"]
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    xapps.apply({**other, "spec": {**other["spec"], "adopt": True}})
    assert xapps.wait_ready("other")["release"]["revision"] == 1
    assert uid(xapps, "deployment") == before


@pytest.mark.parametrize(
    "status", ["failed", "uninstalled", "uninstalling", "superseded", "pending-install", "pending-rollback"]
)
def test_a_release_of_a_person_is_adopted_in_every_state(xapps: XAppClient, helm_user: HelmUser, status: str) -> None:
    helm_user.install("hello", workload_chart())
    set_record_status(xapps, "hello", 1, status)
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(), adopt=True, timeout="5s", values={"greeting": "us"}))
    xapps.wait_ready("hello")
    assert greeting(xapps) == "us"
    assert list(records(xapps).values()).count("deployed") == 1
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert (records(xapps), greeting(xapps)) == ({}, None)
