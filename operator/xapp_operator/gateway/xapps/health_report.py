"""How an xApp fares: the verdict on it, on each of its objects, its pods, and the last events.

The verdict is that of its record, so that no two answers disagree; the objects come from memory, pods and events are
read with the caller's token. What memory does not have (objects that are gone, custom kinds) is looked up where
something is wrong, by the manifest of the release. Lives in the gateway, above registry and Helm's records.
"""

from __future__ import annotations

import asyncio
from typing import Final

import orjson

from xapp_operator.api.json import Json, JsonObject, obj, text
from xapp_operator.api.models import HealthStatus, Phase
from xapp_operator.common.text import shorten_line
from xapp_operator.domain.containers import CRASH_LOOP, UNINFORMATIVE_REASONS, Container, containers_of
from xapp_operator.domain.health_result import RESOURCE_MESSAGE_MAX, find_condition
from xapp_operator.domain.resource_health import ResourceHealth, assess, missing_resource
from xapp_operator.errors import KubeError, NotFound, XAppError
from xapp_operator.gateway.xapps.context import XAppContext
from xapp_operator.gateway.xapps.crash_logs import CrashLogs, read_crash_logs
from xapp_operator.gateway.xapps.event_reader import read_xapp_events
from xapp_operator.gateway.xapps.events import event_json
from xapp_operator.gateway.xapps.pods import read_pods
from xapp_operator.gateway.xapps.release_records import get_deployed_release
from xapp_operator.helm.inventory import ObjectRef, manifest_inventory
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import EVENTS, PODS, SECRETS
from xapp_operator.monitor.live_objects import LiveObject

REPORT_PODS_MAX: Final = 100
REPORT_EVENTS_MAX: Final = 50
LOOKUPS_MAX: Final = 50
LOOKUP_CONCURRENCY: Final = 8


async def get_health_report(context: XAppContext) -> JsonObject:
    """Return the health of an xApp as the API shows it; what the caller may not read is left out.

    Raises:
        ApiUnavailable: when the API server does not answer.
    """
    entry = context.entry
    record: JsonObject = orjson.loads(entry.record_json)
    live_objects = context.gateway.registry.objects(entry.namespace, entry.release)
    unhealthy = record.get("health") != HealthStatus.HEALTHY.value
    uninstalling = record.get("phase") == Phase.UNINSTALLING.value  # and its objects with it, as they should
    looked_up, pods, events = await asyncio.gather(
        _look_up_missing_objects(context, live_objects, unhealthy=unhealthy and not uninstalling),
        _read_pods(context, live_objects),
        _read_events(context),
    )
    results = sorted(
        [*(each.health for each in live_objects), *looked_up], key=lambda one: (one.kind, one.namespace, one.name)
    )
    resources: list[Json] = [_resource_json(verdict) for verdict in results]
    crash_logs = await read_crash_logs(context, pods)
    pod_records: list[Json] = [_pod_json(pod, crash_logs) for pod in pods[:REPORT_PODS_MAX]]
    return {
        "status": record.get("health"),
        "message": record.get("message"),
        "resources": resources,
        "pods": pod_records,
        "events": [event_json(event) for event in events[:REPORT_EVENTS_MAX]],
    }


async def _read_pods(context: XAppContext, live_objects: tuple[LiveObject, ...]) -> list[JsonObject]:
    namespace = context.entry.namespace
    if not await context.caller.is_allowed("list", namespace=namespace, resource=PODS):
        return []
    return await read_pods(context.caller.client, live_objects, namespace=namespace)


async def _read_events(context: XAppContext) -> list[JsonObject]:
    if not await context.caller.is_allowed("list", namespace=context.entry.namespace, resource=EVENTS):
        return []
    return await read_xapp_events(context)


async def _look_up_missing_objects(
    context: XAppContext, live_objects: tuple[LiveObject, ...], *, unhealthy: bool
) -> list[ResourceHealth]:
    """Return the verdicts on what the release names and memory does not have, where something is wrong."""
    if not unhealthy or not await context.caller.is_allowed("get", namespace=context.entry.namespace, resource=SECRETS):
        return []
    client = context.caller.client
    try:
        release = await get_deployed_release(client, context.entry)
    except XAppError:
        return []  # what is known without it is worth an answer
    if release is None:
        return []
    references = await asyncio.to_thread(manifest_inventory, release.manifest)
    known = {(each.health.kind, each.health.name) for each in live_objects}
    unwatched = [ref for ref in references if (ref.kind, ref.name) not in known and not ref.expires][:LOOKUPS_MAX]
    limit = asyncio.Semaphore(LOOKUP_CONCURRENCY)

    async def bounded_assess(ref: ObjectRef) -> ResourceHealth | None:
        async with limit:
            return await _assess_object(context, client, ref)

    found = await asyncio.gather(*map(bounded_assess, unwatched))
    return [verdict for verdict in found if verdict is not None]


async def _assess_object(context: XAppContext, client: KubeClient, ref: ObjectRef) -> ResourceHealth | None:
    namespace = ref.namespace or context.entry.namespace
    try:
        resource = await context.gateway.kube.discovery.resource_for(api_version=ref.api_version, kind=ref.kind)
        found = await client.get(resource, ref.name, namespace=namespace if resource.namespaced else None)
    except NotFound:
        return missing_resource(kind=ref.kind, name=ref.name, namespace=namespace)
    except KubeError:
        return None  # not theirs to read
    return assess(found)


def _resource_json(result: ResourceHealth) -> JsonObject:
    return {
        "kind": result.kind,
        "name": result.name,
        "namespace": result.namespace or None,
        "status": result.status.value,
        "message": result.message or None,
    }


def _pod_json(pod: JsonObject, crash_logs: CrashLogs) -> JsonObject:
    metadata, status, ready = obj(pod, "metadata"), obj(pod, "status"), find_condition(pod, "Ready")
    containers = list(containers_of(pod))
    container_records: list[Json] = [
        _container_json(container, crash_logs.get((text(metadata, "name"), container.name), ""))
        for container in containers
    ]
    return {
        "name": text(metadata, "name"),
        "phase": text(status, "phase") or None,
        "ready": ready is not None and ready.is_true,
        "restarts": sum(container.restarts for container in containers),
        "node": text(obj(pod, "spec"), "nodeName") or None,
        "containers": container_records,
    }


def _container_json(container: Container, crash_log: str) -> JsonObject:
    unexplained = container.crash_loops and container.reason in UNINFORMATIVE_REASONS
    message = (
        crash_log
        or shorten_line(container.message, RESOURCE_MESSAGE_MAX)
        or (container.termination_summary if container.crash_loops else "")
    )
    return {
        "name": container.name,
        "ready": container.ready,
        "state": container.state,
        "reason": CRASH_LOOP if unexplained else container.reason or None,
        "exitCode": container.exit_code,
        "message": message or None,
    }
