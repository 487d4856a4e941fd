"""Makes Helm the manager of items of lists that somebody put in the place of the chart's, so that helm removes them.

Why helm cannot remove them otherwise, and which items these are: see `domain.replaced_items`. Only `managedFields` are
written, with the identity of the XApp, so no pod restarts because of it. Whatever is applied next as Helm, by an
upgrade, a rollback or a correction, brings the chart's item back. If the operator is killed in between, the next step
does that.

Before a step of helm, this costs requests only if it is known that somebody replaced items. Without drift detection, or
if an edit is newer than what was compared, the step fails first. Then all objects that others change are looked at, and
the step is repeated once. An upgrade that is repeated has an attempt label of its own, so that its revision is found if
its answer is lost. A rollback cannot have one, because helm copies the labels of the old revision: if its answer is
lost, it may be made once more, to the same revision.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeVar

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.names import HELM_RELEASE_NAME
from xapp_operator.common.off_loop import run_sized
from xapp_operator.common.parallel import run_parallel
from xapp_operator.common.text import escape_input
from xapp_operator.domain.drift import EVERYTHING, Path, format_pointer, parse_ignored
from xapp_operator.domain.replaced_items import ReplacedItem, hand_over
from xapp_operator.errors import Conflict, Invalid, KubeError, NotFound, XAppError
from xapp_operator.helm.applied_objects import AppliedObject
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import Resource
from xapp_operator.reconcile.drift import ManifestKey, load_applied
from xapp_operator.reconcile.object_comparison import MAX_OBJECTS, json_size, preview_apply, retry_conflicts
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.watching.release_watch import read_release_record
from xapp_operator.telemetry.logs import get_logger

MAX_PARALLEL_READS: Final = 4
MAX_ROUNDS: Final = 3
"""What is in one list can hide what is in another one: so often an object is looked at."""

T = TypeVar("T")

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TakeoverResult:
    """An object of whose lists Helm manages items now; `left` are those that stay."""

    body: JsonObject
    changed: bool = False
    left: tuple[ReplacedItem, ...] = ()


async def take_over_lists(
    client: KubeClient,
    resource: Resource,
    live: JsonObject,
    applied: JsonObject,
    *,
    kept: tuple[Path, ...] = (),
    untouched: tuple[Path, ...],
) -> TakeoverResult:
    """Make Helm the manager of what somebody put in the place of items of `applied`, except in `untouched` paths.

    At the paths in `kept`, live values will stay when it is applied.

    Raises:
        Conflict: when the object has changed since it was read.
        KubeError: when the API server does not answer, or refuses it.
    """
    changed = False
    for _ in range(MAX_ROUNDS):
        size = json_size(live, applied)
        preview = await preview_apply(client, resource, live, applied, size=size, kept=kept, untouched=untouched)
        if not preview.removable:
            return TakeoverResult(live, changed, preview.replaced)
        metadata, version = obj(live, "metadata"), text(applied, "apiVersion")
        change: JsonObject = {
            "uid": metadata.get("uid"),
            "resourceVersion": metadata.get("resourceVersion"),
            "managedFields": await run_sized(size, hand_over, live, preview.removable, api_version=version),
        }
        name, namespace = text(metadata, "name"), text(metadata, "namespace") or None
        live = await client.patch(resource, name, {"metadata": change}, namespace=namespace)
        changed = True
    return TakeoverResult(live, changed)


async def run_with_list_takeover(
    request: ReconcileRequest, context: ReconcilerContext, run: Callable[[], Awaitable[T]]
) -> T:
    """Return what `run` returns, which is an upgrade or a rollback; it is called again, once, if that can help.

    Raises:
        XAppError: as `run` does; of what the cluster refuses because of replaced items, it names those that stay.
    """
    revision, drifted = context.drift.replaced_objects(request.key)
    if drifted:
        keys = {(each.group, (each.kind, each.namespace, each.name)) for each in drifted}
        await _take_over_objects(request, context, revision, chosen=keys)
    try:
        return await run()
    except Invalid as refused:
        release = (request.namespace, request.xapp.release_name)
        try:
            await context.release_watch.refresh(*release)
        except KubeError as error:
            raise refused from error  # why the step failed tells more
        known = context.release_watch.revisions(*release)
        changed, left = await _take_over_objects(request, context, known[-1].revision) if known else (False, [])
        if changed:
            _log.info("step repeated", namespace=request.namespace, name=request.key[1])
            return await run()
        if left:
            raise Invalid(f"{refused.message}. {'; '.join(left)}", errors=refused.errors) from refused
        raise


async def _take_over_objects(
    request: ReconcileRequest,
    context: ReconcilerContext,
    revision: int,
    *,
    chosen: Iterable[ManifestKey] | None = None,
) -> tuple[bool, list[str]]:
    """Look at objects of a revision; return whether one has changed, and what stays of them and why.

    By default those are looked at that others than Helm manage, as the watches show. There are at most MAX_OBJECTS,
    because the step holds a place for helm. What fails is only logged: the step tells more.
    """
    namespace, release, changed, left = request.namespace, request.xapp.release_name, False, list[str]()
    try:
        record = await read_release_record(context.kube, namespace, release, revision)
        applied = await asyncio.to_thread(load_applied, record.manifest, release=release, namespace=namespace)
    except XAppError as error:
        _log.info("lists not taken over", namespace=namespace, name=request.key[1], error=error.message)
        return False, []
    keys = applied.keys() - _unchanged(request, context) if chosen is None else applied.keys() & {*chosen}

    async def release_one(one: AppliedObject) -> None:
        nonlocal changed
        try:
            found = await retry_conflicts(lambda: _take_over_object(one, request, context))
        except (Conflict, NotFound):
            return
        except KubeError as error:
            _log.info("lists not taken over", namespace=namespace, kind=one.reference.kind, error=error.message)
            return
        changed = changed or found.changed
        left.extend(_describe(one, each) for each in found.left)

    if len(keys) > MAX_OBJECTS:
        _log.info("some lists not looked at", namespace=namespace, name=request.key[1], objects=len(keys))
    chosen_objects = [applied[key] for key in sorted(keys)[:MAX_OBJECTS]]
    await run_parallel(release_one, chosen_objects, at_once=MAX_PARALLEL_READS)
    return changed, left


def _unchanged(request: ReconcileRequest, context: ReconcilerContext) -> set[ManifestKey]:
    """Return the objects of which the watches show that nobody but Helm and this operator manages a field."""
    found = context.monitor.release_objects(request.key)
    return {(each.group, each.key) for each in found if each.live is not None and each.live.content == 0}


async def _take_over_object(
    one: AppliedObject, request: ReconcileRequest, context: ReconcilerContext
) -> TakeoverResult:
    reference, body = one.reference, one.body
    if body is None:
        return TakeoverResult({})
    client = context.impersonation.client_for(request.xapp)
    resource = await context.kube.discovery.resource_for(api_version=reference.api_version, kind=reference.kind)
    namespace = reference.namespace or request.namespace if resource.namespaced else None
    live = await client.get(resource, reference.name, namespace=namespace)
    owner = text(obj(obj(live, "metadata"), "annotations"), HELM_RELEASE_NAME, request.xapp.release_name)
    if owner != request.xapp.release_name:
        return TakeoverResult(live)
    ignored = parse_ignored(live, body)
    untouched: tuple[Path, ...] = (EVERYTHING,) if ignored.all or ignored.error else ignored.paths
    return await take_over_lists(client, resource, live, body, untouched=untouched)


def _describe(one: AppliedObject, left: ReplacedItem) -> str:
    path, managers = escape_input(format_pointer(left.path)), ", ".join(map(escape_input, left.managers))
    return f"{one.reference.kind} {one.reference.name}: {managers} replaced {path}, and {left.obstacle}"
