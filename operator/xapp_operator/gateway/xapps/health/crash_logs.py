"""The last log lines of crashed containers, for callers who may read logs.

An application may write anything into its log, so log lines never go into status, conditions or events.
"""

from __future__ import annotations

import asyncio
from typing import Final, TypeAlias

from xapp_operator.api.json import JsonObject, text
from xapp_operator.domain.health.containers import Container, containers_of
from xapp_operator.errors import KubeError
from xapp_operator.gateway.xapps.context import XAppContext
from xapp_operator.gateway.xapps.pods import pod_name
from xapp_operator.kube.request_encoding import PodLogOptions
from xapp_operator.kube.resources import PODS

CRASHED_CONTAINERS_MAX: Final = 3
CRASH_LOG_LINES: Final = 10
CRASH_LOG_MAX_BYTES: Final = 2000

CrashLogs: TypeAlias = dict[tuple[str, str], str]
"""(pod, container) → last lines."""


async def read_crash_logs(context: XAppContext, pods: list[JsonObject]) -> CrashLogs:
    """Return the last lines of the first containers that crashed; nothing when the caller may not read logs."""
    crashed = [(pod_name(pod), each) for pod in pods for each in containers_of(pod) if _has_crashed(each)]
    del crashed[CRASHED_CONTAINERS_MAX:]
    if not crashed:
        return {}
    if not await context.caller.is_allowed("get", namespace=context.namespace, resource=PODS, subresource="log"):
        return {}
    logs = await asyncio.gather(*(_read_crash_log(context, pod, container) for pod, container in crashed))
    return {(pod, container.name): log for (pod, container), log in zip(crashed, logs, strict=True)}


def _has_crashed(container: Container) -> bool:
    return container.crash_loops or (container.state == "terminated" and bool(container.exit_code))


async def _read_crash_log(context: XAppContext, pod: str, container: Container) -> str:
    # With terminationMessagePolicy FallbackToLogsOnError the kubelet already put the end of the log into the status.
    termination_message = text(container.last_termination, "message")
    return _last_lines(termination_message or await _read_log_tail(context, pod, container.name))


async def _read_log_tail(context: XAppContext, pod: str, container: str) -> str:
    options = PodLogOptions(container=container, tail_lines=CRASH_LOG_LINES, limit_bytes=CRASH_LOG_MAX_BYTES)
    tail = b""
    try:
        async with context.caller.client.stream_log(pod, options, namespace=context.namespace) as log:
            async for chunk in log:
                tail += chunk
    except KubeError:
        return ""  # no log, or none yet
    return tail.decode("utf-8", "replace")


def _last_lines(log: str) -> str:
    return "\n".join(log[-CRASH_LOG_MAX_BYTES:].strip().splitlines()[-CRASH_LOG_LINES:])
