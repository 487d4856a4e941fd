"""What no step may take over: with `adopt`, objects of another XApp that exists; without, all objects of others.

With `adopt`, helm takes over whatever its chart renders. So the chart is rendered first, and each of its objects that
exists already is read, with the identity of the XApp: what the watches show depends on the rights of the operator, and
after a start on what it has read already. It only reads. Nothing is taken over while the chart cannot be rendered.

A rollback takes over the objects of its revision even without `adopt`: helm checks owners only when it installs or
upgrades (4.3.1, pkg/action/rollback.go). The objects are in the record, and most of them in the newest one too.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.names import HELM_RELEASE_NAME, HELM_RELEASE_NAMESPACE, LABEL_XAPP
from xapp_operator.common.parallel import run_parallel
from xapp_operator.errors import AccessDenied, HelmError, NotFound, XAppError
from xapp_operator.helm.manifest import ObjectRef, manifest_inventory
from xapp_operator.helm.requests import DryRunRequest, RenderResult, TemplateRequest
from xapp_operator.helm.results.error_rules import NOT_OF_THE_RELEASE
from xapp_operator.reconcile.inputs.release_inputs import ReleaseInputs
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.stored_releases.object_metadata import (
    MAX_PARALLEL_READS,
    belongs_to_release,
    read_object_metadata,
)
from xapp_operator.reconcile.verbs.rollback_objects import RollbackObjects, object_name
from xapp_operator.reconcile.work.work_queue import NamespacedName


async def require_free_objects(
    request: ReconcileRequest, context: ReconcilerContext, inputs: ReleaseInputs, *, upgrade: bool
) -> None:
    """Refuse to take over objects of an XApp that is there.

    Raises:
        HelmError: names the first such object and its XApp.
        XAppError: when the chart cannot be rendered, or an object, or what the cluster serves, cannot be read.
    """
    references = await _rendered_objects(request, context, inputs, upgrade=upgrade)
    for ref, metadata in await _read_all_metadata(request, context, references):
        if (owner := _other_owner(request, context, metadata)) is not None:
            raise _owned_by(ref, owner, request, mend="rename it, or remove it from that XApp, then request a retry")


async def require_free_returning_objects(
    request: ReconcileRequest, context: ReconcilerContext, objects: RollbackObjects, *, target: int
) -> None:
    """Refuse a rollback that takes over what an upgrade may not; objects that the release has now are not read.

    Raises:
        HelmError: names the first such object, and its XApp if it is one of an XApp that is there.
        XAppError: when an object, or what the cluster serves, cannot be read.
    """
    then = f"then set rollback-to to {target}@again"  # retry-at does not undo an upgrade that helm has finished
    for ref, metadata in await _read_all_metadata(request, context, _returning_objects(request, objects)):
        if (owner := _other_owner(request, context, metadata)) is not None:
            raise _owned_by(ref, owner, request, mend=f"remove it from that XApp, {then}")
        is_free = not metadata or belongs_to_release(request.xapp, obj(metadata, "annotations"))
        if not (is_free or request.xapp.spec.adopt):
            refusal = NOT_OF_THE_RELEASE.format(object=f"{ref.kind} {ref.name}")
            raise HelmError(f"revision {target} has an object that is not free: {refusal}, {then}", permanent=True)


def _owned_by(ref: ObjectRef, owner: NamespacedName, request: ReconcileRequest, *, mend: str) -> HelmError:
    # Who may install here need not know the XApps of other namespaces.
    whose = f"the XApp {owner[1]}" if owner[0] == request.namespace else "an XApp in another namespace"
    return HelmError(
        f"{ref.kind} {ref.name} belongs to {whose}, and adopt takes over nothing of an XApp that exists: {mend}",
        permanent=True,
    )


async def _read_all_metadata(
    request: ReconcileRequest, context: ReconcilerContext, references: Sequence[ObjectRef]
) -> Iterable[tuple[ObjectRef, JsonObject]]:
    async def read(ref: ObjectRef) -> JsonObject:
        return await _read_metadata(request, context, ref)

    found = await run_parallel(read, references, at_once=MAX_PARALLEL_READS)
    return zip(references, found, strict=True)


async def _read_metadata(request: ReconcileRequest, context: ReconcilerContext, ref: ObjectRef) -> JsonObject:
    """Return the metadata of an object, empty if it does not exist, or if helm cannot read it either and says so."""
    try:
        return await read_object_metadata(request.xapp, ref, context)
    except (NotFound, AccessDenied):
        return {}


def _other_owner(request: ReconcileRequest, context: ReconcilerContext, metadata: JsonObject) -> NamespacedName | None:
    """Return the other XApp that an object belongs to: by Helm's annotations, or by the operator's label."""
    annotations = obj(metadata, "annotations")
    namespace = text(annotations, HELM_RELEASE_NAMESPACE) or text(metadata, "namespace")
    release = text(annotations, HELM_RELEASE_NAME)
    if (namespace, release) == (request.namespace, request.xapp.release_name):
        return None
    owners = context.xapps.installers(namespace, release) | {(namespace, text(obj(metadata, "labels"), LABEL_XAPP))}
    return next((each for each in sorted(owners - {request.key}) if _exists(context, each)), None)


def _exists(context: ReconcilerContext, owner: NamespacedName) -> bool:
    found = context.xapps.get(owner)
    return found is not None and not found.deleting


def _returning_objects(request: ReconcileRequest, objects: RollbackObjects) -> Sequence[ObjectRef]:
    """Return the objects of the target that a later revision has not; if that is not known, all of them."""
    if objects.damaged is not None:
        return objects.target
    present = {object_name(each, request) for each in objects.newest}
    if objects.undone is not None:
        present.intersection_update(object_name(each, request) for each in objects.undone)
    return [each for each in objects.target if object_name(each, request) not in present]


async def _rendered_objects(
    request: ReconcileRequest, context: ReconcilerContext, inputs: ReleaseInputs, *, upgrade: bool
) -> tuple[ObjectRef, ...]:
    values: JsonObject = await asyncio.to_thread(json.loads, inputs.values)
    try:
        rendered = await _render_offline(request, context, inputs, values, upgrade=upgrade)
    except XAppError as error:
        if not error.permanent:
            raise
        rendered = None
    if rendered is None or rendered.stopped:  # a template may need `lookup`
        rendered = await _render_on_cluster(request, context, inputs, values, upgrade=upgrade)
    return await asyncio.to_thread(manifest_inventory, rendered.manifest + rendered.hooks)


async def _render_offline(
    request: ReconcileRequest, context: ReconcilerContext, inputs: ReleaseInputs, values: JsonObject, *, upgrade: bool
) -> RenderResult:
    version, api_versions = await asyncio.gather(context.kube.server_version(), context.kube.discovery.api_versions())
    return await context.helm.template(
        TemplateRequest(
            name=request.xapp.release_name,
            namespace=request.namespace,
            chart=inputs.chart.path,
            values=values,
            kube_version=version,
            api_versions=api_versions,
            skip_schema=True,
            upgrade=upgrade,
            chart_name=inputs.chart.info.name,
        )
    )


async def _render_on_cluster(
    request: ReconcileRequest, context: ReconcilerContext, inputs: ReleaseInputs, values: JsonObject, *, upgrade: bool
) -> RenderResult:
    return await context.helm.dry_run(
        DryRunRequest(
            name=request.xapp.release_name,
            namespace=request.namespace,
            chart=inputs.chart.path,
            values=values,
            user=context.impersonation.user_for(request.xapp),
            secrets=inputs.secrets,
            upgrade=upgrade,
            take_ownership=True,
            skip_schema=inputs.chart.info.external_refs,
            timeout=request.xapp.spec.timeout_seconds,
            chart_name=inputs.chart.info.name,
        )
    )
