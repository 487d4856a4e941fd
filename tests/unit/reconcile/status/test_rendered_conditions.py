"""Each condition of the status, in each case in which it is set or removed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.reconcile.xapps import raw
from xapp_operator.api.chart_repository import ChartRepository
from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus, ReleaseStatus, RevisionStatus, XApp
from xapp_operator.api.status_parts import HandledAnnotations, RollbackCause
from xapp_operator.domain.planning.actions import Nothing, Wait
from xapp_operator.domain.planning.plan_input import Attempt, AttemptOutcome, Digests, TestOutcome, TestRun
from xapp_operator.errors import AccessDenied, FormInvalid, Invalid, SignatureInvalid, SourceUnavailable, XAppError
from xapp_operator.monitor.release_objects import MonitorReport
from xapp_operator.reconcile.status.status_draft import StatusDraft
from xapp_operator.reconcile.status.status_rendering import (
    describe_release,
    render_repository_status,
    render_status,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BEFORE = "2026-01-01T00:00:00Z"
RELEASE = ReleaseStatus(revision=3, chart="hello", chart_version="0.1.0")
PHRASE = "revision 3 of hello 0.1.0"
HEALTHY = MonitorReport(HealthStatus.HEALTHY, "", 4, 4)
DEGRADED = MonitorReport(HealthStatus.DEGRADED, "pod x: OOMKilled", 4, 3)
PROGRESSING = MonitorReport(HealthStatus.PROGRESSING, "Deployment x: 1 of 2", 4, 3)
WAIT = Wait(Reason.PROGRESSING, "wait")


def attempt(outcome: AttemptOutcome, action: str = "Install", **other: Any) -> Attempt:
    return Attempt(action, outcome, Digests("c", "v"), first_at=1.0, last_at=2.0, **other)


def condition(kind: str, status: str = "True", reason: str = "Old", message: str = "old") -> dict[str, Any]:
    fields = {"status": status, "reason": reason, "message": message, "observedGeneration": 1}
    return {"type": kind, "lastTransitionTime": BEFORE, **fields}


def rendered(
    decision: Wait | Nothing = WAIT,
    *,
    before: list[dict[str, Any]] | None = None,
    live: MonitorReport = HEALTHY,
    release: ReleaseStatus = RELEASE,
    deleting: bool = False,
    stored: dict[str, Any] | None = None,
    **draft: Any,
) -> dict[str, Any]:
    body = raw(maxHistory=2)
    body["status"].update(stored or {}, conditions=before or [])
    if deleting:
        body["metadata"]["deletionTimestamp"] = BEFORE
    xapp = XApp.model_validate(body)
    changed = replace(StatusDraft.from_status(xapp, now=NOW.timestamp()), **{"release": release, **draft})
    status: dict[str, Any] = render_status(xapp, changed, decision, live, now=NOW)
    return status


def told(status: dict[str, Any], kind: str) -> tuple[str, str, str] | None:
    found = [each for each in status["conditions"] if each["type"] == kind]
    return (found[0]["status"], found[0]["reason"], found[0]["message"]) if found else None


@pytest.mark.parametrize(
    ("tried", "before", "expected"),
    [
        (None, None, None),
        (None, "True", ("True", "InstallSucceeded", PHRASE)),
        (None, "False", ("False", "Old", "old")),
        (attempt(AttemptOutcome.RUNNING), None, None),
        (attempt(AttemptOutcome.RUNNING), "True", ("True", "Old", "old")),
        (attempt(AttemptOutcome.INTERRUPTED), "True", ("True", "Old", "old")),
        (attempt(AttemptOutcome.RELEASED), None, ("True", "InstallSucceeded", PHRASE)),
        (attempt(AttemptOutcome.UNHEALTHY, "Upgrade"), "False", ("True", "UpgradeSucceeded", PHRASE)),
        (attempt(AttemptOutcome.SUCCEEDED, "Rollback"), None, ("True", "RollbackSucceeded", PHRASE)),
        (attempt(AttemptOutcome.SUCCEEDED, "Uninstall"), "True", ("True", "Old", "old")),
        (attempt(AttemptOutcome.FAILED, message="no"), "True", ("False", "InstallFailed", "no")),
        (attempt(AttemptOutcome.FAILED, "Upgrade", message="no"), None, ("False", "UpgradeFailed", "no")),
        (attempt(AttemptOutcome.FAILED, "Rollback", message="no"), None, ("False", "RollbackFailed", "no")),
        (attempt(AttemptOutcome.FAILED, "Uninstall", message="no"), None, ("False", "UninstallFailed", "no")),
        (attempt(AttemptOutcome.FAILED, "Odd", reason="Odd", message="no"), None, ("False", "Odd", "no")),
        (attempt(AttemptOutcome.FAILED, reason="AccessDenied", message="no"), None, ("False", "AccessDenied", "no")),
    ],
)
def test_released(tried: Attempt | None, before: str | None, expected: tuple[str, str, str] | None) -> None:
    known = [] if before is None else [condition("Released", before)]
    assert told(rendered(attempt=tried, before=known), "Released") == expected


@pytest.mark.parametrize(
    ("outcome", "unlocked", "reason"),
    [
        (AttemptOutcome.RELEASED, True, "Unlocked"),
        (AttemptOutcome.RELEASED, False, "InstallSucceeded"),
        (AttemptOutcome.SUCCEEDED, True, "InstallSucceeded"),
    ],
)
def test_released_tells_of_an_unlock_until_the_release_is_healthy(
    outcome: AttemptOutcome, unlocked: bool, reason: str
) -> None:
    found = told(rendered(attempt=attempt(outcome), unlocked=unlocked), "Released")
    assert found == ("True", reason, PHRASE)


ROLLED_BACK = (RevisionStatus(revision=3, status="deployed", action="Rollback"),)
ROLLBACK_TOLD = ("True", "RollbackSucceeded", PHRASE)


@pytest.mark.parametrize(
    ("tried", "before", "made_by", "expected"),
    [
        (attempt(AttemptOutcome.UNHEALTHY, "Upgrade"), 1, "Rollback", ROLLBACK_TOLD),
        (attempt(AttemptOutcome.FAILED, "Upgrade", message="no"), 1, "Rollback", ROLLBACK_TOLD),
        (attempt(AttemptOutcome.FAILED, "Upgrade", message="no"), 2, "Rollback", ROLLBACK_TOLD),
        # The rollback was before: this upgrade made no revision.
        (attempt(AttemptOutcome.FAILED, "Upgrade", message="no"), 3, "Rollback", ("False", "UpgradeFailed", "no")),
        (attempt(AttemptOutcome.FAILED, "Upgrade", message="no"), 1, "Upgrade", ("False", "UpgradeFailed", "no")),
        (attempt(AttemptOutcome.FAILED, "Rollback", message="no"), 1, "Rollback", ("False", "RollbackFailed", "no")),
        (attempt(AttemptOutcome.UNHEALTHY, "Upgrade"), 1, "Upgrade", ("True", "UpgradeSucceeded", PHRASE)),
        (attempt(AttemptOutcome.RELEASED, "Upgrade"), 1, "Rollback", ("True", "UpgradeSucceeded", PHRASE)),
    ],
)
def test_released_tells_of_the_rollback_of_an_upgrade(
    tried: Attempt, before: int, made_by: str, expected: tuple[str, str, str]
) -> None:
    tried = replace(tried, revision_before=before)
    for deployed_at in (None, datetime.fromtimestamp(0.0, UTC), datetime.fromtimestamp(10.0, UTC)):
        known = {"action": made_by, "deployed_at": deployed_at}
        history = tuple(each.model_copy(update=known) for each in ROLLED_BACK)
        release = RELEASE.model_copy(update={"last_deployed": deployed_at})
        assert told(rendered(attempt=tried, release=release, history=history), "Released") == expected


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("UpgradeFailed", ("False", "UpgradeFailed", "hook failed")),
        ("AccessDenied", ("False", "AccessDenied", "hook failed")),
        ("HealthCheckFailed", ("True", "Old", "old")),
        ("TestFailed", ("True", "Old", "old")),
    ],
)
@pytest.mark.parametrize("outcome", [AttemptOutcome.RUNNING, AttemptOutcome.INTERRUPTED])
def test_released_tells_of_the_upgrade_while_that_is_rolled_back(
    outcome: AttemptOutcome, reason: str, expected: tuple[str, str, str]
) -> None:
    cause = RollbackCause(revision=1, reason=reason, message="hook failed")
    tried = attempt(outcome, "Rollback", rollback_cause=cause)
    assert told(rendered(attempt=tried, before=[condition("Released")]), "Released") == expected


@pytest.mark.parametrize("message", ["cannot patch", "p" * 3000])
def test_a_rollback_that_fails_also_tells_why_the_upgrade_failed(message: str) -> None:
    cause = RollbackCause(revision=1, reason="HealthCheckFailed", message="pod x: OOMKilled")
    tried = attempt(AttemptOutcome.FAILED, "Rollback", message=message, rollback_cause=cause)
    status = rendered(Wait(Reason.ROLLBACK_FAILED, message), attempt=tried)
    told_of = told(status, "Ready")
    assert told_of is not None
    assert told_of[2].startswith(message[:20])
    assert told_of[2].endswith("; before that, the upgrade failed: pod x: OOMKilled")
    assert told(status, "Reconciling") == ("True", *told_of[1:])
    other = rendered(Wait(Reason.DEPENDENCY_NOT_READY, "a cycle"), attempt=tried)
    assert told(other, "Ready") == ("False", "DependencyNotReady", "a cycle")


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (condition("Ready", "False", "Progressing"), ("False", "Suspended", "rest")),
        (condition("Ready", "False", "UpgradeFailed"), ("False", "UpgradeFailed", "old")),
        (condition("Ready", "True", "UpgradeSucceeded"), ("True", "UpgradeSucceeded", "old")),
    ],
)
def test_nothing_progresses_while_suspended(before: dict[str, Any], expected: tuple[str, str, str]) -> None:
    assert told(rendered(Wait(Reason.SUSPENDED, "rest"), before=[before]), "Ready") == expected


def test_without_a_release_released_stays_as_it_is() -> None:
    status = rendered(before=[condition("Released")], release=ReleaseStatus())
    assert told(status, "Released") == ("True", "Old", "old")


@pytest.mark.parametrize(
    ("action", "reason"),
    [("Upgrade", "UpgradeSucceeded"), ("Rollback", "RollbackSucceeded"), (None, "InstallSucceeded")],
)
def test_without_an_attempt_the_history_tells_the_step(action: str | None, reason: str) -> None:
    history = (
        RevisionStatus(revision=4, status="failed", action="Install"),
        RevisionStatus(revision=3, status="deployed", action=action),
    )
    status = rendered(Nothing(), attempt=None, history=history)
    assert told(status, "Ready") == ("True", reason, f"{PHRASE} is deployed and healthy")


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (None, None),
        (TestRun(2, TestOutcome.SUCCEEDED, first_at=1.0, last_at=2.0, message="passed"), None),
        (
            TestRun(3, TestOutcome.SUCCEEDED, first_at=1.0, last_at=2.0, message="passed"),
            ("True", "TestSucceeded", "passed"),
        ),
        (TestRun(3, TestOutcome.FAILED, first_at=1.0, last_at=2.0, message="no"), ("False", "TestFailed", "no")),
        (
            TestRun(3, TestOutcome.INTERRUPTED, first_at=1.0, last_at=2.0, message="again"),
            ("Unknown", "Progressing", "again"),
        ),
        (
            TestRun(3, TestOutcome.RUNNING, first_at=1.0, last_at=2.0),
            ("Unknown", "Progressing", "the tests of revision 3 run, or wait for a place"),
        ),
    ],
)
def test_tested(run: TestRun | None, expected: tuple[str, str, str] | None) -> None:
    assert told(rendered(test=run, before=[condition("TestSuccess")]), "TestSuccess") == expected


KNOWN = [condition("Ready"), condition("Reconciling"), condition("Stalled")]


@pytest.mark.parametrize(
    ("decision", "live", "phase", "left", "ready"),
    [
        (WAIT, HEALTHY, "Deploying", {"Ready", "Reconciling"}, ("False", "Progressing", "wait")),
        (
            Wait(Reason.UPGRADE_FAILED, "no", stalled=True),
            HEALTHY,
            "Failed",
            {"Ready", "Stalled"},
            ("False", "UpgradeFailed", "no"),
        ),
        (
            Wait(Reason.HEALTH_CHECK_FAILED, "late"),
            DEGRADED,
            "Degraded",
            {"Ready"},
            ("False", "HealthCheckFailed", "late"),
        ),
        (Wait(Reason.SUSPENDED, "rest"), HEALTHY, "Suspended", {"Ready", "Stalled"}, ("True", "Old", "old")),
        (
            Nothing(),
            HEALTHY,
            "Deployed",
            {"Ready"},
            ("True", "InstallSucceeded", f"{PHRASE} is deployed and healthy"),
        ),
        (
            Nothing("held"),
            HEALTHY,
            "Deployed",
            {"Ready"},
            ("True", "InstallSucceeded", f"{PHRASE} is deployed and healthy; held"),
        ),
        (Nothing(), DEGRADED, "Degraded", {"Ready"}, ("False", "HealthCheckFailed", "pod x: OOMKilled")),
        (
            Nothing(),
            PROGRESSING,
            "Deploying",
            {"Ready", "Reconciling"},
            ("False", "Progressing", "Deployment x: 1 of 2"),
        ),
    ],
)
def test_ready_and_the_phase(
    decision: Wait | Nothing, live: MonitorReport, phase: str, left: set[str], ready: tuple[str, str, str]
) -> None:
    tried = attempt(AttemptOutcome.RUNNING)
    status = rendered(decision, live=live, before=KNOWN, attempt=tried)
    assert status["phase"] == phase
    assert {each["type"] for each in status["conditions"]} == left
    assert told(status, "Ready") == ready
    again = rendered(decision, live=live, before=KNOWN, attempt=tried, deleting=True)
    assert again["phase"] == "Uninstalling"


@pytest.mark.parametrize(
    ("decision", "kind"), [(WAIT, "Reconciling"), (Wait(Reason.UPGRADE_FAILED, "wait", stalled=True), "Stalled")]
)
def test_what_goes_on_is_told_with_the_message_of_ready(decision: Wait, kind: str) -> None:
    assert told(rendered(decision), kind) == ("True", decision.reason, "wait")
    assert told(rendered(decision), "Ready") == ("False", decision.reason, "wait")


def test_a_suspended_xapp_that_never_was_ready_says_so() -> None:
    assert told(rendered(Wait(Reason.SUSPENDED, "rest")), "Ready") == ("False", "Suspended", "rest")


@pytest.mark.parametrize(
    ("tried", "stored", "phase"),
    [
        (None, {}, "Pending"),
        (attempt(AttemptOutcome.RUNNING), {}, "Deploying"),
        (None, {"release": {"revision": 1}}, "Deploying"),
    ],
)
def test_what_never_was_tried_is_pending(tried: Attempt | None, stored: dict[str, Any], phase: str) -> None:
    assert rendered(attempt=tried, stored=stored)["phase"] == phase


def test_the_parts_of_a_status() -> None:
    history = tuple(RevisionStatus(revision=number, status="superseded") for number in (3, 2, 1))
    status = rendered(
        Nothing(),
        live=DEGRADED,
        history=history,
        held_revision=3,
        handled=HandledAnnotations(retry_at="now"),
        attempt=attempt(AttemptOutcome.SUCCEEDED),
    )
    assert status["observedGeneration"] == 2
    assert [each["revision"] for each in status["history"]] == [3, 2]
    assert status["health"] == {"status": "Degraded", "message": "pod x: OOMKilled"}
    assert status["resources"] == {"total": 4, "ready": 3}
    assert (status["heldRevision"], status["handled"]) == (3, {"retryAt": "now"})
    assert status["release"] == {"revision": 3, "chart": "hello", "chartVersion": "0.1.0"}
    assert "services" not in status
    assert "lastTest" not in status
    empty = rendered(release=ReleaseStatus(), live=DEGRADED)
    assert not {"release", "health", "resources", "history", "handled", "heldRevision", "lastAttempt"} & empty.keys()
    assert "message" not in rendered(Nothing())["health"]


@pytest.mark.parametrize(
    ("release", "phrase"),
    [
        (RELEASE, PHRASE),
        (ReleaseStatus(revision=1), "revision 1 of the chart"),
        (ReleaseStatus(revision=1, chart="hello"), "revision 1 of hello"),
        (ReleaseStatus(revision=1, chart_version="2"), "revision 1 of the chart 2"),
    ],
)
def test_a_release_in_words(release: ReleaseStatus, phrase: str) -> None:
    draft = StatusDraft.from_status(XApp.model_validate(raw()), now=0.0)
    assert describe_release(replace(draft, release=release)) == phrase


@pytest.mark.parametrize(
    ("observed", "started", "expected"),
    [
        (2, BEFORE, BEFORE),
        (1, BEFORE, "2026-01-02T03:04:05Z"),
        (2, "2031-01-01T00:00:00Z", "2026-01-02T03:04:05Z"),
        (2, None, "2026-01-02T03:04:05Z"),
    ],
)
def test_progress_keeps_its_beginning(observed: int, started: str | None, expected: str) -> None:
    stored = {"observedGeneration": observed, "progress": {"step": "chart", "startedAt": started}}
    status = rendered(Wait(Reason.CHART_PULL_FAILED, "away"), stored=stored)
    assert status["progress"]["step"] == "chart"
    assert status["progress"]["startedAt"] == expected


def repository(**status: Any) -> ChartRepository:
    metadata = {"name": "acme", "namespace": "ns", "uid": "r", "resourceVersion": "1", "generation": 4}
    return ChartRepository.model_validate(
        {"metadata": metadata, "spec": {"url": "https://charts.example.com"}, "status": status}
    )


@pytest.mark.parametrize(
    ("charts", "message"),
    [(1, "the index lists 1 chart"), (2, "the index lists 2 charts"), (None, "a registry has no index")],
)
def test_a_repository_that_was_read(charts: int | None, message: str) -> None:
    before = [condition("Reconciling"), condition("Stalled"), condition("Ready", "False")]
    found = render_repository_status(
        repository(charts=9, lastFetched=BEFORE, conditions=before), charts=charts, error=None, now=NOW.timestamp()
    )
    time = "2026-01-02T03:04:05Z"
    ready = {"type": "Ready", "status": "True", "reason": "Fetched", "message": message}
    assert found == {
        "observedGeneration": 4,
        **({} if charts is None else {"charts": charts}),
        "lastFetched": time,
        "conditions": [{**ready, "observedGeneration": 4, "lastTransitionTime": time}],
    }


@pytest.mark.parametrize(
    ("error", "kind", "other", "reason"),
    [
        (SourceUnavailable("away"), "Reconciling", "Stalled", "ChartPullFailed"),
        (SourceUnavailable("gone", permanent=True), "Stalled", "Reconciling", "ChartPullFailed"),
        (SignatureInvalid("no keys"), "Stalled", "Reconciling", "ChartInvalid"),
        (AccessDenied("may not get secrets"), "Stalled", "Reconciling", "AccessDenied"),
        (Invalid("another error of the cluster"), "Stalled", "Reconciling", "ChartPullFailed"),
        (FormInvalid("of no ChartRepository"), "Stalled", "Reconciling", "ChartPullFailed"),
    ],
)
def test_a_repository_that_could_not_be_read_keeps_what_is_known(
    error: XAppError, kind: str, other: str, reason: str
) -> None:
    stored = repository(charts=9, lastFetched=BEFORE, conditions=[condition(kind), condition(other)])
    found: Any = render_repository_status(stored, charts=None, error=error, now=NOW.timestamp())
    assert (found["charts"], found["lastFetched"]) == (9, BEFORE)
    assert told(found, "Ready") == ("False", reason, error.message)
    assert told(found, kind) == ("True", reason, error.message)
    assert told(found, other) is None
    (kept,) = [each["lastTransitionTime"] for each in found["conditions"] if each["type"] == kind]
    assert kept == BEFORE, "it has been so since then"
