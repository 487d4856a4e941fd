"""The tests of a chart: how they ended, from Helm's record, and the logs of their pods, with the caller's token.

A test may be in another namespace than its release: there, too, the caller needs the rights.
"""

from __future__ import annotations

import asyncio
from typing import Final

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.errors import KubeError
from xapp_operator.gateway.xapps.context import XAppContext
from xapp_operator.gateway.xapps.pods import container_names, pod_name
from xapp_operator.helm.releases.release_storage import Hook, ReleaseRecord
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.request_encoding import PodLogOptions
from xapp_operator.kube.resources import PODS
from xapp_operator.monitor.hook_pods import find_hook_pod

TESTS_MAX: Final = 50
TEST_CONTAINERS_MAX: Final = 10
TEST_LOG_LINES: Final = 1000
TEST_LOG_MAX_BYTES: Final = 64 * 1024
"""Of one test, all its containers together."""
LOG_CONCURRENCY: Final = 4
LOG_SECONDS: Final = 10.0
"""Logs that are not read by then are left out."""


async def get_test_report(context: XAppContext, release: ReleaseRecord) -> list[JsonObject]:
    """Return the tests of a revision by name, in the shape of the API; `log` is null where there is none to see."""
    tests = sorted(release.tests, key=lambda test: test.name)[:TESTS_MAX]
    may_read_logs = bool(tests) and await _may_read_logs(context)
    limit = asyncio.Semaphore(LOG_CONCURRENCY)

    async def read(test: Hook) -> str | None:
        namespace = test.namespace or context.namespace
        if namespace == context.namespace and not may_read_logs:
            return None
        try:
            async with asyncio.timeout(LOG_SECONDS), limit:
                return await _read_test_log(context.caller.client, test, namespace=namespace)
        except (KubeError, TimeoutError):
            return None

    logs = await asyncio.gather(*map(read, tests))
    return [_test_json(test, log) for test, log in zip(tests, logs, strict=True)]


async def _may_read_logs(context: XAppContext) -> bool:
    rights = (("list", None), ("get", "log"))
    allowed = await asyncio.gather(
        *(
            context.caller.is_allowed(verb, namespace=context.namespace, resource=PODS, subresource=subresource)
            for verb, subresource in rights
        )
    )
    return all(allowed)


async def _read_test_log(client: KubeClient, test: Hook, *, namespace: str) -> str | None:
    pod = await find_hook_pod(client, kind=test.kind, name=test.name, namespace=namespace)
    if pod is None:
        return None
    names = container_names(pod)[:TEST_CONTAINERS_MAX]
    parts: list[str] = []
    for name in names:
        options = PodLogOptions(container=name, tail_lines=TEST_LOG_LINES, limit_bytes=TEST_LOG_MAX_BYTES // len(names))
        log = await _read_log(client, pod_name(pod), options, namespace=namespace)
        parts += [log] if len(names) == 1 else [f"==> {name} <==\n", log]
    return "".join(parts)


async def _read_log(client: KubeClient, pod: str, options: PodLogOptions, *, namespace: str) -> str:
    log = b""
    async with client.stream_log(pod, options, namespace=namespace) as chunks:
        async for chunk in chunks:
            log += chunk
    return log.decode("utf-8", "replace")


def _test_json(test: Hook, log: str | None) -> dict[str, Json]:
    return {
        "name": test.name,
        "kind": test.kind or None,
        "phase": test.phase or None,
        "startedAt": test.started_at or None,
        "completedAt": test.completed_at or None,
        "log": log,
    }
