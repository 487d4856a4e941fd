"""Rollback: an upgrade failed for good or never became healthy, or rollback-to asks for a revision.

Draft: release, history; the failed attempt stays recorded, so that the same digests are not tried again.
"""

from __future__ import annotations

import time
from dataclasses import replace

from xapp_operator.api.conditions import Reason
from xapp_operator.api.names import ANNOTATION_ROLLBACK_TO
from xapp_operator.domain.actions import Rollback
from xapp_operator.domain.plan_input import Attempt, AttemptOutcome
from xapp_operator.errors import XAppError
from xapp_operator.helm.requests import RollbackRequest
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.running import StepInterrupted
from xapp_operator.reconcile.status_draft import requested_value
from xapp_operator.reconcile.verbs.deploy import failed_attempt


async def rollback(
    action: Rollback,
    work: ReconcileRequest,
    tools: ReconcilerContext,
    attempt: Attempt,
    *,
    undone_attempt: Attempt | None,
    root_cause: str,
) -> None:
    """Run `helm rollback` to `action.revision`.

    Args:
        action: the revision, and whether it is held.
        work: the XApp in hand.
        tools: the tools of the process.
        attempt: the rollback itself, as begun.
        cause: the attempt that is undone; it stays recorded, so that the same digests are not tried again.
        culprit: why the undone revision is not healthy.
    """
    request = RollbackRequest(
        name=work.xapp.release_name,
        namespace=work.namespace,
        revision=action.revision,
        user=tools.impersonation.user_for(work.xapp),
        timeout=work.xapp.spec.timeout_seconds,
        history_max=work.xapp.spec.max_history,
    )
    try:
        await tools.running_steps.run(work.key, tools.helm.rollback(request))
    except StepInterrupted:
        work.draft.attempt = replace(attempt, outcome=AttemptOutcome.INTERRUPTED, last_at=time.time())
    except XAppError as error:
        work.draft.attempt = failed_attempt(attempt, error)
        if action.hold and error.permanent:
            mark_rollback_handled(work)
        tools.events.record(work.raw, event_type="Warning", reason=work.draft.attempt.reason, message=error.message)
    else:
        tools.monitor.forget_inventory(work.key)
        if action.hold:
            mark_rollback_handled(work)
            work.draft.held_revision = action.revision
            work.draft.attempt = replace(attempt, outcome=AttemptOutcome.RELEASED, last_at=time.time())
        else:
            work.draft.attempt = _rolled_back_attempt(undone_attempt or attempt, action.revision, root_cause)
            tools.events.record(
                work.raw, event_type="Warning", reason=Reason.ROLLBACK_SUCCEEDED, message=work.draft.attempt.message
            )
    await tools.release_watch.refresh(work.namespace, work.xapp.release_name)


def mark_rollback_handled(work: ReconcileRequest) -> None:
    """Note that what rollback-to asks for was done, or cannot be done."""
    asked = requested_value(work.xapp, ANNOTATION_ROLLBACK_TO)
    work.draft.handled = work.draft.handled.model_copy(update={"rollback_to": asked})


def _rolled_back_attempt(attempt: Attempt, revision: int, root_cause: str) -> Attempt:
    """Return the failed upgrade as what it now is: permanently failed, and rolled back."""
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
