"""Keeps what `adopt` took over from being deleted by a rollback to a revision from before.

helm deletes what the newest revision has and the target has not, whosever it is. What is older than the revisions since
the target was made by somebody else. It leaves the release, and has the annotation that helm respects until helm has
ended (helm 4.3.1, pkg/kube/client.go). If the operator is killed before, the next try removes the annotation.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from xapp_operator.api.json import Json, JsonObject, items, obj, text
from xapp_operator.api.names import (
    FIELD_MANAGER,
    HELM_RELEASE_NAME,
    HELM_RELEASE_NAMESPACE,
    HELM_RESOURCE_POLICY,
    LABEL_COMPONENT,
    LABEL_XAPP,
    REGISTRATION_LABELS,
)
from xapp_operator.common.parallel import run_parallel
from xapp_operator.common.text import format_list
from xapp_operator.domain.planning.plan_input import DEPLOYED, SUPERSEDED
from xapp_operator.errors import AccessDenied, KubeError, NotFound
from xapp_operator.helm.applied_objects import MANAGED_BY
from xapp_operator.helm.manifest import ObjectRef
from xapp_operator.helm.releases.release_index import RevisionInfo
from xapp_operator.kube.resources import Resource
from xapp_operator.reconcile.object_comparison import retry_conflicts
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.stored_releases.object_metadata import (
    MAX_PARALLEL_READS,
    belongs_to_release,
    making_time,
)
from xapp_operator.reconcile.verbs.rollback_objects import ObjectName, RollbackObjects, object_name

_KEEP: Final = "keep"


@dataclass(frozen=True, slots=True)
class _Kept:
    """An object with the annotation, perhaps since an earlier try."""

    resource: Resource
    namespace: str | None
    name: str


@dataclass(frozen=True, slots=True)
class _Rollback:
    """What a rollback may delete: objects of later revisions that the target has not; `undone` may be kept already."""

    wanted: Collection[ObjectName]
    later: Sequence[RevisionInfo]
    at_risk: Collection[ObjectRef]
    undone: Collection[ObjectRef] = ()


@asynccontextmanager
async def keeping_taken_over(
    request: ReconcileRequest, context: ReconcilerContext, objects: RollbackObjects | None
) -> AsyncIterator[None]:
    """Let a rollback delete nothing that `adopt` took over since its target. An event names what stays.

    Without `adopt`, no object is read.

    Raises:
        XAppError: when it is not known what was taken over, or it cannot be kept: then helm must not run.
    """

    async def end(kept: _Kept) -> None:
        with suppress(KubeError):
            await _patch(request, context, kept, {"annotations": {HELM_RESOURCE_POLICY: None}})

    kept: Sequence[_Kept] = ()
    if request.xapp.spec.adopt and objects is not None:
        kept = await _keep(request, context, _find_deletable(request, objects))
    try:
        yield
    finally:
        await run_parallel(end, kept, at_once=MAX_PARALLEL_READS)


def _find_deletable(request: ReconcileRequest, objects: RollbackObjects) -> _Rollback:
    if objects.damaged is not None:
        raise objects.damaged
    wanted = {object_name(each, request) for each in objects.target}
    new = dict.fromkeys(each for each in objects.newest if object_name(each, request) not in wanted)
    undone = objects.undone or ()
    old = [each for each in undone if object_name(each, request) not in wanted and each not in new]
    return _Rollback(wanted, objects.later, new.keys(), old)


async def _keep(request: ReconcileRequest, context: ReconcilerContext, rollback: _Rollback) -> Sequence[_Kept]:
    """Keep what the revisions since the target have not made, and return it with what an earlier try has kept."""
    wanted = {(group, kind, name) for group, kind, _, name in rollback.wanted}
    told: list[str] = []

    async def keep(ref: ObjectRef) -> _Kept | None:
        try:
            resource = await context.kube.discovery.resource_for(api_version=ref.api_version, kind=ref.kind)
            group, kind, _, name = object_name(ref, request)
            if not resource.namespaced and (group, kind, name) in wanted:
                return None
            kept = await retry_conflicts(lambda: _keep_object(request, context, ref, resource, rollback))
        except NotFound:
            return None
        if kept is not None:
            told.append(f"{ref.kind}/{ref.name}")
        return kept

    try:
        found = await run_parallel(keep, (*rollback.at_risk, *rollback.undone), at_once=MAX_PARALLEL_READS)
    finally:
        if told:
            names = format_list(sorted(told), total=len(told))
            message = f"the rollback leaves objects that adopt took over, outside of the release: {names}"
            context.events.record(request.raw, event_type="Warning", reason="LeftBehind", message=message)
    return [each for each in found if each is not None]


async def _keep_object(
    request: ReconcileRequest, context: ReconcilerContext, ref: ObjectRef, resource: Resource, rollback: _Rollback
) -> _Kept | None:
    """Keep an object, unless one of the revisions since the target may have made it.

    Raises:
        NotFound: when it does not exist.
        Conflict: when it changed meanwhile.
        KubeError: when it cannot be kept.
    """
    client, place = context.impersonation.client_for(request.xapp), ref.namespace or request.namespace
    kept = _Kept(resource, place if resource.namespaced else None, ref.name)
    try:
        live = await client.get(resource, kept.name, namespace=kept.namespace, metadata_only=True)
    except AccessDenied:
        return None  # helm cannot read it either, and deletes only what it has read
    metadata = obj(live, "metadata")
    if text(metadata, "deletionTimestamp") or _made_since(rollback, metadata, request):
        return None
    if text(obj(metadata, "annotations"), HELM_RESOURCE_POLICY) == _KEEP:
        return kept if _is_our_policy(metadata) else None
    if ref not in rollback.at_risk:
        return None
    labels, annotations = _without_release(metadata, request)
    annotations[HELM_RESOURCE_POLICY] = _KEEP
    version: JsonObject = {each: metadata.get(each) for each in ("uid", "resourceVersion")}
    await _patch(request, context, kept, {**version, "labels": labels, "annotations": annotations})
    return kept


def _made_since(rollback: _Rollback, metadata: JsonObject, request: ReconcileRequest) -> bool:
    """Return whether an object was created while helm worked on one of the revisions since the target."""
    created = making_time(metadata)
    for each in rollback.later:
        end: float = each.modified
        if each.status in (DEPLOYED, SUPERSEDED) and each is not rollback.later[-1]:  # written again since
            end = min(end, each.created + request.xapp.spec.timeout_seconds)
        if each.created <= created <= end:
            return True
    return False


def _is_our_policy(metadata: JsonObject) -> bool:
    """Return whether this operator has written the annotation."""
    written = [each for each in items(metadata, "managedFields") if text(each, "manager") == FIELD_MANAGER]
    fields = (obj(obj(obj(each, "fieldsV1"), "f:metadata"), "f:annotations") for each in written)
    return any(f"f:{HELM_RESOURCE_POLICY}" in each for each in fields)


def _without_release(metadata: JsonObject, request: ReconcileRequest) -> tuple[JsonObject, JsonObject]:
    """Return the changes of labels and annotations that take an object out of the release, if it is in it."""
    labels, annotations = dict[str, Json](), dict[str, Json]()
    if belongs_to_release(request.xapp, obj(metadata, "annotations")):
        annotations = {HELM_RELEASE_NAME: None, HELM_RELEASE_NAMESPACE: None}
        if text(obj(metadata, "labels"), MANAGED_BY) == "Helm":
            labels[MANAGED_BY] = None
    if text(obj(metadata, "labels"), LABEL_XAPP) == request.key[1]:
        labels |= dict.fromkeys((*REGISTRATION_LABELS, LABEL_COMPONENT))
        annotations |= dict.fromkeys(REGISTRATION_LABELS)  # those whose texts are no values of labels
    return labels, annotations


async def _patch(request: ReconcileRequest, context: ReconcilerContext, kept: _Kept, metadata: JsonObject) -> None:
    client = context.impersonation.client_for(request.xapp)
    await client.patch(kept.resource, kept.name, {"metadata": metadata}, namespace=kept.namespace)
