"""Upgrade: a release is there, and chart or values differ from what is wanted (or force-at asks for it).

Draft: attempt, release, history (see `deploy`).
"""

from __future__ import annotations

from xapp_operator.domain.actions import Upgrade
from xapp_operator.domain.situation import Attempt
from xapp_operator.reconcile.tools import Tools, Work
from xapp_operator.reconcile.verbs.deploy import deploy


async def upgrade(action: Upgrade, work: Work, tools: Tools, attempt: Attempt) -> None:
    """Run `helm upgrade`; it also heals a failed revision that came after a good one."""
    await deploy(work, tools, attempt, step=tools.helm.upgrade, take_ownership=action.take_ownership)
