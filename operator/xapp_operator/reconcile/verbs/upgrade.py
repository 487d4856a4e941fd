"""Upgrade: a release is there, and chart or values differ from what is wanted (or force-at asks for it).

Draft: attempt, release, history (see `deploy`).
"""

from __future__ import annotations

from xapp_operator.domain.actions import Upgrade
from xapp_operator.domain.plan_input import Attempt
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.verbs.deploy import deploy


async def upgrade(action: Upgrade, work: ReconcileRequest, tools: ReconcilerContext, attempt: Attempt) -> None:
    """Run `helm upgrade`; it also heals a failed revision that came after a good one."""
    await deploy(work, tools, attempt, step=tools.helm.upgrade, take_ownership=action.take_ownership)
