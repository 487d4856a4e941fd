"""Writes what a reconcile has decided into the status, and knows what the stored status lacks.

Progress that is over soon is not written: a helm step, and the wait for its objects to become healthy, unless they take
longer than PROGRESS_SECONDS. `domain.planning.unrecorded_steps` says where that is safe.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from xapp_operator.api.conditions import READY, Reason
from xapp_operator.api.json import JsonObject
from xapp_operator.api.models import XApp
from xapp_operator.api.status_parts import HandledAnnotations, Step
from xapp_operator.domain.planning.actions import Nothing, Wait
from xapp_operator.domain.planning.plan_input import AttemptOutcome
from xapp_operator.domain.planning.progress import NO_RETRIES, SourceRetries
from xapp_operator.domain.planning.unrecorded_steps import (
    StoredStatus,
    may_start_unrecorded,
    may_stay_running,
    may_stay_unrecorded,
    recover_attempt,
)
from xapp_operator.errors import KubeError, NotFound, XAppError
from xapp_operator.reconcile.observe import Observation
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest, without_values
from xapp_operator.reconcile.status.drift_reporting import find_begun_drift
from xapp_operator.reconcile.status.stall_reporting import find_begun_stall
from xapp_operator.reconcile.status.status_draft import StatusDraft, attempt_from_status, utc
from xapp_operator.reconcile.status.status_rendering import render_status
from xapp_operator.reconcile.watching.xapp_cache import keep_written, small_metadata
from xapp_operator.telemetry.logs import get_logger

PROGRESS_SECONDS: Final = 2.0
"""For so long, nobody is told that helm runs, and again that its objects are not healthy yet."""
QUEUED_SECONDS: Final = 30.0
"""For so long, nobody is told that an XApp waits for a place for its helm."""
REFUSED_SECONDS: Final = 10.0
"""After so long, a status that the cluster has refused is written again while helm runs."""
QUEUED: Final = Wait(Reason.PROGRESSING, "waits until helm has ended for other XApps", step=Step.QUEUED)

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _UnwrittenStatus:
    """What the stored status of one generation lacks."""

    generation: int
    draft: StatusDraft
    postponed: bool


class StatusReports:
    """The status of all XApps: what is stored, and what is not stored yet."""

    def __init__(self, context: ReconcilerContext) -> None:
        self._context = context
        self._unwritten: dict[str, _UnwrittenStatus] = {}  # by uid

    def forget(self, uid: str) -> None:
        self._unwritten.pop(uid, None)

    def keep(self, request: ReconcileRequest, *, postponed: bool = False) -> None:
        """Keep what the status lacks until the next reconcile.

        Otherwise helm would run again and again while the cluster refuses the status.
        """
        metadata = request.xapp.metadata
        self._unwritten[metadata.uid] = _UnwrittenStatus(metadata.generation, request.draft, postponed=postponed)

    def is_postponed(self, uid: str) -> bool:
        """Return whether the last reconcile has kept a status that would only say that objects are not healthy yet."""
        return uid in self._unwritten and self._unwritten[uid].postponed

    def load_draft(self, xapp: XApp) -> StatusDraft:
        """Return what the stored status says, and what actions did that it lacks."""
        return replace(
            self._load_draft(xapp), configured_repository=self._context.repositories.find_configured_name(xapp)
        )

    def _load_draft(self, xapp: XApp) -> StatusDraft:
        context, key = self._context, xapp.key
        draft = StatusDraft.from_status(xapp, now=context.clock.now())
        release = context.release_watch.get_release(key[0], xapp.release_name, attempt=draft.attempt)
        unwritten = self._unwritten.pop(xapp.metadata.uid, None)
        if unwritten is not None:
            same_generation = unwritten.generation == xapp.metadata.generation
            draft = draft.with_unwritten(unwritten.draft, xapp, same_generation=same_generation)
            return draft.with_finished_upgrade(release, xapp)
        draft = draft.with_finished_upgrade(release, xapp)
        if xapp.status.observed_generation == xapp.metadata.generation:
            draft = draft.with_finished_rollback(release, xapp)
        elif not xapp.spec.suspend:
            draft = draft.without_finished_rollback(release)
        recovered = recover_attempt(self._stored(xapp), release, name=xapp.metadata.name)
        return draft if recovered is None else replace(draft, attempt=recovered)

    async def write(
        self,
        request: ReconcileRequest,
        decision: Wait | Nothing,
        observation: Observation,
        *,
        retries: SourceRetries = NO_RETRIES,
    ) -> None:
        """Write the status, if it has changed.

        Raises:
            KubeError: when the cluster refuses it.
        """
        status = self._render(request, decision, observation, retries=retries)
        try:
            told = isinstance(decision, Wait) and decision.told
            stored = await self.store(request.xapp, request.raw, status, told=told)
        except KubeError:
            request.status_refused = True
            raise
        if stored is not None:
            request.raw, request.xapp = stored

    def may_start_unrecorded(self, request: ReconcileRequest, action: str, observation: Observation) -> bool:
        """Return whether a helm step may start before the status tells of it.

        Not if it takes a release over after one of its own: its revision may be lower than those of that one.
        """
        release, xapp = observation.state.release, request.xapp
        is_own = release is None or release.owner == xapp.metadata.name
        return (is_own or xapp.status.release is None) and may_start_unrecorded(
            self._stored(request.xapp),
            action,
            previous=request.draft.attempt,
            requested=_is_requested(request, observation),
        )

    def postponed_seconds(
        self, request: ReconcileRequest, decision: Wait | Nothing, observation: Observation
    ) -> float | None:
        """Return for how long the status can wait, because it would only say that objects are not healthy yet."""
        attempt = request.draft.attempt
        if attempt is None or attempt.outcome is not AttemptOutcome.RELEASED or not isinstance(decision, Wait):
            return None
        if decision.reason != Reason.PROGRESSING or decision.until is None:
            return None
        requested, stored = _is_requested(request, observation), self._stored(request.xapp)
        if list(request.draft.terminating) != (request.xapp.status.terminating or []):
            return None  # without the status, the operator would not know of them after a restart
        if not (
            may_stay_unrecorded(stored, attempt.action, requested=requested)
            or may_stay_running(stored, attempt, requested=requested)
        ):
            return None
        left = attempt.last_at + PROGRESS_SECONDS - self._context.clock.now()
        return left if 0 < left <= PROGRESS_SECONDS else None

    @asynccontextmanager
    async def progress(
        self, request: ReconcileRequest, decision: Wait, observation: Observation, *, queued: StatusDraft
    ) -> AsyncIterator[Callable[[], None]]:
        """Write `decision` into the status unless the block, a helm step, is over soon.

        The block calls what is yielded when it has a place for its helm. `queued` is what is told of if it waits long
        for that place: without the step, unless the status tells of it already.
        """
        draft, live, drift = request.draft, observation.live, observation.state.drift
        queued_at = self._context.clock.now()

        def render(xapp: XApp, helm_at: float | None) -> JsonObject:
            if helm_at is None:
                return render_status(xapp, queued, QUEUED, live, now=utc(queued_at), drift=drift)
            attempt = None if draft.attempt is None else draft.attempt.begun(helm_at)
            begun = replace(draft, attempt=attempt)
            return render_status(xapp, begun, decision, live, now=utc(helm_at), drift=drift)

        report = _ProgressReport(self, request, render)
        task = asyncio.create_task(report.run(), name=f"progress of {request.key}")
        try:
            yield lambda: report.start(self._context.clock.now())
        except asyncio.CancelledError:
            task.cancel()  # the operator ends, and another one may lead by the time of the answer
            raise
        finally:
            try:
                await report.wait_written()
            finally:
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            if report.has_written:
                request.restore(self._context.xapps.get(request.key))

    async def store(
        self, before: XApp, raw: JsonObject, status: JsonObject, *, told: bool = False
    ) -> tuple[JsonObject, XApp] | None:
        """Write `status`; return the XApp as stored, or None without a change or without the XApp.

        When drift begins, or the XApp begins to be Stalled, that is an event.

        Args:
            before: the XApp as last read, of which only metadata and conditions are used.
            raw: the same as JSON, which needs no spec.
            status: the complete new status.
            told: whether an event has told already why it is Stalled.

        Raises:
            KubeError: when the cluster refuses it.
        """
        context = self._context
        try:
            written = await context.status_writer.write(raw, status)
        except NotFound:
            context.xapps.remove(before.key, before.metadata.uid)
            return None
        if written is None:
            return None
        written = {**written, "metadata": small_metadata(written)}  # a step that waits keeps it
        after = XApp.model_validate(written)
        keep_written(context.xapps, context.queue, raw, written)
        begun = [find_begun_drift(before, after), None if told else find_begun_stall(before, after)]
        for each in begun:
            if each is not None:
                context.events.record(written, event_type="Warning", reason=each.reason, message=each.message)
        return written, after

    def _render(
        self,
        request: ReconcileRequest,
        decision: Wait | Nothing,
        observation: Observation,
        *,
        retries: SourceRetries = NO_RETRIES,
    ) -> JsonObject:
        return render_status(
            request.xapp,
            request.draft,
            decision,
            observation.live,
            now=utc(self._context.clock.now()),
            retries=retries,
            drift=observation.state.drift,
        )

    def _stored(self, xapp: XApp) -> StoredStatus:
        status = xapp.status
        return StoredStatus(
            attempt=attempt_from_status(status.last_attempt, now=self._context.clock.now()),
            revision=None if status.release is None else status.release.revision,
            tested=status.last_test is not None,
            ready=_is_reported_ready(xapp),
        )


class _ProgressReport:
    """Writes once that a step waits for its place, and once that helm runs. It holds no values meanwhile."""

    def __init__(
        self, reports: StatusReports, request: ReconcileRequest, render: Callable[[XApp, float | None], JsonObject]
    ) -> None:
        """`render` returns the status of an XApp; it takes since when helm runs, or None if the step waits."""
        self.has_written = False
        self._writing = asyncio.Lock()
        self._started: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._reports = reports
        self._request = request
        self._render = render
        self._keep(request.raw, request.xapp)

    def start(self, now: float) -> None:
        """Note that helm runs."""
        self._started.set_result(now)

    async def wait_written(self) -> None:
        """Wait for a write that is under way."""
        async with self._writing:
            pass

    async def run(self) -> None:
        try:
            helm_at = await asyncio.wait_for(asyncio.shield(self._started), QUEUED_SECONDS)
        except TimeoutError:
            await self._write(None)
            helm_at = await self._started
        done, pause = False, PROGRESS_SECONDS
        while not done:
            await asyncio.sleep(pause)
            done, pause = await self._write(helm_at), REFUSED_SECONDS

    async def _write(self, helm_at: float | None) -> bool:
        """Return whether the status needs no further try: a refused one may say for hours what is no longer true."""
        namespace, name = self._xapp.key
        async with self._writing:
            self.has_written = True
            try:
                stored = await self._reports.store(self._xapp, self._raw, self._render(self._xapp, helm_at))
            except XAppError as error:  # the write after the step counts
                _log.warning("progress not written", namespace=namespace, name=name, error=error.message)
                return False
            except Exception:  # the step goes on
                _log.exception("progress not written", namespace=namespace, name=name)
                return True
            if stored is None or stored[1].metadata.generation != self._xapp.metadata.generation:
                return True
            # What is added while helm runs is added to this status. The step goes on with its own spec.
            raw, request = stored[0], self._request
            request.raw = {**request.raw, "metadata": raw["metadata"], "status": raw["status"]}
            self._keep(*stored)
            return True

    def _keep(self, raw: JsonObject, xapp: XApp) -> None:
        self._raw = {key: value for key, value in raw.items() if key != "spec"}
        self._xapp = without_values(xapp)


def _is_requested(request: ReconcileRequest, observation: Observation) -> bool:
    """Return whether an annotation asks for something, or asked for it and the status does not tell so yet."""
    requests, stored = observation.requests, request.xapp.status.handled or HandledAnnotations()
    asked = requests.retry or requests.force or requests.rollback_to is not None
    return asked or request.draft.handled != stored


def _is_reported_ready(xapp: XApp) -> bool:
    """Return whether the status says that the current generation is Ready."""
    status = xapp.status
    is_current = status.observed_generation == xapp.metadata.generation
    return is_current and any(each.type == READY and each.status == "True" for each in status.conditions or ())
