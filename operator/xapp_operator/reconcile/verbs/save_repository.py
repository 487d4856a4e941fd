"""SaveRepository: the spec names a repository by its URL, and there is no ChartRepository of it yet.

Changes in StatusDraft: the error of the repository, if the cluster refuses it for good.
"""

from __future__ import annotations

from dataclasses import replace

from xapp_operator.errors import KubeError
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest


async def save_repository(request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Create the ChartRepository; a permanent error becomes the error of the chart's source.

    Raises:
        KubeError: when the cluster does not answer.
    """
    try:
        await context.repositories.save_repository(request.xapp)
    except KubeError as error:
        if not error.permanent:
            raise
        request.draft = replace(request.draft, repository_error=error)
