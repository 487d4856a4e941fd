"""The record of an XApp in every state that it may have in the cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.gateway.xapp_objects import raw_xapp, ready_status
from xapp_operator.api.json import JsonObject
from xapp_operator.gateway.catalog.records import build_entry, build_xapp_entry, version_sort_key
from xapp_operator.gateway.catalog.xapp_filters import FACETS
from xapp_operator.gateway.schemas.records import XAppDetails


def record(**parts: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(build_xapp_entry(raw_xapp(**parts)).record_json)
    return found


def test_a_new_xapp_is_pending_and_unknown() -> None:
    found = record()

    assert (found["phase"], found["health"], found["ready"]) == ("Pending", "Unknown", False)
    assert found["release"] == dict.fromkeys(
        ("name", "revision", "chart", "chartVersion", "appVersion", "lastDeployed"), None
    )
    assert found["services"] == []
    assert found["message"] == "generation 1 of the spec waits for the operator"


def test_the_record_of_a_deployed_xapp_has_its_release_and_services() -> None:
    found = record(status=ready_status())

    assert found == {
        "name": "acme-ran-hello",
        "namespace": "ric-xapps",
        "uid": "uid-of-ric-xapps-acme-ran-hello",
        "xAppName": "hello",
        "organization": "acme",
        "team": "ran",
        "version": "0.2.1",
        "owner": "jane",
        "method": "Remote Chart Repository",
        "source": "xapp",
        "phase": "Deployed",
        "ready": True,
        "health": "Healthy",
        "reason": "InstallSucceeded",
        "stalled": False,
        "drifted": False,
        "message": "Helm install succeeded",
        "generation": 1,
        "progress": {"step": "ready", "startedAt": None, "deadline": None, "attempt": None, "nextTryAt": None},
        "release": {
            "name": "acme-ran-hello",
            "revision": 1,
            "chart": "hello",
            "chartVersion": "0.2.1",
            "appVersion": "1.0",
            "lastDeployed": "2026-11-20T08:00:30Z",
        },
        "chart": {"name": "hello", "version": "0.2.1", "repoName": "acme", "url": "https://charts.example.com"},
        "services": [
            {
                "name": "hello",
                "type": "ClusterIP",
                "clusterIP": "10.0.0.7",
                "ports": [
                    {
                        "name": "http",
                        "port": 80,
                        "targetPort": "web",
                        "nodePort": None,
                        "protocol": "TCP",
                        "appProtocol": None,
                    }
                ],
            }
        ],
        "createdAt": "2026-11-20T08:00:00Z",
        "updatedAt": "2026-11-20T08:01:00Z",
    }


def test_the_detailed_record_has_conditions_history_and_resources() -> None:
    one = json.loads(build_xapp_entry(raw_xapp(status=ready_status())).detailed_record_json())

    assert one["name"] == "acme-ran-hello"
    assert one["conditions"][0]["type"] == "Ready"
    unknown = ("chart", "chartVersion", "appVersion", "chartDigest", "valuesDigest", "deployedAt", "description")
    known = {"revision": 1, "status": "deployed", "action": "Install"}
    assert one["history"][0] == dict.fromkeys((*unknown, "wasHealthy"), None) | known
    assert one["resources"] == {"total": 2, "ready": 2}


def test_a_revision_that_a_rollback_holds_is_told_until_the_spec_changes() -> None:
    def held(status: dict[str, Any], generation: int = 1) -> Any:
        entry = build_xapp_entry(raw_xapp(status=status, metadata={"generation": generation}))
        return json.loads(entry.detailed_record_json())["heldRevision"]

    status = {**ready_status(), "heldRevision": 1}
    assert held(ready_status()) is None
    assert held(status) == 1
    assert held(status, generation=2) is None, "the operator has not seen the new spec yet"
    assert held({**status, "heldRevision": "1"}) is None


@pytest.mark.parametrize(("condition", "drifted"), [("True", True), ("False", False), ("Unknown", None)])
def test_a_list_tells_which_xapps_have_drifted(condition: str, drifted: bool | None) -> None:
    status: dict[str, Any] = {**ready_status(), "conditions": [{"type": "Drifted", "status": condition}]}
    entry = build_xapp_entry(raw_xapp(status=status))
    assert json.loads(entry.summary_json)["drifted"] is drifted


@pytest.mark.parametrize(("mode", "drifted"), [("disabled", None), ("warn", False), ("enabled", False)])
def test_it_is_not_known_whether_an_xapp_has_drifted_where_nobody_looks(mode: str, drifted: bool | None) -> None:
    assert record(spec={"driftDetection": {"mode": mode}}, status=ready_status())["drifted"] is drifted


def test_the_summary_is_the_record_without_chart_and_services() -> None:
    entry = build_xapp_entry(raw_xapp(status=ready_status()))

    whole = json.loads(entry.record_json)
    del whole["chart"], whole["services"]
    assert json.loads(entry.summary_json) == whole


def test_before_the_operator_reports_on_a_spec_the_xapp_is_queued_since_the_change() -> None:
    fields = [
        {"manager": "kubectl", "time": "2026-11-20T08:05:00Z"},
        {"manager": "xapp-operator", "time": "2026-11-20T08:06:00Z", "subresource": "status"},
    ]
    changed = record(status=ready_status(generation=1), metadata={"generation": 2, "managedFields": fields})

    assert (changed["progress"]["step"], changed["progress"]["startedAt"]) == ("queued", "2026-11-20T08:05:00Z")
    assert (changed["reason"], changed["generation"]) == (None, 2)
    assert record()["progress"]["startedAt"] == "2026-11-20T08:00:00Z"


def test_progress_is_what_the_operator_reports() -> None:
    reported = {"step": "helm", "startedAt": "2026-11-20T08:00:30Z", "attempt": 2, "newer": "field"}
    conditions = [{"type": "Ready", "status": "False", "reason": "InstallFailed", "message": "no"}]
    status = {"observedGeneration": 1, "phase": "Deploying", "conditions": conditions, "progress": reported}
    found = record(status=status)

    assert found["progress"] == {
        "step": "helm",
        "startedAt": "2026-11-20T08:00:30Z",
        "deadline": None,
        "attempt": 2,
        "nextTryAt": None,
    }
    assert found["reason"] == "InstallFailed"
    assert record(status=status | {"progress": {"step": "of a newer operator"}})["progress"] is None


def test_a_suspended_xapp_has_no_progress() -> None:
    assert record(status=ready_status(phase="Suspended"))["progress"] is None


def unready(reason: str, *, phase: str, health: str = "Unknown", stalled: bool = False) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "False", "reason": reason, "message": "m"}]
    if stalled:
        conditions.append({"type": "Stalled", "status": "True", "reason": reason, "message": "m"})
    return {"observedGeneration": 1, "phase": phase, "conditions": conditions, "health": {"status": health}}


DELETING = {"deletionTimestamp": "2026-11-20T09:00:00Z"}


@pytest.mark.parametrize(
    ("status", "metadata", "attention"),
    [
        (ready_status(), {}, "false"),
        (None, {}, "false"),
        (ready_status(phase="Suspended"), {}, "false"),
        (ready_status(phase="Suspended", health="Degraded"), {}, "true"),
        (ready_status(phase="Degraded", health="Degraded"), {}, "true"),
        (unready("Progressing", phase="Deploying", health="Progressing"), {}, "false"),
        (unready("DependencyNotReady", phase="Pending"), {}, "false"),
        (unready("AccessDenied", phase="Failed", stalled=True), {}, "true"),
        (unready("ChartPullFailed", phase="Pending"), {}, "true"),
        (unready("UpgradeFailed", phase="Deploying"), {}, "true"),
        (unready("Progressing", phase="Deploying", stalled=True), {}, "true"),
        (unready("HealthCheckFailed", phase="Degraded", health="Degraded"), DELETING, "false"),
        (unready("UninstallFailed", phase="Uninstalling"), DELETING, "true"),
    ],
)
def test_attention_is_for_what_needs_a_person(status: Any, metadata: Any, attention: str) -> None:
    entry = build_xapp_entry(raw_xapp(status=status, metadata=metadata))

    assert entry.filter_fields.facets[FACETS.index("attention")] == attention


def test_search_looks_in_owner_chart_repository_and_message_too() -> None:
    spec: JsonObject = {"owner": "Jane Doe", "chartName": "kpi-monitor", "repoName": "Acme-Charts"}
    text = build_xapp_entry(raw_xapp(spec=spec, status=ready_status())).filter_fields.search_text

    for found in ("jane doe", "kpi-monitor", "acme-charts", "helm install succeeded", "acme-ran-hello", "ran"):
        assert found in text


def test_ready_counts_only_for_its_generation() -> None:
    found = record(status=ready_status(generation=1), metadata={"generation": 2})

    assert found["ready"] is False
    assert "generation 2" in found["message"]


def test_a_terminating_xapp_is_uninstalling_and_not_ready() -> None:
    found = record(status=ready_status(), metadata={"deletionTimestamp": "2026-11-20T09:00:00Z"})

    assert (found["phase"], found["ready"], found["updatedAt"]) == ("Uninstalling", False, "2026-11-20T09:00:00Z")


def test_an_upload_names_the_chart_that_was_deployed() -> None:
    spec = {"method": "Upload Chart", "chartName": None, "url": None, "repoName": None}

    assert record(spec=spec)["chart"] == {"name": None, "version": None, "repoName": None, "url": None}
    assert record(spec=spec, status=ready_status())["chart"]["name"] == "hello"


def test_values_are_not_kept() -> None:
    entry = build_xapp_entry(raw_xapp(spec={"values": {"password": "s3cret" * 1000}}))

    assert b"s3cret" not in entry.detailed_record_json()
    assert len(entry.detailed_record_json()) < 2000


@pytest.mark.parametrize("broken", [{}, {"conditions": "x", "services": [1], "history": None, "release": []}])
def test_a_malformed_status_counts_as_missing(broken: dict[str, Any]) -> None:
    found = record(status=broken)

    assert (found["phase"], found["health"], found["services"]) == ("Pending", "Unknown", [])


def test_versions_sort_by_number_and_other_texts_last() -> None:
    versions = ["1.0", "latest", "0.10.0", "0.9", "0.9.0", "2", "v1"]

    assert sorted(versions, key=version_sort_key) == ["0.9", "0.9.0", "0.10.0", "1.0", "2", "latest", "v1"]


def test_a_record_has_every_field_of_its_schema_and_no_other() -> None:
    entry = build_entry({"name": "x", "namespace": "a", "uid": "u"}, release="x")
    found = json.loads(entry.detailed_record_json())

    assert found.keys() == {field.alias or name for name, field in XAppDetails.model_fields.items()}
    assert (found["owner"], found["release"]["revision"], found["services"]) == (None, None, [])
    with pytest.raises(KeyError, match="organisation"):
        build_entry({"name": "x", "namespace": "a", "uid": "u", "organisation": "acme"}, release="x")
