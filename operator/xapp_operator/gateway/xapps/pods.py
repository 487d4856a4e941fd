"""The pods that an xApp's workloads select, a bounded number of them, read with the caller's token.

They are not in memory: there are many, and only logs and health need them.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from functools import partial
from typing import Final, TypeAlias

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.common.parallel import run_parallel
from xapp_operator.domain.health.health_result import true_condition
from xapp_operator.gateway.catalog.records import HookObject
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import PODS
from xapp_operator.monitor.hook_pods import JOB_LABEL, is_hook_object
from xapp_operator.monitor.live_objects import LiveObject

POD_WORKLOADS_MAX: Final = 50
PODS_MAX: Final = 500
"""Pods of one workload."""
READ_CONCURRENCY: Final = 8

POD_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?")
"""The names that the API server allows for pods, and for the Jobs of hooks."""

_Read: TypeAlias = Callable[[], Awaitable[list[JsonObject]]]


async def read_pods(
    client: KubeClient,
    objects: Iterable[LiveObject],
    *,
    namespace: str,
    name: str | None = None,
    hook: HookObject | None = None,
) -> list[JsonObject]:
    """Return the pods of an xApp: ready ones first, then the newest; terminating ones last.

    Args:
        client: the caller's client.
        objects: the objects of the xApp; those in other namespaces are ignored.
        namespace: the namespace of the xApp.
        name: the name of the only pod to return, if any.
        hook: a hook of the chart whose pods count too.
    """
    in_namespace = [live for live in objects if live.key[1] == namespace]
    selectors = list(dict.fromkeys(live.selector for live in in_namespace if live.selector))[:POD_WORKLOADS_MAX]
    cron_jobs = [re.escape(live.key[2]) for live in in_namespace if live.key[0] == "CronJob"]
    bare_pods = [live.key[2] for live in in_namespace if live.key[0] == "Pod" and name in (None, live.key[2])][
        :POD_WORKLOADS_MAX
    ]
    hook_pods: list[str] = []
    if hook is not None and POD_NAME.fullmatch(hook.name):
        if hook.kind == "Job":
            selectors.append(f"{JOB_LABEL}={hook.name}")
        elif hook.kind == "Pod" and name in (None, hook.name):
            hook_pods.append(hook.name)
    reads: list[_Read] = [partial(_list_selected, client, each, namespace=namespace, name=name) for each in selectors]
    # Not with get, which is another right.
    reads += [partial(_list_selected, client, None, namespace=namespace, name=each) for each in bare_pods]
    reads += [partial(_list_hook_pod, client, namespace=namespace, name=each) for each in hook_pods]
    if cron_jobs:
        reads.append(partial(_list_cron_job_pods, client, cron_jobs, namespace=namespace, name=name))
    lists = await run_parallel(lambda read: read(), reads, at_once=READ_CONCURRENCY)
    found = {pod_name(pod): pod for pods in lists for pod in pods}
    newest = sorted(found.values(), key=lambda pod: text(obj(pod, "metadata"), "creationTimestamp"), reverse=True)
    return sorted(
        newest, key=lambda pod: ("deletionTimestamp" in obj(pod, "metadata"), not true_condition(pod, "Ready"))
    )


def pod_name(pod: JsonObject) -> str:
    return text(obj(pod, "metadata"), "name")


def container_names(pod: JsonObject) -> list[str]:
    """Return the names of all containers of a pod: ordinary ones first, then init and ephemeral ones."""
    spec = obj(pod, "spec")
    fields = ("containers", "initContainers", "ephemeralContainers")
    return [text(each, "name") for field in fields for each in items(spec, field)]


async def _list_selected(
    client: KubeClient, selector: str | None, *, namespace: str, name: str | None
) -> list[JsonObject]:
    field_selector = None if name is None else f"metadata.name={name}"
    pages = client.list_pages(
        PODS, namespace=namespace, label_selector=selector, field_selector=field_selector, limit=PODS_MAX
    )
    async with aclosing(pages):
        async for page in pages:
            return page.items
    return []


async def _list_hook_pod(client: KubeClient, *, namespace: str, name: str) -> list[JsonObject]:
    pods = await _list_selected(client, None, namespace=namespace, name=name)
    return [pod for pod in pods if is_hook_object(pod)]  # another pod may have that name


async def _list_cron_job_pods(
    client: KubeClient, cron_jobs: list[str], *, namespace: str, name: str | None
) -> list[JsonObject]:
    # The Jobs of a CronJob have no label of it; their names end in the scheduled time in minutes.
    job = re.compile(rf"(?:{'|'.join(cron_jobs)})-[0-9]+")
    pods = await _list_selected(client, JOB_LABEL, namespace=namespace, name=name)
    return [pod for pod in pods if job.fullmatch(text(obj(obj(pod, "metadata"), "labels"), JOB_LABEL))]
