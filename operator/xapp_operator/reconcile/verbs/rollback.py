"""Rollback: an upgrade failed permanently or never became healthy, or rollback-to requests a revision.

Changes in StatusDraft: attempt, held revision, handled rollback-to. A failed upgrade stays recorded, so that the same
digests are not tried again.
"""

from __future__ import annotations

from dataclasses import replace

from xapp_operator.api.conditions import Reason
from xapp_operator.domain.actions import RejectRollback, Rollback
from xapp_operator.domain.plan_input import Attempt, AttemptOutcome
from xapp_operator.helm.requests import RollbackRequest
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.verbs.deploy import run_step


async def rollback(
    action: Rollback,
    request: ReconcileRequest,
    context: ReconcilerContext,
    attempt: Attempt,
    *,
    undone_attempt: Attempt | None,
    root_cause: str,
) -> None:
    """Run `helm rollback` to `action.revision` and record how it ended; a failure is recorded, not raised.

    `undone_attempt` is the attempt that is rolled back, and `root_cause` tells why its revision is not healthy.
    """
    helm_request = RollbackRequest(
        name=request.xapp.release_name,
        namespace=request.namespace,
        revision=action.revision,
        user=context.impersonation.user_for(request.xapp),
        timeout=request.xapp.spec.timeout_seconds,
        history_max=request.xapp.spec.max_history,
    )
    attempt, _ = await run_step(request, context, attempt, lambda slot: context.helm.rollback(helm_request, slot=slot))
    handled = action.hold and attempt.outcome is AttemptOutcome.FAILED and attempt.permanent
    if attempt.outcome is AttemptOutcome.RELEASED:
        context.monitor.forget_inventory(request.key)
        if action.hold:
            handled = True
            request.draft = replace(request.draft, held_revision=action.revision)
        else:
            attempt = _rolled_back_attempt(undone_attempt or attempt, action.revision, root_cause)
            context.events.record(
                request.raw, event_type="Warning", reason=Reason.ROLLBACK_SUCCEEDED, message=attempt.message
            )
    request.draft = replace(request.draft, attempt=attempt)
    if handled:
        request.draft = request.draft.with_handled(request.xapp, "rollback_to")
    await context.release_watch.refresh(request.namespace, request.xapp.release_name)


def reject_rollback(action: RejectRollback, request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Record an event, and mark rollback-to as handled."""
    context.events.record(request.raw, event_type="Warning", reason=Reason.ROLLBACK_FAILED, message=action.message)
    request.draft = request.draft.with_handled(request.xapp, "rollback_to")


def _rolled_back_attempt(attempt: Attempt, revision: int, root_cause: str) -> Attempt:
    advice = f"rolled back to revision {revision}; change spec, chart or values, or set the annotation retry-at"
    if attempt.outcome is AttemptOutcome.FAILED:
        return replace(attempt, permanent=True, message=f"{attempt.message}; {advice}")
    return replace(
        attempt,
        outcome=AttemptOutcome.UNHEALTHY,
        permanent=True,
        reason=Reason.HEALTH_CHECK_FAILED,
        message=f"not healthy within spec.timeout: {root_cause}; {advice}",
    )
