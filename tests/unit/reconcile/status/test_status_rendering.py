"""An action becomes a phase and the conditions of kstatus."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.reconcile.xapps import raw
from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus, ReleaseStatus, RevisionStatus, ServiceStatus, XApp
from xapp_operator.api.status_texts import CAUSE_MAX
from xapp_operator.domain.planning.actions import Nothing, Wait
from xapp_operator.domain.planning.plan_input import Attempt, AttemptOutcome, Digests
from xapp_operator.monitor.release_objects import MonitorReport
from xapp_operator.reconcile.status.attempts import start_attempt
from xapp_operator.reconcile.status.status_draft import StatusDraft
from xapp_operator.reconcile.status.status_rendering import render_status

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
DIGESTS = Digests("c" * 40, "v" * 40)


def attempt(outcome: AttemptOutcome, action: str = "Install", **other: Any) -> Attempt:
    return Attempt(action=action, outcome=outcome, digests=DIGESTS, first_at=1.0, last_at=2.0, **other)


def rendered(
    decision: Wait | Nothing,
    *,
    tried: Attempt | None = None,
    revision: int | None = None,
    live: MonitorReport | None = None,
    **resource: Any,
) -> dict[str, Any]:
    body = raw()
    body["metadata"].update(resource.pop("metadata", {}))
    body["status"].update(resource.pop("status", {}))
    xapp = XApp.model_validate(body)
    release = ReleaseStatus(revision=revision, chart="hello" if revision else None)
    draft = replace(StatusDraft.from_status(xapp, now=time.time()), attempt=tried, release=release)
    status: dict[str, Any] = render_status(xapp, draft, decision, live or MonitorReport(), now=NOW)
    status["by"] = {condition["type"]: condition for condition in status["conditions"]}
    return status


def test_healthy_release_has_only_ready_and_released() -> None:
    status = rendered(
        Nothing(),
        tried=attempt(AttemptOutcome.SUCCEEDED),
        revision=3,
        live=MonitorReport(HealthStatus.HEALTHY, "", 4, 4),
    )
    assert status["phase"] == "Deployed"
    assert set(status["by"]) == {"Ready", "Released"}
    assert status["by"]["Ready"]["status"] == "True"
    assert status["by"]["Ready"]["observedGeneration"] == 2
    assert status["resources"] == {"total": 4, "ready": 4}


def test_stalled_replaces_reconciling() -> None:
    wait = Wait(Reason.CHART_PULL_FAILED, "no such chart", stalled=True)
    before = [{"type": "Reconciling", "status": "True", "reason": "x", "message": "x"}]
    for condition in before:
        condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    status = rendered(wait, status={"conditions": before})
    assert set(status["by"]) == {"Ready", "Stalled"}
    assert status["by"]["Ready"]["status"] == "False"
    assert status["by"]["Stalled"]["message"] == "no such chart"
    assert status["phase"] == "Failed"


def test_transient_error_is_reconciling() -> None:
    status = rendered(Wait(Reason.PROGRESSING, "helm installs the chart"))
    assert set(status["by"]) == {"Ready", "Reconciling"}
    assert status["phase"] == "Pending"


def test_degraded_objects_are_named_in_ready() -> None:
    live = MonitorReport(HealthStatus.DEGRADED, "pod x: OOMKilled", 2, 1)
    status = rendered(Nothing(), tried=attempt(AttemptOutcome.SUCCEEDED), revision=1, live=live)
    assert status["by"]["Ready"]["reason"] == "HealthCheckFailed"
    assert status["by"]["Ready"]["message"] == "pod x: OOMKilled"
    assert status["phase"] == "Degraded"


def test_suspension_does_not_change_the_conditions() -> None:
    ready = {"type": "Ready", "status": "True", "reason": "InstallSucceeded", "message": "fine"}
    ready["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    status = rendered(Wait(Reason.SUSPENDED, "suspended"), status={"conditions": [ready]})
    assert status["phase"] == "Suspended"
    assert status["by"]["Ready"]["status"] == "True"


def test_transition_time_moves_only_with_the_status() -> None:
    ready = {"type": "Ready", "status": "False", "reason": "Old", "message": "old"}
    ready["lastTransitionTime"] = "2025-01-01T00:00:00Z"
    kept = rendered(Wait(Reason.PROGRESSING, "new"), status={"conditions": [ready]})
    assert kept["by"]["Ready"]["lastTransitionTime"] == "2025-01-01T00:00:00Z"
    assert kept["by"]["Ready"]["message"] == "new"
    moved = rendered(
        Nothing(),
        tried=attempt(AttemptOutcome.SUCCEEDED),
        revision=1,
        live=MonitorReport(HealthStatus.HEALTHY),
        status={"conditions": [ready]},
    )
    assert moved["by"]["Ready"]["lastTransitionTime"] == "2026-01-02T03:04:05Z"


def test_failed_attempt_shows_in_released_and_in_last_attempt() -> None:
    tried = attempt(AttemptOutcome.FAILED, "Upgrade", permanent=True, reason="UpgradeFailed", message="immutable")
    status = rendered(Wait("UpgradeFailed", "immutable", stalled=True), tried=tried, revision=2)
    assert status["by"]["Released"]["status"] == "False"
    assert status["by"]["Released"]["reason"] == "UpgradeFailed"
    assert status["lastAttempt"]["outcome"] == "Failed"


def test_message_is_truncated_to_the_limit_of_the_schema() -> None:
    status = rendered(Wait(Reason.CHART_INVALID, "x" * 5000, stalled=True))
    assert len(status["by"]["Ready"]["message"]) == CAUSE_MAX


def test_deletion_is_a_phase_of_its_own() -> None:
    status = rendered(
        Wait(Reason.UNINSTALL_FAILED, "hook failed"), metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}
    )
    assert status["phase"] == "Uninstalling"


@pytest.mark.parametrize(
    ("previous", "action", "count"),
    [
        (None, "Install", 1),
        (attempt(AttemptOutcome.FAILED, count=3), "Install", 4),
        (attempt(AttemptOutcome.FAILED, count=3), "Upgrade", 1),
        (attempt(AttemptOutcome.SUCCEEDED, count=3), "Install", 1),
        (attempt(AttemptOutcome.INTERRUPTED, count=3), "Install", 1),
    ],
)
def test_attempts_are_counted_while_the_same_action_fails(previous: Attempt | None, action: str, count: int) -> None:
    started = start_attempt(previous, action=action, digests=DIGESTS, generation=1, now=9.0)
    assert started.count == count
    assert started.first_at == (1.0 if count > 1 else 9.0)


def test_time_without_an_operator_does_not_count_towards_the_timeout() -> None:
    lost = attempt(AttemptOutcome.RUNNING, count=3)
    started = start_attempt(lost, action="Install", digests=DIGESTS, generation=1, now=9.0)
    assert (started.count, started.first_at) == (4, 9.0)


def test_an_attempt_with_other_digests_is_the_first_one() -> None:
    failed = attempt(AttemptOutcome.FAILED, count=3)
    started = start_attempt(failed, action="Install", digests=Digests("d" * 40, "v" * 40), generation=1, now=9.0)
    assert (started.count, started.first_at) == (1, 9.0)


@pytest.mark.parametrize(
    ("states", "in_force", "keep", "shown"),
    [
        ({4: "deployed", 3: "superseded", 2: "superseded", 1: "superseded"}, 4, 2, [4, 3]),
        ({4: "deployed", 3: "failed", 2: "failed", 1: "superseded"}, 4, 2, [4, 1]),
        ({4: "deployed", 3: "failed", 2: "failed", 1: "superseded"}, 4, 3, [4, 3, 1]),
        ({4: "failed", 3: "superseded", 2: "superseded", 1: "superseded"}, 2, 3, [4, 2, 1]),
        ({4: "failed", 3: "failed", 2: "deployed", 1: "superseded"}, 2, 1, [4]),
    ],
)
def test_history_has_the_revisions_that_helm_keeps_too(
    states: dict[int, str], in_force: int, keep: int, shown: list[int]
) -> None:
    xapp = XApp.model_validate(raw(maxHistory=keep))
    history = tuple(RevisionStatus(revision=revision, status=status) for revision, status in states.items())
    release = ReleaseStatus(revision=in_force)
    draft = replace(StatusDraft.from_status(xapp, now=time.time()), release=release, history=history)
    status: dict[str, Any] = render_status(xapp, draft, Nothing(), MonitorReport(), now=NOW)
    assert [each["revision"] for each in status["history"]] == shown


def test_no_revision_is_compared_with_each_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody who may write Secrets in a namespace makes thousands of revisions."""

    def compare(one: RevisionStatus, other: object) -> bool:
        raise AssertionError(f"{one} is compared with {other}")

    monkeypatch.setattr(RevisionStatus, "__eq__", compare)
    xapp = XApp.model_validate(raw(maxHistory=2))
    history = tuple(RevisionStatus(revision=number, status="superseded") for number in range(3000, 0, -1))
    draft = replace(StatusDraft.from_status(xapp, now=time.time()), release=ReleaseStatus(revision=3000))
    status: dict[str, Any] = render_status(xapp, replace(draft, history=history), Nothing(), MonitorReport(), now=NOW)
    assert [each["revision"] for each in status["history"]] == [3000, 2999]


def test_at_most_fifty_services_are_listed() -> None:
    services = tuple(ServiceStatus(name=f"s{number}") for number in range(51))
    status = rendered(Nothing(), revision=1, live=MonitorReport(services=services))
    assert [each["name"] for each in status["services"]] == [each.name for each in services[:50]]


def condition(kind: str) -> dict[str, str]:
    return {"type": kind, "status": "True", "reason": "x", "message": "x", "lastTransitionTime": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("decision", "health", "left"),
    [
        (Wait(Reason.HEALTH_CHECK_FAILED, "pod x: OOMKilled"), HealthStatus.DEGRADED, set()),
        (Wait(Reason.HEALTH_CHECK_FAILED, "pod x: OOMKilled", stalled=True), HealthStatus.DEGRADED, {"Stalled"}),
        (Wait(Reason.PROGRESSING, "helm upgrades"), HealthStatus.HEALTHY, {"Reconciling"}),
        (Wait(Reason.SUSPENDED, "suspended"), HealthStatus.HEALTHY, {"Stalled"}),
        (Nothing(), HealthStatus.HEALTHY, set()),
        (Nothing(), HealthStatus.DEGRADED, set()),
        (Nothing(), HealthStatus.PROGRESSING, {"Reconciling"}),
    ],
)
def test_reconciling_and_stalled_end_when_they_are_over(
    decision: Wait | Nothing, health: HealthStatus, left: set[str]
) -> None:
    before = {"conditions": [condition("Reconciling"), condition("Stalled")]}
    status = rendered(decision, revision=1, live=MonitorReport(health, "pod x"), status=before)
    assert set(status["by"]) == {"Ready"} | left


@pytest.mark.parametrize(
    ("outcome", "status", "reason", "message"),
    [
        ("Running", "Unknown", Reason.PROGRESSING, "the tests of revision 3 run, or wait for a place"),
        ("Interrupted", "Unknown", Reason.PROGRESSING, "what happened"),
        ("Succeeded", "True", Reason.TEST_SUCCEEDED, "what happened"),
        ("Failed", "False", Reason.TEST_FAILED, "what happened"),
    ],
)
def test_the_last_run_of_the_tests_is_kept_and_becomes_a_condition(
    outcome: str, status: str, reason: Reason, message: str
) -> None:
    last = {"revision": 3, "outcome": outcome, "count": 2, "firstAt": "2026-01-01T00:00:00Z"}
    last |= {"lastAt": "2026-01-01T00:00:09Z"} | ({} if outcome == "Running" else {"message": "what happened"})
    written = rendered(Nothing(), revision=3, status={"lastTest": last})
    assert written["lastTest"] == last
    condition = written["by"]["TestSuccess"]
    assert (condition["status"], condition["reason"], condition["message"]) == (status, reason, message)


def test_tests_of_another_revision_say_nothing_about_this_one() -> None:
    last = {"revision": 2, "outcome": "Succeeded", "firstAt": "2026-01-01T00:00:00Z"}
    condition = {"type": "TestSuccess", "status": "True", "reason": "TestSucceeded", "message": "passed"}
    condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    written = rendered(Nothing(), revision=3, status={"lastTest": last, "conditions": [condition]})
    assert "TestSuccess" not in written["by"]
