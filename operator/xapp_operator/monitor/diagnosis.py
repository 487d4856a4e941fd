"""Why a workload does not become healthy: the failing pod, its container's reason and the last event.

Lives in `monitor`. Pods are not watched (they carry no label of ours and are many), so a page of them is read when, and
only when, a workload ails; what they say is judged by `domain.podhealth`.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.domain.podhealth import root_cause
from xapp_operator.domain.verdict import Verdict, condition
from xapp_operator.errors import KubeError
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import EVENTS, PODS, Resource
from xapp_operator.monitor.live import LiveObject

PODS_READ: Final = 50
EVENTS_READ: Final = 50
SUSPECTS: Final = 2


async def culprit(kube: KubeClient, ailing: tuple[LiveObject, ...]) -> Verdict | None:
    """Return the root cause behind the first ailing workload that has one, or None.

    Never raises for an API server that does not answer: a message without a cause beats no message.
    """
    for live in ailing:
        if live.selector is None:
            continue
        try:
            cause = await _cause(kube, namespace=live.health.namespace, selector=live.selector)
        except KubeError:
            continue
        if cause is not None:
            return cause
    return None


async def _cause(kube: KubeClient, *, namespace: str, selector: str) -> Verdict | None:
    pods = await _first_page(kube, PODS, namespace, limit=PODS_READ, label_selector=selector)
    suspects = [pod for pod in pods if not _ready(pod)][:SUSPECTS]
    events: list[JsonObject] = []
    for pod in suspects:
        name = text(obj(pod, "metadata"), "name")
        events += await _first_page(
            kube,
            EVENTS,
            namespace,
            limit=EVENTS_READ,
            field_selector=f"involvedObject.kind=Pod,involvedObject.name={name}",
        )
    return root_cause(suspects, events)


def _ready(pod: JsonObject) -> bool:
    ready = condition(pod, "Ready")
    return ready is not None and ready.true


async def _first_page(
    kube: KubeClient,
    resource: Resource,
    namespace: str,
    *,
    limit: int,
    label_selector: str | None = None,
    field_selector: str | None = None,
) -> list[JsonObject]:
    pages = kube.pages(
        resource, namespace=namespace, label_selector=label_selector, field_selector=field_selector, limit=limit
    )
    async with aclosing(pages):
        async for page in pages:
            return page.items
    return []
