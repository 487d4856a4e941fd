"""Reads which objects the revisions of a rollback have: helm takes some over, and deletes others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xapp_operator.common.off_loop import run_sized
from xapp_operator.errors import HelmError, NotFound
from xapp_operator.helm.manifest import ObjectRef, manifest_inventory
from xapp_operator.helm.releases.release_index import RevisionInfo
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.watching.release_watch import read_release_record

ObjectName: TypeAlias = tuple[str, str, str, str]
"""API group, kind, namespace and name: by these, helm compares two revisions."""


@dataclass(frozen=True, slots=True)
class RollbackObjects:
    """The objects of the revision that a rollback goes back to, its `target`, and of those on the way.

    `later` are the revisions since the target. When a rollback fails, helm leaves a copy of the target, which need not
    have all of its objects. Then `undone` are the objects of the newest revision before these copies. `damaged` tells
    why it is not known what later revisions have.
    """

    later: Sequence[RevisionInfo]
    target: Sequence[ObjectRef]
    newest: Sequence[ObjectRef] = ()
    undone: Sequence[ObjectRef] | None = None
    damaged: HelmError | None = None


async def read_rollback_objects(
    request: ReconcileRequest, context: ReconcilerContext, target: int
) -> RollbackObjects | None:
    """Return what the records tell of a rollback; None if one of them is gone, as helm then says.

    Raises:
        KubeError: when a record cannot be read for now.
        HelmError: when it is not known what the target has.
    """
    namespace, release = request.namespace, request.xapp.release_name

    async def read(revision: int) -> tuple[ObjectRef, ...]:
        record = await read_release_record(context.kube, namespace, release, revision)
        return await run_sized(len(record.manifest), manifest_inventory, record.manifest)

    await context.release_watch.refresh(namespace, release)
    goal = context.release_watch.get_revision(namespace, release, target)
    later = [each for each in context.release_watch.revisions(namespace, release) if each.revision > target]
    if goal is None or not later:
        return None
    # helm copies the labels of the target.
    before_copies = [each for each in later if each.attempt != goal.attempt][-1:]
    try:
        wanted = await read(target)
        try:
            newest = await read(later[-1].revision)
            undone = await read(before_copies[0].revision) if before_copies not in ([], later[-1:]) else None
        except HelmError as error:
            return RollbackObjects(later, wanted, damaged=error)
    except NotFound:
        return None
    return RollbackObjects(later, wanted, newest, undone)


def object_name(ref: ObjectRef, request: ReconcileRequest) -> ObjectName:
    """Return what helm compares objects of the release by."""
    group = ref.api_version.rpartition("/")[0]
    return group, ref.kind, ref.namespace or request.namespace, ref.name
