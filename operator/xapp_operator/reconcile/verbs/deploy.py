"""Install and Upgrade: run helm with the desired chart and values, then label the objects.

Precondition: the plan chose the action for the digests of the attempt. Install is for a release that does not exist, or
of which only a failed record that never was deployed exists; Upgrade is for everything else, and also repairs a failed
revision after a good one. Chart and values are read when there is a place for helm, and the attempt gets their digests.
Changes in StatusDraft: attempt, release, labelled revision; the history, if it failed.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Collection, Coroutine
from dataclasses import replace
from typing import Any, Final, TypeVar

from xapp_operator.api.models import ReleaseStatus
from xapp_operator.api.names import LABEL_ATTEMPT, LABEL_CHART_DIGEST, LABEL_VALUES_DIGEST, LABEL_XAPP
from xapp_operator.api.status_parts import HandledAnnotations
from xapp_operator.domain.planning.actions import Install, Upgrade
from xapp_operator.domain.planning.plan_input import DEPLOYED, Attempt, AttemptOutcome, Digests
from xapp_operator.errors import HelmNotStarted, KindNotServed, KubeError, ReleaseRecordDamaged, XAppError
from xapp_operator.helm.labelling.manifest_labels import ObjectMetadata
from xapp_operator.helm.processes.slots import HelmSlot
from xapp_operator.helm.releases.release_index import RevisionInfo
from xapp_operator.helm.releases.release_storage import public_description
from xapp_operator.helm.requests import ReleaseRequest, ReleaseResult
from xapp_operator.monitor.live_objects import LiveObjectKey
from xapp_operator.reconcile.hook_reporting import HookReports, explain_failure, reporting_hooks
from xapp_operator.reconcile.inputs.release_inputs import ReleaseInputs
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.repository_reconciler import RepositoryNotSaved
from xapp_operator.reconcile.status.attempts import failed_attempt
from xapp_operator.reconcile.status.revision_history import find_rollback_target, with_failed_revision
from xapp_operator.reconcile.status.status_rendering import FAILURE_REASONS, SUCCESS_REASONS, describe_release
from xapp_operator.reconcile.verbs.list_takeover import run_with_list_takeover
from xapp_operator.reconcile.verbs.ownership import require_free_objects
from xapp_operator.reconcile.verbs.repair_labels import label_release
from xapp_operator.reconcile.verbs.surplus_revisions import delete_surplus
from xapp_operator.reconcile.verbs.unknown_records import explain_unknown_record
from xapp_operator.reconcile.verbs.unserved_kinds import forget_unserved_kinds, upgrade_without_unserved_kinds
from xapp_operator.reconcile.work.xapp_tasks import StepInterrupted
from xapp_operator.telemetry.logs import get_logger

T = TypeVar("T")

LARGE_XAPP_BYTES: Final = 64 * 1024
"""The values of a larger XApp are dropped while helm runs."""

HELM_NOT_STARTED: Final = "HelmNotStarted"
"""The reason of the event."""

_log = get_logger(__name__)


async def deploy(
    action: Install | Upgrade,
    request: ReconcileRequest,
    context: ReconcilerContext,
    attempt: Attempt,
    *,
    handled: HandledAnnotations,
    on_start: Callable[[], None],
) -> None:
    """Run `helm install` or `helm upgrade` and record how it ended; a failure is recorded, not raised.

    `handled` are the annotations that this step answers. `on_start` is explained at `run_step`.

    Raises:
        StepInterrupted: when helm was not started: the step was ended before, or its chart or values are gone.
    """
    target = find_rollback_target(request.draft.history)
    known, recorded = context.monitor.known_objects(request.key), list[str]()
    planned, loaded, began = attempt, None, 0.0
    source: ReleaseStatus | None = None
    forced = handled.force_at != request.draft.handled.force_at

    async def run(slot: HelmSlot) -> tuple[Digests, ReleaseResult]:
        nonlocal loaded, began, source
        began = context.clock.now()
        inputs = await _load_inputs(request, context)
        if inputs.digests != attempt.digests and not forced and _is_deployed(request, context, inputs.digests):
            raise StepInterrupted  # what was wanted when it was planned is not wanted any more
        loaded, source = inputs.digests, _source_of(inputs)
        return loaded, await _run_helm(action, request, context, slot, inputs, recorded=recorded)

    attempt, done = await run_step(
        request,
        context,
        attempt,
        run,
        urgent=False,
        on_start=on_start,
        is_made=lambda newest: newest.attempt in recorded,
    )
    if loaded is None and attempt.outcome is AttemptOutcome.INTERRUPTED:
        raise StepInterrupted
    if loaded not in (None, planned.digests):  # they changed while it waited: the tries before were of others
        attempt = replace(attempt, digests=loaded, first_at=began, count=1)
    if done is not None:
        digests, result = done
        request.draft = replace(request.draft, release=_release_status(request, digests, result))
        attempt = await _label(request, context, attempt, result, known=known if result.labelled else None)
    if attempt.outcome is AttemptOutcome.RELEASED:
        request.draft = replace(request.draft, unlocked=False)
        _tell_success(request, context, attempt, unnoticed=source if done is None else None)
    request.draft = replace(request.draft, attempt=attempt)
    if attempt.outcome is not AttemptOutcome.INTERRUPTED:  # otherwise what helm has recorded tells
        request.draft = replace(request.draft, handled=handled)
    namespace, name = request.namespace, request.xapp.release_name
    if done is not None:
        await context.release_watch.wait_deployed(namespace, name, done[1].revision, attempt=recorded[-1])
    else:
        await context.release_watch.ensure_current(namespace, name)
    kept = context.release_watch.revisions(namespace, name)
    if attempt.outcome is not AttemptOutcome.INTERRUPTED:
        kept = await delete_surplus(request, context, rollback_target=target)  # in case the new one is not healthy
    keep = request.xapp.spec.max_history
    request.draft = with_failed_revision(request.draft, source, kept, labels=recorded, keep=keep)


def _tell_success(
    request: ReconcileRequest, context: ReconcilerContext, attempt: Attempt, *, unnoticed: ReleaseStatus | None
) -> None:
    """Record an event; if helm did not tell of its success, what it has made `unnoticed` is looked at afterwards."""
    described = request.draft
    if unnoticed is not None:
        revision = context.release_watch.revisions(request.namespace, request.xapp.release_name)[-1].revision
        described = replace(described, release=unnoticed.model_copy(update={"revision": revision}))
    reason = SUCCESS_REASONS[attempt.action]
    context.events.record(request.raw, reason=reason, message=describe_release(described))


async def _label(
    request: ReconcileRequest,
    context: ReconcilerContext,
    attempt: Attempt,
    result: ReleaseResult,
    *,
    known: Collection[LiveObjectKey] | None,
) -> Attempt:
    """Label the objects that helm has deployed; return `attempt`, as failed if it is not known which objects these are.

    What the cluster refuses is not the fault of the release: RepairLabels follows, and tells it.
    """
    context.incompletely_labelled.pop(request.key, None)  # what was refused to the revision before
    try:
        await label_release(request, context, result.manifest, revision=result.revision, known=known)
    except KubeError as error:
        _log.info("not labelled", namespace=request.namespace, name=request.key[1], error=error.message)
    except XAppError as error:
        if error.permanent:
            return fail_attempt(request, context, attempt, error)
    return attempt


async def run_step(
    request: ReconcileRequest,
    context: ReconcilerContext,
    attempt: Attempt,
    step: Callable[[HelmSlot], Coroutine[Any, Any, T]],
    *,
    urgent: bool,
    on_start: Callable[[], None],
    is_made: Callable[[RevisionInfo], bool] | None = None,
) -> tuple[Attempt, T | None]:
    """Run a helm step that can be interrupted; return how `attempt` ended, and the result if it is known.

    A failure becomes an event and part of the attempt. Yet if helm's last write was stored, the step has succeeded,
    although helm does not know: its connection was cut, or it was killed. `is_made` tells whether the step has made the
    newest revision; an uninstall makes none. If that cannot be looked up now, `StatusDraft.with_unnoticed_success`
    finds it out later.

    While the step waits for a place and while helm runs, perhaps for hours, the XApp holds no worker and no large
    values. `urgent` is explained at `HelmEngine.slot`. `on_start` is called when there is a place; it raises
    StepInterrupted if the plan is not right any more.

    Raises:
        StepInterrupted: when the step was ended before it began.
    """
    key, reports, has_begun = request.key, HookReports(), False

    async def begin(slot: HelmSlot) -> T:
        nonlocal attempt, has_begun
        on_start()
        attempt, has_begun = attempt.begun(context.clock.now()), True
        await forget_unserved_kinds(request, context)
        try:
            return await step(slot)
        finally:
            context.release_watch.note_change(request.namespace, request.xapp.release_name)

    try:
        async with context.workers.pausing(key) as pause:
            running = _run_in_slot(request, context, pause, begin, reports, urgent=urgent)
            result = await context.running_steps.run(key, running, version=request.step_version)
    except StepInterrupted:
        if not has_begun:
            raise
        return replace(attempt, outcome=AttemptOutcome.INTERRUPTED, last_at=context.clock.now()), None
    except XAppError as error:
        if isinstance(error, ReleaseRecordDamaged):
            error = await explain_unknown_record(request, context, error)
        if is_made is not None and has_begun and await _has_deployed(request, context, is_made):
            _log.warning("helm has succeeded and failed then", namespace=key[0], name=key[1], error=error.message)
            return replace(attempt, outcome=AttemptOutcome.RELEASED, last_at=context.clock.now()), None
        attempt, message = await explain_failure(request, context, attempt, error, reports)
        return fail_attempt(request, context, attempt, error, message=message), None
    finally:
        request.restore(context.xapps.get(key))
    return replace(attempt, outcome=AttemptOutcome.RELEASED, last_at=context.clock.now()), result


async def _has_deployed(
    request: ReconcileRequest, context: ReconcilerContext, is_made: Callable[[RevisionInfo], bool]
) -> bool:
    """Return whether the newest revision is deployed, and made by the step; False if that cannot be looked up."""
    namespace, name = request.namespace, request.xapp.release_name
    with contextlib.suppress(KubeError):
        await context.release_watch.refresh(namespace, name)
        newest = context.release_watch.revisions(namespace, name)[-1:]
        return any(each.status == DEPLOYED and is_made(each) for each in newest)
    return False


async def _run_in_slot(
    request: ReconcileRequest,
    context: ReconcilerContext,
    pause: Callable[[], None],
    step: Callable[[HelmSlot], Coroutine[Any, Any, T]],
    reports: HookReports,
    *,
    urgent: bool,
) -> T:
    _drop_large_values(request, context)
    pause()  # before the wait for a place: those that wait would hold all workers
    async with (
        context.helm.slot(request.namespace, urgent=urgent) as slot,
        reporting_hooks(request, context, reports),
    ):
        return await step(slot)


def _drop_large_values(request: ReconcileRequest, context: ReconcilerContext) -> None:
    cached = context.xapps.get(request.key)
    if cached is not None and len(cached.data) > LARGE_XAPP_BYTES:
        request.drop_values()


def fail_attempt(
    request: ReconcileRequest,
    context: ReconcilerContext,
    attempt: Attempt,
    error: XAppError,
    *,
    message: str | None = None,
) -> Attempt:
    """Return `attempt` as failed because of `error`, and record an event."""
    reason, message = error.reason or FAILURE_REASONS[attempt.action], message or error.message
    told = HELM_NOT_STARTED if isinstance(error, HelmNotStarted) else reason
    context.events.record(request.raw, event_type="Warning", reason=told, message=message)
    return failed_attempt(attempt, error, reason=reason, message=message, now=context.clock.now())


def new_attempt_label() -> str:
    """Return a unique value for the label of a release record that tells helm steps apart."""
    return uuid.uuid4().hex[:16]


def release_labels(xapp: str, digests: Digests, *, attempt: str) -> dict[str, str]:
    """Return the labels of a release record: its owner, its digests, and the attempt."""
    return {
        LABEL_XAPP: xapp,
        LABEL_CHART_DIGEST: digests.chart,
        LABEL_VALUES_DIGEST: digests.values,
        LABEL_ATTEMPT: attempt,
    }


async def _load_inputs(request: ReconcileRequest, context: ReconcilerContext) -> ReleaseInputs:
    """Return chart and values as they are now.

    Raises:
        StepInterrupted: when they are not what was planned for. The next observation finds out what is wrong with them.
        XAppError: when they cannot be read, although an observation has just found nothing wrong, or for now.
    """
    if not request.restore(context.xapps.get(request.key)):
        raise StepInterrupted  # its values may be dropped, and those of another generation are not meant
    try:
        return await context.inputs.load(request.xapp)
    except XAppError as error:
        if request.inputs_refused or not (error.permanent or isinstance(error, RepositoryNotSaved)):
            raise
        request.inputs_refused = True
        context.inputs.forget(request.key)
        raise StepInterrupted from error


def _is_deployed(request: ReconcileRequest, context: ReconcilerContext, digests: Digests) -> bool:
    """Return whether the newest revision of the release is deployed from these digests."""
    release = context.release_watch.get_release(request.namespace, request.xapp.release_name, attempt=None)
    return release is not None and (release.status, release.digests) == (DEPLOYED, digests)


async def _run_helm(
    action: Install | Upgrade,
    request: ReconcileRequest,
    context: ReconcilerContext,
    slot: HelmSlot,
    inputs: ReleaseInputs,
    *,
    recorded: list[str],
) -> ReleaseResult:
    """Run helm, more than once if that helps; the label of each run is added to `recorded`."""
    spec = request.xapp.spec
    if inputs.chart.info.external_refs:
        context.events.record(
            request.raw,
            event_type="Warning",
            reason="SchemaSkipped",
            message="the values are not checked against the chart's schema, because it refers to documents outside the "
            "chart, and following such references is not allowed",
        )
    helm_request = ReleaseRequest(
        name=request.xapp.release_name,
        namespace=request.namespace,
        chart=inputs.chart.path,
        values=inputs.values,
        user=context.impersonation.user_for(request.xapp),
        timeout=spec.timeout_seconds,
        replace=isinstance(action, Install) and action.replace,
        take_ownership=action.take_ownership,
        skip_schema=inputs.chart.info.external_refs,
        secrets=inputs.secrets,
        object_metadata=ObjectMetadata.for_xapp(request.xapp.metadata.name, spec),
    )
    _drop_large_values(request, context)

    def next_run() -> ReleaseRequest:
        recorded.append(new_attempt_label())  # with that of the run before, its revision would look like a copy
        labels = release_labels(request.xapp.metadata.name, inputs.digests, attempt=recorded[-1])
        return replace(helm_request, labels=labels)

    async def check_objects() -> None:
        if action.take_ownership:
            await require_free_objects(request, context, inputs, upgrade=isinstance(action, Upgrade))

    if isinstance(action, Install):
        await check_objects()
        return await context.helm.install(next_run(), slot=slot)

    async def upgrade(place: HelmSlot | None) -> ReleaseResult:
        await check_objects()
        return await run_with_list_takeover(request, context, lambda: context.helm.upgrade(next_run(), slot=place))

    try:
        return await upgrade(slot)
    except KindNotServed as refused:
        return await upgrade_without_unserved_kinds(request, context, refused, lambda: upgrade(None))


def _source_of(inputs: ReleaseInputs) -> ReleaseStatus:
    """Return what a revision is made from."""
    chart, digests = inputs.chart.info, inputs.digests
    return ReleaseStatus(
        chart=chart.name,
        chart_version=chart.version,
        app_version=chart.app_version or None,
        chart_digest=digests.chart,
        values_digest=digests.values,
    )


def _release_status(request: ReconcileRequest, digests: Digests, result: ReleaseResult) -> ReleaseStatus:
    return ReleaseStatus(
        name=request.xapp.release_name,
        namespace=request.namespace,
        revision=result.revision,
        chart=result.chart_name,
        chart_version=result.chart_version,
        app_version=result.app_version or None,
        chart_digest=digests.chart,
        values_digest=digests.values,
        first_deployed=result.first_deployed or None,
        last_deployed=result.last_deployed or None,
        description=public_description(result.description),
    )
