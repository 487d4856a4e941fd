"""The loop over one XApp: observe, plan, act, report; level-triggered, so that any event may start it at any time.

Lives in `reconcile`. What to do is decided by `domain.plan`, done by `verbs`, worded by `report`; this module only
brings them together, and it alone decides when a key comes back.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import replace
from typing import Final, assert_never

from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus, Metadata
from xapp_operator.api.names import FINALIZER
from xapp_operator.domain.actions import (
    Action,
    Adopt,
    CorrectDrift,
    Install,
    Nothing,
    Rollback,
    Test,
    Uninstall,
    Unlock,
    Upgrade,
    Wait,
)
from xapp_operator.domain.backoff import Backoff
from xapp_operator.domain.plan import plan
from xapp_operator.domain.plan_input import AttemptOutcome, PlanInput
from xapp_operator.errors import AccessDenied, NotFound, XAppError
from xapp_operator.reconcile.observe import Observation, Observer
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.status_draft import StatusDraft, start_attempt
from xapp_operator.reconcile.status_rendering import render_status
from xapp_operator.reconcile.verbs.adopt import adopt
from xapp_operator.reconcile.verbs.cleanup_orphans import cleanup_orphans
from xapp_operator.reconcile.verbs.install import install
from xapp_operator.reconcile.verbs.rollback import rollback
from xapp_operator.reconcile.verbs.uninstall import uninstall
from xapp_operator.reconcile.verbs.unlock import unlock
from xapp_operator.reconcile.verbs.upgrade import upgrade
from xapp_operator.reconcile.work_queue import NamespacedName
from xapp_operator.telemetry.logs import get_logger

MAX_ACTIONS_PER_RECONCILE: Final = 6
UNHEALTHY_RECHECK_SECONDS: Final = 5.0
SLOW_RECHECK_SECONDS: Final = 30.0
SLOW_RECHECK_AFTER_SECONDS: Final = 120.0

_log = get_logger(__name__)


class Reconciler:
    """Works on keys of the queue; many workers share one."""

    def __init__(self, tools: ReconcilerContext) -> None:
        self._tools = tools
        self._observer = Observer(tools)
        self._backoff = Backoff(tools.settings.backoff_first_seconds, tools.settings.backoff_max_seconds)
        self._failures: Counter[NamespacedName] = Counter()
        self._waits: Counter[NamespacedName] = Counter()
        self._gone: dict[str, asyncio.Event] = {}

    def is_removed(self, uid: str) -> bool:
        """Return whether nothing is left to remove for the XApp of that uid."""
        event = self._gone.get(uid)
        return event is not None and event.is_set()

    async def wait_removed(self, uid: str, *, seconds: float) -> bool:
        """Return whether nothing is left to remove, waiting at most `seconds` for it."""
        event = self._gone.setdefault(uid, asyncio.Event())
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return False
        return True

    def forget(self, key: NamespacedName, uid: str) -> None:
        """Forget an XApp that no longer exists."""
        self.forget_removed(uid)
        self._failures.pop(key, None)
        self._waits.pop(key, None)
        self._tools.unlabelled.discard(key)
        self._tools.label_backoff.forget(key)
        self._tools.monitor.forget_inventory(key)
        self._tools.inputs.forget(key)
        self._tools.resolver.cancel(key)
        self._tools.queue.cancel_delayed(key)

    def forget_removed(self, uid: str) -> None:
        """Forget the removal of an XApp whose name another one has by now."""
        self._gone.pop(uid, None)

    async def run_worker(self) -> None:
        """Take keys and reconcile them, for ever; no failure of one ends the worker."""
        queue = self._tools.queue
        while True:
            key = await queue.get()
            began = time.monotonic()
            outcome = "failed"
            try:
                await self.reconcile(key)
            except XAppError as error:
                self._requeue_with_backoff(key)
                _log.warning("reconcile failed", namespace=key[0], name=key[1], error=error.message)
            except Exception:
                self._requeue_with_backoff(key)
                _log.exception("reconcile failed unexpectedly", namespace=key[0], name=key[1])
            else:
                outcome = "done"
                self._failures.pop(key, None)
            finally:
                queue.done(key)
                self._tools.metrics.record_reconcile(
                    action="reconcile", outcome=outcome, seconds=time.monotonic() - began
                )
                self._tools.metrics.set_queue_depth(depth=len(queue))

    async def reconcile(self, key: NamespacedName) -> None:
        """Bring one XApp one or more steps nearer to what its spec says, and write its status if it changed.

        Raises:
            XAppError: where the cluster could not be asked or told; the key comes back with back-off.
        """
        entry = self._tools.xapps.get(key)
        if entry is None or self.is_removed(entry.uid):
            return
        raw, xapp = entry.parse()
        if FINALIZER not in xapp.metadata.finalizers:
            return  # the framework adds it first, and its event brings the key back
        work = ReconcileRequest(raw=raw, xapp=xapp, draft=StatusDraft.from_status(xapp))
        observation = await self._observer.observe(work)
        for _ in range(MAX_ACTIONS_PER_RECONCILE):
            action = plan(self._plan_input(work, observation))
            if isinstance(action, Wait | Nothing):
                break
            planned = work.xapp.metadata
            try:
                await self._execute(action, work, observation)
            except AccessDenied as error:
                await self._write_status(work, Wait(Reason.ACCESS_DENIED, error.message, stalled=True), observation)
                raise
            if self._outdated(planned):
                # What is written is about the spec that was acted on, also where a write has already met a newer one.
                work.xapp = work.xapp.model_copy(update={"metadata": planned})
                await self._write_status(work, Wait(Reason.PROGRESSING, "the spec has changed"), observation)
                self._tools.queue.add(key)
                return
            observation = await self._observer.observe(work)
        else:
            action = Wait(Reason.PROGRESSING, "several steps were made; looking again", until=time.time() + 1)
        await self._finish(action, work, observation)

    def _plan_input(self, work: ReconcileRequest, observation: Observation) -> PlanInput:
        xapp, draft = work.xapp, work.draft
        if draft.attempt is not None and draft.attempt.digests == observation.desired:
            draft.attempt = replace(draft.attempt, generation=xapp.metadata.generation)
        return PlanInput(
            name=xapp.metadata.name,
            spec=xapp.spec,
            generation=xapp.metadata.generation,
            deleting=xapp.metadata.deletion_timestamp is not None,
            generation_observed=xapp.status.observed_generation == xapp.metadata.generation,
            held_revision=draft.held_revision,
            observed=observation.observed,
            desired=observation.desired,
            health=observation.live.health,
            root_cause=observation.live.message,
            attempt=draft.attempt,
            requests=observation.requests,
            now=time.time(),
            backoff=self._backoff,
        )

    async def _execute(self, action: Action, work: ReconcileRequest, observation: Observation) -> None:
        name = type(action).__name__
        _log.info("action started", namespace=work.key[0], name=work.key[1], action=name)
        self._observer.mark_force_handled(work, action)
        if isinstance(action, Unlock):
            await unlock(action, work, self._tools)
            return
        if isinstance(action, Adopt):
            await adopt(action, work, self._tools)
            return
        digests = None if isinstance(observation.desired, XAppError) else observation.desired
        attempt = start_attempt(
            work.draft.attempt,
            action=name,
            digests=digests,
            generation=work.xapp.metadata.generation,
            now=time.time(),
        )
        cause, planned = work.draft.attempt, work.xapp.metadata
        work.draft.attempt = attempt
        await self._write_status(work, Wait(Reason.PROGRESSING, _PROGRESS_MESSAGES[name]), observation)
        if self._outdated(planned):
            work.draft.attempt = cause
            return
        match action:
            case Install():
                await install(action, work, self._tools, attempt)
            case Upgrade():
                await upgrade(action, work, self._tools, attempt)
            case Rollback():
                await rollback(
                    action, work, self._tools, attempt, undone_attempt=cause, root_cause=observation.live.message
                )
            case Uninstall():
                await uninstall(action, work, self._tools, attempt)
            case CorrectDrift() | Test() | Wait() | Nothing():
                raise ValueError(f"the plan never asks for {name} here")
            case _:
                assert_never(action)

    async def _finish(self, action: Wait | Nothing, work: ReconcileRequest, observation: Observation) -> None:
        """Write what the decision means, and say when to look again."""
        xapp, key, tools = work.xapp, work.key, self._tools
        if xapp.metadata.deletion_timestamp is not None and isinstance(action, Nothing):
            observed = observation.observed
            if observed.namespace_terminating and observed.release is None and xapp.spec.deletion_policy != "Orphan":
                await cleanup_orphans(work, tools)
            self._gone.setdefault(xapp.metadata.uid, asyncio.Event()).set()
            return
        draft, live = work.draft, observation.live
        ended = draft.attempt
        healthy = isinstance(action, Nothing) and live.health is HealthStatus.HEALTHY
        if ended is not None and healthy and ended.outcome is not AttemptOutcome.FAILED:
            draft.attempt = replace(ended, outcome=AttemptOutcome.SUCCEEDED)
        elif isinstance(action, Wait) and action.reason == Reason.HEALTH_CHECK_FAILED and ended is not None:
            draft.attempt = replace(
                ended, outcome=AttemptOutcome.UNHEALTHY, permanent=True, reason=action.reason, message=action.message
            )
        await self._write_status(work, action, observation)
        delay = min(tools.settings.resync_seconds, self._requeue_delay(key, action))
        if draft.release.revision is not None and live.health is not HealthStatus.HEALTHY:
            since = time.time() - (draft.attempt.last_at if draft.attempt else 0.0)
            delay = min(
                delay, UNHEALTHY_RECHECK_SECONDS if since < SLOW_RECHECK_AFTER_SECONDS else SLOW_RECHECK_SECONDS
            )
        tools.queue.add_after(key, delay)

    def _requeue_delay(self, key: NamespacedName, action: Wait | Nothing) -> float:
        """Return after how many seconds a decision is made anew: waits without an end back off."""
        if not isinstance(action, Wait) or action.stalled or action.reason in _REASONS_WITHOUT_BACKOFF:
            self._waits.pop(key, None)
            return float("inf")
        if action.until is not None:
            return max(action.until - time.time(), 0.0)
        self._waits[key] += 1
        return self._backoff.jittered(self._waits[key])

    async def _write_status(self, work: ReconcileRequest, decision: Wait | Nothing, observation: Observation) -> None:
        status = render_status(work.xapp, work.draft, decision, observation.live, now=self._observer.now())
        was_ready = work.xapp.status.ready
        try:
            written = await self._tools.status_writer.write(work.raw, status)
        except NotFound:
            self._tools.xapps.remove(work.key, work.xapp.metadata.uid)
            return
        if written is None:
            return
        work.raw = written
        work.xapp = type(work.xapp).model_validate(written)
        self._tools.xapps.put(written)
        if not was_ready and work.xapp.status.ready:
            for dependent in self._tools.xapps.referrers(work.namespace, "XApp", work.xapp.metadata.name):
                self._tools.queue.add(dependent)

    def _outdated(self, metadata: Metadata) -> bool:
        """Return whether the XApp is known to be another by now than when it was planned for."""
        entry = self._tools.xapps.get((metadata.namespace, metadata.name))
        if entry is None or entry.uid != metadata.uid:
            return True
        return entry.generation != metadata.generation or entry.deleting != (metadata.deletion_timestamp is not None)

    def _requeue_with_backoff(self, key: NamespacedName) -> None:
        self._failures[key] += 1
        self._tools.queue.add_after(key, self._backoff.jittered(self._failures[key]))


_REASONS_WITHOUT_BACKOFF: Final = frozenset({Reason.SUSPENDED, Reason.HEALTH_CHECK_FAILED})
_PROGRESS_MESSAGES: Final = {
    "Install": "helm installs the chart",
    "Upgrade": "helm upgrades the release",
    "Rollback": "helm rolls the release back",
    "Uninstall": "helm uninstalls the release",
}
