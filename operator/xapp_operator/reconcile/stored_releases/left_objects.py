"""Finds the objects that helm has left of older revisions, from the records of these: only they tell.

helm compares two revisions: an upgrade with the one that was deployed last, a rollback with the newest. What another
revision has created stays.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Final

from xapp_operator.common.off_loop import run_sized
from xapp_operator.domain.planning.plan_input import FAILED
from xapp_operator.errors import HelmError, NotFound
from xapp_operator.helm.manifest import manifest_inventory
from xapp_operator.helm.releases.release_index import RevisionInfo, revisions_with_leftovers
from xapp_operator.reconcile.reconcile_context import (
    LeftObjects,
    Leftover,
    Lifetime,
    NamedObjects,
    ReconcilerContext,
    ReconcileRequest,
)
from xapp_operator.reconcile.watching.release_watch import read_release_record

MANIFESTS_MAX_BYTES: Final = 10 * 2**20
"""So much of the manifests of a release is read: a YAML of this size takes seconds."""


def older_revisions(request: ReconcileRequest, context: ReconcilerContext) -> Sequence[RevisionInfo]:
    """Return the revisions before the newest whose objects helm may have left, oldest first."""
    stored = context.release_watch.revisions(request.namespace, request.xapp.release_name)
    return revisions_with_leftovers(stored, clean=context.clean_points.get(request.key))


async def find_left_objects(
    request: ReconcileRequest, context: ReconcilerContext, *, in_force: RevisionInfo
) -> LeftObjects | None:
    """Return the objects of older revisions that the one in force does not have.

    Return None if it is not known which ones it has, because its record cannot be decoded.

    Raises:
        KubeError: when a record cannot be read.
    """
    noted, kept, read = context.noted_objects.get(request.key), NamedObjects(), 0
    left = NamedObjects() if noted is None else NamedObjects(dict(noted.objects))
    unknown = list[str]()
    try:
        read += await add_objects(kept, request, context, in_force, with_kept=True)
    except (NotFound, HelmError):
        return None
    for each in reversed(older_revisions(request, context)):
        if read > MANIFESTS_MAX_BYTES:
            unknown.append(f"revisions up to {each.revision}: there are more than {MANIFESTS_MAX_BYTES} bytes to read")
            break
        try:
            read += await add_objects(left, request, context, each)
        except NotFound:
            continue
        except HelmError as error:
            unknown.append(f"revision {each.revision}: {error.message}")
    if request.xapp.spec.adopt:
        await _add_earlier_lifetimes(left, request, context)
    names = kept.hooks | {(kind, name) for kind, name, _ in kept.objects}
    found = [
        Leftover(ref, lifetimes, namespaced_only=key[:2] in names)
        for key, (ref, lifetimes) in left.objects.items()
        if key not in kept.objects and key[:2] not in kept.hooks
    ]
    return LeftObjects(found, unknown)


async def _add_earlier_lifetimes(left: NamedObjects, request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Add when revisions before the older ones that were read can have made what is left."""
    stored = context.release_watch.revisions(request.namespace, request.xapp.release_name)
    first = min((each.revision for each in older_revisions(request, context)), default=0)
    earlier = NamedObjects()
    for each in stored:
        if each.revision < first:
            with contextlib.suppress(NotFound, HelmError):
                await add_objects(earlier, request, context, each)
    for key, (_, lifetimes) in earlier.objects.items():
        if key in left.objects:
            ref, known = left.objects[key]
            left.objects[key] = (ref, (*lifetimes, *known))


async def add_objects(
    named: NamedObjects,
    request: ReconcileRequest,
    context: ReconcilerContext,
    info: RevisionInfo,
    *,
    with_kept: bool = False,
) -> int:
    """Add the objects of a revision, without those that helm keeps unless `with_kept`; return the manifest's length.

    Raises:
        KubeError: when the record cannot be read, NotFound when it is gone.
        HelmError: when it cannot be decoded.
    """
    record = await read_release_record(context.kube, request.namespace, request.xapp.release_name, info.revision)
    references = await run_sized(len(record.manifest), manifest_inventory, record.manifest, with_kept=with_kept)
    stored = context.release_watch.revisions(request.namespace, request.xapp.release_name)
    is_first = info.revision > 1 and info in older_revisions(request, context)[:1]
    lifetime = _lifetime(info, stored, has_past=is_first and not request.xapp.spec.adopt)
    for ref in references:
        key = ref.kind, ref.name, ref.namespace or request.namespace
        _, lifetimes = named.objects.get(key, (ref, ()))
        named.objects[key] = (ref, (*lifetimes, lifetime))
    named.hooks.update((each.kind, each.name) for each in record.hooks)
    return len(record.manifest)


def _lifetime(info: RevisionInfo, stored: Sequence[RevisionInfo], *, has_past: bool) -> Lifetime:
    """Return the times between which helm, or a correction of drift, may have made objects of a revision.

    A failed revision makes none after its end. A person may have made an object then, which the next one takes over.
    What a revision that `has_past` names, those before it may have made.
    """
    created = 0.0 if has_past else info.created
    if info.late_version:  # its helm ended after that of a newer revision
        return created, math.inf
    following = next((each.created for each in stored if each.revision > info.revision), math.inf)
    return created, min(info.modified, following) if info.status == FAILED else following
