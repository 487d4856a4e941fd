"""The actions that put right what is around a release at rest: see `domain.planning.plan_at_rest`."""

from __future__ import annotations

from typing import assert_never

from xapp_operator.domain.planning.actions import CorrectDrift, MaintenanceAction, RepairLabels, UpdateArchiveOwners
from xapp_operator.reconcile.observe import Observation
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.verbs.correct_drift import correct_drift
from xapp_operator.reconcile.verbs.repair_labels import repair_labels


async def run_maintenance(
    action: MaintenanceAction, request: ReconcileRequest, context: ReconcilerContext, observation: Observation
) -> None:
    """Execute one of these actions.

    Raises:
        KubeError: when the cluster does not answer.
    """
    match action:
        case UpdateArchiveOwners():
            await context.archive_owners.update(request.xapp, observation.archive_owner_changes)
        case RepairLabels():
            await repair_labels(action, request, context, observation.missing_labels.objects)
        case CorrectDrift():
            await correct_drift(action, request, context)
        case _:
            assert_never(action)
