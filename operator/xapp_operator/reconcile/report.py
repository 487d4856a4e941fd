"""How a decision and a draft become the status of an XApp: phase, conditions by kstatus, release, health. Pure.

Lives in `reconcile` beside the verbs; the writing itself is `kube.status`. The message of Ready always carries the
root cause. Conditions by kstatus ("Reconciling" and "Stalled" only while True).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import cast

from xapp_operator.api.conditions import (
    READY,
    RECONCILING,
    RELEASED,
    STALLED,
    ConditionSet,
    Reason,
    trim,
)
from xapp_operator.api.json import JsonObject
from xapp_operator.api.models import (
    SERVICES_MAX,
    Health,
    HealthStatus,
    Phase,
    Resources,
    ServiceStatus,
    XApp,
    XAppStatus,
)
from xapp_operator.domain.actions import Nothing, Wait
from xapp_operator.domain.situation import Attempt, Outcome
from xapp_operator.reconcile.draft import Draft, recorded

SUCCEEDED = {
    "Install": Reason.INSTALL_SUCCEEDED,
    "Upgrade": Reason.UPGRADE_SUCCEEDED,
    "Rollback": Reason.ROLLBACK_SUCCEEDED,
}
FAILED = {
    "Install": Reason.INSTALL_FAILED,
    "Upgrade": Reason.UPGRADE_FAILED,
    "Rollback": Reason.ROLLBACK_FAILED,
    "Uninstall": Reason.UNINSTALL_FAILED,
}
_ENDED = frozenset({Outcome.RELEASED, Outcome.SUCCEEDED, Outcome.UNHEALTHY})


@dataclass(frozen=True, slots=True)
class Live:
    """What the Service Monitor says about the live objects of one xApp."""

    health: HealthStatus = HealthStatus.UNKNOWN
    message: str = ""
    total: int = 0
    ready: int = 0
    services: tuple[ServiceStatus, ...] = ()


def render(xapp: XApp, draft: Draft, decision: Wait | Nothing, live: Live, *, now: datetime) -> JsonObject:
    """Return the whole status as JSON; fields that are absent are None, so that they are removed."""
    conditions = ConditionSet(xapp.status.conditions or (), generation=xapp.metadata.generation, now=now)
    _released(conditions, draft)
    if isinstance(decision, Wait):
        phase = _waiting(conditions, decision, draft, xapp)
    else:
        phase = _settled(conditions, decision, draft, live)
    if xapp.metadata.deletion_timestamp is not None:
        phase = Phase.UNINSTALLING
    exists = draft.release.revision is not None
    status = XAppStatus.model_construct(
        observed_generation=xapp.metadata.generation,
        phase=phase,
        conditions=conditions.listed(),
        release=draft.release if exists else None,
        history=list(draft.history[: xapp.spec.max_history]) or None,
        health=Health(status=live.health, message=trim(live.message) or None) if exists else None,
        services=list(live.services[:SERVICES_MAX]) or None if exists else None,
        resources=Resources(total=live.total, ready=live.ready) if exists else None,
        last_attempt=recorded(draft.attempt),
        held_revision=draft.held_revision,
        handled=draft.handled if draft.handled.model_fields_set else None,
    )
    return cast("JsonObject", status.model_dump(mode="json", by_alias=True, exclude_none=True))


def _released(conditions: ConditionSet, draft: Draft) -> None:
    attempt = draft.attempt
    if attempt is None:
        return
    if attempt.outcome in _ENDED and attempt.action in SUCCEEDED:
        reason = Reason.UNLOCKED if draft.unlocked and attempt.outcome is not Outcome.SUCCEEDED else None
        conditions.set(
            RELEASED,
            status=True,
            reason=reason or SUCCEEDED[attempt.action],
            message=describe(draft),
        )
    elif attempt.outcome is Outcome.FAILED:
        conditions.set(
            RELEASED, status=False, reason=FAILED.get(attempt.action, attempt.reason), message=attempt.message
        )


def describe(draft: Draft) -> str:
    """Return the sentence that says which revision of which chart is in force."""
    release = draft.release
    return f"revision {release.revision} of {release.chart or 'the chart'} {release.chart_version or ''}".rstrip()


def _waiting(conditions: ConditionSet, wait: Wait, draft: Draft, xapp: XApp) -> Phase:
    if wait.reason == Reason.SUSPENDED:
        conditions.drop(RECONCILING)
        if conditions.get(READY) is None:
            conditions.set(READY, status=False, reason=wait.reason, message=wait.message)
        return Phase.SUSPENDED
    conditions.set(READY, status=False, reason=wait.reason, message=wait.message)
    if wait.stalled:
        conditions.drop(RECONCILING)
        conditions.set(STALLED, status=True, reason=wait.reason, message=wait.message)
        return Phase.FAILED
    conditions.drop(STALLED)
    if wait.reason == Reason.HEALTH_CHECK_FAILED:
        conditions.drop(RECONCILING)
        return Phase.DEGRADED
    conditions.set(RECONCILING, status=True, reason=wait.reason, message=wait.message)
    never_tried = draft.attempt is None and xapp.status.release is None
    return Phase.PENDING if never_tried else Phase.DEPLOYING


def _settled(conditions: ConditionSet, decision: Nothing, draft: Draft, live: Live) -> Phase:
    conditions.drop(STALLED)
    if live.health is HealthStatus.HEALTHY:
        conditions.drop(RECONCILING)
        message = f"{describe(draft)} is deployed and healthy"
        if decision.note:
            message = f"{message}; {decision.note}"
        conditions.set(READY, status=True, reason=_success(draft.attempt), message=message)
        return Phase.DEPLOYED
    if live.health is HealthStatus.DEGRADED:
        conditions.drop(RECONCILING)
        conditions.set(READY, status=False, reason=Reason.HEALTH_CHECK_FAILED, message=live.message)
        return Phase.DEGRADED
    conditions.set(READY, status=False, reason=Reason.PROGRESSING, message=live.message)
    conditions.set(RECONCILING, status=True, reason=Reason.PROGRESSING, message=live.message)
    return Phase.DEPLOYING


def _success(attempt: Attempt | None) -> str:
    return SUCCEEDED.get(attempt.action if attempt else "", Reason.INSTALL_SUCCEEDED)
