"""Install: no release is there, or only a failed record that never was deployed.

Draft: attempt, release, history (see `deploy`). Never used on a release that once was deployed.
"""

from __future__ import annotations

from xapp_operator.domain.actions import Install
from xapp_operator.domain.plan_input import Attempt
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.verbs.deploy import deploy


async def install(action: Install, work: ReconcileRequest, tools: ReconcilerContext, attempt: Attempt) -> None:
    """Run `helm install`; with `replace` over a failed record of the same name."""
    await deploy(
        work,
        tools,
        attempt,
        step=tools.helm.install,
        take_ownership=action.take_ownership,
        over_failed=action.replace,
    )
