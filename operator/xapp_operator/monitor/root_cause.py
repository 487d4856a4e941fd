"""Finds why a workload is not healthy: the failing pod, its container's reason and the last event.

The pods of workloads are not watched, because they are many and have none of the operator's labels. So a page of them
is read when a workload is not healthy, and `domain.health.pod_health` judges them.
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


async def find_root_cause(kube: KubeReader, unhealthy: tuple[LiveObject, ...]) -> HealthResult | None:
    """Return the root cause of the first unhealthy workload that has one, or None.

    Errors of the API server are ignored: a message without a cause is better than none.
    """
    for live in unhealthy:
        if live.selector is None:
            continue
        try:
            cause = await _workload_root_cause(kube, live, selector=live.selector)
        except KubeError:
            continue
        if cause is not None:
            return cause
    return None


async def _workload_root_cause(kube: KubeReader, live: LiveObject, *, selector: str) -> HealthResult | None:
    namespace = live.health.namespace
    pods = await first_page(kube, PODS, namespace, limit=MAX_PODS_READ, label_selector=selector)
    replaced = replaced_pods((pod for pod in pods if not _is_terminating(pod)), (live.revision,))
    unready_pods = sorted(
        (pod for pod in pods if not _is_pod_ready(pod)),
        key=lambda pod: (_is_terminating(pod), pod_name(pod) in replaced),
    )[:MAX_UNREADY_PODS]
    events: list[JsonObject] = []
    for pod in unready_pods:
        name = pod_name(pod)
        events += await first_page(
            kube,
            EVENTS,
            namespace,
            limit=MAX_EVENTS_READ,
            field_selector=f"involvedObject.kind=Pod,involvedObject.name={name}",
        )
    return workload_root_cause(unready_pods, events, (live.revision,))


def _is_terminating(pod: JsonObject) -> bool:
    return bool(text(obj(pod, "metadata"), "deletionTimestamp"))


def _is_pod_ready(pod: JsonObject) -> bool:
    ready = find_condition(pod, "Ready")
    return ready is not None and ready.is_true
