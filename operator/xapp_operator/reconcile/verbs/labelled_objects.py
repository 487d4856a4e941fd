"""DeleteOrphans: deletes the objects of a release that no record names any more. It finds them by their labels.

Somebody has deleted the records, they are damaged, or an uninstall was interrupted after it had deleted some. An object
is one of the release if the operator's label and Helm's label and annotations say so. It is deleted with the identity
that created it. Without a record, it is not known what the release has taken over. Therefore kinds that hold data or
objects of others stay if they may be older than the release. After an uninstall, only objects of older revisions are
left: then all of these kinds stay, and what may be older than the release. What stays becomes an event.

Changes in StatusDraft: `orphans_deleted`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.names import HELM_RESOURCE_POLICY, LABEL_XAPP
from xapp_operator.common.text import format_list
from xapp_operator.domain.planning.actions import DeleteOrphans
from xapp_operator.domain.planning.plan_input import UNINSTALL
from xapp_operator.errors import AccessDenied, Conflict, KubeError, NotFound
from xapp_operator.helm.applied_objects import MANAGED_BY
from xapp_operator.helm.manifest import is_kept
from xapp_operator.kube.reader import is_namespace_terminating
from xapp_operator.kube.resources import Resource
from xapp_operator.monitor.live_objects import LiveObjectKey
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.status.attempts import HELM_FINISHED
from xapp_operator.reconcile.stored_releases.object_metadata import belongs_to_release, creation_time
from xapp_operator.reconcile.verbs.leftovers import NEVER_DELETED, SECONDS_MAX

KEPT_MESSAGE: Final = f"these objects stay, because they have the annotation {HELM_RESOURCE_POLICY}: keep: "
PROTECTED_MESSAGE: Final = (
    "these objects stay, because they may hold data, or be objects of others that the release has taken over. Delete "
    "them yourself if you do not need them: "
)
INSTALLED_ANEW: Final = (
    "somebody has installed the release anew meanwhile. Objects of the one before may be left: check those that the "
    "new one does not have"
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
    release = request.namespace, request.xapp.release_name

    def is_current() -> bool:
        return all(each.xapp == request.key[1] for each in context.release_watch.revisions(*release))

    search = _Search(request, context, is_current)
    resources = await context.kube.discovery.cluster_scoped_resources()
    if action.namespaced:
        resources = (*await context.kube.discovery.namespaced_resources(), *resources)
        if _knows_all_objects(request, context):
            kinds = {kind for kind, _, _ in search.known_keys()}
            resources = tuple(each for each in resources if each.kind in kinds)
    await search.delete(resources)
    search.finish(given_up=_has_deletion_timed_out(request, context))
    request.draft = replace(request.draft, orphans_deleted=True)


async def delete_labelled_objects(
    request: ReconcileRequest, context: ReconcilerContext, *, is_current: Callable[[], bool]
) -> None:
    """Delete the objects of a release whose record is damaged, as long as this `is_current`.

    Raises:
        KubeError: as `delete_orphans`.
    """
    search = _Search(request, context, is_current)
    await search.delete(await _removable_resources(context))
    search.finish(given_up=_has_deletion_timed_out(request, context))


async def delete_labelled_leftovers(
    request: ReconcileRequest, context: ReconcilerContext, *, is_current: Callable[[], bool]
) -> None:
    """Delete what an uninstall has left of older revisions, as long as this `is_current`.

    This is not tried again, because after the uninstall nothing tells that it is needed. What may be left is told. If
    the namespace goes too, DeleteOrphans follows.
    """
    search = _Search(request, context, is_current, leftovers=True)
    try:
        async with asyncio.timeout(SECONDS_MAX):
            if await is_namespace_terminating(context.kube, request.namespace):
                return
            await search.delete(await _removable_resources(context))
    except KubeError as error:
        search.note_unanswered(error.message)
    except TimeoutError:
        search.note_unanswered(f"there was no time within {SECONDS_MAX:g} s")
    search.finish(given_up=True)


async def _removable_resources(context: ReconcilerContext) -> tuple[Resource, ...]:
    discovery = context.kube.discovery
    return (*await discovery.namespaced_resources(), *await discovery.cluster_scoped_resources())


class _Search:
    """The objects of one release that are found by their labels, as long as no other one `is_current`.

    With `leftovers`, the release is uninstalled, and they are of its older revisions.
    """

    def __init__(
        self,
        request: ReconcileRequest,
        context: ReconcilerContext,
        is_current: Callable[[], bool],
        *,
        leftovers: bool = False,
    ) -> None:
        self._request, self._context, self._is_current, self._leftovers = request, context, is_current, leftovers
        self._client = context.impersonation.client_for(request.xapp)
        self._selector = f"{LABEL_XAPP}={request.xapp.metadata.name}"
        self._left = _Left()

    def known_keys(self) -> set[LiveObjectKey]:
        """Return the objects that the inventory of the release or an uninstall names, and those that watches show."""
        context, request = self._context, self._request
        monitor, key = context.monitor, request.key
        found = {*monitor.known_objects(key), *(each.key for each in monitor.release_objects(key))}
        if (begun := context.begun_uninstalls.get(key)) is not None:
            refs = (each.ref for each in begun.left.objects)
            found.update((each.kind, each.namespace or request.namespace, each.name) for each in refs)
        return found

    def note_unanswered(self, reason: str) -> None:
        """Note why not all kinds were searched."""
        self._left.unanswered_kinds.append(f"objects with the label {self._selector}: {reason}")

    async def delete(self, resources: Iterable[Resource]) -> None:
        """Delete the objects of these kinds, and note what stays."""
        for resource in resources:
            try:
                await self._delete_of_kind(resource)
            except NotFound:
                continue
            except AccessDenied as error:
                self._left.denied_kinds.append(error.message)
            except KubeError as error:
                self._left.unanswered_kinds.append(f"{resource.group_resource}: {error.message}")

    def finish(self, *, given_up: bool) -> None:
        """Record events of what stays.

        Raises:
            KubeError: names what gave no answer, unless that is given up.
        """
        left = self._left
        unanswered = [*left.unanswered_kinds, *_explain(left.unanswered)]
        if unanswered and not given_up:
            raise KubeError(f"not all objects of the release are deleted: {'; '.join(unanswered)}")
        problems = left.denied_kinds[:1]
        if left.unlisted_kinds:
            cause = next(iter(left.unlisted_kinds.values()))
            problems.append(
                f"objects of the release in other namespaces may be left: {cause}. Find them with: kubectl get "
                f"{','.join(left.unlisted_kinds)} --all-namespaces -l {self._selector}"
            )
        problems += (f"these objects may not be deleted, and stay: {each}" for each in _explain(left.forbidden))
        if unanswered:
            after = "after the uninstall" if self._leftovers else "after spec.timeout"
            problems.append(f"given up {after}; check them yourself: {'; '.join(unanswered)}")
        for heading, objects in ((KEPT_MESSAGE, left.kept), (PROTECTED_MESSAGE, left.protected)):
            names = dict.fromkeys(objects)  # a search of all namespaces finds those in the release's own again
            if names:
                problems.append(heading + format_list(names, total=len(names)))
        if not self._is_current():
            problems.append(INSTALLED_ANEW)
        for message in problems:
            self._context.events.record(self._request.raw, event_type="Warning", reason="LeftBehind", message=message)

    async def _delete_of_kind(self, resource: Resource) -> None:
        """Delete the objects of one kind.

        The inventory and the watches tell which other namespaces have some. Where that is not all, all are searched.
        """
        if not resource.namespaced:
            await self._delete_in(resource, None)
            return
        namespace = self._request.namespace
        await self._delete_in(resource, namespace)
        namespaces = {key[1] for key in self.known_keys() if key[0] == resource.kind}
        others: list[str | None] = [*sorted(namespaces - {"", namespace})]
        if self._leftovers or not _knows_all_objects(self._request, self._context):
            others.append(None)
        for each in others:
            try:
                await self._delete_in(resource, each)
            except AccessDenied as error:
                self._left.unlisted_kinds[resource.group_resource] = error.message

    async def _delete_in(self, resource: Resource, namespace: str | None) -> None:
        """Delete the objects of one kind in a namespace, or in all. One that is refused does not keep the others."""
        if not self._is_current():
            return
        found = await self._client.list(
            resource, namespace=namespace, label_selector=self._selector, metadata_only=True
        )
        for item in found.items:
            metadata = obj(item, "metadata")
            name = f"{resource.kind}/{text(metadata, 'name')}"
            try:
                await self._delete_unchanged(resource, metadata)
            except NotFound:
                continue
            except AccessDenied as error:
                self._left.forbidden[name] = error.message
            except KubeError as error:
                self._left.unanswered[name] = error.message

    async def _delete_unchanged(self, resource: Resource, metadata: JsonObject) -> None:
        """Delete an object of the release as it was found; one that has changed since is looked at again.

        Raises:
            KubeError: when it cannot be deleted.
        """
        name, namespace = text(metadata, "name"), text(metadata, "namespace") or None
        tries = DELETE_TRIES
        while self._is_to_go(resource, metadata) and self._is_current():
            try:
                await self._client.delete(
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
                found = await self._client.get(resource, name, namespace=namespace, metadata_only=True)
                metadata = obj(found, "metadata")
            else:
                return

    def _is_to_go(self, resource: Resource, metadata: JsonObject) -> bool:
        """Return whether an object is one of the release, and does not stay; what stays is noted."""
        labels, annotations = obj(metadata, "labels"), obj(metadata, "annotations")
        is_own = text(labels, LABEL_XAPP) == self._request.xapp.metadata.name
        is_helms = text(labels, MANAGED_BY) in ("", "Helm") and belongs_to_release(self._request.xapp, annotations)
        if not (is_own and is_helms) or text(metadata, "deletionTimestamp"):
            return False
        name = f"{resource.kind}/{text(metadata, 'name')}"
        if is_kept(annotations):
            self._left.kept.append(name)
            return False
        if self._is_protected(resource, metadata):
            self._left.protected.append(name)
            return False
        return True

    def _is_protected(self, resource: Resource, metadata: JsonObject) -> bool:
        may_be_older = _may_be_older(self._request, metadata)
        if self._leftovers:
            return may_be_older or resource.kind in NEVER_DELETED
        return may_be_older and resource.kind in NEVER_DELETED


def _explain(refused: dict[str, str]) -> list[str]:
    """Return the names of objects that were refused with the first reason; nothing if there are none."""
    return [f"{format_list(refused, total=len(refused))}: {next(iter(refused.values()))}"] if refused else []


def _may_be_older(request: ReconcileRequest, metadata: JsonObject) -> bool:
    """Return whether an object may be older than the release: it is older than the XApp, or that has `adopt`."""
    is_younger = creation_time(metadata) >= creation_time(obj(request.raw, "metadata"))  # not if that is not known
    return request.xapp.spec.adopt or not is_younger


def _knows_all_objects(request: ReconcileRequest, context: ReconcilerContext) -> bool:
    """Return whether the inventory names all objects: it is that of the revision in force, not of one that failed."""
    attempt = request.draft.attempt
    is_of_last = attempt is None or attempt.action == UNINSTALL or attempt.outcome in HELM_FINISHED
    return is_of_last and context.monitor.has_inventory(request.key)


def _has_deletion_timed_out(request: ReconcileRequest, context: ReconcilerContext) -> bool:
    deleted_at, timeout = context.deletion_times.get(request.xapp), request.xapp.spec.timeout_seconds
    return deleted_at is not None and context.clock.now() >= deleted_at + timeout
