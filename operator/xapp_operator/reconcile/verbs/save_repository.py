"""SaveRepository: the spec names a repository by its URL, and no ChartRepository of it is known.

If an XApp of the namespace says that it had more than a URL, it was deleted, and is only looked for.

Changes in StatusDraft: the error of the repository, if the cluster refuses it for good, if it was deleted, or if the
plan can go on with the chart and the values that the generation had before.
"""

from __future__ import annotations

from dataclasses import replace

from xapp_operator.domain.planning.plan_input import is_plannable
from xapp_operator.errors import ChartSourceError, KubeError
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.repository_reconciler import RepositoryNotSaved


async def save_repository(request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Create the ChartRepository; an error becomes that of the chart's source where the plan can go on.

    Raises:
        KubeError: when the cluster does not answer, or refuses it for a passing reason, and there is nothing to plan.
        RepositoryNotSaved: before all XApps are known.
    """
    if not context.xapps.is_complete:
        raise RepositoryNotSaved("the ChartRepository is created after all XApps have been read")
    was_configured = context.xapps.was_configured(request.namespace, request.xapp.spec.repo_name or "")
    try:
        await context.repositories.save_repository(request.xapp, was_configured=was_configured)
    except (KubeError, ChartSourceError) as error:
        if not is_plannable(error, request.draft.attempt, request.xapp.metadata.generation):
            raise
        request.draft = replace(request.draft, repository_error=error)
