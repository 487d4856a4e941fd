"""Actions on an xApp: annotations that the operator handles once per value, and `spec.suspend`."""

from __future__ import annotations

from typing import Final

from xapp_operator.api.conditions import RELEASED, STALLED, Reason
from xapp_operator.api.json import JsonObject, integer, items, obj, text
from xapp_operator.api.names import (
    ANNOTATION_FORCE_AT,
    ANNOTATION_RECONCILE_AT,
    ANNOTATION_RETRY_AT,
    ANNOTATION_TEST_AT,
)
from xapp_operator.common.text import timestamp_now
from xapp_operator.domain.planning.plan_input import DEPLOYED
from xapp_operator.errors import Conflict, FieldError, FormInvalid, NotFound
from xapp_operator.gateway.catalog.records import HandledRequest
from xapp_operator.gateway.deploy.preconditions import ExpectedXApp, patch_xapp
from xapp_operator.gateway.schemas.xapps import XAPP_ACTIONS
from xapp_operator.gateway.xapps.context import XAppContext, xapp_not_found

ANNOTATION_ACTIONS: Final = {
    "reconcile": (ANNOTATION_RECONCILE_AT, "reconcileAt"),
    "retry": (ANNOTATION_RETRY_AT, "retryAt"),
    "force": (ANNOTATION_FORCE_AT, "forceAt"),
    "test": (ANNOTATION_TEST_AT, "testAt"),
}
"""Action → its annotation, and the field of `status.handled` that has its last handled value."""
RECONCILE: Final = "reconcile"
SUSPEND: Final = "suspend"
RESUME: Final = "resume"
TEST: Final = "test"
FORCE: Final = "force"
SUSPENDED_OBSTACLE: Final = f"it is suspended. {RESUME} it first"
_ALLOWED_WHILE_DELETED: Final = "retry"


def require_known_action(action: str) -> None:
    """Refuse an action that does nothing.

    Raises:
        FormInvalid: names the actions that there are.
    """
    if action not in XAPP_ACTIONS:
        message = f"is not an action: send one of {', '.join(XAPP_ACTIONS)}"
        raise FormInvalid(f"action {message}", errors=(FieldError("action", message),))


async def request_action(
    context: XAppContext, action: str, *, expected: ExpectedXApp
) -> tuple[JsonObject, HandledRequest | None]:
    """Ask the operator for one of XAPP_ACTIONS; return the XApp as stored, and what the operator will have handled.

    Raises:
        GatewayNotFound: when the XApp was deleted meanwhile.
        PreconditionFailed: when it is not the expected XApp.
        Conflict: when the action has no effect in the state of the XApp.
    """
    name = context.entry.name
    requested_at = timestamp_now()

    def change(current: JsonObject) -> JsonObject:
        _require_effect(current, action, name=name)
        if action in ANNOTATION_ACTIONS:
            return {"metadata": {"annotations": {ANNOTATION_ACTIONS[action][0]: requested_at}}}
        suspend = action == SUSPEND
        # Any change of the spec ends a held rollback, so false is not written where it holds anyway.
        return {"spec": {"suspend": suspend}} if (obj(current, "spec").get("suspend") is True) != suspend else {}

    try:
        stored = await patch_xapp(
            context.caller.client, namespace=context.namespace, name=name, expected=expected, change=change
        )
    except NotFound:
        raise xapp_not_found(context.namespace, name) from None
    if action not in ANNOTATION_ACTIONS:
        return stored, None
    return stored, HandledRequest(ANNOTATION_ACTIONS[action][1], requested_at)


def require_possible_rollback(xapp: JsonObject, revision: int, *, name: str) -> None:
    """Refuse a rollback that the operator would reject: while suspended, or to the revision in force.

    Raises:
        Conflict: names what hinders it.
    """
    _require_not_suspended(xapp, "rollback", name=name)
    status = obj(xapp, "status")
    released = next((each for each in items(status, "conditions") if text(each, "type") == RELEASED), {})
    if text(released, "status") == "True" and integer(obj(status, "release"), "revision", -1) == revision:
        raise Conflict(f"revision {revision} is in force, so there is nothing to roll back: choose another one")


def _require_effect(xapp: JsonObject, action: str, *, name: str) -> None:
    if "deletionTimestamp" in obj(xapp, "metadata"):
        if action != _ALLOWED_WHILE_DELETED:
            raise Conflict(
                f"the xApp {name} is being deleted, so {action} has no effect: {_ALLOWED_WHILE_DELETED} tries a failed "
                "removal again"
            )
        return
    if action in ANNOTATION_ACTIONS:
        _require_not_suspended(xapp, action, name=name)
    if (obstacle := _find_obstacle(xapp, action)) is not None:
        raise Conflict(f"{action} of the xApp {name} has no effect now: {obstacle}")


def _require_not_suspended(xapp: JsonObject, action: str, *, name: str) -> None:
    if obj(xapp, "spec").get("suspend") is True:
        raise Conflict(f"the xApp {name} is suspended, so {action} has no effect: {RESUME} it first")


def _find_obstacle(xapp: JsonObject, action: str) -> str | None:
    """Return why the operator would reject the annotation of `action`, and what to do first, where the status tells."""
    status = obj(xapp, "status")
    if integer(status, "observedGeneration", -1) != integer(obj(xapp, "metadata"), "generation"):
        return None
    if action == FORCE and "heldRevision" in status:
        held = integer(status, "heldRevision")
        return (
            f"it is held at revision {held} after a rollback. Change values, version or another field of its spec first"
        )
    stalled = next((each for each in items(status, "conditions") if text(each, "type") == STALLED), None)
    if stalled is None:
        return None
    if action == FORCE and text(stalled, "reason") == Reason.DEPENDENCY_NOT_READY:
        return text(stalled, "message")
    untestable = _find_untestable(status) if action == TEST else None
    return untestable and f"{untestable}. {text(stalled, 'message')}"


def _find_untestable(status: JsonObject) -> str | None:
    if "release" not in status:
        return "nothing is deployed"
    newest = next(iter(items(status, "history")), {})
    if text(newest, "status", DEPLOYED) == DEPLOYED:
        return None
    return f"revision {integer(newest, 'revision')}, the newest one, is {text(newest, 'status')}"
