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
from xapp_operator.domain.containers import CRASH_LOOP, SAYS_NOTHING, Container, containers_of
from xapp_operator.domain.health import ResourceHealth, judge, missing
from xapp_operator.domain.verdict import condition, shorten
from xapp_operator.errors import KubeError, NotFound, XAppError
from xapp_operator.gateway.asked import Asked
from xapp_operator.gateway.eventreading import events_about
from xapp_operator.gateway.lastwords import LastWords, last_words
from xapp_operator.gateway.pods import pods_of
from xapp_operator.gateway.release import release_in_force
from xapp_operator.gateway.xappevents import event_json
from xapp_operator.helm.inventory import ObjectRef, inventory
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import EVENTS, PODS, SECRETS
from xapp_operator.monitor.live import LiveObject

PODS_SHOWN: Final = 100
EVENTS_SHOWN: Final = 50
LOOKED_UP_MAX: Final = 50
LOOKED_UP_AT_ONCE: Final = 8


async def health_of(asked: Asked) -> JsonObject:
    """Return the health of an xApp as the API shows it; what the caller may not read is left out.

    Raises:
        ApiUnavailable: when the API server does not answer.
    """
    entry = asked.entry
    record: JsonObject = orjson.loads(entry.record)
    live = asked.gateway.registry.objects(entry.namespace, entry.release)
    ailing = record.get("health") != HealthStatus.HEALTHY.value
    going = record.get("phase") == Phase.UNINSTALLING.value  # and its objects with it, as they should
    others, pods, events = await asyncio.gather(
        _looked_up(asked, live, ailing=ailing and not going),
        _pods(asked, live),
        _events(asked),
    )
    verdicts = sorted([*(each.health for each in live), *others], key=lambda one: (one.kind, one.namespace, one.name))
    resources: list[Json] = [_resource_json(verdict) for verdict in verdicts]
    words = await last_words(asked, pods)
    shown_pods: list[Json] = [_pod_json(pod, words) for pod in pods[:PODS_SHOWN]]
    return {
        "status": record.get("health"),
        "message": record.get("message"),
        "resources": resources,
        "pods": shown_pods,
        "events": [event_json(event) for event in events[:EVENTS_SHOWN]],
    }


async def _pods(asked: Asked, live: tuple[LiveObject, ...]) -> list[JsonObject]:
    namespace = asked.entry.namespace
    if not await asked.caller.may("list", namespace=namespace, resource=PODS):
        return []
    return await pods_of(asked.caller.client, live, namespace=namespace)


async def _events(asked: Asked) -> list[JsonObject]:
    if not await asked.caller.may("list", namespace=asked.entry.namespace, resource=EVENTS):
        return []
    return await events_about(asked)


async def _looked_up(asked: Asked, live: tuple[LiveObject, ...], *, ailing: bool) -> list[ResourceHealth]:
    """Return the verdicts on what the release names and memory does not have, where something is wrong."""
    if not ailing or not await asked.caller.may("get", namespace=asked.entry.namespace, resource=SECRETS):
        return []
    client = asked.caller.client
    try:
        release = await release_in_force(client, asked.entry)
    except XAppError:
        return []  # what is known without it is worth an answer
    if release is None:
        return []
    named = await asyncio.to_thread(inventory, release.manifest)
    known = {(each.health.kind, each.health.name) for each in live}
    unknown = [ref for ref in named if (ref.kind, ref.name) not in known and not ref.expires][:LOOKED_UP_MAX]
    limit = asyncio.Semaphore(LOOKED_UP_AT_ONCE)

    async def look(ref: ObjectRef) -> ResourceHealth | None:
        async with limit:
            return await _look(asked, client, ref)

    found = await asyncio.gather(*map(look, unknown))
    return [verdict for verdict in found if verdict is not None]


async def _look(asked: Asked, client: KubeClient, ref: ObjectRef) -> ResourceHealth | None:
    namespace = ref.namespace or asked.entry.namespace
    try:
        resource = await asked.gateway.kube.discovery.resource_for(api_version=ref.api_version, kind=ref.kind)
        found = await client.get(resource, ref.name, namespace=namespace if resource.namespaced else None)
    except NotFound:
        return missing(kind=ref.kind, name=ref.name, namespace=namespace)
    except KubeError:
        return None  # not theirs to read
    return judge(found)


def _resource_json(verdict: ResourceHealth) -> JsonObject:
    return {
        "kind": verdict.kind,
        "name": verdict.name,
        "namespace": verdict.namespace or None,
        "status": verdict.status.value,
        "message": verdict.message or None,
    }


def _pod_json(pod: JsonObject, words: LastWords) -> JsonObject:
    metadata, status, ready = obj(pod, "metadata"), obj(pod, "status"), condition(pod, "Ready")
    containers = list(containers_of(pod))
    shown: list[Json] = [
        _container_json(container, words.get((text(metadata, "name"), container.name), "")) for container in containers
    ]
    return {
        "name": text(metadata, "name"),
        "phase": text(status, "phase") or None,
        "ready": ready is not None and ready.true,
        "restarts": sum(container.restarts for container in containers),
        "node": text(obj(pod, "spec"), "nodeName") or None,
        "containers": shown,
    }


def _container_json(container: Container, words: str) -> JsonObject:
    untold = container.crash_loops and container.reason in SAYS_NOTHING
    message = words or shorten(container.message) or (container.history if container.crash_loops else "")
    return {
        "name": container.name,
        "ready": container.ready,
        "state": container.state,
        "reason": CRASH_LOOP if untold else container.reason or None,
        "exitCode": container.exit_code,
        "message": message or None,
    }
