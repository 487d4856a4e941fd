"""Unlock: the newest revision is pending, and no helm works on it any more.

Helm reads the status in the payload of its Secret and finds it by the label, so both are rewritten together
(`helm.storage.with_status`). Draft: `unlocked`, so that Released says so.
"""

from __future__ import annotations

import asyncio

from xapp_operator.domain.actions import Unlock
from xapp_operator.helm.release_storage import release_secret_name, unlock_release
from xapp_operator.kube.resources import SECRETS
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest


async def unlock(action: Unlock, work: ReconcileRequest, tools: ReconcilerContext) -> None:
    """Mark the pending revision as failed.

    Raises:
        Conflict: when the Secret changed meanwhile; the next reconcile sees what it is then.
    """
    kube = tools.impersonation.client_for(work.xapp)
    name = release_secret_name(work.xapp.release_name, action.revision)
    secret = await kube.get(SECRETS, name, namespace=work.namespace)
    await kube.replace(SECRETS, await asyncio.to_thread(unlock_release, secret), namespace=work.namespace)
    work.draft.unlocked = True
    tools.events.record(
        work.raw,
        reason="Unlocked",
        message=f"revision {action.revision} was left pending by a helm that is gone; it is marked failed",
    )
    await tools.release_watch.refresh(work.namespace, work.xapp.release_name)
