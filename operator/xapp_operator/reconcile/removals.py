"""Which XApps are being removed, so that the delete handler can wait until nothing is left of one, and what stays."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from xapp_operator.api.models import XAppSpec
from xapp_operator.api.names import LABEL_XAPP
from xapp_operator.common.text import format_list
from xapp_operator.domain.planning.plan_input import UNINSTALLING, BegunUninstall
from xapp_operator.reconcile.observe import Observation
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.stored_releases.objects_without_record import unclaimed_objects
from xapp_operator.reconcile.terminating import objects_being_deleted

STILL_HELD: Final = (
    "the release is uninstalled, but these objects are still being deleted, because a finalizer or a pod holds them: "
)
UNCLAIMED: Final = (
    f"these objects have the label {LABEL_XAPP} of this XApp, and stay, because neither a record that Helm keeps nor "
    "the status says that they belong to a release of it: "
)


class Removals:
    """Removals of XApps by their uids."""

    def __init__(self) -> None:
        self._events: dict[str, asyncio.Event] = {}

    def is_done(self, uid: str) -> bool:
        """Return whether nothing is left to remove."""
        event = self._events.get(uid)
        return event is not None and event.is_set()

    def set_done(self, uid: str) -> None:
        self._events.setdefault(uid, asyncio.Event()).set()

    async def wait(self, uid: str, *, seconds: float) -> bool:
        """Return whether nothing is left to remove, waiting at most `seconds` for it."""
        event = self._events.setdefault(uid, asyncio.Event())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()
        return event.is_set()

    def forget(self, uid: str) -> None:
        """Forget an XApp that is gone, or whose name another one has now."""
        self._events.pop(uid, None)


def tell_what_is_left(request: ReconcileRequest, context: ReconcilerContext, observation: Observation) -> None:
    """Record an event if a release stays although its XApp is deleted, and one of objects that something holds."""
    state, xapp = observation.state, request.xapp
    if (left := explain_left_release(xapp.spec, observation)) is not None:
        context.events.record(request.raw, event_type="Warning", reason="LeftBehind", message=left)
    if xapp.spec.deletion_policy == "Orphan" or state.release is not None or state.namespace_terminating:
        return
    unclaimed = unclaimed_objects(xapp, request.draft, context.monitor)
    if unclaimed and not state.orphans_deleted:
        message = f"{UNCLAIMED}{format_list(unclaimed, total=len(unclaimed))}"
        context.events.record(request.raw, event_type="Warning", reason="LeftBehind", message=message)
    held = [f"{each.key[0]}/{each.key[2]}" for each in objects_being_deleted(request.key, context.monitor)]
    if held:
        message = f"{STILL_HELD}{format_list(held, total=len(held))}"
        context.events.record(request.raw, reason="LeftBehind", message=message)


def explain_left_release(spec: XAppSpec, observation: Observation) -> str | None:
    """Return why a release stays although its XApp is deleted, or None if it goes, or is meant to stay."""
    unavailable, release = observation.state.releases_unavailable, observation.state.release
    begun = observation.state.begun_uninstall
    if spec.deletion_policy == "Orphan":
        return None if begun is None else _explain_begun_uninstall(observation.release.name, begun)
    if unavailable is not None:
        return f"the namespace is being deleted, so the release is not uninstalled: {unavailable.message}"
    if release is None or release.owner is not None or observation.release.revision is None:
        return None  # nothing stays, it belongs to another XApp, or this one never had a release
    return (
        f"the release is not uninstalled: no record of it that Helm keeps has the label {LABEL_XAPP} of this XApp, as "
        f"after a rollback to before its adoption. If you do not need it, run helm uninstall {observation.release.name}"
    )


def _explain_begun_uninstall(name: str | None, begun: BegunUninstall) -> str:
    return (
        f"the release stays, but its uninstall had begun, so helm calls it {UNINSTALLING}: {begun.obstacle}. To remove "
        f"what is left, run helm uninstall {name} --no-hooks. An XApp that takes the release over uninstalls it first, "
        "and then installs it again"
    )
