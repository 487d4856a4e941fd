"""Unlock: the newest revision is pending, and no helm process works on it any more.

Helm reads the status in the payload of the release Secret and finds the Secret by its label, so both change together.
Draft: `unlocked`, which Released reports.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from xapp_operator.domain.actions import Unlock
from xapp_operator.helm.release_storage import release_secret_name, unlock_release
from xapp_operator.kube.resources import SECRETS
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest


async def unlock(action: Unlock, request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Mark the pending revision as failed.

    Raises:
        Conflict: when the Secret changed meanwhile; the next reconcile observes it again.
    """
    client, release = context.impersonation.client_for(request.xapp), request.xapp.release_name
    secret = await client.get(SECRETS, release_secret_name(release, action.revision), namespace=request.namespace)
    await client.replace(SECRETS, await asyncio.to_thread(unlock_release, secret), namespace=request.namespace)
    request.draft = replace(request.draft, unlocked=True)
    context.events.record(
        request.raw,
        reason="Unlocked",
        message=f"a helm process that no longer runs left revision {action.revision} pending; it is marked as failed",
    )
    await context.release_watch.refresh(request.namespace, release)
