"""Reconciles XApps: observe, plan, act, report. Level-triggered: any event may start it at any time.

`domain.plan` decides, `verbs` act, `status_rendering` reports. This module runs them and chooses when a key comes back.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections import Counter
from dataclasses import replace
from typing import Final, assert_never

from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus, Metadata, XApp
from xapp_operator.api.names import FINALIZER
from xapp_operator.domain.actions import (
    Action,
    Adopt,
    DeleteOrphans,
    HelmAction,
    Install,
    Nothing,
    RejectRollback,
    RepairLabels,
    Rollback,
    SaveRepository,
    Uninstall,
    Unlock,
    UpdateArchiveOwners,
    Upgrade,
    Wait,
)
from xapp_operator.domain.backoff import Backoff
from xapp_operator.domain.plan import plan
from xapp_operator.domain.plan_input import AttemptOutcome, PlanInput
from xapp_operator.domain.progress import NO_RETRIES, SourceRetries
from xapp_operator.errors import AccessDenied, KubeError, NotFound, XAppError
from xapp_operator.reconcile.observe import Observation, Observer
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.status_draft import StatusDraft, start_attempt, utc
from xapp_operator.reconcile.status_rendering import render_status
from xapp_operator.reconcile.verbs.adopt_unlock import adopt, unlock
from xapp_operator.reconcile.verbs.deploy import deploy
from xapp_operator.reconcile.verbs.repair_labels import repair_labels
from xapp_operator.reconcile.verbs.rollback import reject_rollback, rollback
from xapp_operator.reconcile.verbs.uninstall import delete_orphans, uninstall
from xapp_operator.reconcile.work_queue import NamespacedName
from xapp_operator.telemetry.logs import get_logger

MAX_ACTIONS_PER_RECONCILE: Final = 8
UNHEALTHY_RECHECK_SECONDS: Final = 5.0
SLOW_RECHECK_SECONDS: Final = 30.0
SLOW_RECHECK_AFTER_SECONDS: Final = 120.0

_REASONS_WITHOUT_BACKOFF: Final = frozenset({Reason.SUSPENDED, Reason.HEALTH_CHECK_FAILED})
_PROGRESS_MESSAGES: Final = {
    "Install": "helm is installing the chart",
    "Upgrade": "helm is upgrading the release",
    "Rollback": "helm is rolling the release back",
    "Uninstall": "helm is uninstalling the release",
}
_METRIC_OUTCOMES: Final = {AttemptOutcome.FAILED: "failed", AttemptOutcome.INTERRUPTED: "interrupted"}
_WORD_START: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")

_log = get_logger(__name__)


def action_label(action: Action) -> str:
    """Return the name of an action in the metrics, such as `repair_labels`."""
    return _WORD_START.sub("_", type(action).__name__).lower()


class Reconciler:
    """Reconciles XApps by their keys; `Workers` run it."""

    def __init__(self, context: ReconcilerContext) -> None:
        self._context = context
        self._observer = Observer(context)
        self._backoff = Backoff(context.settings.backoff_first_seconds, context.settings.backoff_max_seconds)
        self._failures: Counter[NamespacedName] = Counter()
        self._waits: Counter[NamespacedName] = Counter()
        self._removed: dict[str, asyncio.Event] = {}  # by uid
        self._unwritten: dict[str, tuple[int, StatusDraft]] = {}  # by uid: generation, and what the status lacks

    def is_removed(self, uid: str) -> bool:
        """Return whether nothing is left to remove for the XApp with that uid."""
        event = self._removed.get(uid)
        return event is not None and event.is_set()

    async def wait_removed(self, uid: str, *, seconds: float) -> bool:
        """Return whether nothing is left to remove, waiting at most `seconds` for it."""
        event = self._removed.setdefault(uid, asyncio.Event())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()
        return event.is_set()

    def forget(self, key: NamespacedName, uid: str) -> None:
        context = self._context
        self.forget_removed(uid)
        self._unwritten.pop(uid, None)
        self._failures.pop(key, None)
        self._waits.pop(key, None)
        context.incompletely_labelled.discard(key)
        context.label_backoff.forget(key)
        context.monitor.forget_inventory(key)
        context.inputs.forget(key)
        context.resolver.forget(key)
        context.queue.cancel_delayed(key)

    def forget_removed(self, uid: str) -> None:
        """Forget the removal of an XApp whose name another one has now."""
        self._removed.pop(uid, None)

    async def run_job(self, key: NamespacedName) -> None:
        """Reconcile `key`; after a failure it comes back with back-off."""
        try:
            await self.reconcile(key)
        except XAppError as error:
            self._requeue_with_backoff(key)
            _log.warning("reconcile failed", namespace=key[0], name=key[1], error=error.message)
        except Exception:
            self._requeue_with_backoff(key)
            _log.exception("reconcile failed unexpectedly", namespace=key[0], name=key[1])
        else:
            self._failures.pop(key, None)
        finally:
            self._context.metrics.set_queue_depth(depth=len(self._context.queue))

    async def reconcile(self, key: NamespacedName) -> None:
        """Bring the actual state of one XApp closer to its spec, and write its status if that changed.

        Raises:
            XAppError: when the cluster did not answer or refused a request; the key comes back with back-off.
        """
        cached = self._context.xapps.get(key)
        if cached is None or self.is_removed(cached.uid):
            return
        raw, xapp = cached.parse()
        if FINALIZER not in xapp.metadata.finalizers:
            return  # kopf adds it first, and that event brings the key back
        if self._context.release_watch.is_starting(key[0]):
            return  # the first list of releases brings the key back
        request = ReconcileRequest(raw=raw, xapp=xapp, draft=self._initial_draft(xapp))
        try:
            await self._act_and_report(request)
        except Exception:
            # Otherwise helm would run again and again while the cluster refuses the status.
            self._unwritten[xapp.metadata.uid] = (xapp.metadata.generation, request.draft)
            raise

    def _initial_draft(self, xapp: XApp) -> StatusDraft:
        """Return what the stored status says, and what actions did whose outcome could not be written."""
        draft, unwritten = StatusDraft.from_status(xapp), self._unwritten.pop(xapp.metadata.uid, None)
        if unwritten is None:
            return draft
        generation, newer = unwritten
        draft = replace(
            draft, attempt=newer.attempt, release=newer.release, history=newer.history, handled=newer.handled
        )
        if generation != xapp.metadata.generation:
            return draft
        return replace(draft, held_revision=newer.held_revision, labelled_revision=newer.labelled_revision)

    async def _act_and_report(self, request: ReconcileRequest) -> None:
        key = request.key
        started, acted = time.monotonic(), False
        for _ in range(MAX_ACTIONS_PER_RECONCILE):
            observation = await self._observe(request)
            action = plan(self._plan_input(request, observation))
            if isinstance(action, Wait | Nothing):
                break
            acted, planned = True, request.xapp.metadata
            try:
                await self._execute(action, request, observation)
            except AccessDenied as error:
                await self._write_status(request, Wait(Reason.ACCESS_DENIED, error.message, stalled=True), observation)
                raise
            if self._is_outdated(planned):
                # The status is about the spec that was planned for, although a write may have returned a newer one.
                request.xapp = request.xapp.model_copy(update={"metadata": planned})
                await self._write_status(request, Wait(Reason.PROGRESSING, "the spec has changed"), observation)
                self._context.queue.add(key)
                return
        else:
            observation = await self._observe(request)
            action = Wait(Reason.PROGRESSING, "several actions were made, observing again", until=time.time() + 1)
        await self._finish(action, request, observation)
        if not acted:
            self._context.metrics.record_reconcile(
                action="none", outcome="succeeded", seconds=time.monotonic() - started
            )

    async def _observe(self, request: ReconcileRequest) -> Observation:
        """Return the facts, and take over into the draft what they mean for the status."""
        started, metrics = time.monotonic(), self._context.metrics
        try:
            observation = await self._observer.observe(request.xapp, request.draft)
        except Exception:
            metrics.record_reconcile(action="none", outcome="failed", seconds=time.monotonic() - started)
            raise
        draft, attempt = request.draft, request.draft.attempt
        if attempt is not None and observation.requests.clears_attempt(attempt):
            attempt = None
        if attempt is not None and attempt.digests == observation.desired:
            attempt = replace(attempt, generation=request.xapp.metadata.generation)
        draft = replace(draft, attempt=attempt, release=observation.release, history=observation.history)
        request.draft = draft.with_handled(request.xapp, *observation.handled)
        return observation

    def _plan_input(self, request: ReconcileRequest, observation: Observation) -> PlanInput:
        xapp = request.xapp
        return PlanInput(
            name=xapp.metadata.name,
            spec=xapp.spec,
            generation=xapp.metadata.generation,
            deleting=xapp.metadata.deletion_timestamp is not None,
            generation_observed=xapp.status.observed_generation == xapp.metadata.generation,
            held_revision=request.draft.held_revision,
            observed=observation.state,
            desired=observation.desired,
            health=observation.live.status,
            root_cause=observation.live.message,
            attempt=request.draft.attempt,
            requests=observation.requests,
            now=time.time(),
            backoff=self._backoff,
        )

    async def _execute(self, action: Action, request: ReconcileRequest, observation: Observation) -> None:
        name, started, outcome = type(action).__name__, time.monotonic(), "failed"
        _log.info("action started", namespace=request.namespace, name=request.key[1], action=name)
        try:
            outcome = await self._run_action(action, request, observation)
        finally:
            self._context.metrics.record_reconcile(
                action=action_label(action), outcome=outcome, seconds=time.monotonic() - started
            )

    async def _run_action(self, action: Action, request: ReconcileRequest, observation: Observation) -> str:
        context = self._context
        match action:
            case Install() | Upgrade() | Rollback() | Uninstall():
                return await self._run_helm_action(action, request, observation)
            case Adopt():
                await adopt(action, request, context)
            case Unlock():
                await unlock(action, request, context)
            case RejectRollback():
                reject_rollback(action, request, context)
            case SaveRepository():
                await self._save_repository(request)
            case UpdateArchiveOwners():
                await context.archive_owners.update(request.xapp, observation.archive_owner_changes)
            case DeleteOrphans():
                await delete_orphans(request, context)
            case RepairLabels():
                await repair_labels(action, request, context, observation.missing_labels.objects)
            case Wait() | Nothing():
                raise ValueError("Wait and Nothing are not executed")
            case _:
                assert_never(action)
        return "succeeded"

    async def _run_helm_action(self, action: HelmAction, request: ReconcileRequest, observation: Observation) -> str:
        context, name, planned = self._context, type(action).__name__, request.xapp.metadata
        before, previous = request.draft, request.draft.attempt
        attempt = start_attempt(
            previous,
            action=name,
            digests=None if isinstance(observation.desired, XAppError) else observation.desired,
            generation=planned.generation,
            now=time.time(),
        )
        if isinstance(action, Install | Upgrade):
            request.draft = replace(request.draft.with_handled(request.xapp, "force_at"), held_revision=None)
        request.draft = replace(request.draft, attempt=attempt)
        try:
            await self._write_status(request, Wait(Reason.PROGRESSING, _PROGRESS_MESSAGES[name]), observation)
        except XAppError:
            request.draft = before  # helm did not run
            raise
        if self._is_outdated(planned):
            request.draft = replace(request.draft, attempt=previous)
            return "interrupted"
        match action:
            case Install() | Upgrade():
                await deploy(action, request, context, attempt)
            case Rollback():
                cause = observation.live.message
                await rollback(action, request, context, attempt, undone_attempt=previous, root_cause=cause)
            case Uninstall():
                await uninstall(action, request, context, attempt)
        ended = request.draft.attempt
        return _METRIC_OUTCOMES.get(ended.outcome, "succeeded") if ended is not None else "succeeded"

    async def _save_repository(self, request: ReconcileRequest) -> None:
        """Create the ChartRepository; a permanent error becomes the error of the chart's source."""
        try:
            await self._context.repositories.save_repository(request.xapp)
        except KubeError as error:
            if not error.permanent:
                raise
            request.draft = replace(request.draft, repository_error=error)

    async def _finish(self, decision: Wait | Nothing, request: ReconcileRequest, observation: Observation) -> None:
        """Report the decision, and choose when to reconcile again."""
        xapp, key, context = request.xapp, request.key, self._context
        if observation.missing_labels.error is not None:
            message = observation.missing_labels.error.message
            context.events.record(request.raw, event_type="Warning", reason=Reason.ACCESS_DENIED, message=message)
        if xapp.metadata.deletion_timestamp is not None and isinstance(decision, Nothing):
            unavailable = observation.state.releases_unavailable
            if unavailable is not None and xapp.spec.deletion_policy != "Orphan":
                message = f"the namespace is being deleted, so the release is not uninstalled: {unavailable.message}"
                context.events.record(request.raw, event_type="Warning", reason="LeftBehind", message=message)
            self._removed.setdefault(xapp.metadata.uid, asyncio.Event()).set()
            return
        attempt, health, now = request.draft.attempt, observation.live.status, time.time()
        healthy = isinstance(decision, Nothing) and health is HealthStatus.HEALTHY
        if attempt is not None and healthy and attempt.outcome is not AttemptOutcome.FAILED:
            attempt = replace(attempt, outcome=AttemptOutcome.SUCCEEDED)
        elif isinstance(decision, Wait) and decision.reason == Reason.HEALTH_CHECK_FAILED and attempt is not None:
            attempt = replace(
                attempt,
                outcome=AttemptOutcome.UNHEALTHY,
                permanent=True,
                reason=decision.reason,
                message=decision.message,
            )
        request.draft = replace(request.draft, attempt=attempt)
        delay = min(context.settings.resync_seconds, self._requeue_delay(key, decision))
        retries = SourceRetries(self._waits[key], now + delay) if self._waits.get(key) else NO_RETRIES
        await self._write_status(request, decision, observation, retries=retries)
        if request.draft.release.revision is not None and health is not HealthStatus.HEALTHY:
            since = now - (attempt.last_at if attempt else 0.0)
            recently = since < SLOW_RECHECK_AFTER_SECONDS
            delay = min(delay, UNHEALTHY_RECHECK_SECONDS if recently else SLOW_RECHECK_SECONDS)
        labels = observation.state.labels
        if (labels.missing or labels.outdated) and labels.repair_at > now:
            delay = min(delay, labels.repair_at - now)
        context.queue.add_after(key, delay)

    def _requeue_delay(self, key: NamespacedName, decision: Wait | Nothing) -> float:
        """Return the seconds until the next decision; waits without an end back off."""
        if not isinstance(decision, Wait) or decision.stalled or decision.reason in _REASONS_WITHOUT_BACKOFF:
            self._waits.pop(key, None)
            return float("inf")
        if decision.until is not None:
            return max(decision.until - time.time(), 0.0)
        if decision.step is not None:  # no failure, and its end brings the key back
            return SLOW_RECHECK_SECONDS
        self._waits[key] += 1
        return self._backoff.jittered(self._waits[key])

    async def _write_status(
        self,
        request: ReconcileRequest,
        decision: Wait | Nothing,
        observation: Observation,
        *,
        retries: SourceRetries = NO_RETRIES,
    ) -> None:
        context = self._context
        status = render_status(
            request.xapp, request.draft, decision, observation.live, now=utc(time.time()), retries=retries
        )
        was_ready = request.xapp.status.ready
        try:
            written = await context.status_writer.write(request.raw, status)
        except NotFound:
            context.xapps.remove(request.key, request.xapp.metadata.uid)
            return
        if written is None:
            return
        request.raw = written
        request.xapp = type(request.xapp).model_validate(written)
        context.xapps.put(written)
        if not was_ready and request.xapp.status.ready:
            for dependent in context.xapps.referrers(request.namespace, "XApp", request.xapp.metadata.name):
                context.queue.add(dependent)

    def _is_outdated(self, planned: Metadata) -> bool:
        cached = self._context.xapps.get((planned.namespace, planned.name))
        if cached is None or cached.uid != planned.uid:
            return True
        deleting = planned.deletion_timestamp is not None
        return cached.generation != planned.generation or cached.deleting != deleting

    def _requeue_with_backoff(self, key: NamespacedName) -> None:
        self._failures[key] += 1
        self._context.queue.add_after(key, self._backoff.jittered(self._failures[key]))
