"""What Install and Upgrade share: run helm on the desired chart and values, then label what it made.

Precondition: the plan said so for the digests that the begun attempt names. Draft: attempt, release, history.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeAlias

from xapp_operator.api.models import ReleaseStatus
from xapp_operator.api.names import LABEL_ATTEMPT, LABEL_CHART_DIGEST, LABEL_VALUES_DIGEST, LABEL_XAPP
from xapp_operator.domain.plan_input import Attempt, AttemptOutcome, Digests
from xapp_operator.errors import XAppError
from xapp_operator.helm.requests import ReleaseRequest, ReleaseResult
from xapp_operator.reconcile.labels import label_objects
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.release_inputs import ReleaseInputs
from xapp_operator.reconcile.running import StepInterrupted
from xapp_operator.reconcile.status_rendering import FAILURE_REASONS, SUCCESS_REASONS, describe_release

HelmStep: TypeAlias = Callable[[ReleaseRequest], Coroutine[Any, Any, ReleaseResult]]


async def deploy(
    work: ReconcileRequest,
    tools: ReconcilerContext,
    attempt: Attempt,
    *,
    step: HelmStep,
    take_ownership: bool,
    over_failed: bool = False,
) -> None:
    """Run `step` (install or upgrade) and record how it ended; a failure is recorded, not raised.

    Args:
        work: the XApp in hand.
        tools: the tools of the process.
        attempt: as begun, with the digests that the plan was made for.
        step: `HelmEngine.install` or `HelmEngine.upgrade`.
        take_ownership: take over objects that other releases or persons made.
        over_failed: replace a failed record of the same release name.
    """

    async def run() -> tuple[ReleaseInputs, ReleaseResult]:
        materials = await tools.inputs.load(work.xapp)
        _warn_schema_skipped(work, tools, materials)
        request = _release_request(work, tools, materials, take_ownership=take_ownership, over_failed=over_failed)
        return materials, await step(request)

    try:
        materials, result = await tools.running_steps.run(work.key, run())
        work.draft.release = _release_status(work, materials, result)
        await _label_release_objects(work, tools, result.manifest)
    except StepInterrupted:
        work.draft.attempt = replace(attempt, outcome=AttemptOutcome.INTERRUPTED, last_at=time.time())
    except XAppError as error:
        work.draft.attempt = failed_attempt(attempt, error)
        tools.events.record(work.raw, event_type="Warning", reason=work.draft.attempt.reason, message=error.message)
    else:
        work.draft.attempt = replace(attempt, outcome=AttemptOutcome.RELEASED, last_at=time.time())
        work.draft.unlocked = False
        tools.events.record(work.raw, reason=SUCCESS_REASONS[attempt.action], message=describe_release(work.draft))
    await tools.release_watch.refresh(work.namespace, work.xapp.release_name)
    if work.draft.attempt is not None and work.draft.attempt.outcome is AttemptOutcome.FAILED:
        client, name = tools.impersonation.client_for(work.xapp), work.xapp.release_name
        await tools.release_watch.delete_failed_surplus(
            client, work.namespace, name, max_revisions=work.xapp.spec.max_history
        )


async def _label_release_objects(work: ReconcileRequest, tools: ReconcilerContext, manifest: str) -> None:
    """Label what helm made; a passing failure leaves the step a success, the labels follow at the next look."""
    try:
        await label_objects(work, tools, manifest)
    except XAppError as error:
        if error.permanent:
            raise


def failed_attempt(attempt: Attempt, error: XAppError) -> Attempt:
    """Return `attempt` as ended by `error`."""
    return replace(
        attempt,
        outcome=AttemptOutcome.FAILED,
        last_at=time.time(),
        permanent=error.permanent,
        reason=error.reason or FAILURE_REASONS[attempt.action],
        message=error.message,
    )


def _release_request(
    work: ReconcileRequest,
    tools: ReconcilerContext,
    materials: ReleaseInputs,
    *,
    take_ownership: bool,
    over_failed: bool,
) -> ReleaseRequest:
    spec = work.xapp.spec
    return ReleaseRequest(
        name=work.xapp.release_name,
        namespace=work.namespace,
        chart=materials.chart.path,
        values=materials.values,
        labels=release_labels(work.xapp.metadata.name, materials.digests),
        user=tools.impersonation.user_for(work.xapp),
        timeout=spec.timeout_seconds,
        replace=over_failed,
        take_ownership=take_ownership,
        skip_schema=materials.chart.info.external_refs,
        history_max=spec.max_history,
        secrets=materials.secret_values,
    )


def release_labels(xapp: str, digests: Digests) -> dict[str, str]:
    """Return the labels of a release record that tell whose it is and what it was made of, with a new attempt."""
    return {
        LABEL_XAPP: xapp,
        LABEL_CHART_DIGEST: digests.chart,
        LABEL_VALUES_DIGEST: digests.values,
        LABEL_ATTEMPT: uuid.uuid4().hex[:16],
    }


def _release_status(work: ReconcileRequest, materials: ReleaseInputs, result: ReleaseResult) -> ReleaseStatus:
    return ReleaseStatus(
        name=work.xapp.release_name,
        namespace=work.namespace,
        revision=result.revision,
        chart=result.chart_name,
        chart_version=result.chart_version,
        app_version=result.app_version or None,
        chart_digest=materials.digests.chart,
        values_digest=materials.digests.values,
        first_deployed=result.first_deployed,
        last_deployed=result.last_deployed,
    )


def _warn_schema_skipped(work: ReconcileRequest, tools: ReconcilerContext, materials: ReleaseInputs) -> None:
    if materials.chart.info.external_refs:
        tools.events.record(
            work.raw,
            event_type="Warning",
            reason="SchemaSkipped",
            message="the chart's values schema refers to documents outside the chart: the values are not checked "
            "against it, because following such references is not allowed",
        )
