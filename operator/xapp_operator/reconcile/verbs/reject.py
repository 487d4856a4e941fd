"""RejectRollback and RejectRequest: an annotation asks for what cannot be done, or has no effect now.

Changes in StatusDraft: the annotation is handled.
"""

from __future__ import annotations

from typing import Final

from xapp_operator.api.conditions import Reason
from xapp_operator.domain.planning.actions import RejectRequest, RejectRollback
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.status.status_draft import RequestField

NO_EFFECT: Final = "NoEffect"
"""The reason of the event."""

_FIELDS: Final[dict[str, RequestField]] = {
    "force-at": "force_at",
    "test-at": "test_at",
    "rollback-to": "rollback_to",
}


def reject(action: RejectRollback | RejectRequest, request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Record an event, and mark the annotation as handled."""
    reason = Reason.ROLLBACK_FAILED if isinstance(action, RejectRollback) else NO_EFFECT
    context.events.record(request.raw, event_type="Warning", reason=reason, message=action.message)
    field: RequestField = "rollback_to" if isinstance(action, RejectRollback) else _FIELDS[action.annotation]
    request.draft = request.draft.with_handled(request.xapp, field)
