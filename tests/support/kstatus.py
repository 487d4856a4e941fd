"""The rules of kstatus, by which Flux judges an object whose kind it does not know.

Source: `Compute` in pkg/kstatus/status of github.com/fluxcd/cli-utils, v1.2.2.
"""

from __future__ import annotations

from xapp_operator.api.json import JsonObject, integer, items, obj, text

CURRENT, FAILED, IN_PROGRESS, TERMINATING = "Current", "Failed", "InProgress", "Terminating"


def compute_status(found: JsonObject) -> tuple[str, str]:
    """Return the status of an object and its message, which is empty unless a condition has one."""
    metadata, status = obj(found, "metadata"), obj(found, "status")
    if text(metadata, "deletionTimestamp"):
        return TERMINATING, ""
    if "observedGeneration" in status and integer(status, "observedGeneration") != integer(metadata, "generation"):
        return IN_PROGRESS, ""
    conditions = items(status, "conditions")
    for condition in conditions:
        if text(condition, "status") == "True" and text(condition, "type") == "Reconciling":
            return IN_PROGRESS, text(condition, "message")
        if text(condition, "status") == "True" and text(condition, "type") == "Stalled":
            return FAILED, text(condition, "message")
    ready = next((each for each in conditions if text(each, "type") == "Ready"), None)
    if ready is None or text(ready, "status") == "True":
        return CURRENT, ""
    return IN_PROGRESS, text(ready, "message")
