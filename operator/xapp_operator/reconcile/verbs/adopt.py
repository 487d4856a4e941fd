"""Adopt: the release was made by a person, of the very chart and values that are wanted; it only becomes ours.

Nothing of it is touched but the labels: those of the release's newest record here, those of its objects at the next
look. Draft: attempt, as of an install, so that what is not healthy is told and never rolled back to a revision that
nobody asked for.
"""

from __future__ import annotations

import time
from dataclasses import replace

from xapp_operator.api.json import obj
from xapp_operator.domain.actions import Adopt
from xapp_operator.domain.plan_input import INSTALL, AttemptOutcome
from xapp_operator.helm.release_storage import release_secret_name
from xapp_operator.kube.resources import SECRETS
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.status_draft import start_attempt
from xapp_operator.reconcile.verbs.deploy import release_labels


async def adopt(action: Adopt, work: ReconcileRequest, tools: ReconcilerContext) -> None:
    """Label the record of the release as ours.

    Raises:
        Conflict: when the record changed meanwhile; the next reconcile sees what it is then.
    """
    kube, name = tools.impersonation.client_for(work.xapp), work.xapp.release_name
    secret = await kube.get(SECRETS, release_secret_name(name, action.revision), namespace=work.namespace)
    metadata = {key: value for key, value in obj(secret, "metadata").items() if key != "managedFields"}
    metadata["labels"] = {**obj(metadata, "labels"), **release_labels(work.xapp.metadata.name, action.digests)}
    await kube.replace(SECRETS, {**secret, "metadata": metadata}, namespace=work.namespace)
    now = time.time()
    attempt = start_attempt(
        None, action=INSTALL, digests=action.digests, generation=work.xapp.metadata.generation, now=now
    )
    work.draft.attempt = replace(attempt, outcome=AttemptOutcome.RELEASED)
    tools.events.record(
        work.raw,
        reason="Adopted",
        message=f"revision {action.revision} of {name}, made by a person of this chart and these values, is taken over",
    )
    await tools.release_watch.refresh(work.namespace, name)
