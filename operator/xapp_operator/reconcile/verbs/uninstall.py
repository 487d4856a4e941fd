"""Uninstall: the XApp is being deleted, or an earlier uninstall did not finish.

Works from Helm's storage alone: neither the chart nor the values are needed. Changes in StatusDraft: attempt;
release cleared.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Container, Iterable
from dataclasses import replace
from typing import Final

from xapp_operator.api.conditions import Reason
from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.models import ReleaseStatus
from xapp_operator.api.names import HELM_RESOURCE_POLICY, LABEL_XAPP
from xapp_operator.common.text import format_list
from xapp_operator.domain.planning.actions import DeleteOrphans, Uninstall
from xapp_operator.domain.planning.plan_input import Attempt, AttemptOutcome
from xapp_operator.errors import (
    AccessDenied,
    HelmError,
    KindNotServed,
    KubeError,
    NotFound,
    ReleaseRecordDamaged,
    ReleaseRecordTooLarge,
)
from xapp_operator.helm.manifest import is_kept
from xapp_operator.helm.processes.slots import HelmSlot
from xapp_operator.helm.requests import LeftObject, LeftReason, UninstallRequest
from xapp_operator.kube.reader import is_namespace_terminating
from xapp_operator.kube.resources import SECRETS, Resource
from xapp_operator.monitor.live_objects import LiveObjectKey
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.stored_releases.object_metadata import belongs_to_release
from xapp_operator.reconcile.stored_releases.release_secrets import secrets_reader
from xapp_operator.reconcile.verbs.deploy import fail_attempt, run_step
from xapp_operator.reconcile.verbs.leftovers import SECONDS_MAX, Leftover, delete_objects, find_leftovers_of_older
from xapp_operator.reconcile.verbs.run_tests import delete_test_objects
from xapp_operator.reconcile.verbs.unserved_kinds import serve_kinds_of_newest
from xapp_operator.reconcile.watching.release_watch import read_release_record

LEFT_MESSAGES: Final = {
    LeftReason.KEPT: f"these objects stay, because they have the annotation {HELM_RESOURCE_POLICY}: keep: ",
    LeftReason.NOT_OWNED: (
        "these objects stay, because Helm's label and annotations do not say that they belong to the release: "
    ),
    LeftReason.UNVERIFIED: "helm could not verify that these objects are deleted; check them yourself: ",
}
RECORDS_CAME_BACK: Final = (
    "the release was uninstalled, but there are records of it again: somebody has installed or restored it meanwhile"
)


async def uninstall(
    action: Uninstall,
    request: ReconcileRequest,
    context: ReconcilerContext,
    attempt: Attempt,
    *,
    on_start: Callable[[], None],
) -> None:
    """Run `helm uninstall` and record how it ended; a release that is not found counts as uninstalled.

    `on_start` is explained at `run_step`.

    Raises:
        StepInterrupted: when the step was ended before it began.
    """
    name = request.xapp.release_name
    known = {info.secret_uid for info in context.release_watch.revisions(request.namespace, name)}
    if action.dependents:
        names = format_list(action.dependents, total=len(action.dependents))
        message = f"uninstalled after spec.timeout, although these XApps depend on it: {names}"
        context.events.record(request.raw, event_type="Warning", reason="DependentsLeft", message=message)
    if request.xapp.metadata.deletion_timestamp is None:
        message = f"the uninstall of {name} had begun: it is finished without hooks, and the chart is installed again"
        context.events.record(request.raw, event_type="Warning", reason="Reinstalled", message=message)
    helm_request = UninstallRequest(
        name=name,
        namespace=request.namespace,
        user=context.impersonation.user_for(request.xapp),
        timeout=request.xapp.spec.timeout_seconds,
        no_hooks=not action.hooks,
        read_secrets=secrets_reader(request.key, name, context),
    )
    leftovers = list[Leftover]()
    attempt, left = await run_step(
        request,
        context,
        attempt,
        lambda slot: _uninstall_served_kinds(request, context, helm_request, slot, leftovers),
        urgent=True,
        on_start=on_start,
    )
    if left is not None:
        attempt = replace(attempt, outcome=AttemptOutcome.SUCCEEDED)
        request.draft = replace(request.draft, release=ReleaseStatus())
        _tell_left_objects(left, request, context)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SECONDS_MAX):
                await delete_objects(request, context, leftovers)
    request.draft = replace(request.draft, attempt=attempt)
    denied = attempt.outcome is AttemptOutcome.FAILED and attempt.reason == Reason.ACCESS_DENIED
    if denied and await _namespace_lost_permissions(request, context):
        context.release_watch.forget(request.namespace, name)
        return
    try:
        records = await context.release_watch.refresh(request.namespace, name)
        if attempt.outcome is AttemptOutcome.SUCCEEDED:
            await _delete_records_left(request, context, records, known)
            if context.release_watch.revisions(request.namespace, name):
                attempt = fail_attempt(request, context, attempt, HelmError(RECORDS_CAME_BACK))
                request.draft = replace(request.draft, attempt=attempt)
    except AccessDenied:
        if not await _namespace_lost_permissions(request, context):
            raise
        context.release_watch.forget(request.namespace, name)


def _tell_left_objects(left: Iterable[LeftObject], request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Record an event for each reason why objects are left."""
    names: dict[LeftReason, list[str]] = {}
    for each in left:
        names.setdefault(each.reason, []).append(each.name)
    for reason, objects in names.items():
        message = LEFT_MESSAGES[reason] + format_list(objects, total=len(objects))
        context.events.record(request.raw, event_type="Warning", reason="LeftBehind", message=message)


async def _namespace_lost_permissions(request: ReconcileRequest, context: ReconcilerContext) -> bool:
    """Return whether a missing permission must not stop the deletion: Kubernetes has deleted the RoleBindings."""
    deleting = request.xapp.metadata.deletion_timestamp is not None
    return deleting and await is_namespace_terminating(context.kube, request.namespace)


async def delete_orphans(action: DeleteOrphans, request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Delete the objects of a release whose record is gone; only the cluster-scoped ones unless `action.namespaced`.

    They are found by the operator's label and Helm's annotations, which must both name this release, and deleted with
    the identity that created them. What stays becomes an event. If it is known which objects the release consists of,
    only their kinds are searched.

    Raises:
        KubeError: when the cluster does not answer for a kind; the deletion is tried again until `spec.timeout`.
    """
    resources = await context.kube.discovery.cluster_scoped_resources()
    if action.namespaced:
        resources = (*await context.kube.discovery.namespaced_resources(), *resources)
        if context.monitor.has_inventory(request.key):
            kinds = {kind for kind, _, _ in _known_keys(request, context)}
            resources = tuple(each for each in resources if each.kind in kinds)
    await _delete_labelled_objects(request, context, resources)
    request.draft = replace(request.draft, orphans_deleted=True)


async def _delete_labelled_objects(
    request: ReconcileRequest, context: ReconcilerContext, resources: Iterable[Resource]
) -> None:
    """Delete the objects of those kinds that the operator's label and Helm's annotations assign to the release.

    Those that `helm uninstall` keeps because of their annotation stay, and become an event. So does a kind that gave no
    answer until `spec.timeout` after the deletion.

    Raises:
        KubeError: names a kind that gave no answer before; the others are done.
    """
    kept: list[str] = []
    denied: list[str] = []
    unanswered: list[str] = []
    unlisted: dict[str, str] = {}
    for resource in resources:
        try:
            kept += await _delete_labelled_of_kind(request, context, resource, unlisted)
        except NotFound:
            continue
        except AccessDenied as error:
            denied.append(error.message)
        except KubeError as error:
            unanswered.append(f"{resource.group_resource}: {error.message}")
    if unanswered and not _has_deletion_timed_out(request, context):
        raise KubeError(f"not all objects of the release are deleted: {'; '.join(unanswered)}")
    problems = denied[:1]
    if unlisted:
        cause = next(iter(unlisted.values()))
        problems.append(
            f"objects of the release in other namespaces may be left: {cause}. Find them with: kubectl get "
            f"{','.join(unlisted)} --all-namespaces -l {_selector(request)}"
        )
    if unanswered:
        problems.append(f"given up after spec.timeout; check them yourself: {'; '.join(unanswered)}")
    if kept:
        names = dict.fromkeys(kept)  # a search of all namespaces finds those in the release's own again
        problems.append(LEFT_MESSAGES[LeftReason.KEPT] + format_list(names, total=len(names)))
    for message in problems:
        context.events.record(request.raw, event_type="Warning", reason="LeftBehind", message=message)


async def _delete_labelled_of_kind(
    request: ReconcileRequest, context: ReconcilerContext, resource: Resource, unlisted: dict[str, str]
) -> list[str]:
    """Delete the objects of one kind; return those that helm keeps, as `Kind/name`.

    The inventory and the watches tell which other namespaces have some. Where no inventory is known, all are searched.
    A kind that may not be listed there is added to `unlisted`, with the reason.
    """
    if not resource.namespaced:
        return await _delete_labelled_in(request, context, resource, None)
    kept, monitor = await _delete_labelled_in(request, context, resource, request.namespace), context.monitor
    namespaces = {key[1] for key in _known_keys(request, context) if key[0] == resource.kind}
    others: list[str | None] = [*sorted(namespaces - {"", request.namespace})]
    if not monitor.has_inventory(request.key):
        others.append(None)
    for namespace in others:
        try:
            kept += await _delete_labelled_in(request, context, resource, namespace)
        except AccessDenied as error:
            unlisted[resource.group_resource] = error.message
    return kept


async def _delete_labelled_in(
    request: ReconcileRequest, context: ReconcilerContext, resource: Resource, namespace: str | None
) -> list[str]:
    """Delete the objects of one kind in a namespace, or in all; return those that helm keeps."""
    client, kept = context.impersonation.client_for(request.xapp), list[str]()
    found = await client.list(resource, namespace=namespace, label_selector=_selector(request), metadata_only=True)
    for item in found.items:
        metadata = obj(item, "metadata")
        annotations, name = obj(metadata, "annotations"), text(metadata, "name")
        if not belongs_to_release(request.xapp, annotations):
            continue
        if is_kept(annotations):
            kept.append(f"{resource.kind}/{name}")
        else:
            within = text(metadata, "namespace") or None
            with contextlib.suppress(NotFound):
                await client.delete(resource, name, namespace=within, uid=text(metadata, "uid"))
    return kept


def _known_keys(request: ReconcileRequest, context: ReconcilerContext) -> set[LiveObjectKey]:
    """Return the objects that the inventory of the release names, and those that watches show."""
    monitor = context.monitor
    return {*monitor.known_objects(request.key), *(each.key for each in monitor.release_objects(request.key))}


def _selector(request: ReconcileRequest) -> str:
    return f"{LABEL_XAPP}={request.xapp.metadata.name}"


def _has_deletion_timed_out(request: ReconcileRequest, context: ReconcilerContext) -> bool:
    deleted_at, timeout = context.deletion_times.get(request.xapp), request.xapp.spec.timeout_seconds
    return deleted_at is not None and context.clock.now() >= deleted_at + timeout


async def _delete_records_left(
    request: ReconcileRequest, context: ReconcilerContext, records: Iterable[JsonObject], known: Container[str]
) -> None:
    """Delete what helm left of its `records` (metadata) after the uninstall; `known` are the uids of those before it.

    Helm cannot read a damaged record. It stops at a record that it does not find under its usual name, because it is
    stored under another name, or under that of another revision, for example by a backup.
    """
    client, name = context.impersonation.client_for(request.xapp), request.xapp.release_name
    stored = context.release_watch.revisions(request.namespace, name)
    is_new = any(info.secret_uid not in known for info in stored)  # somebody has installed it anew
    left = {text(metadata, "name"): text(metadata, "uid") for metadata in records}
    for secret, uid in left.items():
        if uid in known or not is_new:
            with contextlib.suppress(NotFound):
                await client.delete(SECRETS, secret, namespace=request.namespace, uid=uid)
    if left:
        await context.release_watch.refresh(request.namespace, name)


async def _check_newest_record(request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Check that the newest record is one of this release, if it can be read.

    Raises:
        ReleaseRecordDamaged: when it is not.
    """
    client, name = context.impersonation.client_for(request.xapp), request.xapp.release_name
    for newest in context.release_watch.revisions(request.namespace, name)[-1:]:
        with contextlib.suppress(KubeError, ReleaseRecordTooLarge):  # helm lists records, and has no limit
            await read_release_record(client, request.namespace, name, newest.revision)


async def _uninstall_served_kinds(
    request: ReconcileRequest,
    context: ReconcilerContext,
    helm_request: UninstallRequest,
    slot: HelmSlot,
    leftovers: list[Leftover],
) -> tuple[LeftObject, ...]:
    """Uninstall the release; what helm will leave of older revisions is added to `leftovers` before."""
    if not helm_request.no_hooks and request.draft.test is not None:
        await delete_test_objects(request, context, request.draft.test.revision)
    try:
        await _check_newest_record(request, context)
        leftovers[:] = await find_leftovers_of_older(request, context)
        return await context.helm.uninstall(helm_request, slot=slot)
    except ReleaseRecordDamaged:
        # Helm would uninstall what a record says, perhaps another release. The objects are found by their labels.
        discovery = context.kube.discovery
        namespaced, cluster_scoped = await discovery.namespaced_resources(), await discovery.cluster_scoped_resources()
        await _delete_labelled_objects(request, context, (*namespaced, *cluster_scoped))
        return ()
    except KindNotServed as refused:
        await serve_kinds_of_newest(request, context, refused)
        return await context.helm.uninstall(helm_request)
