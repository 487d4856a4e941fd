"""Adds and removes the finalizers of XApps where kopf has given up.

kopf writes them, but it does not try for ever: a write that is refused with status 422 waits for the next change of the
XApp, and any other one is tried for a minute. Without a finalizer, no release is installed; with one, a deleted XApp
stays. So an XApp whose finalizer is wrong for some time gets the right one here. Until then, this costs no request.
"""

from __future__ import annotations

from typing import Final

from xapp_operator.api.conditions import Reason
from xapp_operator.api.json import Json, JsonObject, obj, text
from xapp_operator.api.models import Metadata, XApp
from xapp_operator.api.names import FINALIZER
from xapp_operator.domain.planning.actions import Wait
from xapp_operator.domain.planning.backoff import Backoff
from xapp_operator.domain.planning.plan_failures import describe_error
from xapp_operator.errors import AccessDenied, Conflict, KubeError, NotFound
from xapp_operator.kube.resources import XAPPS
from xapp_operator.reconcile.observe import Observer
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.removals import Removals
from xapp_operator.reconcile.status_reports import StatusReports
from xapp_operator.reconcile.work.repeat_backoff import RepeatBackoff
from xapp_operator.reconcile.work.work_queue import NamespacedName
from xapp_operator.telemetry.logs import get_logger

LATE_SECONDS: Final = 30.0
"""After so long, kopf counts as having given up. It needs some seconds when a thousand XApps are created at once."""
SHORTEST_PAUSE_SECONDS: Final = 0.1
"""Timers may come a moment early."""
FINALIZER_NOT_WRITTEN: Final = "FinalizerNotWritten"
"""The reason of the event, unless a right is missing."""

_log = get_logger(__name__)


class Finalizers:
    """The finalizers of all XApps, as far as kopf does not write them; and which XApps are removed."""

    def __init__(self, context: ReconcilerContext, observer: Observer, reports: StatusReports) -> None:
        settings = context.settings
        self.removals = Removals()
        self._context = context
        self._reports = reports
        self._observer = observer
        self._backoff = RepeatBackoff(Backoff(settings.backoff_first_seconds, settings.backoff_max_seconds))
        self._wrong_since: dict[NamespacedName, float] = {}  # in monotonic seconds

    def forget(self, key: NamespacedName, uid: str) -> None:
        self.removals.forget(uid)
        self._wrong_since.pop(key, None)
        self._backoff.forget(key)

    def set_removed(self, xapp: XApp) -> None:
        """Note that nothing is left of the release, so that kopf removes the finalizer now."""
        self.removals.set_done(xapp.metadata.uid)
        self._note_wrong(xapp)

    async def keep_waiting(self, raw: JsonObject, xapp: XApp) -> bool:
        """Return whether an XApp is not to be reconciled: it lacks the finalizer, or nothing is left of its release.

        If its finalizers have been wrong for long, they are written. A refusal is told in the status and in an event,
        and the key comes back with back-off, whatever changes the XApp meanwhile.
        """
        metadata, context = xapp.metadata, self._context
        removed = self.removals.is_done(metadata.uid)
        if not _is_wrong(metadata, removed=removed):
            self._wrong_since.pop(xapp.key, None)
            return removed or FINALIZER not in metadata.finalizers
        now = context.clock.monotonic()
        due = self._note_wrong(xapp)
        if now >= due:
            self._backoff.record_repair(xapp.key, now=now)
            await self._write_late(raw, xapp, removed=removed)
        return True

    def _note_wrong(self, xapp: XApp) -> float:
        """Queue the XApp for when its finalizers are written here; return that time."""
        key, now = xapp.key, self._context.clock.monotonic()
        since = self._wrong_since.setdefault(key, now)
        due = max(since + LATE_SECONDS, self._backoff.next_repair_at(key))
        if due > now:
            self._context.queue.add_after(key, max(due - now, SHORTEST_PAUSE_SECONDS))
        return due

    async def _write_late(self, raw: JsonObject, xapp: XApp, *, removed: bool) -> None:
        context, (namespace, name) = self._context, xapp.key
        try:
            stored = await self._write(xapp, removed=removed)
        except KubeError as error:
            _log.warning("finalizer not written", namespace=namespace, name=name, error=error.message)
            self._note_wrong(xapp)
            if not isinstance(error, Conflict):
                await self._report(error, raw, xapp, removed=removed)
            return
        if stored is not None:
            context.xapps.put(stored)
            context.queue.add(xapp.key)

    async def _write(self, xapp: XApp, *, removed: bool) -> JsonObject | None:
        """Add or remove the finalizer; return the XApp as stored, or None if it is gone, which kopf will tell.

        It is read first, because kopf passes on no change of an XApp while it tries again to write to it.
        """
        kube, (namespace, name) = self._context.kube, xapp.key
        try:
            stored = await kube.get(XAPPS, name, namespace=namespace)
            metadata = obj(stored, "metadata")
            if text(metadata, "uid") != xapp.metadata.uid:
                return None
            known = XApp.model_validate(stored).metadata
            if not _is_wrong(known, removed=removed):
                return stored
            finalizers: list[Json] = [each for each in known.finalizers if each != FINALIZER]
            if not removed:
                finalizers.append(FINALIZER)
            version = text(metadata, "resourceVersion")  # so that no finalizer of others is lost
            change: JsonObject = {"metadata": {"resourceVersion": version, "finalizers": finalizers}}
            stored = await kube.patch(XAPPS, name, change, namespace=namespace)
        except NotFound:
            return None
        _log.info("finalizer written, which kopf has not", namespace=namespace, name=name, removed=removed)
        return stored

    async def _report(self, error: KubeError, raw: JsonObject, xapp: XApp, *, removed: bool) -> None:
        context, request = self._context, ReconcileRequest(raw, xapp, self._reports.load_draft(xapp))
        what = "removed, although the release is gone" if removed else "added, without which nothing is deployed"
        message = f"the finalizer {FINALIZER} cannot be {what}: {describe_error(error)}"
        event = Reason.ACCESS_DENIED if isinstance(error, AccessDenied) else FINALIZER_NOT_WRITTEN
        context.events.record(raw, event_type="Warning", reason=event, message=message)
        deploying = Reason.INSTALL_FAILED if request.draft.release.revision is None else Reason.UPGRADE_FAILED
        failed = Reason.UNINSTALL_FAILED if removed else deploying
        reason = (error.reason or failed) if error.permanent else Reason.PROGRESSING
        live = context.monitor.report(xapp.key, release=xapp.release_name)
        observation = self._observer.without_release(xapp, request.draft, error, live)
        try:
            decision = Wait(reason, message, stalled=error.permanent, told=True)
            await self._reports.write(request, decision, observation)
        except KubeError as refused:
            self._reports.keep(request)
            _log.warning("refusal not told", namespace=xapp.key[0], name=xapp.key[1], error=refused.message)


def _is_wrong(metadata: Metadata, *, removed: bool) -> bool:
    """Return whether the finalizer is missing, or still there although nothing is left of the release."""
    if removed:
        return FINALIZER in metadata.finalizers
    return FINALIZER not in metadata.finalizers and metadata.deletion_timestamp is None
