"""Deletes the objects that helm leaves when a revision fails, or helm is killed: the revision in force has them not.

helm compares two revisions: an upgrade with the one that was deployed last, a rollback with the newest. An uninstall
looks at the newest only. What another revision has created stays, also when the XApp is deleted. Which objects these
are, only the records of the revisions tell.

They go when the release is at rest and healthy, and after an uninstall. An object is deleted if Helm's annotations
assign it to the release, and the revision in force has none of its kind and name, in whatever API group: it would be
the same one if its kind has moved there. With `adopt`, what is older than the first record that names it was perhaps
taken over, and stays. So do the kinds that hold data or objects of others.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from xapp_operator.api.json import obj, text
from xapp_operator.common.off_loop import run_sized
from xapp_operator.common.text import format_list
from xapp_operator.domain.planning.plan_input import DEPLOYED
from xapp_operator.errors import HelmError, KubeError, NotFound
from xapp_operator.helm.manifest import ObjectRef, is_kept, manifest_inventory
from xapp_operator.helm.releases.release_index import CleanPoint, RevisionInfo, revisions_with_leftovers
from xapp_operator.reconcile.reconcile_context import NamedObjects, ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.stored_releases.object_metadata import belongs_to_release
from xapp_operator.reconcile.watching.release_watch import read_release_record

RECORDS_MAX: Final = 20
"""So many of the newest revisions are read: each may have a megabyte."""
OBJECTS_MAX: Final = 500
"""So many objects are looked at."""
SECONDS_MAX: Final = 60.0
"""For so long at a time."""
NEVER_DELETED: Final = frozenset({"Namespace", "CustomResourceDefinition", "PersistentVolume", "PersistentVolumeClaim"})
"""Kinds that hold data, or objects of others."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """An object that a revision names and the one in force does not.

    `since` is when the first record that names it was created, in seconds since the epoch. `namespaced_only` means that
    the revision in force has such an object in another namespace: of a cluster-scoped kind, that is the same one.
    """

    ref: ObjectRef
    since: int
    namespaced_only: bool


async def prunable(
    request: ReconcileRequest, context: ReconcilerContext, surplus: Sequence[RevisionInfo]
) -> tuple[RevisionInfo, ...]:
    """Return which of these revisions can be deleted: not those whose records are needed to find what helm has left.

    They are needed if an object of an older revision is not in the newest one, or if that is not known for now. The
    newest RECORDS_MAX stay then. Of older ones, only the names of their objects are kept, in memory.
    """
    own, newest = _own_revisions(request, context), _newest(request, context)
    if newest is None or not any(each in own for each in surplus):
        return tuple(surplus)
    clean = CleanPoint.at(context.release_watch.revisions(request.namespace, request.xapp.release_name))
    left: Sequence[Leftover] | None = None
    with contextlib.suppress(KubeError):
        left = await _find_leftovers(request, context, in_force=newest)
    if left is not None and not left:
        context.clean_points[request.key] = clean
        context.noted_objects.pop(request.key, None)
        return tuple(surplus)
    needed = own[-RECORDS_MAX:]
    gone = tuple(each for each in surplus if each not in needed)
    await _note_objects(request, context, [each for each in gone if each in own])
    return gone


async def _note_objects(request: ReconcileRequest, context: ReconcilerContext, gone: Sequence[RevisionInfo]) -> None:
    """Note the objects of revisions that are about to be deleted."""
    noted = context.noted_objects.get(request.key) or NamedObjects()
    for each in gone:
        if len(noted.objects) < OBJECTS_MAX:
            with contextlib.suppress(KubeError):
                await _add_objects(noted, request, context, each)
    if noted.objects:
        context.noted_objects[request.key] = noted


async def delete_leftovers(request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Delete what helm has left of the revisions before the one in force.

    What changes meanwhile ends it. What cannot be deleted becomes an event, and is tried again after a pause.

    Raises:
        KubeError: when a record cannot be read for now.
        TimeoutError: when it took longer than SECONDS_MAX.
    """
    newest, planned = _newest(request, context), request.step_version
    if newest is None or newest.status != DEPLOYED:
        return
    clean = CleanPoint.at(context.release_watch.revisions(request.namespace, request.xapp.release_name))

    def is_current() -> bool:
        cached = context.xapps.get(request.key)
        is_same = cached is not None and (cached.uid, cached.generation) == planned
        return is_same and _newest(request, context) == newest

    async with asyncio.timeout(SECONDS_MAX):
        left = await _find_leftovers(request, context, in_force=newest) or ()
        done = await delete_objects(request, context, left, is_current=is_current)
    if not done:
        context.leftover_backoff.record_repair(request.key, now=context.clock.monotonic())
        return
    context.clean_points[request.key] = clean
    context.noted_objects.pop(request.key, None)
    context.leftover_backoff.forget(request.key)


async def find_leftovers_of_older(request: ReconcileRequest, context: ReconcilerContext) -> Sequence[Leftover]:
    """Return what an uninstall will leave: objects of revisions before the newest, if one of them failed.

    Nothing is found if the cluster does not answer, because a deletion must not wait for it.
    """
    newest = _newest(request, context)
    if newest is None or not (_own_revisions(request, context) or request.key in context.noted_objects):
        return ()
    with contextlib.suppress(KubeError, TimeoutError):
        async with asyncio.timeout(SECONDS_MAX):
            return await _find_leftovers(request, context, in_force=newest) or ()
    return ()


async def _find_leftovers(
    request: ReconcileRequest, context: ReconcilerContext, *, in_force: RevisionInfo
) -> Sequence[Leftover] | None:
    """Return the objects of revisions before the one in force that it does not have, or None if those are not known.

    A record that cannot be decoded tells nothing. If it is that of the revision in force, nothing is known.

    Raises:
        KubeError: when a record cannot be read.
    """
    noted, kept = context.noted_objects.get(request.key), NamedObjects()
    left = NamedObjects() if noted is None else NamedObjects(dict(noted.objects))
    if not await _add_objects(kept, request, context, in_force):
        return None
    for each in _own_revisions(request, context)[-RECORDS_MAX:]:
        await _add_objects(left, request, context, each)
    names = kept.hooks | {(kind, name) for kind, name, _ in kept.objects}
    return [
        Leftover(ref, since, namespaced_only=key[:2] in names)
        for key, (ref, since) in left.objects.items()
        if key not in kept.objects and key[:2] not in kept.hooks
    ]


async def delete_objects(
    request: ReconcileRequest,
    context: ReconcilerContext,
    left: Sequence[Leftover],
    *,
    is_current: Callable[[], bool] = lambda: True,
) -> bool:
    """Delete the objects that belong to the release, with the identity of the XApp, as long as this `is_current`.

    Events tell what was deleted, and what was not. Return False if another try can help.
    """
    deleted, kept, refused, done = list[str](), list[str](), list[str](), True
    if len(left) > OBJECTS_MAX:
        refused.append(f"only {OBJECTS_MAX} of {len(left)} objects were looked at")
    try:
        for each in left[:OBJECTS_MAX]:
            if not is_current():
                return False
            try:
                deleted += await _delete_own(request, context, each, kept)
            except KubeError as error:
                done = done and error.permanent
                refused.append(f"{each.ref.kind}/{each.ref.name}: {error.message}")
    finally:
        _tell(request, context, deleted, kept, refused)
    return done


def _tell(
    request: ReconcileRequest, context: ReconcilerContext, deleted: list[str], kept: list[str], refused: list[str]
) -> None:
    if deleted:
        message = f"deleted what revisions that failed had left: {format_list(deleted, total=len(deleted))}"
        context.events.record(request.raw, reason="LeftoversDeleted", message=message)
    if kept:
        message = (
            f"objects of revisions that failed stay, because they may hold data: {format_list(kept, total=len(kept))}"
        )
        context.events.record(request.raw, event_type="Warning", reason="LeftBehind", message=message)
    if refused:
        message = f"objects of revisions that failed may be left: {refused[0]}"
        context.events.record(request.raw, event_type="Warning", reason="LeftBehind", message=message)


def _newest(request: ReconcileRequest, context: ReconcilerContext) -> RevisionInfo | None:
    return next(iter(context.release_watch.revisions(request.namespace, request.xapp.release_name)[-1:]), None)


def _own_revisions(request: ReconcileRequest, context: ReconcilerContext) -> Sequence[RevisionInfo]:
    """Return the revisions before the newest whose objects helm may have left, oldest first."""
    revisions = context.release_watch.revisions(request.namespace, request.xapp.release_name)
    clean = context.clean_points.get(request.key)
    return revisions_with_leftovers(revisions, xapp=request.key[1], clean=clean)


async def _add_objects(
    named: NamedObjects, request: ReconcileRequest, context: ReconcilerContext, info: RevisionInfo
) -> bool:
    """Add the objects of a revision; return False if they are not known."""
    try:
        record = await read_release_record(context.kube, request.namespace, request.xapp.release_name, info.revision)
        references = await run_sized(len(record.manifest), manifest_inventory, record.manifest)
    except (NotFound, HelmError):
        return False
    for ref in references:
        named.objects.setdefault((ref.kind, ref.name, ref.namespace or request.namespace), (ref, info.created))
    named.hooks.update((each.kind, each.name) for each in record.hooks)
    return True


async def _delete_own(
    request: ReconcileRequest, context: ReconcilerContext, leftover: Leftover, kept: list[str]
) -> list[str]:
    """Delete an object if it is one of the release, and return its name; one that stays is added to `kept`."""
    ref, client = leftover.ref, context.impersonation.client_for(request.xapp)
    try:
        resource = await context.kube.discovery.resource_for(api_version=ref.api_version, kind=ref.kind)
        if leftover.namespaced_only and not resource.namespaced:
            return []
        namespace = (ref.namespace or request.namespace) if resource.namespaced else None
        metadata = obj(await client.get(resource, ref.name, namespace=namespace, metadata_only=True), "metadata")
        annotations = obj(metadata, "annotations")
        created = datetime.fromisoformat(text(metadata, "creationTimestamp")).timestamp()
        if not belongs_to_release(request.xapp, annotations) or is_kept(annotations):
            return []
        if request.xapp.spec.adopt and created < leftover.since:
            return []
        if ref.kind in NEVER_DELETED:
            kept.append(f"{ref.kind}/{ref.name}")
            return []
        await client.delete(
            resource,
            ref.name,
            namespace=namespace,
            uid=text(metadata, "uid"),
            resource_version=text(metadata, "resourceVersion"),
            propagation="Background",
        )
    except NotFound:
        return []
    return [f"{ref.kind}/{ref.name}"]
