"""Deletes the objects that helm leaves when a revision fails, or helm is killed: no revision in force has them.

helm compares two revisions: an upgrade with the one that was deployed last, a rollback with the newest. An uninstall
looks at the newest only. What another revision has created stays, also when the XApp is deleted. Which objects these
are, only the records of the revisions tell. So this comes before records are deleted.

An object is deleted if Helm's annotations assign it to the release, and no revision that stays has one of its kind and
name, in whatever API group: it would be the same one if its kind has moved there.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from xapp_operator.api.json import obj, text
from xapp_operator.api.names import HELM_RELEASE_NAME, HELM_RELEASE_NAMESPACE
from xapp_operator.common.off_loop import run_sized
from xapp_operator.common.text import format_list
from xapp_operator.domain.planning.plan_input import DEPLOYED
from xapp_operator.errors import AccessDenied, HelmError, NotFound
from xapp_operator.helm.manifest import ObjectRef, is_kept, manifest_inventory
from xapp_operator.helm.releases.release_index import CleanPoint, RevisionInfo, revisions_with_leftovers
from xapp_operator.kube.resources import Resource
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.stored_releases.object_metadata import MAX_PARALLEL_READS
from xapp_operator.reconcile.watching.release_watch import read_release_record

RECORDS_MAX: Final = 20
"""So many of the newest revisions are read: each may have a megabyte."""
OBJECTS_MAX: Final = 500
"""So many objects are looked at."""

_NamedKind: TypeAlias = tuple[str, str]
"""Kind and name."""


@dataclass(slots=True)
class _Inventory:
    """The objects of some revisions: kind and name, and the namespaces in which there are such objects."""

    objects: dict[_NamedKind, dict[str, ObjectRef]] = field(default_factory=dict)
    hooks: set[_NamedKind] = field(default_factory=set)

    def references(self, *, without: _Inventory) -> Iterator[ObjectRef]:
        """Yield the objects that the other one does not have."""
        for kind_and_name, by_namespace in self.objects.items():
            others = without.objects.get(kind_and_name, {})
            if kind_and_name not in without.hooks:
                yield from (ref for namespace, ref in by_namespace.items() if namespace not in others)


async def delete_leftovers(request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Delete what helm has left, if the newest revision is deployed, and remember that it is done.

    Raises:
        KubeError: when the cluster does not answer.
    """
    namespace, name = request.namespace, request.xapp.release_name
    revisions = context.release_watch.revisions(namespace, name)
    if not revisions or revisions[-1].status != DEPLOYED:
        return
    found = revisions_with_leftovers(revisions, xapp=request.key[1], clean=context.clean_points.get(request.key))
    if found:
        await _delete(request, context, found, wanted=revisions[-1:])
        context.clean_points[request.key] = CleanPoint.at(revisions)


async def delete_leftovers_of(
    request: ReconcileRequest, context: ReconcilerContext, gone: Iterable[RevisionInfo]
) -> None:
    """Delete what only the revisions `gone` name, whose records are about to be deleted, if helm may have left it.

    Raises:
        KubeError: when the cluster does not answer.
    """
    revisions = context.release_watch.revisions(request.namespace, request.xapp.release_name)
    found = revisions_with_leftovers(revisions, xapp=request.key[1], clean=context.clean_points.get(request.key))
    numbers = {each.revision for each in gone}
    if leaving := [each for each in found if each.revision in numbers]:
        await _delete(request, context, leaving, wanted=[each for each in revisions if each.revision not in numbers])


async def _delete(
    request: ReconcileRequest,
    context: ReconcilerContext,
    revisions: Sequence[RevisionInfo],
    *,
    wanted: Sequence[RevisionInfo],
) -> None:
    """Delete the objects of `revisions` that none of `wanted` has, and record an event."""
    left, kept, references = _Inventory(), _Inventory(), list[ObjectRef]()
    for each in revisions[-RECORDS_MAX:]:
        await _add_inventory(left, request, context, each)
    for each in reversed(wanted):
        if not await _add_inventory(kept, request, context, each):
            return  # it may have any of them
        references = list(left.references(without=kept))
        if not references:
            return
    limit, deleted, denied = asyncio.Semaphore(MAX_PARALLEL_READS), list[str](), list[str]()

    async def delete(ref: ObjectRef) -> None:
        async with limit:
            try:
                if await _delete_own(request, context, ref, kept=kept):
                    deleted.append(f"{ref.kind}/{ref.name}")
            except AccessDenied as error:
                denied.append(error.message)

    await asyncio.gather(*map(delete, references[:OBJECTS_MAX]))
    if deleted:
        message = f"deleted what revisions that failed had left: {format_list(sorted(deleted), total=len(deleted))}"
        context.events.record(request.raw, reason="LeftoversDeleted", message=message)
    if denied or len(references) > OBJECTS_MAX:
        cause = denied[0] if denied else f"only {OBJECTS_MAX} of {len(references)} objects were looked at"
        message = f"objects of revisions that failed may be left: {cause}"
        context.events.record(request.raw, event_type="Warning", reason="LeftBehind", message=message)


async def _add_inventory(
    inventory: _Inventory, request: ReconcileRequest, context: ReconcilerContext, info: RevisionInfo
) -> bool:
    """Add the objects of a revision; return False if they are not known."""
    try:
        record = await read_release_record(context.kube, request.namespace, request.xapp.release_name, info.revision)
        references = await run_sized(len(record.manifest), manifest_inventory, record.manifest)
    except (NotFound, HelmError):
        return False
    for ref in references:
        by_namespace = inventory.objects.setdefault((ref.kind, ref.name), {})
        by_namespace.setdefault(ref.namespace or request.namespace, ref)
    inventory.hooks.update((each.kind, each.name) for each in record.hooks)
    return True


async def _delete_own(
    request: ReconcileRequest, context: ReconcilerContext, ref: ObjectRef, *, kept: _Inventory
) -> bool:
    """Delete an object, with the identity of the XApp, if it is one of the release that helm would not keep."""
    with contextlib.suppress(NotFound):
        resource = await context.kube.discovery.resource_for(api_version=ref.api_version, kind=ref.kind)
        if not resource.namespaced and (ref.kind, ref.name) in kept.objects:
            return False
        return await _delete_if_own(request, context, resource, ref)
    return False


async def _delete_if_own(
    request: ReconcileRequest, context: ReconcilerContext, resource: Resource, ref: ObjectRef
) -> bool:
    client = context.impersonation.client_for(request.xapp)
    namespace = (ref.namespace or request.namespace) if resource.namespaced else None
    metadata = obj(await client.get(resource, ref.name, namespace=namespace, metadata_only=True), "metadata")
    annotations = obj(metadata, "annotations")
    owner = text(annotations, HELM_RELEASE_NAMESPACE), text(annotations, HELM_RELEASE_NAME)
    if owner != (request.namespace, request.xapp.release_name) or is_kept(annotations):
        return False
    await client.delete(resource, ref.name, namespace=namespace, uid=text(metadata, "uid"))
    return True
