"""Adopt, Unlock, Restore and MarkSuperseded: they change release records, and helm does not run.

Adopt: a user installed the release from the desired chart and values, so the XApp only becomes its owner. This labels
the release record, and RepairLabels labels the objects; nothing else changes. Changes in StatusDraft: an attempt as
after an install, so that unhealthy objects are reported and never rolled back; a revision that was held of a release
before is no longer held.

Unlock: the newest revision is pending, and no helm process works on it any more. Helm reads the status in the payload
of the release Secret and finds the Secret by its label, so both change together. Changes in StatusDraft: `unlocked`,
which Released reports. If somebody has changed the label alone, it only gets the status in the payload again, and the
next plan goes by that.

Restore: the XApp is being deleted and leaves its release, of which an uninstall has begun, and has deleted nothing. If
that is refused, `restore_refused` in StatusDraft says why, and the XApp goes nevertheless.

MarkSuperseded: a restored backup, or a person, left more than one revision deployed. Helm uses the newest of them, but
never marks the others, and its history shows them for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import replace

from xapp_operator.api.json import obj, text
from xapp_operator.api.names import LABEL_XAPP
from xapp_operator.domain.planning.actions import Adopt, MarkSuperseded, RecordAction, Restore, Unlock
from xapp_operator.domain.planning.plan_input import INSTALL, AttemptOutcome
from xapp_operator.errors import Conflict, NotFound, ReleaseRecordDamaged, XAppError
from xapp_operator.helm.releases.release_storage import (
    correct_status_label,
    release_secret_name,
    restore_release,
    supersede_release,
    unlock_damaged_release,
    unlock_release,
)
from xapp_operator.kube.resources import SECRETS
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.status.attempts import start_attempt
from xapp_operator.reconcile.stored_releases.begun_uninstall import is_given_up
from xapp_operator.reconcile.verbs.deploy import new_attempt_label, release_labels


async def change_records(action: RecordAction, request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Execute `action`.

    Raises:
        Conflict: when a record changed meanwhile; the next reconcile observes it again.
        ReleaseRecordDamaged: when the record to unlock is the newest one, and cannot be decoded.
    """
    match action:
        case Adopt():
            await _adopt(action, request, context)
        case Unlock():
            await _unlock(action, request, context)
        case Restore():
            await _restore(action, request, context)
        case MarkSuperseded():
            await _mark_superseded(action, request, context)
    await context.release_watch.refresh(request.namespace, request.xapp.release_name)


async def _adopt(action: Adopt, request: ReconcileRequest, context: ReconcilerContext) -> None:
    xapp, name = request.xapp.metadata, request.xapp.release_name
    labels = release_labels(xapp.name, action.digests, attempt=new_attempt_label())
    await label_record(request, context, revision=action.revision, labels=labels)
    attempt = start_attempt(
        None, action=INSTALL, digests=action.digests, generation=xapp.generation, now=context.clock.now()
    )
    attempt = replace(attempt, outcome=AttemptOutcome.RELEASED)
    history = tuple(each for each in request.draft.history if each.revision != action.revision)  # of another release
    request.draft = replace(request.draft, attempt=attempt, history=history, held_revision=None)
    context.events.record(
        request.raw,
        reason="Adopted",
        message=f"revision {action.revision} of {name} is adopted as it is: it has this chart and these values",
    )


async def label_record(
    request: ReconcileRequest, context: ReconcilerContext, *, revision: int, labels: Mapping[str, str]
) -> None:
    """Add labels to the record of a revision, which make the XApp its owner.

    Raises:
        Conflict: when it belongs to another XApp that exists, or changed meanwhile.
        KubeError: when it cannot be read or written.
    """
    client = context.impersonation.client_for(request.xapp)
    namespace, name = request.namespace, request.xapp.release_name
    secret = await client.get(SECRETS, release_secret_name(name, revision), namespace=namespace)
    metadata = {key: value for key, value in obj(secret, "metadata").items() if key != "managedFields"}
    owner = text(obj(metadata, "labels"), LABEL_XAPP)
    if owner not in ("", request.key[1]) and context.xapps.get((namespace, owner)) is not None:
        raise Conflict(f"revision {revision} of {name} belongs to the XApp {owner} meanwhile")
    metadata["labels"] = {**obj(metadata, "labels"), **labels}
    await client.replace(SECRETS, {**secret, "metadata": metadata}, namespace=namespace)


async def _unlock(action: Unlock, request: ReconcileRequest, context: ReconcilerContext) -> None:
    client, release = context.impersonation.client_for(request.xapp), request.xapp.release_name
    secret = await client.get(SECRETS, release_secret_name(release, action.revision), namespace=request.namespace)
    try:
        corrected = await asyncio.to_thread(correct_status_label, secret)
        unlocked = await asyncio.to_thread(unlock_release, secret) if corrected is None else secret
    except ReleaseRecordDamaged:
        revisions = context.release_watch.revisions(request.namespace, release)
        if all(each.revision <= action.revision for each in revisions):
            raise
        corrected, unlocked = None, unlock_damaged_release(secret)  # helm needs only the newest one
    if corrected is not None:
        await client.replace(SECRETS, corrected, namespace=request.namespace)
        message = (
            f"the status label of revision {action.revision} was changed, and helm does not go by it: it says again "
            "what the record says"
        )
        context.events.record(request.raw, reason="LabelCorrected", message=message)
        return
    await client.replace(SECRETS, unlocked, namespace=request.namespace)
    request.draft = replace(request.draft, unlocked=True)
    context.events.record(
        request.raw,
        reason="Unlocked",
        message=f"a helm process that no longer runs left revision {action.revision} pending; it is marked as failed",
    )


async def _restore(action: Restore, request: ReconcileRequest, context: ReconcilerContext) -> None:
    client, release = context.impersonation.client_for(request.xapp), request.xapp.release_name
    try:
        secret = await client.get(SECRETS, release_secret_name(release, action.revision), namespace=request.namespace)
        restored = await asyncio.to_thread(restore_release, secret, status=action.status)
        await client.replace(SECRETS, restored, namespace=request.namespace)
    except XAppError as error:
        attempt = request.draft.attempt
        if not error.permanent and attempt is not None and not is_given_up(request.xapp, attempt, context):
            raise
        message = f"its objects are there, but its record cannot be put back: {error.message}"
        request.draft = replace(request.draft, restore_refused=message)
        return
    message = (
        f"revision {action.revision} of {release} stays, and is {action.status} again: its uninstall was ended before "
        "it deleted anything. If the chart has pre-delete hooks, they may have run, or run still"
    )
    context.events.record(request.raw, reason="Restored", message=message)


async def _mark_superseded(action: MarkSuperseded, request: ReconcileRequest, context: ReconcilerContext) -> None:
    client, release = context.impersonation.client_for(request.xapp), request.xapp.release_name
    for revision in action.revisions:
        with contextlib.suppress(NotFound):
            secret = await client.get(SECRETS, release_secret_name(release, revision), namespace=request.namespace)
            superseded = await asyncio.to_thread(supersede_release, secret)
            await client.replace(SECRETS, superseded, namespace=request.namespace)
