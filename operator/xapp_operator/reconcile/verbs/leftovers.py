"""Deletes the objects that helm leaves when a revision fails, or helm is killed: the revision in force has them not.

They go when the release is at rest and healthy, and after an uninstall. An object is deleted if Helm's label and
annotations assign it to the release, a revision that names it can have made it at the time of its creation, and the
revision in force has none of its kind and name, in whatever API group: it would be the same one if its kind has moved
there. What is older or younger was perhaps taken over, and stays. So do the kinds that hold data or objects of others.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from xapp_operator.api.json import obj, text
from xapp_operator.common.text import format_list
from xapp_operator.domain.planning.plan_input import DEPLOYED
from xapp_operator.errors import ApiUnavailable, HelmError, KubeError, NotFound
from xapp_operator.helm.applied_objects import MANAGED_BY
from xapp_operator.helm.manifest import ObjectRef, is_kept
from xapp_operator.helm.releases.release_index import CleanPoint, RevisionInfo
from xapp_operator.kube.resources import Resource
from xapp_operator.reconcile.reconcile_context import (
    LeftObjects,
    Leftover,
    NamedObjects,
    ReconcilerContext,
    ReconcileRequest,
)
from xapp_operator.reconcile.stored_releases.left_objects import (
    add_objects,
    find_left_objects,
    older_revisions,
)
from xapp_operator.reconcile.stored_releases.object_metadata import belongs_to_release, making_time

RECORDS_MAX: Final = 20
"""So many records stay beyond spec.maxHistory until what they name is deleted: each may have a megabyte."""
OBJECTS_MAX: Final = 500
"""So many objects are looked at."""
SECONDS_MAX: Final = 60.0
"""For so long at a time."""
NEVER_DELETED: Final = frozenset({"Namespace", "CustomResourceDefinition", "PersistentVolume", "PersistentVolumeClaim"})
"""Kinds that hold data, or objects of others."""


@dataclass(slots=True)
class _Outcome:
    """What has become of the objects, by kind and name."""

    deleted: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    """Those of the kinds that are never deleted."""
    older: list[str] = field(default_factory=list)
    """Those that helm cannot have made."""
    refused: list[str] = field(default_factory=list)
    reason: str = ""
    """Why the first one of these was not deleted."""
    can_retry: bool = False

    def refuse(self, name: str, error: KubeError) -> None:
        self.refused.append(name)
        self.reason = self.reason or error.message
        self.can_retry = self.can_retry or not error.permanent


async def prunable(
    request: ReconcileRequest, context: ReconcilerContext, surplus: Sequence[RevisionInfo]
) -> tuple[RevisionInfo, ...]:
    """Return which of these revisions can be deleted: not those whose records are needed to find what helm has left.

    They are needed if an object of an older revision is not in the newest one, or if that is not known for now. The
    newest RECORDS_MAX stay then. Of older ones, only the names of their objects are kept, in memory.
    """
    older, newest = older_revisions(request, context), _newest(request, context)
    if newest is None or not any(each in older for each in surplus):
        return tuple(surplus)
    clean, found = _clean_point(request, context), None
    with contextlib.suppress(KubeError, TimeoutError):
        async with asyncio.timeout(SECONDS_MAX):
            found = await find_left_objects(request, context, in_force=newest)
    if found is not None and not found.objects:
        context.clean_points[request.key] = clean
        context.noted_objects.pop(request.key, None)
        return tuple(surplus)
    gone = [each for each in surplus if each not in older[-RECORDS_MAX:]]
    return tuple([each for each in gone if each not in older or await _note_objects(request, context, each)])


async def _note_objects(request: ReconcileRequest, context: ReconcilerContext, gone: RevisionInfo) -> bool:
    """Note the objects of a revision that is about to be deleted; return False if that must wait."""
    noted = context.noted_objects.get(request.key) or NamedObjects()
    if len(noted.objects) >= OBJECTS_MAX:
        return True
    try:
        await add_objects(noted, request, context, gone)
    except (NotFound, HelmError):
        return True
    except KubeError:
        return False
    context.noted_objects[request.key] = noted
    return True


async def delete_leftovers(request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Delete what helm has left of the revisions before the one in force.

    What changes meanwhile ends it. What cannot be deleted becomes an event, and is tried again after a pause.

    Raises:
        KubeError: when a record cannot be read for now.
        TimeoutError: when it took longer than SECONDS_MAX.
    """
    planned, newest = request.step_version, _newest(request, context)
    await context.release_watch.refresh(request.namespace, request.xapp.release_name)  # a watch may be late
    if newest is None or newest.status != DEPLOYED or newest != _newest(request, context):
        return
    clean = _clean_point(request, context)

    def is_current() -> bool:
        cached = context.xapps.get(request.key)
        is_same = cached is not None and (cached.uid, cached.generation) == planned
        return is_same and _newest(request, context) == newest

    async with asyncio.timeout(SECONDS_MAX):
        found = await find_left_objects(request, context, in_force=newest) or LeftObjects()
        done = await delete_objects(request, context, found, is_current=is_current)
    if not done:
        context.leftover_backoff.record_repair(request.key, now=context.clock.monotonic())
        return
    context.clean_points[request.key] = clean
    context.noted_objects.pop(request.key, None)
    context.leftover_backoff.forget(request.key)


async def find_leftovers_of_older(request: ReconcileRequest, context: ReconcilerContext) -> LeftObjects:
    """Return what an uninstall will leave: objects of revisions before the newest, if one of them failed.

    A deletion does not wait for it. If the cluster does not answer, nothing is known of these revisions.
    """
    newest = _newest(request, context)
    if newest is None or not (older_revisions(request, context) or request.key in context.noted_objects):
        return LeftObjects()
    try:
        async with asyncio.timeout(SECONDS_MAX):
            found = await find_left_objects(request, context, in_force=newest)
            return found or LeftObjects(unknown=[f"the record of revision {newest.revision} cannot be read"])
    except KubeError as error:
        return LeftObjects(unknown=[error.message])
    except TimeoutError:
        return LeftObjects(unknown=[f"their records could not be read within {SECONDS_MAX:g} s"])


async def delete_objects(
    request: ReconcileRequest,
    context: ReconcilerContext,
    found: LeftObjects,
    *,
    is_current: Callable[[], bool] = lambda: True,
) -> bool:
    """Delete the objects that belong to the release, with the identity of the XApp, as long as this `is_current`.

    Events tell what was deleted, what was not, and what is not known. Return False if another try can help.
    """
    outcome, left = _Outcome(), found.objects
    try:
        for number, each in enumerate(left[:OBJECTS_MAX]):
            if not is_current():
                return False
            name = f"{each.ref.kind}/{each.ref.name}"
            try:
                await _delete_own(request, context, each, name, outcome)
            except KubeError as error:
                outcome.refuse(name, error)
            except asyncio.CancelledError:
                outcome.refused += [f"{other.ref.kind}/{other.ref.name}" for other in left[number:]]
                outcome.reason = outcome.reason or f"there was no time within {SECONDS_MAX:g} s"
                raise
    finally:
        _tell(request, context, outcome, found)
    return not outcome.can_retry


def _tell(request: ReconcileRequest, context: ReconcilerContext, outcome: _Outcome, found: LeftObjects) -> None:
    def warn(message: str) -> None:
        context.events.record(request.raw, event_type="Warning", reason="LeftBehind", message=message)

    if outcome.deleted:
        message = f"deleted what revisions that failed had left: {_list(outcome.deleted)}"
        context.events.record(request.raw, reason="LeftoversDeleted", message=message)
    if outcome.data:
        warn(f"objects of revisions that failed stay, because they may hold data: {_list(outcome.data)}")
    if outcome.older:
        warn(f"objects of revisions that failed stay, because helm has not made them: {_list(outcome.older)}")
    if outcome.refused:
        warn(f"objects of revisions that failed may be left: {_list(outcome.refused)}: {outcome.reason}")
    if found.unknown:
        warn(f"it is not known whether helm has left objects of revisions that failed: {found.unknown[0]}")
    if len(found.objects) > OBJECTS_MAX:
        warn(f"objects of revisions that failed may be left: only {OBJECTS_MAX} of {len(found.objects)} were looked at")


def _list(names: Sequence[str]) -> str:
    return format_list(names, total=len(names))


def _newest(request: ReconcileRequest, context: ReconcilerContext) -> RevisionInfo | None:
    return next(iter(context.release_watch.revisions(request.namespace, request.xapp.release_name)[-1:]), None)


def _clean_point(request: ReconcileRequest, context: ReconcilerContext) -> CleanPoint:
    return CleanPoint.at(context.release_watch.revisions(request.namespace, request.xapp.release_name))


async def _delete_own(
    request: ReconcileRequest, context: ReconcilerContext, leftover: Leftover, name: str, outcome: _Outcome
) -> None:
    """Delete an object if it is one that helm has made for the release."""
    ref, client = leftover.ref, context.impersonation.client_for(request.xapp)
    resource = await _find_resource(ref, context)
    if resource is None or (leftover.namespaced_only and not resource.namespaced):
        return
    namespace = (ref.namespace or request.namespace) if resource.namespaced else None
    with contextlib.suppress(NotFound):
        metadata = obj(await client.get(resource, ref.name, namespace=namespace, metadata_only=True), "metadata")
        annotations = obj(metadata, "annotations")
        is_managed = text(obj(metadata, "labels"), MANAGED_BY) == "Helm"
        if not is_managed or not belongs_to_release(request.xapp, annotations) or is_kept(annotations):
            return
        if not leftover.was_made_by_helm(making_time(metadata)):
            outcome.older.append(name)
            return
        if ref.kind in NEVER_DELETED:
            outcome.data.append(name)
            return
        await client.delete(
            resource,
            ref.name,
            namespace=namespace,
            uid=text(metadata, "uid"),
            resource_version=text(metadata, "resourceVersion"),
            propagation="Background",
        )
        outcome.deleted.append(name)


async def _find_resource(ref: ObjectRef, context: ReconcilerContext) -> Resource | None:
    """Return the resource of an object; None if the cluster does not serve its kind.

    Raises:
        ApiUnavailable: when that is not known, because the API server of its group does not answer.
    """
    discovery = context.kube.discovery
    try:
        return await discovery.resource_for(api_version=ref.api_version, kind=ref.kind)
    except NotFound:
        group = ref.api_version.rpartition("/")[0]
        if group in await discovery.stale_groups():
            raise ApiUnavailable(f"the API server of the group {group} does not answer") from None
        return None
