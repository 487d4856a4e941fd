"""Uninstall: the XApp is being deleted, or an earlier uninstall did not finish.

Works from Helm's storage alone: neither the chart nor the values are needed. Changes in StatusDraft: attempt;
release cleared.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Container, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from xapp_operator.api.conditions import Reason
from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.models import ReleaseStatus
from xapp_operator.common.text import format_list
from xapp_operator.domain.planning.actions import Uninstall
from xapp_operator.domain.planning.plan_input import UNINSTALLING, Attempt, AttemptOutcome
from xapp_operator.errors import (
    AccessDenied,
    HelmError,
    KindNotServed,
    KubeError,
    NotFound,
    ReleaseRecordDamaged,
    ReleaseRecordTooLarge,
)
from xapp_operator.helm.processes.slots import HelmSlot
from xapp_operator.helm.releases.release_index import RELEASE_SELECTOR
from xapp_operator.helm.releases.release_storage import RELEASE_SECRET_TYPE, parse_release_secret_name
from xapp_operator.helm.requests import LeftObject, LeftReason, UninstallRequest
from xapp_operator.kube.reader import is_namespace_terminating
from xapp_operator.kube.resources import SECRETS
from xapp_operator.reconcile.reconcile_context import FirstTry, LeftObjects, ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.stored_releases.release_secrets import secrets_reader
from xapp_operator.reconcile.verbs.deploy import fail_attempt, run_step
from xapp_operator.reconcile.verbs.labelled_objects import (
    INSTALLED_ANEW,
    KEPT_MESSAGE,
    delete_labelled_leftovers,
    delete_labelled_objects,
)
from xapp_operator.reconcile.verbs.leftovers import SECONDS_MAX, delete_objects, find_leftovers_of_older
from xapp_operator.reconcile.verbs.run_tests import delete_test_objects
from xapp_operator.reconcile.verbs.unserved_kinds import serve_kinds_of_newest
from xapp_operator.reconcile.watching.release_watch import read_release_record

LEFT_MESSAGES: Final = {
    LeftReason.KEPT: KEPT_MESSAGE,
    LeftReason.NOT_OWNED: (
        "these objects stay, because Helm's label and annotations do not say that they belong to the release: "
    ),
    LeftReason.UNVERIFIED: "helm could not verify that these objects are deleted; check them yourself: ",
}
OTHER_SECRETS_LEFT: Final = (
    "these Secrets stay, because they have the labels of Helm's records of the release, but neither the type nor the "
    "name of one: "
)
RECORDS_CAME_BACK: Final = (
    "the release was uninstalled, but there are records of it again: somebody has installed or restored it meanwhile"
)


@dataclass(frozen=True, slots=True)
class _Ended:
    """An uninstall that helm has ended: what it has left, and whether it found a record at all."""

    left: tuple[LeftObject, ...]
    found: bool


@dataclass(slots=True)
class _OlderRevisions:
    """What helm leaves of older revisions, and whether their labels may find more of it.

    It may be deleted while the release `is_current`: nobody has installed it anew.
    """

    is_current: Callable[[], bool]
    left: LeftObjects = field(default_factory=LeftObjects)
    is_incomplete: bool = False


async def uninstall(
    action: Uninstall,
    request: ReconcileRequest,
    context: ReconcilerContext,
    attempt: Attempt,
    *,
    on_start: Callable[[], None],
) -> None:
    """Run `helm uninstall` and record how it ended; without a record, it counts as interrupted.

    Then somebody has deleted the records since it was planned, and the objects are perhaps still there.

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

    def is_current() -> bool:
        stored = context.release_watch.revisions(request.namespace, name)
        return all(info.secret_uid in known for info in stored)

    older = _OlderRevisions(is_current)
    attempt, ended = await run_step(
        request,
        context,
        attempt,
        lambda slot: _uninstall_served_kinds(request, context, helm_request, slot, older),
        urgent=True,
        on_start=on_start,
    )
    if ended is not None:
        attempt = replace(attempt, outcome=AttemptOutcome.SUCCEEDED)
        request.draft = replace(request.draft, release=ReleaseStatus())
        _tell_left_objects(ended.left, request, context)
        if ended.found:
            context.begun_uninstalls.pop(request.key, None)
        await _delete_what_is_left(older, request, context)
    request.draft = replace(request.draft, attempt=attempt)
    denied = attempt.outcome is AttemptOutcome.FAILED and attempt.reason == Reason.ACCESS_DENIED
    if denied and await _namespace_lost_permissions(request, context):
        context.release_watch.forget(request.namespace, name)
        return
    try:
        records = await context.release_watch.refresh(request.namespace, name)
        if attempt.outcome is AttemptOutcome.SUCCEEDED:
            await _delete_records_left(request, context, records, known)
            attempt = _attempt_without_records(request, context, attempt, ended)
            request.draft = replace(request.draft, attempt=attempt)
    except AccessDenied:
        if not await _namespace_lost_permissions(request, context):
            raise
        context.release_watch.forget(request.namespace, name)


def _attempt_without_records(
    request: ReconcileRequest, context: ReconcilerContext, attempt: Attempt, ended: _Ended | None
) -> Attempt:
    """Return how the uninstall ended, now that the records that it had to delete are gone."""
    if context.release_watch.revisions(request.namespace, request.xapp.release_name):
        return fail_attempt(request, context, attempt, HelmError(RECORDS_CAME_BACK))
    is_unknown = ended is not None and not ended.found
    return replace(attempt, outcome=AttemptOutcome.INTERRUPTED) if is_unknown else attempt


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
    others = await _find_other_secrets(request, context, left)
    for secret, uid in left.items():
        if secret not in others and (uid in known or not is_new):
            with contextlib.suppress(NotFound):
                await client.delete(SECRETS, secret, namespace=request.namespace, uid=uid)
    if others:
        message = OTHER_SECRETS_LEFT + format_list(others, total=len(others))
        context.events.record(request.raw, event_type="Warning", reason="LeftBehind", message=message)
    if left:
        await context.release_watch.refresh(request.namespace, name)


async def _find_other_secrets(
    request: ReconcileRequest, context: ReconcilerContext, names: Iterable[str]
) -> Collection[str]:
    """Return which of these Secrets are no records of the release: neither their names nor their types say so."""
    release = request.xapp.release_name
    unusual = [each for each in names if (parse_release_secret_name(each) or ("",))[0] != release]
    if not unusual:
        return ()
    selector, of_type = f"{RELEASE_SELECTOR},name={release}", f"type={RELEASE_SECRET_TYPE}"
    listed = await context.kube.list(
        SECRETS, namespace=request.namespace, label_selector=selector, field_selector=of_type, metadata_only=True
    )
    records = {text(obj(each, "metadata"), "name") for each in listed.items}
    return [each for each in unusual if each not in records]


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
    older: _OlderRevisions,
) -> _Ended:
    """Uninstall the release; what helm will leave of older revisions is noted in `older` before."""
    if not helm_request.no_hooks and request.draft.test is not None:
        await delete_test_objects(request, context, request.draft.test.revision)
    try:
        await _check_newest_record(request, context)
        await _find_older(older, request, context)
        left = await context.helm.uninstall(helm_request, slot=slot)
    except ReleaseRecordDamaged:
        # Helm would uninstall what a record says, perhaps another release. The objects are found by their labels.
        await delete_labelled_objects(request, context, is_current=older.is_current)
        left = ()
    except KindNotServed as refused:
        await serve_kinds_of_newest(request, context, refused)
        left = await context.helm.uninstall(helm_request)
    return _Ended(left or (), found=left is not None)


async def _find_older(older: _OlderRevisions, request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Find what helm will leave of older revisions.

    Helm deletes the records after the objects, the oldest first. So a try that failed may have deleted records that
    would tell. What the first try found is known unless the operator restarted, or another helm has begun.
    """
    stored = context.release_watch.revisions(request.namespace, request.xapp.release_name)
    if not stored:
        return
    newest, first = stored[-1], context.begun_uninstalls.get(request.key)
    has_begun = newest.status == UNINSTALLING
    if has_begun and first is not None and first.newest == newest.secret_uid:
        older.left = first.left
    else:
        older.left = await find_leftovers_of_older(request, context)
        older.is_incomplete = has_begun and stored[0].revision > 1
        if not older.is_incomplete:
            context.begun_uninstalls[request.key] = FirstTry(newest.secret_uid, older.left)
    older.is_incomplete = older.is_incomplete or bool(older.left.unknown)


async def _delete_what_is_left(older: _OlderRevisions, request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Delete what the uninstall has left of older revisions, unless somebody installs the release anew."""
    if not (older.left.objects or older.is_incomplete):
        return
    with contextlib.suppress(KubeError):
        await context.release_watch.refresh(request.namespace, request.xapp.release_name)  # a watch may be late
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SECONDS_MAX):
            await delete_objects(request, context, older.left, is_current=older.is_current)
    if not older.is_current():
        context.events.record(request.raw, event_type="Warning", reason="LeftBehind", message=INSTALLED_ANEW)
    elif older.is_incomplete:
        await delete_labelled_leftovers(request, context, is_current=older.is_current)
