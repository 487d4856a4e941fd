"""The health of an xApp: its objects, its pods and containers, and the last events.

The overall status is computed from the objects of the same answer, never copied from the record, which may be older or
newer. Objects come from the watches; pods and events are read with the caller's token. When the record is not healthy,
objects that the watches do not show (missing ones and custom kinds) are looked up from the release's manifest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Final

import orjson

from xapp_operator.api.json import Json, JsonObject, text
from xapp_operator.api.models import HealthStatus, Phase
from xapp_operator.common.parallel import run_parallel, tasks_together
from xapp_operator.domain.health.health_result import HealthResult
from xapp_operator.domain.health.pod_health import workload_root_cause
from xapp_operator.domain.health.resource_health import ResourceHealth, missing_resource, overall_health
from xapp_operator.errors import KubeError, NotFound, XAppError
from xapp_operator.gateway.xapps.context import XAppContext
from xapp_operator.gateway.xapps.health.crash_logs import read_crash_logs
from xapp_operator.gateway.xapps.health.events import event_json, read_xapp_events
from xapp_operator.gateway.xapps.health.pod_report import pod_json
from xapp_operator.gateway.xapps.pods import read_pods
from xapp_operator.gateway.xapps.release_records import get_deployed_release
from xapp_operator.helm.manifest import ObjectRef, manifest_inventory
from xapp_operator.kube.resources import EVENTS, PODS, SECRETS
from xapp_operator.monitor.live_objects import LiveObject, assess_in_release

REPORT_PODS_MAX: Final = 100
REPORT_EVENTS_MAX: Final = 50
LOOKUPS_MAX: Final = 50
LOOKUP_CONCURRENCY: Final = 8


async def get_health_report(context: XAppContext) -> JsonObject:
    """Return the health of an xApp in the shape of the API, without what the caller may not read.

    Raises:
        ApiUnavailable: when the API server does not answer.
    """
    record: JsonObject = orjson.loads(context.entry.record_json)
    live_objects = context.live_objects
    is_healthy = record.get("health") == HealthStatus.HEALTHY.value
    is_uninstalling = record.get("phase") == Phase.UNINSTALLING.value  # objects are expected to go
    async with tasks_together() as group:
        assessing = group.create_task(
            _assess_unwatched(context, live_objects, needed=not (is_healthy or is_uninstalling))
        )
        reading_pods = group.create_task(_read_pods(context, live_objects))
        reading_events = group.create_task(_read_events(context))
    (unwatched, is_complete), pods, events = assessing.result(), reading_pods.result(), reading_events.result()
    results = [*(live.health for live in live_objects), *unwatched]
    results.sort(key=lambda one: (one.kind, one.namespace, one.name))
    shown_pods, shown_events = pods or [], events or []
    revisions = {live.revision for live in live_objects if live.revision}
    overall = _overall(results, shown_pods, shown_events, revisions, record=record, is_complete=is_complete)
    crash_logs = await read_crash_logs(context, shown_pods)
    deployments = {live.key[2] for live in live_objects if live.key[0] == "Deployment"}
    return {
        "status": overall.status.value,
        "message": overall.message or None,
        "resources": [_resource_json(result) for result in results],
        "pods": [pod_json(pod, crash_logs, deployments=deployments) for pod in shown_pods[:REPORT_PODS_MAX]],
        "podsTotal": None if pods is None else len(pods),
        "events": [event_json(event) for event in shown_events[:REPORT_EVENTS_MAX]],
        "eventsTotal": None if events is None else len(events),
    }


def _overall(
    results: Sequence[ResourceHealth],
    pods: Sequence[JsonObject],
    events: Sequence[JsonObject],
    revisions: Collection[str],
    *,
    record: JsonObject,
    is_complete: bool,
) -> HealthResult:
    """Return the overall health of `results`, by the operator's rule: the root cause is that of the worst pod."""
    recorded = HealthResult(HealthStatus(text(record, "health")), text(record, "message"))
    if not results and is_complete:
        return recorded  # there are no objects to disagree with it
    overall = overall_health(results)
    if overall.status is not HealthStatus.HEALTHY:
        cause = workload_root_cause(pods, events, revisions)
        if cause is None:
            return overall
        return HealthResult(
            cause.status if overall.status is HealthStatus.PROGRESSING else overall.status, cause.message
        )
    if recorded.status is HealthStatus.HEALTHY:
        return recorded
    if is_complete:
        return overall
    return HealthResult(
        HealthStatus.UNKNOWN,
        "the objects that are shown are healthy, but the health of others is unknown: you need the permission to get "
        f"secrets and all kinds of the release, and at most {LOOKUPS_MAX} objects are looked up. The last message of "
        f"the xApp is: {recorded.message or 'none'}",
    )


async def _read_pods(context: XAppContext, live_objects: Sequence[LiveObject]) -> list[JsonObject] | None:
    if not await context.caller.is_allowed("list", namespace=context.namespace, resource=PODS):
        return None
    client, hook = context.caller.client, context.entry.hook
    return await read_pods(client, live_objects, namespace=context.namespace, hook=hook)


async def _read_events(context: XAppContext) -> list[JsonObject] | None:
    if not await context.caller.is_allowed("list", namespace=context.namespace, resource=EVENTS):
        return None
    return await read_xapp_events(context)


async def _assess_unwatched(
    context: XAppContext, live_objects: Sequence[LiveObject], *, needed: bool
) -> tuple[list[ResourceHealth], bool]:
    """Return the health of the release's objects that are not in `live_objects`, and whether that is all of them."""
    if not needed:
        return [], True
    if not await context.caller.is_allowed("get", namespace=context.namespace, resource=SECRETS):
        return [], False
    try:
        release = await get_deployed_release(context.caller.client, context.entry)
    except XAppError:
        return [], False
    if release is None:
        return [], True
    references = await asyncio.to_thread(manifest_inventory, release.manifest)
    known = {(live.health.kind, live.health.name) for live in live_objects}
    unwatched = [ref for ref in references if (ref.kind, ref.name) not in known and not ref.expires]

    async def assess(ref: ObjectRef) -> ResourceHealth | None:
        return await _assess_object(context, ref, namespace=ref.namespace or context.namespace)

    found = await run_parallel(assess, unwatched[:LOOKUPS_MAX], at_once=LOOKUP_CONCURRENCY)
    results = [result for result in found if result is not None]
    return results, len(results) == len(unwatched)


async def _assess_object(context: XAppContext, ref: ObjectRef, *, namespace: str) -> ResourceHealth | None:
    client = context.caller.client
    try:
        resource = await client.discovery.resource_for(api_version=ref.api_version, kind=ref.kind)
        found = await client.get(resource, ref.name, namespace=namespace if resource.namespaced else None)
    except NotFound:
        return missing_resource(kind=ref.kind, name=ref.name, namespace=namespace)
    except KubeError:
        return None  # for example because the caller may not read it
    return assess_in_release(found, release=context.entry.release)


def _resource_json(result: ResourceHealth) -> Json:
    return {
        "kind": result.kind,
        "name": result.name,
        "namespace": result.namespace or None,
        "status": result.status.value,
        "message": result.message or None,
    }
