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
from xapp_operator.domain.situation import Attempt, Digests, Outcome
from xapp_operator.errors import XAppError
from xapp_operator.helm.requests import ReleaseRequest, ReleaseResult
from xapp_operator.reconcile.desired import Materials
from xapp_operator.reconcile.labels import label_objects
from xapp_operator.reconcile.report import FAILED, SUCCEEDED, describe
from xapp_operator.reconcile.running import Interrupted
from xapp_operator.reconcile.tools import Tools, Work

Step: TypeAlias = Callable[[ReleaseRequest], Coroutine[Any, Any, ReleaseResult]]


async def deploy(
    work: Work, tools: Tools, attempt: Attempt, *, step: Step, take_ownership: bool, over_failed: bool = False
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

    async def run() -> tuple[Materials, ReleaseResult]:
        materials = await tools.desired.materials(work.xapp)
        _warn_of_skipped_schema(work, tools, materials)
        request = _request(work, tools, materials, take_ownership=take_ownership, over_failed=over_failed)
        return materials, await step(request)

    try:
        materials, result = await tools.running.run(work.key, run())
        work.draft.release = _released(work, materials, result)
        await _label(work, tools, result.manifest)
    except Interrupted:
        work.draft.attempt = replace(attempt, outcome=Outcome.INTERRUPTED, last_at=time.time())
    except XAppError as error:
        work.draft.attempt = failed(attempt, error)
        tools.events.record(work.raw, kind="Warning", reason=work.draft.attempt.reason, message=error.message)
    else:
        work.draft.attempt = replace(attempt, outcome=Outcome.RELEASED, last_at=time.time())
        work.draft.unlocked = False
        tools.events.record(work.raw, reason=SUCCEEDED[attempt.action], message=describe(work.draft))
    await tools.releases.refresh(work.namespace, work.xapp.release_name)
    if work.draft.attempt is not None and work.draft.attempt.outcome is Outcome.FAILED:
        client, name = tools.identities.client_of(work.xapp), work.xapp.release_name
        await tools.releases.trim(client, work.namespace, name, keep=work.xapp.spec.max_history)


async def _label(work: Work, tools: Tools, manifest: str) -> None:
    """Label what helm made; a passing failure leaves the step a success, the labels follow at the next look."""
    try:
        await label_objects(work, tools, manifest)
    except XAppError as error:
        if error.permanent:
            raise


def failed(attempt: Attempt, error: XAppError) -> Attempt:
    """Return `attempt` as ended by `error`."""
    return replace(
        attempt,
        outcome=Outcome.FAILED,
        last_at=time.time(),
        permanent=error.permanent,
        reason=error.reason or FAILED[attempt.action],
        message=error.message,
    )


def _request(
    work: Work, tools: Tools, materials: Materials, *, take_ownership: bool, over_failed: bool
) -> ReleaseRequest:
    spec = work.xapp.spec
    return ReleaseRequest(
        name=work.xapp.release_name,
        namespace=work.namespace,
        chart=materials.chart.path,
        values=materials.values,
        labels=ownership_labels(work.xapp.metadata.name, materials.digests),
        user=tools.identities.user_of(work.xapp),
        timeout=spec.timeout_seconds,
        replace=over_failed,
        take_ownership=take_ownership,
        skip_schema=materials.chart.info.external_refs,
        history_max=spec.max_history,
        secrets=materials.secrets,
    )


def ownership_labels(xapp: str, digests: Digests) -> dict[str, str]:
    """Return the labels of a release record that tell whose it is and what it was made of, with a new attempt."""
    return {
        LABEL_XAPP: xapp,
        LABEL_CHART_DIGEST: digests.chart,
        LABEL_VALUES_DIGEST: digests.values,
        LABEL_ATTEMPT: uuid.uuid4().hex[:16],
    }


def _released(work: Work, materials: Materials, result: ReleaseResult) -> ReleaseStatus:
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


def _warn_of_skipped_schema(work: Work, tools: Tools, materials: Materials) -> None:
    if materials.chart.info.external_refs:
        tools.events.record(
            work.raw,
            kind="Warning",
            reason="SchemaSkipped",
            message="the chart's values schema refers to documents outside the chart: the values are not checked "
            "against it, because following such references is not allowed",
        )
