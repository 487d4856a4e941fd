"""Reconciles XApps: observe, plan, act, report. Level-triggered: any event may start it at any time.

`domain.planning.plan` decides, `verbs` act, `status_rendering` reports. This module runs them and chooses when a key
comes back.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import replace
from typing import Final, assert_never

from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus, Metadata
from xapp_operator.domain.planning.actions import (
    Action,
    Adopt,
    CorrectDrift,
    DeleteLeftovers,
    DeleteOrphans,
    EndTests,
    HelmAction,
    Install,
    MarkSuperseded,
    Nothing,
    PlainAction,
    Recreate,
    RejectRequest,
    RejectRollback,
    RepairLabels,
    Restore,
    Rollback,
    SaveRepository,
    StartTests,
    Uninstall,
    Unlock,
    UpdateArchiveOwners,
    Upgrade,
    Wait,
    action_label,
)
from xapp_operator.domain.planning.backoff import Backoff
from xapp_operator.domain.planning.plan import plan, plan_after_error
from xapp_operator.domain.planning.plan_at_rest import next_action_at
from xapp_operator.domain.planning.plan_input import AttemptOutcome, PlanInput, find_known_digests
from xapp_operator.errors import KubeError, XAppError
from xapp_operator.reconcile.finalizers import Finalizers
from xapp_operator.reconcile.observe import Observation, Observer
from xapp_operator.reconcile.plan_basis import PlanBasis
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.removals import tell_what_is_left
from xapp_operator.reconcile.status.attempts import start_attempt
from xapp_operator.reconcile.status.revision_history import forget_other_revisions
from xapp_operator.reconcile.status.settled_attempts import settle_attempt
from xapp_operator.reconcile.status.status_draft import begin_test_run
from xapp_operator.reconcile.status_reports import StatusReports
from xapp_operator.reconcile.terminating import note_before_step
from xapp_operator.reconcile.verbs.deploy import deploy
from xapp_operator.reconcile.verbs.labelled_objects import delete_orphans
from xapp_operator.reconcile.verbs.maintenance import run_maintenance
from xapp_operator.reconcile.verbs.reject import reject
from xapp_operator.reconcile.verbs.release_records import change_records
from xapp_operator.reconcile.verbs.rollback import find_rollback_cause, find_rollback_request, rollback
from xapp_operator.reconcile.verbs.run_tests import delete_test_objects, end_tests, start_tests, take_test_result
from xapp_operator.reconcile.verbs.save_repository import save_repository
from xapp_operator.reconcile.verbs.uninstall import uninstall
from xapp_operator.reconcile.work.source_backoff import SLOW_RECHECK_SECONDS, SourceBackoff
from xapp_operator.reconcile.work.work_queue import NamespacedName
from xapp_operator.reconcile.work.xapp_tasks import StepInterrupted
from xapp_operator.telemetry.logs import get_logger

MAX_ACTIONS_PER_RECONCILE: Final = 8
UNREPORTED_FAILURES: Final = 2
"""After so many failures in a row, the status tells of an error that may pass."""
UNHEALTHY_RECHECK_SECONDS: Final = 5.0
SLOW_RECHECK_AFTER_SECONDS: Final = 120.0

_PROGRESS_MESSAGES: Final = {
    "Install": "helm is installing the chart",
    "Upgrade": "helm is upgrading the release",
    "Rollback": "helm is rolling the release back",
    "Uninstall": "helm is uninstalling the release",
}
_METRIC_OUTCOMES: Final = {AttemptOutcome.FAILED: "failed", AttemptOutcome.INTERRUPTED: "interrupted"}

_log = get_logger(__name__)


class Reconciler:
    """Reconciles XApps by their keys; `Workers` run it."""

    def __init__(self, context: ReconcilerContext) -> None:
        self._context = context
        self._clock = context.clock
        self._observer = Observer(context)
        self._backoff = Backoff(context.settings.backoff_first_seconds, context.settings.backoff_max_seconds)
        self._failures: Counter[NamespacedName] = Counter()
        self._source_backoff = SourceBackoff(self._backoff)
        self.reports = StatusReports(context)
        self.finalizers = Finalizers(context, self._observer, self.reports)

    def forget(self, key: NamespacedName, uid: str) -> None:
        self.finalizers.forget(key, uid)
        self.reports.forget(uid)
        self._failures.pop(key, None)
        self._source_backoff.forget(key)
        self._context.forget(key)

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

    async def reconcile(self, key: NamespacedName) -> None:
        """Bring the actual state of one XApp closer to its spec, and write its status if that changed.

        Raises:
            XAppError: when the cluster did not answer or refused a request; the key comes back with back-off.
        """
        cached = self._context.xapps.get(key)
        if cached is None:
            return
        raw, xapp = cached.parse()
        if await self.finalizers.keep_waiting(raw, xapp):
            return  # kopf writes the finalizer first, and that event brings the key back
        if self._context.release_watch.is_starting(key[0]):
            return  # the first list of releases brings the key back
        if cached.needs_all and not self._context.xapps.is_complete:
            return  # the last XApp of the first list brings it back
        request = ReconcileRequest(raw=raw, xapp=xapp, draft=self.reports.load_draft(xapp))
        try:
            await self._act_and_report(request)
        except Exception:
            self.reports.keep(request)
            raise
        finally:
            found = self._context.xapps.get(key)
            if found is None or found.uid != cached.uid:
                self.forget(key, cached.uid)  # what was kept since then

    async def _act_and_report(self, request: ReconcileRequest) -> None:
        key = request.key
        started, acted = self._clock.monotonic(), False
        for _ in range(MAX_ACTIONS_PER_RECONCILE):
            observation = await self._observe(request)
            action = plan(self._plan_input(request, observation))
            if isinstance(action, Wait | Nothing):
                break
            acted, planned = True, request.xapp.metadata
            try:
                await self._execute(action, request, observation)
            except XAppError as error:
                await self._report_refusal(error, request, observation)
                raise
            if self._is_outdated(planned):
                # The status is about the spec that was planned for, although a write may have returned a newer one.
                request.xapp = request.xapp.model_copy(update={"metadata": planned})
                await self.reports.write(request, Wait(Reason.PROGRESSING, "the spec has changed"), observation)
                self._context.queue.add(key)
                return
        else:
            observation = await self._observe(request)
            action = Wait(Reason.PROGRESSING, "several actions were made, observing again", until=self._clock.now() + 1)
        await self._finish(action, request, observation)
        if not acted:
            self._context.metrics.record_reconcile(
                action="none", outcome="succeeded", seconds=self._clock.monotonic() - started
            )

    async def _report_refusal(self, error: XAppError, request: ReconcileRequest, observation: Observation) -> None:
        """Tell in the status why observing or an action failed; of what may pass, only after several failures."""
        deleting = request.xapp.metadata.deletion_timestamp is not None
        error = await self._context.impersonation.explain(request.xapp, error)
        again = self._failures[request.key] >= UNREPORTED_FAILURES
        decision = plan_after_error(error, request.xapp.spec, deleting=deleting, again=again)
        if decision is None or request.status_refused:
            return
        with contextlib.suppress(KubeError):  # the error itself says more
            await self.reports.write(request, decision, observation)

    async def _observe(self, request: ReconcileRequest) -> Observation:
        """Return the facts, and take over into the draft what they mean for the status."""
        started, metrics = self._clock.monotonic(), self._context.metrics
        self._context.queue.look_again(request.key)
        try:
            observation = await self._observer.observe(request.xapp, request.draft)
        except Exception as error:
            take_test_result(request, self._context)
            metrics.record_reconcile(action="none", outcome="failed", seconds=self._clock.monotonic() - started)
            if isinstance(error, XAppError) and (error.permanent or request.is_waited_for):
                live = self._context.monitor.report(request.key, release=request.xapp.release_name)
                known = self._observer.without_release(request.xapp, request.draft, error, live)
                await self._report_refusal(error, request, known)
            raise
        take_test_result(request, self._context)  # of tests that ended before it was observed whether they run
        corrected = request.draft.with_unnoticed_success(observation.state.release, request.xapp)
        if corrected is not request.draft:
            request.draft = corrected
            return await self._observe(request)  # for example whether rollback-to is answered
        if observation.state.releases_unavailable is None:
            request.draft = forget_other_revisions(request.draft, observation.state.release)
        draft, attempt = request.draft, observation.requests.clear_attempt(request.draft.attempt)
        generation = request.xapp.metadata.generation
        if attempt is not None and attempt.digests == observation.desired and attempt.generation != generation:
            attempt = replace(attempt, generation=generation)
        noted = observation.state.terminating.objects
        release, history = observation.release, observation.history
        draft = replace(draft, attempt=attempt, terminating=noted, release=release, history=history)
        request.draft = draft.with_handled(request.xapp, *observation.handled)
        return observation

    def _plan_input(self, request: ReconcileRequest, observation: Observation) -> PlanInput:
        xapp, deleted_at = request.xapp, self._context.deletion_times.get(request.xapp)
        inputs = PlanInput(
            name=xapp.metadata.name,
            spec=xapp.spec,
            generation=xapp.metadata.generation,
            deleting=deleted_at is not None,
            deleted_at=0.0 if deleted_at is None else deleted_at,
            generation_observed=xapp.status.observed_generation == xapp.metadata.generation,
            held_revision=request.draft.held_revision,
            observed=observation.state,
            desired=observation.desired,
            health=observation.live.status,
            root_cause=observation.live.message,
            attempt=request.draft.attempt,
            test=request.draft.test,
            requests=observation.requests,
            now=self._clock.now(),
            backoff=self._backoff.spread_by(xapp.metadata.uid),
        )
        return inputs.with_corrected_times(self._clock.corrected) if self._clock.has_jumped else inputs

    async def _execute(self, action: Action, request: ReconcileRequest, observation: Observation) -> None:
        name, started, outcome = type(action).__name__, self._clock.monotonic(), "failed"
        _log.info("action started", namespace=request.namespace, name=request.key[1], action=name)
        try:
            outcome = await self._run_action(action, request, observation)
        finally:
            seconds = self._clock.monotonic() - started
            self._context.metrics.record_reconcile(action=action_label(action), outcome=outcome, seconds=seconds)

    async def _run_action(self, action: Action, request: ReconcileRequest, observation: Observation) -> str:
        match action:
            case Install() | Upgrade() | Rollback() | Uninstall():
                release, before = (request.namespace, request.xapp.release_name), request.draft
                with self._context.held_releases.hold(release, request.xapp.metadata.uid):
                    if not self._context.release_watch.is_newest(*release, observation.state.release):
                        return "interrupted"
                    try:
                        basis = PlanBasis(action, request.xapp, self._context)
                        return await self._run_helm_action(action, request, observation, basis)
                    except StepInterrupted:
                        request.draft = before  # helm did not run
                        return "interrupted"
            case StartTests():
                await self._start_tests(action, request, observation)
            case Wait() | Nothing():
                raise ValueError("Wait and Nothing are not executed")
            case _:
                await self._run_plain_action(action, request, observation)
        return "succeeded"

    async def _run_plain_action(self, action: PlainAction, request: ReconcileRequest, observation: Observation) -> None:
        context = self._context
        match action:
            case Adopt() | Unlock() | Restore() | MarkSuperseded():
                await change_records(action, request, context)
            case RejectRollback() | RejectRequest():
                reject(action, request, context)
            case SaveRepository():
                await save_repository(request, context)
            case DeleteOrphans():
                await delete_orphans(action, request, context)
            case EndTests():
                await end_tests(request, context)
            case UpdateArchiveOwners() | RepairLabels() | CorrectDrift() | Recreate() | DeleteLeftovers():
                await run_maintenance(action, request, context, observation)
            case _:
                assert_never(action)

    async def _run_helm_action(
        self, action: HelmAction, request: ReconcileRequest, observation: Observation, basis: PlanBasis
    ) -> str:
        context, name, planned = self._context, type(action).__name__, request.xapp.metadata
        before, previous = request.draft, request.draft.attempt
        attempt = start_attempt(
            previous,
            action=name,
            digests=find_known_digests(observation.desired, previous, generation=planned.generation),
            generation=planned.generation,
            now=self._clock.now(),
            revision_before=release.revision if (release := observation.state.release) is not None else 0,
            rollback_to=find_rollback_request(action, observation.requests),
            request_digest=observation.requests.digest,
            rollback_cause=find_rollback_cause(action, request, root_cause=observation.live.message),
        )
        forced = before.with_handled(request.xapp, "force_at").handled  # not what is set while helm runs
        unrecorded = self.reports.may_start_unrecorded(request, name, observation)
        if isinstance(action, Install | Upgrade):
            request.draft = replace(request.draft, held_revision=None)
        noted = note_before_step(action, request.key, before.terminating, context.monitor)
        unrecorded = unrecorded and noted == before.terminating
        request.draft = replace(request.draft, attempt=attempt, terminating=noted)
        decision = Wait(Reason.PROGRESSING, _PROGRESS_MESSAGES[name])
        try:
            if not unrecorded:
                await self.reports.write(request, decision, observation)
        except XAppError:
            request.draft = before  # helm did not run
            raise
        if self._is_outdated(planned):
            raise StepInterrupted
        queued = before if unrecorded else request.draft
        async with self.reports.progress(request, decision, observation, queued=queued) as note_start:
            on_start = basis.guard(note_start)
            match action:
                case Install() | Upgrade():
                    await deploy(action, request, context, attempt, handled=forced, on_start=on_start)
                case Rollback():
                    await rollback(action, request, context, attempt, previous=previous, on_start=on_start)
                case Uninstall():
                    await uninstall(action, request, context, attempt, on_start=on_start)
        ended = request.draft.attempt
        return _METRIC_OUTCOMES.get(ended.outcome, "succeeded") if ended is not None else "succeeded"

    async def _start_tests(self, action: StartTests, request: ReconcileRequest, observation: Observation) -> None:
        before, planned, release = request.draft, request.xapp.metadata, observation.state.release
        if release is None:
            return
        run = begin_test_run(before.test, release, requested=action.requested, now=self._clock.now())
        if before.test is not None and before.test.revision != run.revision:
            await delete_test_objects(request, self._context, before.test.revision)  # the status forgets that revision
        handled = before.with_handled(request.xapp, "test_at")
        request.draft = replace(handled, test=run)
        _settle_attempt(action.settled, request, observation)
        try:
            await self.reports.write(request, action.settled, observation)
        except XAppError:
            request.draft = before  # helm did not run
            raise
        if self._is_outdated(planned):
            request.draft = before  # likewise
        else:
            start_tests(request, self._context, run)

    async def _finish(self, decision: Wait | Nothing, request: ReconcileRequest, observation: Observation) -> None:
        """Report the decision, and choose when to reconcile again."""
        xapp, key, context = request.xapp, request.key, self._context
        if observation.missing_labels.error is not None:
            message = observation.missing_labels.error.message
            context.events.record(request.raw, event_type="Warning", reason=Reason.ACCESS_DENIED, message=message)
        if xapp.metadata.deletion_timestamp is not None and isinstance(decision, Nothing):
            tell_what_is_left(request, context, observation)
            await context.archive_owners.leave(xapp)
            self.finalizers.set_removed(xapp)
            return
        _settle_attempt(decision, request, observation)
        health, inputs = observation.live.status, self._plan_input(request, observation)
        delay = self._source_backoff.requeue_delay(xapp.metadata, decision, observation.desired, now=inputs.now)
        delay = min(context.settings.resync_seconds, delay)
        if (postponed := self.reports.postponed_seconds(request, decision, observation)) is not None:
            delay = min(delay, postponed)
            self.reports.keep(request, postponed=True)
        else:
            await self.reports.write(request, decision, observation, retries=self._source_backoff.retries(key))
        if request.draft.release.revision is not None and health is not HealthStatus.HEALTHY:
            recently = inputs.attempt is not None and inputs.now - inputs.attempt.last_at < SLOW_RECHECK_AFTER_SECONDS
            delay = min(delay, UNHEALTHY_RECHECK_SECONDS if recently else SLOW_RECHECK_SECONDS)
        due_at = next_action_at(xapp.spec, inputs.observed, inputs.test, now=inputs.now, backoff=inputs.backoff)
        if observation.archive_owner_changes and not observation.state.archive_owners_differ:  # they were refused
            delay = min(delay, context.archive_backoff.next_repair_at(key) - self._clock.monotonic())
        if (pause := context.leftover_backoff.next_repair_at(key) - self._clock.monotonic()) > 0:
            delay = min(delay, pause)
        context.queue.set_delay(key, max(min(delay, due_at - inputs.now), 0.0))

    def _is_outdated(self, planned: Metadata) -> bool:
        """Return whether there is a newer spec; a deletion raises the generation too."""
        cached = self._context.xapps.get((planned.namespace, planned.name))
        return cached is None or (cached.uid, cached.generation) != (planned.uid, planned.generation)

    def _requeue_with_backoff(self, key: NamespacedName) -> None:
        self._failures[key] += 1
        self._context.queue.add_after(key, self._backoff.jittered(self._failures[key]))


def _settle_attempt(decision: Wait | Nothing, request: ReconcileRequest, observation: Observation) -> None:
    health, generation = observation.live.status, request.xapp.metadata.generation
    request.draft = settle_attempt(request.draft, decision, health, desired=observation.desired, generation=generation)
