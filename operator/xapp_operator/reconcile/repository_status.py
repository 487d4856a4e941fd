"""The status of a ChartRepository: the number of charts, the last fetch, and its conditions. Pure."""

from __future__ import annotations

from typing import cast

from xapp_operator.api.chart_repository import ChartRepository, ChartRepositoryStatus
from xapp_operator.api.conditions import READY, RECONCILING, STALLED, ConditionSet, Reason
from xapp_operator.api.json import JsonObject
from xapp_operator.errors import XAppError
from xapp_operator.reconcile.status_draft import utc


def render_repository_status(
    repository: ChartRepository, *, charts: int | None, error: XAppError | None, now: float
) -> JsonObject:
    """Return the whole status as JSON.

    Args:
        repository: the ChartRepository with its stored status.
        charts: the number of charts in the index; None for a registry, which has no index.
        error: why the index could not be read; then the stored number of charts and time of the last fetch stay.
        now: seconds since the epoch.
    """
    stored = repository.status
    conditions = ConditionSet(stored.conditions or (), generation=repository.metadata.generation, now=utc(now))
    conditions.remove(RECONCILING, STALLED)
    if error is None:
        message = "a registry has no index" if charts is None else f"the index lists {charts} charts"
        conditions.set(READY, status=True, reason="Fetched", message=message)
    else:
        reason = error.reason or Reason.CHART_PULL_FAILED
        conditions.set(READY, status=False, reason=reason, message=error.message)
        conditions.set(STALLED if error.permanent else RECONCILING, status=True, reason=reason, message=error.message)
    status = ChartRepositoryStatus(
        observed_generation=repository.metadata.generation,
        charts=charts if error is None else stored.charts,
        last_fetched=utc(now) if error is None else stored.last_fetched,
        conditions=conditions.to_list(),
    )
    return cast("JsonObject", status.model_dump(mode="json", by_alias=True, exclude_none=True))
