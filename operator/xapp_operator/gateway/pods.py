"""The pods of an xApp: those that its workloads select, read with the caller's token, a bounded number of them.

Pods are not kept in memory: they are many, and only logs and health need them. Lives in the gateway.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from functools import partial
from typing import Final, TypeAlias

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.domain.verdict import condition
from xapp_operator.errors import NotFound
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import PODS
from xapp_operator.monitor.live import LiveObject

WORKLOADS_MAX: Final = 50
PODS_MAX: Final = 500
"""Of one workload."""
READS_AT_ONCE: Final = 8

JOB_LABEL: Final = "batch.kubernetes.io/job-name"

_Read: TypeAlias = Callable[[], Awaitable[list[JsonObject]]]


async def pods_of(
    client: KubeClient, objects: Iterable[LiveObject], *, namespace: str, only: str | None = None
) -> list[JsonObject]:
    """Return the pods of an xApp, the best one to look at first: ready before not ready, then the newest.

    Args:
        client: the caller's.
        objects: of the xApp; those in other namespaces do not count.
        namespace: of the xApp.
        only: the name of one pod, when no other is wanted.
    """
    here = [live for live in objects if live.key[1] == namespace]
    selectors = list(dict.fromkeys(live.selector for live in here if live.selector))[:WORKLOADS_MAX]
    cron_jobs = [re.escape(live.key[2]) for live in here if live.key[0] == "CronJob"]
    bare = [live.key[2] for live in here if live.key[0] == "Pod" and only in (None, live.key[2])][:WORKLOADS_MAX]
    reads: list[_Read] = [partial(_selected, client, each, namespace=namespace, only=only) for each in selectors]
    reads += [partial(_one, client, each, namespace=namespace) for each in bare]
    if cron_jobs:
        reads.append(partial(_of_cron_jobs, client, cron_jobs, namespace=namespace, only=only))
    limit = asyncio.Semaphore(READS_AT_ONCE)

    async def bounded(read: _Read) -> list[JsonObject]:
        async with limit:
            return await read()

    found = {name_of(pod): pod for pods in await asyncio.gather(*map(bounded, reads)) for pod in pods}
    newest = sorted(found.values(), key=lambda pod: text(obj(pod, "metadata"), "creationTimestamp"), reverse=True)
    return sorted(newest, key=lambda pod: ("deletionTimestamp" in obj(pod, "metadata"), not _is_ready(pod)))


def name_of(pod: JsonObject) -> str:
    """Return the name of a pod."""
    return text(obj(pod, "metadata"), "name")


def container_names(pod: JsonObject) -> list[str]:
    """Return the names of all containers of a pod: ordinary ones first, then those of its start and of debugging."""
    spec = obj(pod, "spec")
    fields = ("containers", "initContainers", "ephemeralContainers")
    return [text(each, "name") for field in fields for each in items(spec, field)]


async def _selected(client: KubeClient, selector: str, *, namespace: str, only: str | None) -> list[JsonObject]:
    field_selector = None if only is None else f"metadata.name={only}"
    pages = client.pages(
        PODS, namespace=namespace, label_selector=selector, field_selector=field_selector, limit=PODS_MAX
    )
    async with aclosing(pages):
        async for page in pages:
            return page.items
    return []


async def _one(client: KubeClient, name: str, *, namespace: str) -> list[JsonObject]:
    try:
        return [await client.get(PODS, name, namespace=namespace)]
    except NotFound:
        return []


async def _of_cron_jobs(client: KubeClient, names: list[str], *, namespace: str, only: str | None) -> list[JsonObject]:
    # A CronJob calls its Jobs by their time, in minutes; the Jobs are not labelled as its own.
    job = re.compile(rf"(?:{'|'.join(names)})-[0-9]+")
    pods = await _selected(client, JOB_LABEL, namespace=namespace, only=only)
    return [pod for pod in pods if job.fullmatch(text(obj(obj(pod, "metadata"), "labels"), JOB_LABEL))]


def _is_ready(pod: JsonObject) -> bool:
    ready = condition(pod, "Ready")
    return ready is not None and ready.true
