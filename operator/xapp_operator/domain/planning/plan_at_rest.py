"""What `plan` chooses while there is nothing to deploy: what else is not as it should be. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable

from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus, XAppSpec
from xapp_operator.domain.planning.actions import (
    Action,
    CorrectDrift,
    DeleteLeftovers,
    MarkSuperseded,
    Recreate,
    RepairLabels,
    UpdateArchiveOwners,
    Wait,
)
from xapp_operator.domain.planning.backoff import Backoff
from xapp_operator.domain.planning.plan_input import DEPLOYED, ObservedState, PlanInput, TestRun
from xapp_operator.errors import AccessDenied


def plan_at_rest(inputs: PlanInput) -> Action | None:
    """Return the first action that is needed, or None."""
    return next((action for rule in _RULES if (action := rule(inputs)) is not None), None)


def plan_problem_at_rest(inputs: PlanInput) -> Wait | None:
    """Return what keeps a release that is deployed as wanted from being Ready: what is not known, or refused."""
    observed = inputs.observed
    if observed.manifest_problem:
        return Wait(Reason.CHART_INVALID, observed.manifest_problem, stalled=True)
    if observed.release is None or (refused := observed.labels.refused) is None:
        return None
    mend = "Grant that permission" if isinstance(refused, AccessDenied) and refused.missing else "Remove the cause"
    message = (
        f"revision {observed.release.revision} is deployed, but the operator cannot label its objects: "
        f"{refused.message}. {mend}; the operator tries again by itself"
    )
    if inputs.health is HealthStatus.DEGRADED and inputs.root_cause:
        message = f"{inputs.root_cause}; {message}"
    return Wait(refused.reason or Reason.UPGRADE_FAILED, message, stalled=True, at_rest=True, told=True)


def next_action_at(
    spec: XAppSpec, observed: ObservedState, test: TestRun | None, *, now: float, backoff: Backoff
) -> float:
    """Return when labels are to be repaired, objects compared, corrected or created again, or tests started again.

    Seconds since the epoch; infinity means that only a change brings the next action.
    """
    labels, drift, times = observed.labels, observed.drift, [math.inf]
    if (labels.missing or labels.outdated) and labels.repair_at > now:
        times.append(labels.repair_at)
    if observed.terminating.gone and observed.terminating.recreate_at > now:
        times.append(observed.terminating.recreate_at)
    if drift is not None and drift.compare_at is not None:
        times.append(drift.compare_at)
    if drift is not None and drift.correctable and spec.drift_detection.mode == "enabled":
        times.append(drift.correct_at)
    if test is not None and not test.ended and not observed.tests_running:
        due = test.last_at + backoff.delay(test.count)
        times.append(due if due > now else math.inf)
    return min(times)


def _plan_label_repair(inputs: PlanInput) -> Action | None:
    labels = inputs.observed.labels
    if not _own_release_is_at_rest(inputs) or not labels.repair_due(inputs.now):
        return None
    return RepairLabels(all_objects=labels.outdated)


def _plan_recreation(inputs: PlanInput) -> Action | None:
    terminating = inputs.observed.terminating
    if not terminating.gone or inputs.now < terminating.recreate_at or not _own_release_is_at_rest(inputs):
        return None
    return Recreate(terminating.gone)


def _plan_drift_correction(inputs: PlanInput) -> Action | None:
    drift = inputs.observed.drift
    if drift is None or inputs.spec.drift_detection.mode != "enabled" or not _own_release_is_at_rest(inputs):
        return None
    due = drift.correctable and inputs.now >= drift.correct_at
    return CorrectDrift(drift.correctable) if due else None


def _plan_leftovers(inputs: PlanInput) -> Action | None:
    release, is_healthy = inputs.release, inputs.health is HealthStatus.HEALTHY  # until then, old pods use old objects
    if not inputs.observed.leftovers or not is_healthy or release is None or release.overtaken:
        return None
    return DeleteLeftovers() if _own_release_is_at_rest(inputs) else None


def _plan_archive_owners(inputs: PlanInput) -> Action | None:
    settled = not inputs.deleting and not inputs.spec.suspend
    return UpdateArchiveOwners() if settled and inputs.observed.archive_owners_differ else None


def _plan_superseded(inputs: PlanInput) -> Action | None:
    if inputs.release is None or inputs.release.overtaken or not _own_release_is_at_rest(inputs):
        return None  # once it is called superseded, nothing tells that a revision has overtaken the newest one
    also_deployed = tuple(each.revision for each in inputs.release.past_revisions if each.status == DEPLOYED)
    return MarkSuperseded(also_deployed) if also_deployed else None


def _own_release_is_at_rest(inputs: PlanInput) -> bool:
    """Return whether the release is the XApp's own and deployed, and nothing else works on it."""
    busy = inputs.deleting or inputs.spec.suspend or inputs.observed.helm_running
    deployed = inputs.release is not None and inputs.release.status == DEPLOYED
    return deployed and inputs.owned and inputs.observed.record_damaged is None and not busy


_RULES: tuple[Callable[[PlanInput], Action | None], ...] = (
    _plan_recreation,
    _plan_label_repair,
    _plan_drift_correction,
    _plan_archive_owners,
    _plan_leftovers,
    _plan_superseded,
)
