"""Finds the digests of the chart and the values that an XApp asks for. It only reads.

Where a source has not answered yet, what it refused before stays refused, so that Ready does not change to and fro.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xapp_operator.api.conditions import READY, STALLED, Reason
from xapp_operator.api.models import METHOD_REMOTE, XApp
from xapp_operator.domain.planning.plan import BEFORE_THAT
from xapp_operator.domain.planning.plan_input import Digests, is_plannable
from xapp_operator.errors import (
    AccessDenied,
    ChartInvalid,
    KubeError,
    SourcePending,
    SourceUnavailable,
    ValuesInvalid,
    XAppError,
)
from xapp_operator.reconcile.reconcile_context import ObserverContext
from xapp_operator.reconcile.repository_reconciler import RepositoryNotSaved
from xapp_operator.reconcile.status.status_draft import RequestField, StatusDraft, is_unhandled, requested_value

_REFUSALS: Final[dict[str, type[XAppError]]] = {
    Reason.CHART_PULL_FAILED: SourceUnavailable,
    Reason.CHART_INVALID: ChartInvalid,
    Reason.VALUES_INVALID: ValuesInvalid,
    Reason.ACCESS_DENIED: AccessDenied,
}
"""The errors of chart or values, by the reason of Ready that tells of them."""

_REVALIDATING: Final[tuple[RequestField, ...]] = ("reconcile_at", "retry_at", "force_at")
"""Annotations that ask for the repository index to be revalidated; `force_at` asks for an upgrade besides."""


@dataclass(frozen=True, slots=True)
class DesiredState:
    """The digests of the desired chart and values, and what stands in their way."""

    digests: Digests | XAppError | None = None
    repository_missing: bool = False
    handled: tuple[RequestField, ...] = ()
    """The annotations that reading the source has answered."""


async def resolve_desired_state(
    xapp: XApp, draft: StatusDraft, context: ObserverContext, *, deleting: bool
) -> DesiredState:
    """Return the digests of the desired chart and values, or why they are not known.

    Raises:
        KubeError: when the cluster does not answer a question that cannot be left open.
    """
    asked = tuple(field for field in _REVALIDATING if is_unhandled(xapp, draft.handled, field))
    unhandled = tuple(field for field in asked if field != "force_at")
    if deleting or xapp.spec.suspend:
        return DesiredState(handled=tuple(field for field in unhandled if deleting and field == "retry_at"))
    if draft.repository_error is not None:
        return DesiredState(draft.repository_error, handled=unhandled)
    requested = tuple(requested_value(xapp, field) for field in _REVALIDATING)
    result: Digests | XAppError | None
    try:
        result = await context.resolver.resolve(
            xapp.key,
            lambda: context.inputs.resolve_digests(xapp, revalidate=bool(asked)),
            version=(context.inputs.source_version(xapp), requested),
            downloads=xapp.spec.method == METHOD_REMOTE,
        )
    except RepositoryNotSaved:
        return DesiredState(repository_missing=True)
    except XAppError as error:
        if isinstance(error, KubeError) and not is_plannable(error, draft.attempt, xapp.metadata.generation):
            raise
        result = await context.impersonation.explain(xapp, error)
    if result is None:
        result = _pending_source(xapp, has_begun=context.resolver.is_running(xapp.key), is_asked_for=bool(asked))
    # Until the source has answered, the request is in force: otherwise the next try would read the cached index.
    answered = isinstance(result, Digests) or result.permanent
    return DesiredState(result, handled=unhandled if answered else ())


def _pending_source(xapp: XApp, *, has_begun: bool, is_asked_for: bool) -> XAppError:
    """Return the error until a source answers. What was refused before stays refused, unless somebody asks again."""
    conditions = {each.type: each for each in xapp.status.conditions or ()}
    known = None if is_asked_for else conditions.get(READY)
    if known is not None and known.observed_generation == xapp.metadata.generation and known.reason in _REFUSALS:
        refusal, message = _REFUSALS[known.reason], known.message.partition(BEFORE_THAT)[0]
        return refusal(message, permanent=STALLED in conditions)
    pending = SourcePending("the chart is read from its source" if has_begun else "other charts are read first")
    pending.has_begun = has_begun
    return pending
