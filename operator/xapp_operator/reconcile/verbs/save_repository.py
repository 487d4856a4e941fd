"""SaveRepository: the spec names a repository by its URL, and there is no ChartRepository of it yet.

Changes in StatusDraft: the error of the repository, if the cluster refuses it for good, or if the plan can go on with
the chart and the values that the generation had before.
"""

from __future__ import annotations

from dataclasses import replace

from xapp_operator.domain.planning.plan_input import is_plannable
from xapp_operator.errors import KubeError
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest


async def save_repository(request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Create the ChartRepository; an error becomes that of the chart's source where the plan can go on.

    Raises:
        KubeError: when the cluster does not answer, or refuses it for a passing reason, and there is nothing to plan.
    """
    try:
        await context.repositories.save_repository(request.xapp)
    except KubeError as error:
        if not is_plannable(error, request.draft.attempt, request.xapp.metadata.generation):
            raise
        request.draft = replace(request.draft, repository_error=error)
