"""Renders the status of XApps (phase, conditions, release, health) and of ChartRepositories. Pure.

Conditions follow kstatus: Reconciling and Stalled are there only while True. Ready's message always has the root cause.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import cast

from xapp_operator.api.chart_repository import ChartRepository, ChartRepositoryStatus
from xapp_operator.api.conditions import (
    READY,
    RECONCILING,
    RELEASED,
    STALLED,
    TEST_SUCCESS,
    ConditionSet,
    Reason,
    RepositoryReason,
)
from xapp_operator.api.json import JsonObject
from xapp_operator.api.models import (
    SERVICES_MAX,
    HealthStatus,
    Phase,
    ResourceCounts,
    RevisionStatus,
    XApp,
    XAppHealth,
    XAppStatus,
)
from xapp_operator.api.status_parts import HandledAnnotations, Progress, RollbackCause
from xapp_operator.api.status_texts import CAUSE_MAX, MESSAGE_MAX
from xapp_operator.common.text import format_list, shorten
from xapp_operator.domain.planning.actions import Nothing, Wait
from xapp_operator.domain.planning.plan_input import (
    ROLLBACK,
    UPGRADE,
    Attempt,
    AttemptOutcome,
    DriftState,
    TestOutcome,
)
from xapp_operator.domain.planning.progress import NO_RETRIES, SourceRetries, find_progress
from xapp_operator.errors import XAppError
from xapp_operator.helm.releases.release_index import revisions_to_prune
from xapp_operator.monitor.release_objects import MonitorReport
from xapp_operator.reconcile.status.attempts import HELM_FINISHED, UNHEALTHY_REASONS
from xapp_operator.reconcile.status.drift_reporting import set_drifted
from xapp_operator.reconcile.status.status_draft import (
    StatusDraft,
    attempt_to_status,
    store_test_run,
    utc,
)

SUCCESS_REASONS = {
    "Install": Reason.INSTALL_SUCCEEDED,
    "Upgrade": Reason.UPGRADE_SUCCEEDED,
    "Rollback": Reason.ROLLBACK_SUCCEEDED,
}
FAILURE_REASONS = {
    "Install": Reason.INSTALL_FAILED,
    "Upgrade": Reason.UPGRADE_FAILED,
    "Rollback": Reason.ROLLBACK_FAILED,
    "Uninstall": Reason.UNINSTALL_FAILED,
}


def render_status(
    xapp: XApp,
    draft: StatusDraft,
    decision: Wait | Nothing,
    live: MonitorReport,
    *,
    now: datetime,
    retries: SourceRetries = NO_RETRIES,
    drift: DriftState | None = None,
) -> JsonObject:
    """Return the whole status as JSON, without the fields that are None.

    `retries` are the tries of a source that is not available.
    """
    conditions = ConditionSet(xapp.status.conditions or (), generation=xapp.metadata.generation, now=now)
    _set_released(conditions, draft)
    _set_tested(conditions, draft)
    set_drifted(conditions, xapp, draft, drift)
    if isinstance(decision, Wait):
        phase = _set_waiting(conditions, decision, draft, xapp)
    else:
        phase = _set_settled(conditions, decision, draft, live)
    if xapp.metadata.deletion_timestamp is not None:
        phase = Phase.UNINSTALLING
    exists = draft.release.revision is not None
    status = XAppStatus.model_construct(
        observed_generation=xapp.metadata.generation,
        phase=phase,
        conditions=conditions.to_list(),
        release=draft.release if exists else None,
        history=_kept_history(draft, keep=xapp.spec.max_history) or None,
        health=XAppHealth(status=live.status, message=shorten(live.message, CAUSE_MAX) or None) if exists else None,
        services=list(live.services[:SERVICES_MAX]) or None if exists else None,
        resources=ResourceCounts(total=live.total, ready=live.ready) if exists else None,
        last_attempt=attempt_to_status(draft.attempt),
        last_test=store_test_run(draft.test),
        held_revision=draft.held_revision,
        terminating=list(draft.terminating) or None,
        progress=_progress(xapp, draft, decision, live, now=now, retries=retries),
        handled=draft.handled if draft.handled != HandledAnnotations() else None,
        configured_repository=draft.configured_repository,
    )
    return cast("JsonObject", status.model_dump(mode="json", by_alias=True, exclude_none=True))


def render_repository_status(
    repository: ChartRepository, *, charts: int | None, error: XAppError | None, now: float
) -> JsonObject:
    """Return the whole status of a ChartRepository as JSON.

    `charts` is the number of charts in the index, or None for a registry, which has no index. `error` tells why the
    index could not be read; then the stored number of charts and time of the last fetch stay. `now` is seconds since
    the epoch.
    """
    stored = repository.status
    conditions = ConditionSet(stored.conditions or (), generation=repository.metadata.generation, now=utc(now))
    if error is None:
        conditions.remove(RECONCILING, STALLED)
        listed = "1 chart" if charts == 1 else f"{charts} charts"
        message = "a registry has no index" if charts is None else f"the index lists {listed}"
        conditions.set(READY, status=True, reason=RepositoryReason.FETCHED, message=message)
    else:
        reason = RepositoryReason.of(error)
        conditions.remove(RECONCILING if error.permanent else STALLED)  # the other one keeps its time
        conditions.set(READY, status=False, reason=reason, message=error.message)
        conditions.set(STALLED if error.permanent else RECONCILING, status=True, reason=reason, message=error.message)
    status = ChartRepositoryStatus(
        observed_generation=repository.metadata.generation,
        charts=charts if error is None else stored.charts,
        last_fetched=utc(now) if error is None else stored.last_fetched,
        conditions=conditions.to_list(),
    )
    return cast("JsonObject", status.model_dump(mode="json", by_alias=True, exclude_none=True))


def _progress(
    xapp: XApp,
    draft: StatusDraft,
    decision: Wait | Nothing,
    live: MonitorReport,
    *,
    now: datetime,
    retries: SourceRetries,
) -> Progress | None:
    stored, previous = xapp.status.progress, None
    observed = xapp.status.observed_generation == xapp.metadata.generation
    if observed and stored is not None and stored.started_at is not None:
        previous = stored.step, min(stored.started_at, now).timestamp()
    found = find_progress(
        decision,
        attempt=draft.attempt,
        health=live.status,
        timeout_seconds=xapp.spec.timeout_seconds,
        previous=previous,
        retries=retries,
        now=now.timestamp(),
    )
    if found is None:
        return None
    return Progress(
        step=found.step.value,
        started_at=utc(found.started_at),
        deadline=None if found.deadline is None else utc(found.deadline),
        attempt=found.attempt,
        next_try_at=None if found.next_try_at is None else utc(found.next_try_at),
    )


def _kept_history(draft: StatusDraft, *, keep: int) -> list[RevisionStatus]:
    """Return the revisions that Helm keeps too, newest first; for a while, there may be others in its storage."""
    oldest_first, in_force = draft.history[::-1], draft.release.revision
    never_healthy = {each.revision for each in oldest_first if each.was_healthy is False}
    pruned = revisions_to_prune(oldest_first, keep=keep, in_force=in_force, never_healthy=never_healthy)
    surplus = {each.revision for each in pruned}
    return [each for each in draft.history if each.revision not in surplus][:keep]


def _set_released(conditions: ConditionSet, draft: StatusDraft) -> None:
    attempt, known = draft.attempt, conditions.get(RELEASED)
    if attempt is None:
        if known is not None and known.status == "True" and draft.release.revision is not None:
            conditions.set(RELEASED, status=True, reason=_success_reason(draft), message=describe_release(draft))
        return
    if _was_rolled_back(draft):
        conditions.set(RELEASED, status=True, reason=Reason.ROLLBACK_SUCCEEDED, message=describe_release(draft))
    elif attempt.outcome in HELM_FINISHED and attempt.action in SUCCESS_REASONS:
        reason = Reason.UNLOCKED if draft.unlocked and attempt.outcome is not AttemptOutcome.SUCCEEDED else None
        conditions.set(
            RELEASED,
            status=True,
            reason=reason or SUCCESS_REASONS[attempt.action],
            message=describe_release(draft),
        )
    elif attempt.outcome is AttemptOutcome.FAILED:
        _set_failed_step(conditions, attempt.action, reason=attempt.reason, message=attempt.message)
    elif attempt.action == ROLLBACK and (cause := _failure_of_helm(attempt)) is not None:  # it is not over
        _set_failed_step(conditions, UPGRADE, reason=cause.reason, message=cause.message)


def _set_failed_step(conditions: ConditionSet, action: str, *, reason: str, message: str) -> None:
    failure = reason if reason == Reason.ACCESS_DENIED else FAILURE_REASONS.get(action, reason)
    conditions.set(RELEASED, status=False, reason=failure, message=message)


def _failure_of_helm(rollback: Attempt) -> RollbackCause | None:
    """Return why an upgrade is rolled back, unless helm has finished it."""
    cause = rollback.rollback_cause
    return None if cause is None or cause.reason in UNHEALTHY_REASONS else cause


def _was_rolled_back(draft: StatusDraft) -> bool:
    """Return whether the last step was a rollback that nobody asked for: the attempt is the upgrade that it undid."""
    attempt, step = draft.attempt, _deployed_step(draft)
    undone = (AttemptOutcome.FAILED, AttemptOutcome.UNHEALTHY)
    if attempt is None or attempt.action != UPGRADE or attempt.outcome not in undone:
        return False
    return step is not None and step.action == ROLLBACK and step.revision > attempt.revision_before


def _success_reason(draft: StatusDraft) -> str:
    """Return the reason of the step that made the release, which an attempt that failed has not."""
    attempt = draft.attempt
    made = attempt if attempt is not None and attempt.outcome is not AttemptOutcome.FAILED else _deployed_step(draft)
    step = made or attempt
    return SUCCESS_REASONS.get((step.action if step else None) or "", Reason.INSTALL_SUCCEEDED)


def _deployed_step(draft: StatusDraft) -> RevisionStatus | None:
    return next((each for each in draft.history if each.revision == draft.release.revision), None)


def _set_tested(conditions: ConditionSet, draft: StatusDraft) -> None:
    run = draft.test
    if run is None or run.revision != draft.release.revision:
        conditions.remove(TEST_SUCCESS)  # of another revision: about this one, nothing is known
    elif run.outcome is TestOutcome.SUCCEEDED:
        conditions.set(TEST_SUCCESS, status=True, reason=Reason.TEST_SUCCEEDED, message=run.message)
    elif run.outcome is TestOutcome.FAILED:
        conditions.set(TEST_SUCCESS, status=False, reason=Reason.TEST_FAILED, message=run.message)
    else:
        message = run.message or f"the tests of revision {run.revision} run, or wait for a place"
        conditions.set(TEST_SUCCESS, status=None, reason=Reason.PROGRESSING, message=message)


def describe_release(draft: StatusDraft) -> str:
    """Return which revision of which chart is deployed, as a phrase."""
    release = draft.release
    return f"revision {release.revision} of {release.chart or 'the chart'} {release.chart_version or ''}".rstrip()


def _set_waiting(conditions: ConditionSet, wait: Wait, draft: StatusDraft, xapp: XApp) -> Phase:
    if wait.reason == Reason.SUSPENDED:
        conditions.remove(RECONCILING)
        if (known := conditions.get(READY)) is None or known.reason == Reason.PROGRESSING:
            conditions.set(READY, status=False, reason=wait.reason, message=wait.message)
        return Phase.SUSPENDED
    wait = replace(wait, message=_with_terminating(_with_rollback_cause(wait, draft), draft))
    conditions.set(READY, status=False, reason=wait.reason, message=wait.message)
    if wait.stalled:
        conditions.remove(RECONCILING)
        conditions.set(STALLED, status=True, reason=wait.reason, message=wait.message)
        return Phase.FAILED
    conditions.remove(STALLED)
    if wait.reason == Reason.HEALTH_CHECK_FAILED:
        conditions.remove(RECONCILING)
        return Phase.DEGRADED
    conditions.set(RECONCILING, status=True, reason=wait.reason, message=wait.message)
    never_tried = draft.attempt is None and xapp.status.release is None
    return Phase.PENDING if never_tried else Phase.DEPLOYING


def _with_rollback_cause(wait: Wait, draft: StatusDraft) -> str:
    """Return the message; that of a rollback that failed also says why the upgrade failed which it should undo."""
    attempt = draft.attempt
    cause = None if attempt is None or attempt.outcome is not AttemptOutcome.FAILED else attempt.rollback_cause
    if attempt is None or cause is None or not wait.message.startswith(attempt.message):
        return wait.message
    why = f"; before that, the upgrade failed: {shorten(cause.message, MESSAGE_MAX)}"
    return shorten(wait.message, CAUSE_MAX - len(why)) + why


def _with_terminating(message: str, draft: StatusDraft) -> str:
    """Return the message of what is not ready; it also says which objects are waited for until they are deleted."""
    if not draft.terminating or draft.release.revision is None:
        return message
    names = format_list((f"{each.kind} {each.name}" for each in draft.terminating), total=len(draft.terminating))
    told = (
        f"; still being deleted since before revision {draft.release.revision} was deployed, and created again once "
        f"gone: {names}"
    )
    return shorten(message, CAUSE_MAX - len(told)) + told


def _set_settled(conditions: ConditionSet, decision: Nothing, draft: StatusDraft, live: MonitorReport) -> Phase:
    conditions.remove(STALLED)
    if live.status is HealthStatus.HEALTHY:
        conditions.remove(RECONCILING)
        message = f"{describe_release(draft)} is deployed and healthy"
        if decision.note:
            message = f"{message}; {decision.note}"
        conditions.set(READY, status=True, reason=_success_reason(draft), message=message)
        return Phase.DEPLOYED
    message = _with_terminating(live.message, draft)
    if live.status is HealthStatus.DEGRADED:
        conditions.remove(RECONCILING)
        conditions.set(READY, status=False, reason=Reason.HEALTH_CHECK_FAILED, message=message)
        return Phase.DEGRADED
    conditions.set(READY, status=False, reason=Reason.PROGRESSING, message=message)
    conditions.set(RECONCILING, status=True, reason=Reason.PROGRESSING, message=message)
    return Phase.DEPLOYING
