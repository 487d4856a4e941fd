"""Finds out what an uninstall has done to a release that its XApp leaves after all. It only reads.

Helm calls the release `uninstalling` as soon as the uninstall has begun, also while a pre-delete hook still runs. If
all of its objects are there, nothing has happened to it, and it gets the status from before again.
"""

from __future__ import annotations

from xapp_operator.api.json import text
from xapp_operator.api.models import XApp
from xapp_operator.common.off_loop import run_sized
from xapp_operator.common.parallel import run_parallel
from xapp_operator.common.text import format_list
from xapp_operator.domain.planning.plan_input import (
    DEPLOYED,
    FAILED,
    UNINSTALLING,
    Attempt,
    BegunUninstall,
    ObservedRelease,
)
from xapp_operator.errors import NotFound, XAppError
from xapp_operator.helm.manifest import ObjectRef, manifest_inventory
from xapp_operator.reconcile.reconcile_context import ObserverContext
from xapp_operator.reconcile.status.status_draft import StatusDraft
from xapp_operator.reconcile.stored_releases.object_metadata import MAX_PARALLEL_READS, read_object_metadata
from xapp_operator.reconcile.watching.release_watch import read_release_record


async def find_begun_uninstall(
    xapp: XApp, draft: StatusDraft, release: ObservedRelease | None, context: ObserverContext
) -> BegunUninstall | None:
    """Return what has begun, or None if the XApp does not leave its release, or nothing has begun.

    Raises:
        XAppError: when the cluster does not answer; no longer than `spec.timeout` after the uninstall, because this
            must not keep the XApp.
    """
    if xapp.spec.deletion_policy != "Orphan" or release is None:
        return None
    if release.owner != xapp.metadata.name or release.status != UNINSTALLING:
        return None
    # A release that was never deployed, and one with a failed upgrade, were `failed`. Helm can upgrade both.
    status = DEPLOYED if draft.release.revision == release.revision else FAILED
    return BegunUninstall(status, obstacle=await _find_obstacle(xapp, draft, release.revision, context))


def is_given_up(xapp: XApp, attempt: Attempt, context: ObserverContext) -> bool:
    """Return whether what the cluster does not answer, or refuses for now, is not waited for any longer."""
    return context.clock.now() >= context.clock.corrected(attempt.last_at) + xapp.spec.timeout_seconds


async def _find_obstacle(xapp: XApp, draft: StatusDraft, revision: int, context: ObserverContext) -> str:
    if draft.attempt is None or not draft.attempt.is_unfinished_uninstall:
        return "another helm process has begun it"
    if draft.restore_refused:
        return draft.restore_refused
    try:
        gone = await _find_deleted(xapp, revision, context)
    except XAppError as error:
        if not error.permanent and not is_given_up(xapp, draft.attempt, context):
            raise
        return f"it is not known whether its objects are there: {error.message}"
    names = format_list((f"{each.kind}/{each.name}" for each in gone), total=len(gone))
    return f"these objects do not exist any more, or are being deleted: {names}" if gone else ""


async def _find_deleted(xapp: XApp, revision: int, context: ObserverContext) -> tuple[ObjectRef, ...]:
    """Return the objects of a revision that do not exist, or are being deleted; not Jobs that expire by themselves."""
    record = await read_release_record(context.kube, xapp.metadata.namespace, xapp.release_name, revision)
    references = await run_sized(len(record.manifest), manifest_inventory, record.manifest)

    async def is_deleted(ref: ObjectRef) -> bool:
        try:
            return text(await read_object_metadata(xapp, ref, context), "deletionTimestamp") != ""
        except NotFound:
            return not ref.expires

    deleted = await run_parallel(is_deleted, references, at_once=MAX_PARALLEL_READS)
    return tuple(ref for ref, each in zip(references, deleted, strict=True) if each)
