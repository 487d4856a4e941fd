"""Adopt and Unlock: they change the newest release record, and helm does not run.

Adopt: a user installed the release from the desired chart and values, so the XApp only becomes its owner. This labels
the release record, and RepairLabels labels the objects; nothing else changes. Changes in StatusDraft: an attempt as
after an install, so that unhealthy objects are reported and never rolled back.

Unlock: the newest revision is pending, and no helm process works on it any more. Helm reads the status in the payload
of the release Secret and finds the Secret by its label, so both change together. Changes in StatusDraft: `unlocked`,
which Released reports.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from xapp_operator.api.json import obj
from xapp_operator.domain.actions import Adopt, Unlock
from xapp_operator.domain.plan_input import INSTALL, AttemptOutcome
from xapp_operator.helm.release_storage import release_secret_name, unlock_release
from xapp_operator.kube.resources import SECRETS
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.status_draft import start_attempt
from xapp_operator.reconcile.verbs.deploy import release_labels


async def adopt(action: Adopt, request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Label the release record as the XApp's.

    Raises:
        Conflict: when the record changed meanwhile; the next reconcile observes it again.
    """
    xapp, name = request.xapp.metadata, request.xapp.release_name
    client = context.impersonation.client_for(request.xapp)
    secret = await client.get(SECRETS, release_secret_name(name, action.revision), namespace=request.namespace)
    metadata = {key: value for key, value in obj(secret, "metadata").items() if key != "managedFields"}
    metadata["labels"] = {**obj(metadata, "labels"), **release_labels(xapp.name, action.digests)}
    await client.replace(SECRETS, {**secret, "metadata": metadata}, namespace=request.namespace)
    attempt = start_attempt(None, action=INSTALL, digests=action.digests, generation=xapp.generation, now=time.time())
    request.draft = replace(request.draft, attempt=replace(attempt, outcome=AttemptOutcome.RELEASED))
    context.events.record(
        request.raw,
        reason="Adopted",
        message=f"revision {action.revision} of {name}, made by a person from this chart and these values, is adopted",
    )
    await context.release_watch.refresh(request.namespace, name)


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
