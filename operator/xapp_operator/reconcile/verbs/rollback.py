"""Rollback: an upgrade failed, never became healthy or failed its tests; or rollback-to requests or holds a revision.

Changes in StatusDraft: attempt, held revision, handled rollback-to, the history if the rollback failed. A failed
upgrade stays recorded, so that the same digests are not tried again.

helm prunes the history at the beginning of a rollback, and so may delete the revision that it rolls back to. When it
is killed then, nothing is left to roll back to. Therefore the history may grow by one, and is pruned afterwards.

helm copies the labels of the revision that it rolls back to. One from before the XApp adopted the release gets its name
first: otherwise the release would belong to nobody again, and would stay when the XApp is deleted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace

from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import ReleaseStatus
from xapp_operator.api.names import LABEL_XAPP
from xapp_operator.api.status_parts import RollbackCause
from xapp_operator.domain.planning.actions import HelmAction, Rollback
from xapp_operator.domain.planning.plan_failures import unhealthy_message
from xapp_operator.domain.planning.plan_input import AnnotationRequests, Attempt, AttemptOutcome, TestOutcome, TestRun
from xapp_operator.errors import NotFound
from xapp_operator.helm.processes.slots import HelmSlot
from xapp_operator.helm.releases.release_index import RevisionInfo
from xapp_operator.helm.requests import RollbackRequest
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.status.attempts import rolled_back_attempt
from xapp_operator.reconcile.status.revision_history import label_digests, with_failed_revision
from xapp_operator.reconcile.stored_releases.release_secrets import secrets_reader
from xapp_operator.reconcile.verbs.deploy import run_step
from xapp_operator.reconcile.verbs.list_takeover import run_with_list_takeover
from xapp_operator.reconcile.verbs.ownership import require_free_returning_objects
from xapp_operator.reconcile.verbs.release_records import label_record
from xapp_operator.reconcile.verbs.rollback_objects import read_rollback_objects
from xapp_operator.reconcile.verbs.surplus_revisions import delete_surplus
from xapp_operator.reconcile.verbs.taken_over import keeping_taken_over


async def rollback(
    action: Rollback,
    request: ReconcileRequest,
    context: ReconcilerContext,
    attempt: Attempt,
    *,
    previous: Attempt | None,
    on_start: Callable[[], None],
) -> None:
    """Run `helm rollback` to `action.revision` and record how it ended; a failure is recorded, not raised.

    `previous` is the attempt before: the upgrade that is rolled back, or an earlier try of the rollback. `on_start` is
    explained at `run_step`.

    Raises:
        StepInterrupted: when the step was ended before it began.
    """
    name = request.xapp.release_name
    before = context.release_watch.revisions(request.namespace, name)

    async def run(slot: HelmSlot) -> None:
        objects = await read_rollback_objects(request, context, action.revision)
        if objects is not None:
            await require_free_returning_objects(request, context, objects, target=action.revision)
        await _take_over(action.revision, request, context)
        helm_request = RollbackRequest(
            name=name,
            namespace=request.namespace,
            revision=action.revision,
            user=context.impersonation.user_for(request.xapp),
            timeout=request.xapp.spec.timeout_seconds,
            read_secrets=secrets_reader(request.key, name, context, rollback_to=action.revision),
        )
        async with keeping_taken_over(request, context, objects):
            await run_with_list_takeover(request, context, lambda: context.helm.rollback(helm_request, slot=slot))

    def is_made(newest: RevisionInfo) -> bool:
        target = context.release_watch.get_revision(request.namespace, name, action.revision)
        copied = (
            target is not None and newest.attempt == target.attempt and label_digests(newest) == label_digests(target)
        )
        return copied and all(newest.revision > each.revision for each in before[-1:])

    attempt, _ = await run_step(request, context, attempt, run, urgent=False, on_start=on_start, is_made=is_made)
    requested = action.hold and not action.again
    handled = requested and attempt.outcome is AttemptOutcome.FAILED and attempt.permanent
    if attempt.outcome is AttemptOutcome.RELEASED:
        context.monitor.forget_inventory(request.key)
        context.incompletely_labelled.pop(request.key, None)  # what was refused to the revision before
        if action.hold:
            handled = requested
            request.draft = replace(request.draft, held_revision=action.revision)
            cause = "as rollback-to asked" if requested else "which is held"
            message = f"rolled back to revision {action.revision}, {cause}"
            context.events.record(request.raw, reason=Reason.ROLLBACK_SUCCEEDED, message=message)
        elif attempt.rollback_cause is not None:
            attempt = rolled_back_attempt(previous or attempt, attempt.rollback_cause)
            context.events.record(
                request.raw, event_type="Warning", reason=Reason.ROLLBACK_SUCCEEDED, message=attempt.message
            )
    request.draft = replace(request.draft, attempt=attempt)
    if handled:
        # Not what the annotation says now: another revision may have been asked for while helm ran.
        handled_annotations = request.draft.handled.model_copy(update={"rollback_to": attempt.rollback_to})
        request.draft = replace(request.draft, handled=handled_annotations)
    await context.release_watch.ensure_current(request.namespace, name)
    released = attempt.outcome is not AttemptOutcome.FAILED
    if attempt.outcome is not AttemptOutcome.INTERRUPTED:  # otherwise the next upgrade prunes
        kept = await delete_surplus(request, context, rollback_target=None if released else action.revision)
        if not released:
            _note_failed_revision(action.revision, request, before=before, kept=kept)


def _note_failed_revision(
    target: int, request: ReconcileRequest, *, before: Sequence[RevisionInfo], kept: Sequence[RevisionInfo]
) -> None:
    """Note in the history what helm has recorded of a rollback to `target` that failed: it copies the labels, too."""
    copied = next((each for each in before if each.revision == target), None)
    if copied is None:
        return
    from_labels = ReleaseStatus(chart_digest=copied.chart_digest or None, values_digest=copied.values_digest or None)
    source = next((each for each in request.draft.history if each.revision == target), from_labels)
    keep, newest = request.xapp.spec.max_history, before[-1].revision
    request.draft = with_failed_revision(request.draft, source, kept, labels=[copied.attempt], after=newest, keep=keep)


async def _take_over(revision: int, request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Make the XApp the owner of a revision from before it adopted the release."""
    info = context.release_watch.get_revision(request.namespace, request.xapp.release_name, revision)
    if info is not None and info.xapp != request.key[1]:
        with contextlib.suppress(NotFound):  # helm says so
            await label_record(request, context, revision=revision, labels={LABEL_XAPP: request.key[1]})


def failed_test(test: TestRun | None, *, revision: int | None) -> TestRun | None:
    """Return the tests of the revision that was in force, if they failed; tests that were requested undo nothing."""
    if test is None or test.requested or test.outcome is not TestOutcome.FAILED or test.revision != revision:
        return None
    return test


def find_rollback_request(action: HelmAction, requests: AnnotationRequests) -> str:
    """Return the value of rollback-to that `action` answers, or the revision that it holds again; else nothing."""
    if not isinstance(action, Rollback) or not action.hold:
        return ""
    return str(action.revision) if action.again else requests.rollback_value


def find_rollback_cause(action: HelmAction, request: ReconcileRequest, *, root_cause: str) -> RollbackCause | None:
    """Return why an upgrade is rolled back; None if somebody asked for that, or nothing is rolled back.

    `root_cause` tells why the deployed revision is not healthy.
    """
    draft, previous = request.draft, request.draft.attempt
    if not isinstance(action, Rollback) or action.hold:
        return None
    tried = previous.rollback_cause if previous is not None and not previous.rollback_was_ended else None
    if tried is not None:  # an earlier try, or another revision
        return tried.model_copy(update={"revision": action.revision})
    if previous is not None and previous.outcome is AttemptOutcome.FAILED:
        reason, message = previous.reason, previous.message
    elif (failed := failed_test(draft.test, revision=draft.release.revision)) is not None:
        reason, message = Reason.TEST_FAILED, failed.message
    else:
        reason, message = Reason.HEALTH_CHECK_FAILED, unhealthy_message(request.xapp.spec.timeout, root_cause)
    return RollbackCause(revision=action.revision, reason=reason, message=message)
