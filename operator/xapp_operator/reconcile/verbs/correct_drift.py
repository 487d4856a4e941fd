"""CorrectDrift: apply the stored manifest to the objects that differ from it, as helm would, without a new revision.

The request has the identity of the XApp and Helm's field manager, so that Helm owns the fields again. What somebody put
in the place of items of a list goes: see `list_takeover`. An object that changed since it was compared is left for the
next comparison. Changes in StatusDraft: `drift_corrected`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from xapp_operator.api.conditions import Reason
from xapp_operator.api.json import JsonObject
from xapp_operator.common.text import format_list
from xapp_operator.domain.drift import DriftedObject, describe_drift, parse_ignored
from xapp_operator.domain.managed_fields import HELM_MANAGER
from xapp_operator.domain.planning.actions import CorrectDrift
from xapp_operator.domain.planning.plan_input import DEPLOYED
from xapp_operator.errors import AccessDenied, Conflict, Invalid, NotFound, QuotaExceeded
from xapp_operator.helm.applied_objects import AppliedObject
from xapp_operator.kube.resources import Resource
from xapp_operator.monitor.release_objects import UnlabelledObject
from xapp_operator.reconcile.drift import CorrectionRefusal, ManifestKey, load_applied
from xapp_operator.reconcile.object_comparison import (
    MAX_OBJECTS,
    REFUSED,
    body_to_apply,
    denied_by_admission,
    retry_conflicts,
)
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.verbs.list_takeover import take_over_lists
from xapp_operator.reconcile.verbs.repair_labels import patch_labels
from xapp_operator.reconcile.watching.release_watch import read_release_record

MAX_PARALLEL_APPLIES: Final = 4
CORRECTION_REFUSED: Final = "CorrectionRefused"
"""The reason of the event, unless a right is missing."""
_REFUSALS: Final = (AccessDenied, Invalid, QuotaExceeded)

ApplyOnce: TypeAlias = Callable[
    [DriftedObject, ReconcileRequest, ReconcilerContext, Resource, JsonObject], Awaitable[bool]
]
"""Applies the manifest of one object, and returns whether it did."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of objects that were to be applied; `error` is the first one that may pass."""

    objects: tuple[DriftedObject, ...] = ()
    refusal: CorrectionRefusal | None = None
    error: BaseException | None = None


async def correct_drift(action: CorrectDrift, request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Apply the objects, and record an event with what was corrected; what the cluster refuses becomes one too.

    Raises:
        KubeError: when the cluster does not answer.
    """
    applied = await apply_manifest(action.objects, request, context, _apply_once)
    if applied is None:
        return
    context.drift.record_correction(request.key, applied.objects, applied.refusal)
    if applied.objects:
        message = describe_drift(applied.objects)
        request.draft = replace(request.draft, drift_corrected=message)
        context.events.record(request.raw, reason=Reason.DRIFT_CORRECTED, message=message)
    if applied.error is not None:
        raise applied.error


async def apply_manifest(
    objects: tuple[DriftedObject, ...], request: ReconcileRequest, context: ReconcilerContext, apply_once: ApplyOnce
) -> Applied | None:
    """Apply objects of the deployed revision as `apply_once` does, and record an event if the cluster refuses some.

    Return None if another helm works on the release: what it applies is not to be undone.
    """
    key, namespace, release = request.key, request.namespace, request.xapp.release_name
    revision = request.draft.release.revision or 0
    await context.release_watch.refresh(namespace, release)
    newest = context.release_watch.revisions(namespace, release)[-1:]
    if [(each.revision, each.status) for each in newest] != [(revision, DEPLOYED)]:
        return None
    record = await read_release_record(context.kube, namespace, release, revision)
    applied = await asyncio.to_thread(load_applied, record.manifest, release=release, namespace=namespace)
    limit = asyncio.Semaphore(MAX_PARALLEL_APPLIES)

    async def apply(one: DriftedObject) -> bool:
        async with limit:
            return await _apply(one, request, context, applied, apply_once)

    objects = objects[:MAX_OBJECTS]
    try:
        results = await asyncio.gather(*map(apply, objects), return_exceptions=True)
    finally:
        context.correction_backoff.record_repair(key, now=context.clock.monotonic())
    context.drift.keep_manifest(key, revision, record.manifest)
    refusals = [
        _describe_refusal(one, result)
        for one, result in zip(objects, results, strict=True)
        if isinstance(result, _REFUSALS)
    ]
    refusal = next((each for each in refusals if each.denied), refusals[0] if refusals else None)
    if refusal is not None:
        reason = Reason.ACCESS_DENIED if refusal.denied else CORRECTION_REFUSED
        context.events.record(request.raw, event_type="Warning", reason=reason, message=refusal.message)
    return Applied(
        objects=tuple(one for one, result in zip(objects, results, strict=True) if result is True),
        refusal=refusal,
        error=next((e for e in results if isinstance(e, BaseException) and not isinstance(e, _REFUSALS)), None),
    )


def _describe_refusal(one: DriftedObject, error: BaseException) -> CorrectionRefusal:
    """Return why an object is not corrected; what the API server says of an invalid one may contain values."""
    if isinstance(error, AccessDenied):
        if (admission := denied_by_admission(error)) is not None:
            return CorrectionRefusal(f"{one.kind} {one.name} is not corrected: {admission}", denied=False)
        return CorrectionRefusal(error.message, denied=True)
    if isinstance(error, QuotaExceeded):
        return CorrectionRefusal(f"{one.kind} {one.name} is not corrected: {error.message}", denied=False)
    fields = [each.field for each in error.errors if each.field] if isinstance(error, Invalid) else []
    where = f" ({format_list(fields, total=len(fields))})" if fields else ""
    return CorrectionRefusal(f"{one.kind} {one.name} is not corrected: {REFUSED}{where}", denied=False)


async def _apply(
    one: DriftedObject,
    request: ReconcileRequest,
    context: ReconcilerContext,
    applied: Mapping[ManifestKey, AppliedObject],
    apply_once: ApplyOnce,
) -> bool:
    """Return whether one object was corrected."""
    found = applied.get((one.group, (one.kind, one.namespace, one.name)))
    if found is None or found.body is None:
        return False
    body, api_version = found.body, found.reference.api_version
    try:
        resource = await context.kube.discovery.resource_for(api_version=api_version, kind=one.kind)
        return await retry_conflicts(lambda: apply_once(one, request, context, resource, body))
    except (Conflict, NotFound):
        return False


async def _apply_once(
    one: DriftedObject, request: ReconcileRequest, context: ReconcilerContext, resource: Resource, body: JsonObject
) -> bool:
    client = context.impersonation.client_for(request.xapp)
    namespace = one.namespace if resource.namespaced else None
    if not one.missing:
        live = await client.get(resource, one.name, namespace=namespace)
        ignored = parse_ignored(live, body)
        if ignored.all or ignored.error or not {*ignored.paths} <= {*one.kept}:
            return False
        if one.replaced:
            released = await take_over_lists(client, resource, live, body, kept=one.kept, untouched=ignored.paths)
            live = released.body
        body = body_to_apply(body, live, one.kept)
        stored = await client.apply(resource, one.name, body, namespace=namespace, field_manager=HELM_MANAGER)
        await context.monitor.update_object(resource, stored)
    else:
        await create_object(one, request, context, resource, body)
    return True


async def create_object(
    one: DriftedObject, request: ReconcileRequest, context: ReconcilerContext, resource: Resource, body: JsonObject
) -> None:
    """Apply the manifest of an object that does not exist, and label it."""
    client = context.impersonation.client_for(request.xapp)
    namespace = one.namespace if resource.namespaced else None
    await client.apply(resource, one.name, body, namespace=namespace, field_manager=HELM_MANAGER)
    await patch_labels(request, context, UnlabelledObject(resource, namespace, one.name))
