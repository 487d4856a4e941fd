"""The progress in the record of an XApp: what the operator reports, and what it cannot report."""

from __future__ import annotations

from typing import Final

from xapp_operator.api.json import Json, JsonObject, obj, text
from xapp_operator.api.models import Phase
from xapp_operator.api.status_parts import Step
from xapp_operator.gateway.catalog.change_times import spec_changed_at

_STEPS: Final = frozenset(step.value for step in Step)


def build_progress(xapp: JsonObject, *, is_current: bool, ready: JsonObject, fields: tuple[str, ...]) -> Json:
    """Return the progress of an XApp; None while it is suspended.

    Before the operator has reported on the current spec, the XApp is queued; afterwards it is where the operator says,
    or ready.

    Args:
        xapp: the whole XApp.
        is_current: whether the status is about the current spec.
        ready: the condition Ready, or an empty object.
        fields: names of the fields of a progress.
    """
    metadata, status = obj(xapp, "metadata"), obj(xapp, "status")
    empty: JsonObject = dict.fromkeys(fields)
    if not is_current:
        return empty | {"step": Step.QUEUED.value, "startedAt": spec_changed_at(metadata)}
    if status.get("phase") == Phase.SUSPENDED:
        return None
    reported = obj(status, "progress")
    if text(reported, "step") in _STEPS:
        return {field: reported.get(field) for field in fields}
    return empty | {"step": Step.READY.value} if ready.get("status") == "True" else None
