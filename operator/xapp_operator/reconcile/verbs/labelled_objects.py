"""DeleteOrphans: deletes the objects of a release that no record names any more. It finds them by their labels.

Somebody has deleted the records, they are damaged, or an uninstall was interrupted after it had deleted some. An object
is one of the release if the operator's label and Helm's annotations both say so. It is deleted with the identity that
created it. Without a record, it is not known what the release has taken over with `adopt`. Therefore kinds that hold
data or objects of others stay if they may be older than the release. What stays becomes an event.

Changes in StatusDraft: `orphans_deleted`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.names import HELM_RESOURCE_POLICY, LABEL_XAPP
from xapp_operator.common.text import format_list
from xapp_operator.domain.planning.actions import DeleteOrphans
from xapp_operator.domain.planning.plan_input import UNINSTALL
from xapp_operator.errors import AccessDenied, Conflict, KubeError, NotFound
from xapp_operator.helm.manifest import is_kept
from xapp_operator.kube.resources import Resource
from xapp_operator.monitor.live_objects import LiveObjectKey
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.status.attempts import HELM_FINISHED
from xapp_operator.reconcile.stored_releases.object_metadata import belongs_to_release
from xapp_operator.reconcile.verbs.leftovers import NEVER_DELETED

KEPT_MESSAGE: Final = f"these objects stay, because they have the annotation {HELM_RESOURCE_POLICY}: keep: "
PROTECTED_MESSAGE: Final = (
    "these objects stay, because they hold data or objects of others, and the release may have taken them over. Delete "
    "them yourself if you do not need them: "
)
DELETE_TRIES: Final = 3
"""So often an object is deleted that changes at the same time."""


@dataclass(slots=True)
class _Left:
    """What stays: objects as `Kind/name`, and kinds, with the reason where it differs."""

    kept: list[str] = field(default_factory=list)
    protected: list[str] = field(default_factory=list)
    forbidden: dict[str, str] = field(default_factory=dict)
    unanswered: dict[str, str] = field(default_factory=dict)
    unlisted_kinds: dict[str, str] = field(default_factory=dict)
    """Kinds that may not be listed in other namespaces."""
    denied_kinds: list[str] = field(default_factory=list)
    """Why kinds may not be listed at all."""
    unanswered_kinds: list[str] = field(default_factory=list)


async def delete_orphans(action: DeleteOrphans, request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Delete the objects of a release whose record is gone; only the cluster-scoped ones unless `action.namespaced`.

    If it is known which objects the release consists of, only their kinds are searched; not if a step has failed.

    Raises:
        KubeError: when the cluster does not answer for a kind or an object; the deletion is tried again until
            `spec.timeout`.
    """
    resources = await context.kube.discovery.cluster_scoped_resources()
    if action.namespaced:
        resources = (*await context.kube.discovery.namespaced_resources(), *resources)
        if _knows_all_objects(request, context):
            kinds = {kind for kind, _, _ in _known_keys(request, context)}
            resources = tuple(each for each in resources if each.kind in kinds)
    await _delete_labelled(request, context, resources)
    request.draft = replace(request.draft, orphans_deleted=True)


async def delete_labelled_objects(request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Delete the objects of a release whose record is damaged.

    Raises:
        KubeError: as `delete_orphans`.
    """
    discovery = context.kube.discovery
    namespaced, cluster_scoped = await discovery.namespaced_resources(), await discovery.cluster_scoped_resources()
    await _delete_labelled(request, context, (*namespaced, *cluster_scoped))


async def _delete_labelled(
    request: ReconcileRequest, context: ReconcilerContext, resources: Iterable[Resource]
) -> None:
    """Delete the objects of those kinds, and tell what stays.

    Raises:
        KubeError: names what gave no answer, unless `spec.timeout` is over; all others are done.
    """
    left = _Left()
    for resource in resources:
        try:
            await _delete_of_kind(request, context, resource, left)
        except NotFound:
            continue
        except AccessDenied as error:
            left.denied_kinds.append(error.message)
        except KubeError as error:
            left.unanswered_kinds.append(f"{resource.group_resource}: {error.message}")
    unanswered = [*left.unanswered_kinds, *_explain(left.unanswered)]
    if unanswered and not _has_deletion_timed_out(request, context):
        raise KubeError(f"not all objects of the release are deleted: {'; '.join(unanswered)}")
    _tell(request, context, left, unanswered)


def _tell(request: ReconcileRequest, context: ReconcilerContext, left: _Left, unanswered: list[str]) -> None:
    problems = left.denied_kinds[:1]
    if left.unlisted_kinds:
        cause = next(iter(left.unlisted_kinds.values()))
        problems.append(
            f"objects of the release in other namespaces may be left: {cause}. Find them with: kubectl get "
            f"{','.join(left.unlisted_kinds)} --all-namespaces -l {_selector(request)}"
        )
    problems += (f"these objects may not be deleted, and stay: {each}" for each in _explain(left.forbidden))
    if unanswered:
        problems.append(f"given up after spec.timeout; check them yourself: {'; '.join(unanswered)}")
    for heading, objects in ((KEPT_MESSAGE, left.kept), (PROTECTED_MESSAGE, left.protected)):
        names = dict.fromkeys(objects)  # a search of all namespaces finds those in the release's own again
        if names:
            problems.append(heading + format_list(names, total=len(names)))
    for message in problems:
        context.events.record(request.raw, event_type="Warning", reason="LeftBehind", message=message)


def _explain(refused: dict[str, str]) -> list[str]:
    """Return the names of objects that were refused with the first reason; nothing if there are none."""
    return [f"{format_list(refused, total=len(refused))}: {next(iter(refused.values()))}"] if refused else []


async def _delete_of_kind(
    request: ReconcileRequest, context: ReconcilerContext, resource: Resource, left: _Left
) -> None:
    """Delete the objects of one kind.

    The inventory and the watches tell which other namespaces have some. Where that is not all, all are searched.
    """
    if not resource.namespaced:
        await _delete_in(request, context, resource, None, left)
        return
    await _delete_in(request, context, resource, request.namespace, left)
    namespaces = {key[1] for key in _known_keys(request, context) if key[0] == resource.kind}
    others: list[str | None] = [*sorted(namespaces - {"", request.namespace})]
    if not _knows_all_objects(request, context):
        others.append(None)
    for namespace in others:
        try:
            await _delete_in(request, context, resource, namespace, left)
        except AccessDenied as error:
            left.unlisted_kinds[resource.group_resource] = error.message


async def _delete_in(
    request: ReconcileRequest, context: ReconcilerContext, resource: Resource, namespace: str | None, left: _Left
) -> None:
    """Delete the objects of one kind in a namespace, or in all. One that is refused does not keep the others."""
    client = context.impersonation.client_for(request.xapp)
    found = await client.list(resource, namespace=namespace, label_selector=_selector(request), metadata_only=True)
    for item in found.items:
        metadata = obj(item, "metadata")
        name = f"{resource.kind}/{text(metadata, 'name')}"
        try:
            await _delete_unchanged(request, context, resource, metadata, left)
        except NotFound:
            continue
        except AccessDenied as error:
            left.forbidden[name] = error.message
        except KubeError as error:
            left.unanswered[name] = error.message


async def _delete_unchanged(
    request: ReconcileRequest, context: ReconcilerContext, resource: Resource, metadata: JsonObject, left: _Left
) -> None:
    """Delete an object that is one of the release as it was found; one that has changed since is looked at again.

    Raises:
        KubeError: when it cannot be deleted.
    """
    client, name = context.impersonation.client_for(request.xapp), text(metadata, "name")
    namespace, tries = text(metadata, "namespace") or None, DELETE_TRIES
    while _is_to_go(request, resource, metadata, left):
        try:
            await client.delete(
                resource,
                name,
                namespace=namespace,
                uid=text(metadata, "uid") or None,
                resource_version=text(metadata, "resourceVersion") or None,
                propagation="Background",
            )
        except Conflict:
            tries -= 1
            if not tries:
                raise
            metadata = obj(await client.get(resource, name, namespace=namespace, metadata_only=True), "metadata")
        else:
            return


def _is_to_go(request: ReconcileRequest, resource: Resource, metadata: JsonObject, left: _Left) -> bool:
    """Return whether an object is one of the release, and does not stay; what stays is noted."""
    annotations = obj(metadata, "annotations")
    is_labelled = text(obj(metadata, "labels"), LABEL_XAPP) == request.xapp.metadata.name
    if not (is_labelled and belongs_to_release(request.xapp, annotations)):
        return False
    name = f"{resource.kind}/{text(metadata, 'name')}"
    if is_kept(annotations):
        left.kept.append(name)
        return False
    if resource.kind in NEVER_DELETED and _may_be_taken_over(request, metadata):
        left.protected.append(name)
        return False
    return True


def _may_be_taken_over(request: ReconcileRequest, metadata: JsonObject) -> bool:
    """Return whether an object may be older than the release: it is older than the XApp, or that has `adopt`."""
    created, xapp_created = (text(each, "creationTimestamp") for each in (metadata, obj(request.raw, "metadata")))
    if request.xapp.spec.adopt or not created:
        return True
    return datetime.fromisoformat(created) < datetime.fromisoformat(xapp_created)


def _knows_all_objects(request: ReconcileRequest, context: ReconcilerContext) -> bool:
    """Return whether the inventory names all objects: it is that of the revision in force, not of one that failed."""
    attempt = request.draft.attempt
    is_of_last = attempt is None or attempt.action == UNINSTALL or attempt.outcome in HELM_FINISHED
    return is_of_last and context.monitor.has_inventory(request.key)


def _known_keys(request: ReconcileRequest, context: ReconcilerContext) -> set[LiveObjectKey]:
    """Return the objects that the inventory of the release names, and those that watches show."""
    monitor = context.monitor
    return {*monitor.known_objects(request.key), *(each.key for each in monitor.release_objects(request.key))}


def _selector(request: ReconcileRequest) -> str:
    return f"{LABEL_XAPP}={request.xapp.metadata.name}"


def _has_deletion_timed_out(request: ReconcileRequest, context: ReconcilerContext) -> bool:
    deleted_at, timeout = context.deletion_times.get(request.xapp), request.xapp.spec.timeout_seconds
    return deleted_at is not None and context.clock.now() >= deleted_at + timeout
