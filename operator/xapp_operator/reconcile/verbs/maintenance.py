"""The actions that put right what is around a release at rest: see `domain.planning.plan_at_rest`."""

from __future__ import annotations

from typing import Final, assert_never

from xapp_operator.domain.planning.actions import (
    CorrectDrift,
    DeleteLeftovers,
    MaintenanceAction,
    Recreate,
    RepairLabels,
    UpdateArchiveOwners,
)
from xapp_operator.errors import KubeError
from xapp_operator.reconcile.observe import Observation
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.verbs.correct_drift import correct_drift
from xapp_operator.reconcile.verbs.leftovers import SECONDS_MAX, delete_leftovers
from xapp_operator.reconcile.verbs.recreate import recreate
from xapp_operator.reconcile.verbs.repair_labels import repair_labels
from xapp_operator.reconcile.verbs.surplus_revisions import delete_surplus, find_previous_good

OWNERS_NOT_WRITTEN: Final = "ArchiveOwnersNotWritten"
"""The reason of the event, unless a right is missing."""


async def run_maintenance(
    action: MaintenanceAction, request: ReconcileRequest, context: ReconcilerContext, observation: Observation
) -> None:
    """Execute one of these actions.

    Raises:
        KubeError: when the cluster does not answer.
    """
    match action:
        case UpdateArchiveOwners():
            await _update_archive_owners(request, context, observation)
        case RepairLabels():
            await repair_labels(action, request, context, observation.missing_labels.objects)
        case CorrectDrift():
            await correct_drift(action, request, context)
        case DeleteLeftovers():
            await _delete_leftovers(request, context)
        case Recreate():
            await recreate(action, request, context)
        case _:
            assert_never(action)


async def _delete_leftovers(request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Delete what helm has left, and then the revisions that told of it, if they are beyond spec.maxHistory.

    What keeps the operator from it becomes an event, and is tried again after a pause.
    """
    try:
        await delete_leftovers(request, context)
        await delete_surplus(request, context, rollback_target=find_previous_good(request, context))
    except (KubeError, TimeoutError) as error:
        cause = error.message if isinstance(error, KubeError) else f"not all were looked at within {SECONDS_MAX:g} s"
        message = f"objects of revisions that failed may be left; this is tried again: {cause}"
        context.events.record(request.raw, event_type="Warning", reason="LeftBehind", message=message)
        context.leftover_backoff.record_repair(request.key, now=context.clock.monotonic())


async def _update_archive_owners(
    request: ReconcileRequest, context: ReconcilerContext, observation: Observation
) -> None:
    """Write the owners of ChartArchives; what the cluster refuses becomes an event, and is tried again after a pause.

    The release does not depend on it: an archive with an owner too many is only deleted later.
    """
    try:
        await context.archive_owners.update(request.xapp, observation.archive_owner_changes)
    except KubeError as error:
        context.events.record_refusal(request.raw, error, otherwise=OWNERS_NOT_WRITTEN)
        context.archive_backoff.record_repair(request.key, now=context.clock.monotonic())
