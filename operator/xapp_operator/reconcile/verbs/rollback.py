"""Rollback: an upgrade failed for good or never became healthy, or rollback-to asks for a revision.

Draft: release, history; the failed attempt stays recorded, so that the same digests are not tried again.
"""

from __future__ import annotations

import time
from dataclasses import replace

from xapp_operator.api.conditions import Reason
from xapp_operator.api.names import ANNOTATION_ROLLBACK_TO
from xapp_operator.domain.actions import Rollback
from xapp_operator.domain.situation import Attempt, Outcome
from xapp_operator.errors import XAppError
from xapp_operator.helm.requests import RollbackRequest
from xapp_operator.reconcile.draft import wish
from xapp_operator.reconcile.running import Interrupted
from xapp_operator.reconcile.tools import Tools, Work
from xapp_operator.reconcile.verbs.deploy import failed


async def rollback(
    action: Rollback, work: Work, tools: Tools, attempt: Attempt, *, cause: Attempt | None, culprit: str
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
        user=tools.identities.user_of(work.xapp),
        timeout=work.xapp.spec.timeout_seconds,
        history_max=work.xapp.spec.max_history,
    )
    try:
        await tools.running.run(work.key, tools.helm.rollback(request))
    except Interrupted:
        work.draft.attempt = replace(attempt, outcome=Outcome.INTERRUPTED, last_at=time.time())
    except XAppError as error:
        work.draft.attempt = failed(attempt, error)
        if action.hold and error.permanent:
            note_rollback(work)
        tools.events.record(work.raw, kind="Warning", reason=work.draft.attempt.reason, message=error.message)
    else:
        tools.monitor.forget(work.key)
        if action.hold:
            note_rollback(work)
            work.draft.held_revision = action.revision
            work.draft.attempt = replace(attempt, outcome=Outcome.RELEASED, last_at=time.time())
        else:
            work.draft.attempt = _undone(cause or attempt, action.revision, culprit)
            tools.events.record(
                work.raw, kind="Warning", reason=Reason.ROLLBACK_SUCCEEDED, message=work.draft.attempt.message
            )
    await tools.releases.refresh(work.namespace, work.xapp.release_name)


def note_rollback(work: Work) -> None:
    """Note that what rollback-to asks for was done, or cannot be done."""
    asked = wish(work.xapp, ANNOTATION_ROLLBACK_TO)
    work.draft.handled = work.draft.handled.model_copy(update={"rollback_to": asked})


def _undone(cause: Attempt, revision: int, culprit: str) -> Attempt:
    """Return the failed upgrade as what it now is: permanently failed, and rolled back."""
    back = f"rolled back to revision {revision}; change spec, chart or values, or set the annotation retry-at"
    if cause.outcome is Outcome.FAILED:
        return replace(cause, permanent=True, message=f"{cause.message}; {back}")
    return replace(
        cause,
        outcome=Outcome.UNHEALTHY,
        permanent=True,
        reason=Reason.HEALTH_CHECK_FAILED,
        message=f"not healthy within spec.timeout: {culprit}; {back}",
    )
