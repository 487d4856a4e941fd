"""Finds why a workload is not healthy: the failing pod, its container's reason and the last event.

The pods of workloads are not watched, because they are many and have none of the operator's labels. So a page of them
is read when a workload is not healthy, and `domain.health.pod_health` judges them. If no pod is to blame, a page of the
workload's own events tells whether its pods are refused.
"""

from __future__ import annotations

from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.domain.health.health_result import HealthResult, find_condition
from xapp_operator.domain.health.pod_health import workload_root_cause
from xapp_operator.domain.health.revisions import pod_name, replaced_pods
from xapp_operator.errors import KubeError
from xapp_operator.kube.reader import KubeReader, first_page
from xapp_operator.kube.resources import EVENTS, PODS
from xapp_operator.monitor.live_objects import LiveObject

MAX_PODS_READ: Final = 50
MAX_EVENTS_READ: Final = 50
MAX_UNREADY_PODS: Final = 2

_REFUSALS_IN_EVENTS: Final = frozenset({"DaemonSet", "Job", "StatefulSet"})
"""Kinds whose status does not say that their pods are refused: they have no condition ReplicaFailure."""


async def find_root_cause(kube: KubeReader, unhealthy: tuple[LiveObject, ...]) -> HealthResult | None:
    """Return the root cause of the first unhealthy workload that has one, or None.

    Errors of the API server are ignored: a message without a cause is better than none.
    """
    for live in unhealthy:
        if live.selector is None and live.key[0] not in _REFUSALS_IN_EVENTS:
            continue
        try:
            cause = await _workload_root_cause(kube, live)
        except KubeError:
            continue
        if cause is not None:
            return cause
    return None


async def _workload_root_cause(kube: KubeReader, live: LiveObject) -> HealthResult | None:
    cause = None if live.selector is None else await _pods_root_cause(kube, live, selector=live.selector)
    kind, namespace, name = live.key
    if cause is not None or kind not in _REFUSALS_IN_EVENTS:
        return cause
    return workload_root_cause((), await _read_events(kube, namespace, kind=kind, name=name))


async def _pods_root_cause(kube: KubeReader, live: LiveObject, *, selector: str) -> HealthResult | None:
    namespace = live.health.namespace
    pods = await first_page(kube, PODS, namespace, limit=MAX_PODS_READ, label_selector=selector)
    replaced = replaced_pods((pod for pod in pods if not _is_terminating(pod)), (live.revision,))
    unready_pods = sorted(
        (pod for pod in pods if not _is_pod_ready(pod)),
        key=lambda pod: (_is_terminating(pod), pod_name(pod) in replaced),
    )[:MAX_UNREADY_PODS]
    events: list[JsonObject] = []
    for pod in unready_pods:
        events += await _read_events(kube, namespace, kind="Pod", name=pod_name(pod))
    return workload_root_cause(unready_pods, events, (live.revision,))


async def _read_events(kube: KubeReader, namespace: str, *, kind: str, name: str) -> list[JsonObject]:
    involved = f"involvedObject.kind={kind},involvedObject.name={name}"
    return await first_page(kube, EVENTS, namespace, limit=MAX_EVENTS_READ, field_selector=involved)


def _is_terminating(pod: JsonObject) -> bool:
    return bool(text(obj(pod, "metadata"), "deletionTimestamp"))


def _is_pod_ready(pod: JsonObject) -> bool:
    ready = find_condition(pod, "Ready")
    return ready is not None and ready.is_true
