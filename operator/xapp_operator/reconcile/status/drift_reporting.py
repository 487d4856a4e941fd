"""Reports drift: the condition Drifted, and an event each time that drift begins. Pure."""

from __future__ import annotations

from xapp_operator.api.conditions import DRIFTED, ConditionSet, Reason, find_condition
from xapp_operator.api.models import Condition, XApp
from xapp_operator.domain.drift import describe_drift
from xapp_operator.domain.planning.plan_input import DriftState
from xapp_operator.reconcile.status.status_draft import StatusDraft

CORRECTION_PENDING = "it was corrected before and changed again; the operator corrects it with growing pauses"


def set_drifted(conditions: ConditionSet, xapp: XApp, draft: StatusDraft, drift: DriftState | None) -> None:
    """Set the condition Drifted. It is there from the first drift on, until detection is disabled.

    `drift` is None where it was not looked for, as while the XApp is suspended; then the condition stays.
    """
    if draft.release.revision is None or xapp.spec.drift_detection.mode == "disabled":
        conditions.remove(DRIFTED)
        return
    if drift is None:
        return
    if drift.objects:
        reason = Reason.ACCESS_DENIED if drift.correction_denied else Reason.DRIFT_DETECTED
        conditions.set(DRIFTED, status=True, reason=reason, message=_describe(xapp, drift))
    elif drift.unknown:
        reason = Reason.ACCESS_DENIED if drift.denied else Reason.DRIFT_UNKNOWN
        message = f"it is not known whether objects differ from the release: {drift.unknown}"
        conditions.set(DRIFTED, status=None, reason=reason, message=message)
    elif draft.drift_corrected:
        message = f"corrected: {draft.drift_corrected}"
        conditions.set(DRIFTED, status=False, reason=Reason.DRIFT_CORRECTED, message=message)
    elif drift.compare_at is None and (known := conditions.get(DRIFTED)) is not None:
        _set_ended(conditions, known, draft)


def _set_ended(conditions: ConditionSet, known: Condition, draft: StatusDraft) -> None:
    if known.status == "False":
        conditions.set(DRIFTED, status=False, reason=known.reason, message=known.message)
    else:
        message = f"the objects are as in revision {draft.release.revision}"
        conditions.set(DRIFTED, status=False, reason=Reason.NO_DRIFT, message=message)


def _describe(xapp: XApp, drift: DriftState) -> str:
    message = describe_drift(drift.objects)
    if drift.correction_error:
        return f"{drift.correction_error}. Objects that differ from the release: {message}"
    pending = xapp.spec.drift_detection.mode == "enabled" and drift.corrected_before
    return f"{message}; {CORRECTION_PENDING}" if pending else message


def find_begun_drift(before: XApp, after: XApp) -> Condition | None:
    """Return the condition Drifted of `after` if it has become True or Unknown since `before`, which is an event."""
    known, now = (find_condition(each.status.conditions, DRIFTED) for each in (before, after))
    changed = now is not None and (known is None or known.status != now.status)
    return now if now is not None and changed and now.status != "False" else None
